"""Two streams of a live workload, term by term: level, spread and slope, and how far apart the two sides are.

All values are shares of the pool's total. Consecutive checks resemble each other, so counting them proves little: what
is claimed must also be larger than what the sides themselves wander between the pieces they are cut into.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from memcheck_cli.compare.laid import totals_of
from memcheck_cli.compare.matching import Match
from memcheck_cli.compare.tracks import ABSENT, Track
from memcheck_cli.counting import counted

Array = Any

ENOUGH = 100
"""Checks a side must have before anything is claimed of it."""

PIECES = 20
"""A stream is cut into so many pieces; their medians tell how it wanders and whether it drifts."""

CLEAR = 0.33
"""Cliff's delta from which an effect is called more than small (Romano et al. 2006: 0.147 small, 0.33 medium, 0.474
large)."""

LEAST_SHIFT = 0.01
"""Smaller shifts of the median, as a share of the total, are not called a difference."""

ONE_WAY = 0.9
"""Share of pairs of pieces that must agree on the direction of a drift."""


class Level(NamedTuple):
    """One term on one side. median, low and high (quartiles), least, most: shares of total. slope: change of the share
    per 1000 checks, None below ENOUGH checks. drifts: whether that is more than wandering. wander: distance of the
    quartiles of the pieces' medians."""

    checks: int
    median: float
    low: float
    high: float
    least: float
    most: float
    slope: float | None
    drifts: bool | None
    wander: float | None


class Distribution(NamedTuple):
    """One term of one pool on both sides. shift: B's median minus A's, share of total. cliff: Cliff's delta, from -1
    (all of B below A) to 1. higher: the side that is clearly higher, None where none is. claim: whether anything may be
    claimed; why: the reason, where not."""

    pool: str
    term: str
    a: Level
    b: Level
    shift: float
    cliff: float
    higher: str | None
    claim: bool
    why: str | None

    @property
    def effect(self) -> str:
        """Cliff's delta in words."""
        size = abs(self.cliff)
        return "none" if size < 0.147 else "small" if size < 0.33 else "medium" if size < 0.474 else "large"


def distributions(match: Match, stretch: tuple[range, range] | None = None) -> list[Distribution]:
    """Of every term that both streams print in busy checks, where the totals are known.

    stretch: the iterations of A and of B that are looked at: what both have, so that a run that ended early is not
    compared with what the other did later. None: all.
    """
    found = []
    for pool in match.a.pools():
        one, two = match.a.tracks.get(("busy", pool)), match.b.tracks.get(("busy", pool))
        if one is None or two is None or not len(one) or not len(two):
            continue
        totals = totals_of(match.a, one), totals_of(match.b, two)
        if any((total <= 0).any() for total in totals):
            continue
        a, b = one.columns(), two.columns()
        if stretch is not None:
            inside = [_inside(track, part) for track, part in zip((one, two), stretch, strict=True)]
            if not inside[0].any() or not inside[1].any():
                continue
            a, b = (
                {name: values[where] for name, values in c.items()} for c, where in zip((a, b), inside, strict=True)
            )
            totals = totals[0][inside[0]], totals[1][inside[1]]
        for name in a:
            if name in b and (a[name].any() or b[name].any()):
                shares = _shares(a[name], totals[0]), _shares(b[name], totals[1])
                if len(shares[0]) and len(shares[1]):
                    found.append(_distribution(pool, name, *shares))
    return found


def _inside(track: Track, stretch: range) -> Array:
    iterations = track.iteration.numbers()
    return (iterations >= stretch.start) & (iterations < stretch.stop)


def _shares(values: Array, totals: Array) -> Array:
    there = values != ABSENT
    return values[there] / totals[there]


def _distribution(pool: str, name: str, a: Array, b: Array) -> Distribution:
    one, two = _level(a), _level(b)
    shift = _rounded(two.median - one.median)
    cliff = _rounded(cliffs_delta(a, b))
    why = None
    for side, level in (("A", one), ("B", two)):
        if level.checks < ENOUGH:
            why = f"only {counted(level.checks, 'check')} in {side}; {ENOUGH} on either side are needed"
            break
    higher = None
    if why is None:
        wander = max(one.wander or 0.0, two.wander or 0.0)
        if abs(cliff) >= CLEAR and abs(shift) >= LEAST_SHIFT and abs(shift) > wander:
            higher = "b" if shift > 0 else "a"
    return Distribution(pool, name, one, two, shift, cliff, higher, why is None, why)


def _level(shares: Array) -> Level:
    least, low, median, high, most = (_rounded(value) for value in np.quantile(shares, (0, 0.25, 0.5, 0.75, 1)))
    n = len(shares)
    slope = drifts = wander = None
    if n >= ENOUGH:
        borders = np.linspace(0, n, PIECES + 1).astype(np.int64)
        medians = np.array([np.median(shares[lo:hi]) for lo, hi in pairwise(borders)])
        quartiles = np.quantile(medians, (0.25, 0.75))
        wander = _rounded(quartiles[1] - quartiles[0])
        slope, drifts = _slope(medians, n / PIECES)
    return Level(n, median, low, high, least, most, slope, drifts, wander)


def _slope(medians: Array, checks: float) -> tuple[float, bool]:
    """Theil-Sen slope of equally long pieces, per 1000 checks, and whether the pieces agree on its direction."""
    i, j = np.triu_indices(len(medians), 1)
    slopes = (medians[j] - medians[i]) / ((j - i) * checks)
    slope = float(np.median(slopes))
    along = float((np.sign(slopes) == np.sign(slope)).mean()) if slope else 0.0
    drifts = along >= ONE_WAY and abs(slope) * checks * len(medians) >= LEAST_SHIFT
    return _rounded(slope * 1000), drifts


def cliffs_delta(a: Array, b: Array) -> float:
    """How much more often a value of B is above one of A than below it: from -1 to 1."""
    ordered = np.sort(a)
    below = int(np.searchsorted(ordered, b, side="left").sum())
    not_above = int(np.searchsorted(ordered, b, side="right").sum())
    above = len(a) * len(b) - not_above
    return (below - above) / (len(a) * len(b))


def _rounded(value: float) -> float:
    return round(float(value), 6) + 0.0
