"""Two runs side by side: did the change help, and where do they part?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memcheck_cli.compare.aligning import AUTO, TIME, Alignment, aligned
from memcheck_cli.compare.breaking import (
    BreakComparison,
    SeriesPair,
    compare_breaks,
    first_busy_break,
    series_pairs,
)
from memcheck_cli.compare.distributions import Distribution, distributions
from memcheck_cli.compare.laid import Laid, PoolPair, Walk, numbers_at, pool_pairs
from memcheck_cli.compare.matching import Match, Matching, match_lanes
from memcheck_cli.compare.pace import Pace, pace_of
from memcheck_cli.compare.setting import Setting, compare_settings
from memcheck_cli.compare.sides import Side
from memcheck_cli.compare.tracks import ABSENT
from memcheck_cli.compare.workload import DETERMINISTIC, LIVE, UNDETERMINED, Workload, decide, told_by_caller
from memcheck_cli.forensics.analysis import BALANCED, BROKEN, UNDECIDED

BOTH_BALANCED, FIXED, INTRODUCED, BOTH_BROKEN = "both-balanced", "fixed", "introduced", "both-broken"
EXIT_UNREADABLE = 4


@dataclass(frozen=True, slots=True)
class Options:
    """by_hand: pairs of ranks, A's first. align: one of `aligning.METHODS`. workload: a kind of workload, or `auto`."""

    by_hand: Sequence[tuple[str, str]] = ()
    align: str = AUTO
    workload: str = AUTO


class TermDifference(NamedTuple):
    """One number of a check on both sides; None where a side does not print it. by: B minus A."""

    pool: str
    name: str
    a: int | None
    b: int | None
    by: int | None


class FirstDifference(NamedTuple):
    """The first check whose numbers differ. check: `busy` or `idle`. at: the iterations (for idle reports: which one,
    from 1). lines, times: of the record named. differing: all numbers that differ, the one that is named first."""

    match: Match
    check: str
    at: tuple[int, int]
    lines: tuple[int, int]
    differing: tuple[TermDifference, ...]

    @property
    def named(self) -> TermDifference:
        """The number that says most: the one that explains the balance, else the one that differs most."""
        return self.differing[0]


class After(NamedTuple):
    """What follows on the first check that differs, over `checks` aligned checks from it on. equal: those equal again.
    alone: those where only the named number differs. last_by: by how much it does in the last of them. steady: it is
    off by the same amount in all of them."""

    checks: int
    equal: int
    alone: int
    last_by: int
    steady: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """One match and what came of it. idle: what the walk over its idle reports gave, None without any on both sides."""

    match: Match
    alignment: Alignment
    walk: Walk
    idle: Walk | None
    workload: Workload
    difference: FirstDifference | None
    after: After | None
    distributions: tuple[Distribution, ...]
    pace: tuple[Pace, Pace]
    same: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything `diff` found. main: the pair of streams that says most, None where nothing is matched. same: every
    record of both sides is equal; None where there is none, or not all were kept."""

    a: Side
    b: Side
    outcome: str
    reason: str
    same: bool | None
    setting: Setting
    matching: Matching
    compared: tuple[Compared, ...]
    main: Compared | None
    breaks: BreakComparison | None
    series: tuple[SeriesPair, ...]

    @property
    def first_difference(self) -> FirstDifference | None:
        """Where the sides part, unless the workload is a live one, where that says nothing."""
        return self.main.difference if self.main is not None else None

    @property
    def exit_code(self) -> int:
        """0, 1 or 3 by outcome; 4 where a side could not be read at all."""
        if self.a.unreadable or self.b.unreadable:
            return EXIT_UNREADABLE
        if self.outcome == UNDECIDED:
            return 1 if self.b.analysis.verdict == BROKEN else 3
        return 1 if self.outcome in (INTRODUCED, BOTH_BROKEN) else 0


def outcome_of(a: str, b: str) -> str:
    """The outcome of two verdicts."""
    if UNDECIDED in (a, b):
        return UNDECIDED
    if a == BALANCED:
        return BOTH_BALANCED if b == BALANCED else INTRODUCED
    return FIXED if b == BALANCED else BOTH_BROKEN


def compare(a: Side, b: Side, options: Options | None = None) -> Comparison:
    """Compare two sides. Raises UsageError where `by_hand` names a rank that a side does not have."""
    options = options or Options()
    matching = match_lanes(a, b, options.by_hand)
    compared = tuple(_compared(match, a, b, options) for match in matching.matches)
    series = tuple(series_pairs(a, b, matching))
    breaks = None
    if a.analysis.first_break is not None and b.analysis.first_break is not None:
        breaks = compare_breaks(a.analysis.first_break, b.analysis.first_break, (a.analysis, b.analysis))
    outcome = outcome_of(a.analysis.verdict, b.analysis.verdict)
    return Comparison(
        a,
        b,
        outcome,
        _reason(a, b, outcome),
        _same(a, b, matching, compared),
        compare_settings(a, b),
        matching,
        compared,
        _main(a, b, compared),
        breaks,
        series,
    )


def _reason(a: Side, b: Side, outcome: str) -> str:
    if outcome == UNDECIDED:
        told = [
            f"{letter} cannot be read" if side.unreadable else f"{letter} is undecided: {side.analysis.reason}"
            for letter, side in (("A", a), ("B", b))
            if side.analysis.verdict == UNDECIDED
        ]
        return "; ".join(told)
    return {
        BOTH_BALANCED: "neither side breaks",
        FIXED: "A breaks and B does not",
        INTRODUCED: "B breaks and A does not",
        BOTH_BROKEN: "both sides break",
    }[outcome]


def _compared(match: Match, a: Side, b: Side, options: Options) -> Compared:
    busy, idle = pool_pairs(match), pool_pairs(match, "idle")
    laid, idle_laid = Laid(busy), Laid(idle)
    breaks = first_busy_break(a, match, match.a), first_busy_break(b, match, match.b)
    alignment, walk, workload = aligned(match, laid, options.align, breaks)
    idle_walk = idle_laid.walk(0) if idle else None
    if not busy and idle_walk is not None:
        workload = decide(idle_laid, idle_walk, "idle report")
    if alignment.method == TIME:
        workload = Workload(LIVE, "aligned by time, no check stands beside another", *workload[2:])
    elif options.workload != AUTO:
        workload = told_by_caller(options.workload, walk, workload.compared)
    difference = after = None
    if workload.kind == DETERMINISTIC or (workload.kind == UNDETERMINED and workload.leading):
        if walk.parted is not None:
            difference = _difference(match, "busy", busy, walk.parted, laid)
            after = _after(busy, walk.parted, laid, difference.named)
        elif idle_walk is not None and idle_walk.parted is not None:
            difference = _difference(match, "idle", idle, idle_walk.parted, idle_laid)
    return Compared(
        match,
        alignment,
        walk,
        idle_walk,
        workload,
        difference,
        after,
        () if workload.kind == DETERMINISTIC else tuple(distributions(match, _stretch(alignment, laid))),
        (pace_of(a, match.a), pace_of(b, match.b)),
        _same_streams(match, laid, walk if alignment.offset == 0 else None, idle_laid, idle_walk),
    )


def _stretch(alignment: Alignment, laid: Laid) -> tuple[range, range] | None:
    """The iterations of A and B that stand beside each other; None for all, where time aligns them."""
    if alignment.offset is None:
        return None
    i, j = laid.start(alignment.offset)
    n = laid.overlap(i, j)
    return range(i, i + n), range(j, j + n)


def _difference(
    match: Match, check: str, pools: Sequence[PoolPair], at: tuple[int, int], laid: Laid
) -> FirstDifference:
    """The numbers that differ at one check, the most telling first."""
    found: list[tuple[bool, int, int, TermDifference]] = []
    for pool in pools:
        numbers = numbers_at(pool, *at)
        if numbers is None:
            continue
        one, two = numbers
        off = _off(match, pool, at)
        for place, name in enumerate(pool.names):
            if one[name] != two[name]:
                a, b = _printed(one[name]), _printed(two[name])
                by = None if a is None or b is None else b - a
                explains = off is not None and by is not None and abs(by) == abs(off) != 0
                found.append((not explains, -abs(by or 0), place, TermDifference(pool.pool, name, a, b, by)))
    differing = tuple(entry[-1] for entry in sorted(found, key=lambda entry: entry[:3]))
    named = differing[0].pool
    pair = next(pool for pool in pools if pool.pool == named)
    one_track, two_track = match.a.tracks[(check, named)], match.b.tracks[(check, named)]
    lines = (
        int(one_track.line.numbers()[pair.at_a[at[0]]]),
        int(two_track.line.numbers()[pair.at_b[at[1]]]),
    )
    return FirstDifference(match, check, at, lines, differing)


def _printed(value: int) -> int | None:
    return None if value == ABSENT else value


def _off(match: Match, pool: PoolPair, at: tuple[int, int]) -> int | None:
    """How much the deltas of a check differ, B's minus A's, where both print the same terms."""
    if "total" not in pool.names:
        return None
    numbers = numbers_at(pool, *at)
    if numbers is None:
        return None
    deltas = []
    for side in numbers:
        if ABSENT in side.values():
            return None
        deltas.append(sum(side.values()) - 2 * side["total"])
    return deltas[1] - deltas[0]


def _after(pools: Sequence[PoolPair], at: tuple[int, int], laid: Laid, named: TermDifference) -> After | None:
    """How the two go on from the first check that differs, in the pool of the number that is named."""
    import numpy as np

    pool = next(pool for pool in pools if pool.pool == named.pool)
    n = min(laid.overlap(*at), len(pool.at_a) - at[0], len(pool.at_b) - at[1])
    one, two = pool.at_a[at[0] : at[0] + n], pool.at_b[at[1] : at[1] + n]
    both = (one >= 0) & (two >= 0)
    one, two = one[both], two[both]
    own = others = np.zeros(len(one), bool)
    by = np.zeros(len(one), np.int64)
    for name, mine, theirs in zip(pool.names, pool.a, pool.b, strict=True):
        differs = mine[one] != theirs[two]
        if name == named.name:
            own = differs
            by = theirs[two].astype(np.int64) - mine[one]
        else:
            others = others | differs
    equal = int((~own & ~others).sum())
    by = by[own & ~others]
    if not len(by):
        return After(len(one), equal, 0, named.by or 0, False)
    return After(len(one), equal, len(by), int(by[-1]), bool((by == by[0]).all()))


def _same_streams(match: Match, laid: Laid, walk: Walk | None, idle: Laid, idle_walk: Walk | None) -> bool:
    """Whether every record of two streams is equal."""
    one, two = match.a, match.b
    if one.stream.checks != two.stream.checks or one.tracks.keys() != two.tracks.keys():
        return False
    for key, track in one.tracks.items():
        other = two.tracks[key]
        if len(track) != len(other) or track.forgotten != other.forgotten or track.names() != other.names():
            return False
        if key[0] == "idle" and (track.iteration.numbers() != other.iteration.numbers()).any():
            return False
    if [page[:4] for page in one.stream.pages] != [page[:4] for page in two.stream.pages]:
        return False
    if [known[0][:3] for known in one.stream.lone_assertions] != [known[0][:3] for known in two.stream.lone_assertions]:
        return False
    walks = [walk or laid.walk(0), idle_walk or idle.walk(0)]
    return all(found.parted is None and not found.lost and not found.gaps for found in walks)


def _same(a: Side, b: Side, matching: Matching, compared: Sequence[Compared]) -> bool | None:
    if matching.only_a or matching.only_b or not all(one.same for one in compared):
        return False
    if a.forgotten or b.forgotten or not compared:
        return None
    return True


def _main(a: Side, b: Side, compared: Sequence[Compared]) -> Compared | None:
    """The pair of streams that says most: the one that parts first, else one that breaks, else the longest."""
    parted = [one for one in compared if one.difference is not None]
    if parted:
        return min(
            parted,
            key=lambda one: (one.workload.kind == UNDETERMINED, one.walk.leading, one.match.order),
        )
    broken = [
        one
        for one in compared
        if any(
            found is not None and found.stream is lane.stream
            for side, lane in ((a, one.match.a), (b, one.match.b))
            for found in (side.analysis.first_break,)
        )
    ]
    candidates: Sequence[Any] = broken or compared
    return min(candidates, key=lambda one: (-one.workload.compared, one.match.order), default=None)
