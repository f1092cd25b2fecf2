"""What a picture of two aligned streams shows, as numbers: one term on both sides in so many columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memcheck_cli.compare.aligning import TIME
from memcheck_cli.compare.laid import TAKEN, totals_of
from memcheck_cli.compare.sides import Lane
from memcheck_cli.compare.tracks import ABSENT, Track
from memcheck_cli.compare.workload import LIVE
from memcheck_cli.log.records import TERMS

if TYPE_CHECKING:
    from memcheck_cli.compare.comparison import Compared, Comparison

Array = Any


class Drawn(NamedTuple):
    """One side. values: mean of each column, None where the side has no check there. off: columns with a record whose
    sum does not hold. before, behind: checks (seconds) that are not shown."""

    values: tuple[float | None, ...]
    off: tuple[bool, ...]
    before: int
    behind: int


class Picture(NamedTuple):
    """pool, term: what is drawn. shares: whether values are shares of the total, else tokens (slots). unit: `check` or
    `second`. first: the iterations (seconds) of the first column. span: checks (seconds) from the first column to the
    last. apart: by column, the largest distance of B from A in tokens (shares where the totals differ) with its sign,
    None where only one side has a check; None at all under a live workload. mark: the column where they part."""

    pool: str
    term: str
    shares: bool
    unit: str
    first: tuple[int, int]
    span: int
    a: Drawn
    b: Drawn
    apart: tuple[float | None, ...] | None
    apart_shares: bool
    mark: int | None


class _Points(NamedTuple):
    """x: whole numbers, rising. value: of the term. raw: in tokens. off: the sum does not hold."""

    x: Array
    value: Array
    raw: Array
    off: Array


def picture_of(comparison: Comparison, one: Compared, width: int) -> Picture | None:
    """The picture of one pair of streams in at most `width` columns; None where they share no pool."""
    chosen = _chosen(comparison, one)
    if chosen is None:
        return None
    pool, term = chosen
    match = one.match
    key = ("busy", pool)
    by_time = one.alignment.method == TIME
    a, b = _points(match.a, match.a.tracks[key], term, by_time), _points(match.b, match.b.tracks[key], term, by_time)
    if a is None or b is None or not len(a.x) or not len(b.x):
        return None
    shares = all((totals_of(lane, lane.tracks[key]) > 0).all() for lane in (match.a, match.b))
    if not shares:
        a, b = a._replace(value=a.raw), b._replace(value=b.raw)
    first = (0, 0) if by_time else one.walk.first
    lost = () if by_time else one.walk.lost
    a = a._replace(x=a.x - first[0] + _lacking(a.x, [(gap.a, gap.checks) for gap in lost if gap.side == "b"]))
    b = b._replace(x=b.x - first[1] + _lacking(b.x, [(gap.b, gap.checks) for gap in lost if gap.side == "a"]))
    low, high = _window(a.x, b.x)
    same_total = match.a.total(pool) == match.b.total(pool)
    span = high - low + 1
    columns = min(width, span) * max(1, width // span)
    at = one.difference.at if one.difference is not None and one.difference.check == "busy" else None
    mark = None
    if at is not None:
        place = at[0] - first[0] + sum(gap.checks for gap in lost if gap.side == "b" and gap.a <= at[0])
        mark = min(columns - 1, max(0, (place - low) * columns // span))
    return Picture(
        pool,
        term,
        shares,
        "second" if by_time else "check",
        (first[0] + low, first[1] + low),
        span,
        _drawn(a, low, span, columns),
        _drawn(b, low, span, columns),
        None if one.workload.kind == LIVE else _apart(a, b, low, span, columns, same_total or not shares),
        not (same_total or not shares),
        mark,
    )


def _chosen(comparison: Comparison, one: Compared) -> tuple[str, str] | None:
    """Pool and term: those of the first difference, else `available` of the pool that breaks, else of the first."""
    shared = [pool for pool in one.match.a.pools() if _has(one.match.a, pool) and _has(one.match.b, pool)]
    if not shared:
        return None
    if one.difference is not None and one.difference.check == "busy":
        named = one.difference.named
        return named.pool, "available" if named.name == TAKEN else named.name
    for side in (comparison.b, comparison.a):
        found = side.analysis.first_break
        if found is not None and found.pool in shared:
            return found.pool, "available"
    return shared[0], "available"


def _has(lane: Lane, pool: str) -> bool:
    track = lane.tracks.get(("busy", pool))
    return track is not None and len(track) > 0


def _points(lane: Lane, track: Track, term: str, by_time: bool) -> _Points | None:
    columns = track.columns()
    totals = totals_of(lane, track)
    raw = totals if term == "total" else columns.get(term)
    if raw is None:
        return None
    summed = np.zeros(len(totals), np.int64)
    for name in TERMS:
        if name in columns:
            summed += np.where(columns[name] == ABSENT, 0, columns[name])
    off = (totals != ABSENT) & (summed != totals)
    x = track.second.numbers() if by_time else track.iteration.numbers()
    there = (raw != ABSENT) & (x != ABSENT)
    x, raw, off, totals = x[there], raw[there], off[there], totals[there]
    if by_time and len(x):
        # The last record of a second stands for it; a clock that goes back is cut off.
        keep = np.append(x[1:] > x[:-1], True) & (np.maximum.accumulate(x) == x)
        x, raw, off, totals = x[keep], raw[keep], off[keep], totals[keep]
    return _Points(x, raw / np.where(totals > 0, totals, 1), raw.astype(np.int64), off)


def _lacking(x: Array, places: Sequence[tuple[int, int]]) -> Array:
    """How many checks of the other side each iteration's own side lacks before it: so much further it is drawn.

    places: the iterations before which checks are missing, rising, and how many."""
    at = np.array([place for place, _ in places], np.int64)
    before = np.cumsum([0, *(checks for _, checks in places)])
    return before[np.searchsorted(at, x, side="right")]


def _window(a: Array, b: Array) -> tuple[int, int]:
    """The stretch that is shown: all that either side has, but not more than half as much again around what both do."""
    low, high = min(int(a[0]), int(b[0])), max(int(a[-1]), int(b[-1]))
    start, end = max(int(a[0]), int(b[0])), min(int(a[-1]), int(b[-1]))
    if end >= start:
        around = max(20, (end - start + 1) // 2)
        low, high = max(low, start - around), min(high, end + around)
    return low, high


def _column(x: Array, low: int, span: int, columns: int) -> Array:
    return (x - low) * columns // span


def _drawn(points: _Points, low: int, span: int, columns: int) -> Drawn:
    shown = (points.x >= low) & (points.x < low + span)
    at = _column(points.x[shown], low, span, columns)
    counts = np.bincount(at, minlength=columns)
    sums = np.bincount(at, weights=points.value[shown], minlength=columns)
    off = np.bincount(at, weights=points.off[shown], minlength=columns) > 0
    values: list[float | None] = [
        float(total / count) if count else None for total, count in zip(sums, counts, strict=True)
    ]
    step = max(1, columns // span)
    if step > 1:  # few checks: each is drawn several columns wide
        for column in range(0, columns, step):
            values[column : column + step] = [values[column]] * step
            off[column : column + step] = off[column]
    before, behind = int((points.x < low).sum()), int((points.x >= low + span).sum())
    return Drawn(tuple(values), tuple(off.tolist()), before, behind)


def _apart(a: _Points, b: _Points, low: int, span: int, columns: int, tokens: bool) -> tuple[float | None, ...]:
    _, mine, theirs = np.intersect1d(a.x, b.x, assume_unique=True, return_indices=True)
    x = a.x[mine]
    apart = (b.raw[theirs] - a.raw[mine]) if tokens else (b.value[theirs] - a.value[mine])
    shown = (x >= low) & (x < low + span)
    x, apart = x[shown], apart[shown]
    found: list[float | None] = [None] * columns
    step = max(1, columns // span)
    for column, value in zip(_column(x, low, span, columns).tolist(), apart.tolist(), strict=True):
        known = found[column]
        if known is None or abs(value) > abs(known):
            found[column : column + step] = [value] * step
    return tuple(found)
