"""The busy check's messages, printed from numbers with the templates they are read with.

A *message* is the text behind the time and rank prefix of a log line. Which message a release prints, and when, is
said in `server`. Numbers are tokens, sample pages are page ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from memcheck_cli.checker import messages
from memcheck_cli.checker.terms import TERMS

TOPK_WARNING = "UserWarning: Runtime memory check (busy) is not supported when speculation topk > 1."
"""The Python warning of 0.5.7-0.5.12.post1, once a process, behind file and line; no log record."""


SCHEDULER_EXCEPTION = "Scheduler hit an exception: Traceback (most recent call last):"
"""First line of the record that holds the assertion."""


_NOTHING: Mapping[str, object] = MappingProxyType({})


class PoolCheck(NamedTuple):
    """What the checker knows of one pool when it judges it.

    pool: `full` or `swa`. total: tokens, None where it is not known. terms: the accounting terms by name.
    class_free_pages, unaligned (count name to tokens), page_size: of a KV-sharded pool (0.5.21 on).
    dcp_slack_allowed: decode context parallelism lets this imbalance pass (0.5.15 on). ring: the per-request SWA ring
    (0.5.20 on), printed and never compared. duplicates: a fork found slots twice in its free list: a leak for it
    even when the sum balances. extra: further `name=value` pairs, as forks print them behind `uncached`.
    extra_sum: signed tokens that a fork or a what-if adds to the sum.
    """

    pool: str
    total: int | None
    terms: Mapping[str, int]
    class_free_pages: Sequence[int] | None = None
    unaligned: Mapping[str, int] | None = None
    page_size: int | None = None
    dcp_slack_allowed: bool = False
    ring: bool = False
    duplicates: bool = False
    extra: Mapping[str, object] = _NOTHING
    extra_sum: int = 0


def _term(pool: PoolCheck, name: str) -> int:
    return pool.terms.get(name, 0)


def busy_line(text: str) -> str:
    """A pool's text as a busy message; the empty text is the full pool of an all-SWA model."""
    return messages.BUSY_HEAD + text


def pool_text(
    pool: PoolCheck,
    *,
    class_free_pages: Sequence[int] | None = None,
    unaligned: Mapping[str, int] | None = None,
    tolerated: bool = False,
) -> str:
    """The six-field text of a pool (0.5.11 on) with these suffixes behind it."""
    terms = {name: _term(pool, name) for name in TERMS}
    text = messages.POOL.print(pool=pool.pool, total=pool.total, **terms)
    if pool.extra or class_free_pages is not None or unaligned:
        suffixes = dict(pool.extra)
        if class_free_pages is not None:
            suffixes["class_free_pages"] = list(class_free_pages)
        if unaligned:
            suffixes["unaligned_sharded_counts"] = dict(unaligned)
            suffixes["page_size"] = pool.page_size
        text += "".join(f", {name}={_value(value)}" for name, value in suffixes.items())
    return text + messages.DCP_SUFFIX if tolerated else text


def _value(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def ring_text(pool: PoolCheck) -> str:
    """The text of the per-request SWA ring (0.5.20 on)."""
    available, evictable = _term(pool, "available"), _term(pool, "evictable")
    return messages.RING.print(pool=pool.pool, available=available, evictable=evictable, total=pool.total)


def without_total(pool: PoolCheck) -> str:
    """The busy message of 0.5.6-0.5.10.post1: four terms, no pool, no total."""
    return messages.BUSY_FOUR_TERMS.print(
        **{name: _term(pool, name) for name in ("available", "evictable", "protected", "uncached")}
    )


def both_pools(pools: Sequence[PoolCheck]) -> str:
    """The busy message of unreleased builds before 0.5.11: both pools of a hybrid model, each with its sum."""
    values: dict[str, int] = {}
    for pool in pools:
        for name in TERMS:
            values[f"{pool.pool}_{name}"] = _term(pool, name)
        values[f"{pool.pool}_sum"] = sum(pool.terms.values())
    return messages.BUSY_BOTH_POOLS.print(**values)


def assertion(pool: str, text: str) -> str:
    """The assertion since 0.5.11; `text` is the pool's own, suffixes included."""
    return (messages.ASSERTION_SWA if pool == "swa" else messages.ASSERTION_FULL) + text


def old_assertion(accounted: int, total: int | None) -> str:
    """The assertion of 0.5.4-0.5.10.post1."""
    return messages.ASSERTION_SUM.print(accounted=accounted, total=total)


def dev_assertion(pool: PoolCheck, accounted: int) -> str:
    """The assertion of unreleased builds before 0.5.11 on hybrid models."""
    template = messages.ASSERTION_BOTH_SWA if pool.pool == "swa" else messages.ASSERTION_BOTH_FULL
    terms = {name: _term(pool, name) for name in TERMS}
    return template.print(accounted=accounted, total=pool.total, **terms)


def double_free(sub_pool: int, pages: int) -> str:
    """The page check's text for `pages` pages that are twice in a free list. sub_pool: 0 is full, 1 is swa."""
    return messages.DOUBLE_FREE.print(sub_pool=sub_pool, pages=pages)


def use_after_free(pages: int, sample: Sequence[int]) -> str:
    """The page check's text for `pages` pages that are owned and free at once; eight of `sample` are shown."""
    return messages.USE_AFTER_FREE.print(pages=pages, sample=", ".join(str(page) for page in sample[:8]))
