"""The equation that a pool must satisfy, and what the checker concludes from it, by release.

`accounted` sums, `verdict` judges one pool's numbers, `equation` says which terms a release sums, which of them it
prints, and where its total comes from. All counts are in the unit of the pool: tokens, slots for the Mamba pools.

Re-implements the comparison in SGLang's `self_check_during_busy` (a method of
`SchedulerRuntimeCheckerMixin` at first, of the scheduler's invariant checker in 0.5.23) and in the idle check
(`check_memory`, later `self_check_during_idle` and `on_idle`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memcheck_cli.checker.releases import Release, Span, held_to
from memcheck_cli.checker.terms import TERMS

EXTRA_SIGNS: Mapping[str, int] = {"withheld": 1, "double_owned": -1, "reserved": 1, "external_uncached_held": 1}
"""Terms that only forks sum, with the sign they enter their equation. No SGLang release knows them."""

NO_SLOTS = frozenset({"free_list_duplicates", "free_and_cached", "page_size", "class_free_pages"})
"""Extra values that count no slots of the pool, so they never close a gap."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker concludes from one pool.

    accounted: the sum of the terms the equation has. delta: accounted - total. leak: the checker calls it a leak.
    kind: `leak` (delta below 0), `overcount` (above 0), `reported` (a leak although it balances), None (no leak).
    tolerated: the sum does not balance and the checker lets it pass.
    """

    accounted: int
    delta: int
    leak: bool
    kind: str | None
    tolerated: bool = False


@dataclass(frozen=True, slots=True)
class Equation:
    """One row of the invariant: in `releases`, `check` of a `cache` compares the sum of `summed` with the total.

    check: `busy` or `idle`. cache: `radix` (plain pool), `hybrid` (full and SWA), `mamba`, or `any`.
    printed: those of `summed` that the text shows. total: where the total comes from. total_printed: whether the
    text shows it. function: the SGLang function this row re-implements. form: the text form it belongs to.
    """

    releases: Span
    check: str
    cache: str
    summed: tuple[str, ...]
    printed: tuple[str, ...]
    total: str
    total_printed: bool
    function: str
    form: str

    @property
    def unprinted(self) -> tuple[str, ...]:
        """Terms that enter the sum without being shown: a deficit of the printed numbers alone proves nothing."""
        return tuple(term for term in self.summed if term not in self.printed)


_FOUR = ("available", "evictable", "protected", "uncached")
_IDLE_FOUR = ("available", "evictable", "protected", "session_held")
_MIXIN = "SchedulerRuntimeCheckerMixin.self_check_during_busy"
_BANNER = "max_total_num_tokens of the start-up banner"

DEV_SWA = Equation(
    Span.of("0.5.10.post1", "0.5.11"),
    "busy",
    "hybrid",
    TERMS,
    TERMS,
    "full_tokens_per_layer / swa_tokens_per_layer, shown in the assertion only",
    False,
    _MIXIN,
    "B2",
)
"""The separate SWA path that only development builds between 0.5.10.post1 and 0.5.11 had."""

EQUATIONS: tuple[Equation, ...] = (
    Equation(Span.of("0.5.4", "0.5.5.post3"), "busy", "any", _FOUR, (), _BANNER, False, _MIXIN, "B0"),
    Equation(Span.of("0.5.6", "0.5.9"), "busy", "any", _FOUR, _FOUR, _BANNER, False, _MIXIN, "B1"),
    Equation(Span.of("0.5.10rc0", "0.5.10.post1"), "busy", "any", TERMS, _FOUR, _BANNER, False, _MIXIN, "B1"),
    Equation(
        Span.of("0.5.11", "0.5.20"),
        "busy",
        "any",
        TERMS,
        TERMS,
        "the record: max_total_num_tokens, per-layer size of the pool on hybrid models, allocator size with Mamba",
        True,
        "self_check_during_busy",
        "B3",
    ),
    Equation(
        Span.of("0.5.21"),
        "busy",
        "any",
        TERMS,
        TERMS,
        "the record: the allocator's current capacity (changes over time when unified), times the KV-shard widening",
        True,
        "invariant_checker.self_check_during_busy",
        "B3",
    ),
    Equation(
        Span.of("0.4.0", "0.4.2"), "idle", "any", ("available",), ("available",), _BANNER, True, "check_memory", "A"
    ),
    Equation(
        Span.of("0.4.2.post1", "0.4.3.post4"),
        "idle",
        "any",
        ("available",),
        ("available",),
        _BANNER,
        True,
        "check_memory",
        "B",
    ),
    Equation(
        Span.of("0.4.4", "0.4.4.post3"),
        "idle",
        "any",
        ("available",),
        ("available",),
        _BANNER,
        True,
        "check_memory",
        "C",
    ),
    Equation(
        Span.of("0.4.4.post4", "0.4.8.post1"),
        "idle",
        "any",
        ("available",),
        ("available",),
        _BANNER,
        True,
        "check_memory",
        "D",
    ),
    Equation(
        Span.of("0.4.9", "0.4.9.post2"),
        "idle",
        "any",
        ("available",),
        ("available",),
        _BANNER,
        True,
        "check_memory",
        "F",
    ),
    Equation(
        Span.of("0.4.9.post3", "0.5.2rc2"),
        "idle",
        "radix",
        ("available", "evictable"),
        ("available", "evictable", "protected"),
        _BANNER,
        True,
        "check_memory",
        "G",
    ),
    Equation(
        Span.of("0.5.2", "0.5.9"),
        "idle",
        "radix",
        _IDLE_FOUR[:3],
        _IDLE_FOUR[:3],
        _BANNER,
        True,
        "self_check_during_idle",
        "G",
    ),
    Equation(
        Span.of("0.4.9.post3", "0.5.9"),
        "idle",
        "hybrid",
        ("available", "evictable"),
        _IDLE_FOUR[:3],
        "full_tokens_per_layer / swa_tokens_per_layer",
        True,
        "self_check_during_idle",
        "G",
    ),
    Equation(
        Span.of("0.5.3.post2", "0.5.9"),
        "idle",
        "mamba",
        _IDLE_FOUR[:3],
        _IDLE_FOUR[:3],
        "allocator size / mamba pool size",
        True,
        "self_check_during_idle",
        "G",
    ),
    Equation(
        Span.of("0.5.10rc0", "0.5.10.post1"),
        "idle",
        "radix",
        _IDLE_FOUR,
        _IDLE_FOUR,
        _BANNER,
        True,
        "self_check_during_idle",
        "H",
    ),
    Equation(
        Span.of("0.5.10rc0", "0.5.10.post1"),
        "idle",
        "hybrid",
        _IDLE_FOUR,
        _IDLE_FOUR,
        "full_tokens_per_layer / swa_tokens_per_layer",
        True,
        "self_check_during_idle",
        "H",
    ),
    Equation(
        Span.of("0.5.10rc0", "0.5.10.post1"),
        "idle",
        "mamba",
        _IDLE_FOUR,
        _IDLE_FOUR[:3],
        "allocator size / mamba pool size",
        True,
        "self_check_during_idle",
        "H",
    ),
    Equation(
        Span.of("0.5.11"),
        "idle",
        "any",
        TERMS,
        TERMS,
        "the report: the same totals as the busy line",
        True,
        "on_idle",
        "I",
    ),
)
"""Every equation SGLang has compared, oldest first within each check."""

TOLERATES_DCP_SLACK = Span.of("0.5.15")
"""An imbalance within the physical page slack of decode context parallelism passes, marked in the text."""

REPORTS_UNALIGNED = Span.of("0.5.21")
"""Counts that are no multiple of the shard width are a leak even when the sum balances."""

SKIPS_SWA_RING = Span.of("0.5.20")
"""The per-request SWA ring is printed and never compared."""


def equation(of: Release | str, check: str = "busy", cache: str = "any") -> Equation | None:
    """The equation of a release for `check` (`busy`, `idle`) of a `cache` (`radix`, `hybrid`, `mamba`, `any`).

    Builds between two releases are held to the older one (see `held_to`). None where the release has no such check:
    the busy one is not older than 0.5.4. Raises ReleaseError.
    """
    one = held_to(of)
    for row in EQUATIONS:
        if row.check == check and one in row.releases and (row.cache in ("any", cache) or cache == "any"):
            return row
    return None


def accounted(terms: Mapping[str, int], summed: Iterable[str] = TERMS) -> int:
    """The sum of `terms` that the equation has; a term that was not printed counts 0. Others are left out."""
    return sum(terms.get(name, 0) for name in summed)


def verdict(
    terms: Mapping[str, int],
    total: int,
    *,
    summed: Iterable[str] = TERMS,
    tolerated: bool = False,
    reported: bool = False,
    extra: int = 0,
) -> Verdict:
    """What the checker concludes from one pool's numbers.

    tolerated: the checker forgives an imbalance (DCP slack). reported: it calls the pool a leak whatever the sum
    says (unaligned counts, duplicate slots). extra: signed sum of terms that only a fork or a what-if adds.
    """
    sum_ = accounted(terms, summed) + extra
    delta = sum_ - total
    if delta and not (tolerated and not reported):
        return Verdict(sum_, delta, True, "leak" if delta < 0 else "overcount")
    if reported:
        return Verdict(sum_, delta, True, "reported")
    return Verdict(sum_, delta, False, None, tolerated=delta != 0)
