"""When two breaks are the same: what of a break does not depend on the job that hit it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256

from memcheck_cli.artifacts.model import Fingerprint
from memcheck_cli.forensics.breaks import Break
from memcheck_cli.forensics.moves import pair_up
from memcheck_cli.log.records import Value

FEATURES: tuple[str, ...] = (
    "speculative_algorithm",
    "speculative_eagle_topk",
    "pp_size",
    "dcp_size",
    "enable_dp_attention",
    "disaggregation_mode",
    "enable_pdmux",
    "disable_overlap_schedule",
    "enable_mixed_chunk",
    "disable_radix_cache",
    "enable_hierarchical_cache",
    "enable_lmcache",
    "enable_streaming_session",
    "enable_session_radix_cache",
    "enable_unified_memory",
    "enable_hisparse",
    "enable_kv_cache_sharding",
)
"""Flags that switch on another way of accounting. Sizes, ports and models differ from job to job and say little."""

_NOT_SET: frozenset[str | int | None] = frozenset({None, "", "null", "None", 1, 0})
_NO_NAME = re.compile(r"[^a-z0-9]+")


def features(flags: Mapping[str, Value]) -> tuple[str, ...]:
    """The features that are switched on, in the order of FEATURES: `name`, or `name=value`."""
    on = []
    for name in FEATURES:
        value = flags.get(name)
        if value is True:
            on.append(name)
        elif isinstance(value, int | float | str) and value not in _NOT_SET:
            on.append(f"{name}={value}")
    return tuple(on)


def moved_terms(found: Break) -> tuple[str, ...]:
    """The terms whose change no move between terms explains, each behind its sign: `-available`, `+uncached`."""
    _, left = pair_up(found.moved or {})
    return tuple(sorted(f"{'+' if change > 0 else '-'}{term}" for term, change in left.items()))


def fingerprint_of(found: Break, flags: Mapping[str, Value], signature: str | None) -> Fingerprint:
    """The fingerprint of a break. flags: of its run; signature: what it points to most strongly, or None."""
    multiple = None
    if found.page_size is not None and found.page_size > 1 and found.delta is not None and found.check != "pages":
        multiple = found.pages is not None
    return fingerprint(found.pool, found.kind, multiple, moved_terms(found), signature, features(flags))


def fingerprint(
    pool: str | None,
    kind: str,
    page_multiple: bool | None,
    moved: tuple[str, ...],
    signature: str | None,
    flags: tuple[str, ...],
) -> Fingerprint:
    """A fingerprint with its name: pool, kind and ten digits of a hash of everything."""
    told = json.dumps([pool, kind, page_multiple, sorted(moved), signature, sorted(flags)], separators=(",", ":"))
    head = _NO_NAME.sub("-", f"{pool or 'pool'}-{kind}".lower()).strip("-")[:40]
    return Fingerprint(
        f"{head}-{sha256(told.encode()).hexdigest()[:10]}", pool, kind, page_multiple, moved, signature, flags
    )
