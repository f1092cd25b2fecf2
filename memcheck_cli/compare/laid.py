"""Two streams laid side by side, check by check: how they are aligned, how far they agree, and where they part.

A check is compared by the numbers that both sides print, over all pools that both have. Where the totals of a pool
differ, `available` is compared as what is taken from the pool (total - available), since only that can be equal.
Iterations count from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from memcheck_cli.compare.matching import Match
from memcheck_cli.compare.sides import Lane
from memcheck_cli.compare.tracks import ABSENT, Track

Array = Any

REACH = 8
"""Checks that one side may have more than the other, at one place, to be taken up again behind it."""

CONFIRM = 16
"""Checks that must be equal behind such a place; near the end of a stream half as many do."""

STRETCH = 1 << 16
VOTES = 16
"""Checks that must agree before the numbers themselves may decide the alignment."""

TAKEN = "taken"
"""total - available, in place of `available` where the totals differ."""


class PoolPair(NamedTuple):
    """One pool on both sides, over the records that were kept.

    names: the numbers that both print and that are compared. a, b: for each an array of n records, in order.
    at_a, at_b: index of the record of each iteration, -1 where there is none. hash_a, hash_b: uint64 by iteration, 0
    where there is none.
    """

    pool: str
    names: tuple[str, ...]
    a: tuple[Array, ...]
    b: tuple[Array, ...]
    at_a: Array
    at_b: Array
    hash_a: Array
    hash_b: Array
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    same_total: bool


class Lost(NamedTuple):
    """From these iterations on the same numbers stand `checks` further on one side. side: the one with more checks."""

    a: int
    b: int
    side: str
    checks: int


class Walk(NamedTuple):
    """How two streams agree from a start on.

    first: the iterations it begins at. leading: checks that are equal before they part. states: different ones among
    them. parted: the iterations of the first check that differs, None where none does. lost: places where one side has
    checks more. gaps: checks of which one side lacks a record. ended: the iterations behind the last compared ones.
    """

    first: tuple[int, int]
    leading: int
    states: int
    parted: tuple[int, int] | None
    lost: tuple[Lost, ...]
    gaps: int
    ended: tuple[int, int]


def pool_pairs(match: Match, check: str = "busy") -> list[PoolPair]:
    """The pools that both streams have records of, `full` first."""
    found = []
    for pool in match.a.pools():
        one, two = match.a.tracks.get((check, pool)), match.b.tracks.get((check, pool))
        if one is not None and two is not None and len(one) and len(two):
            found.append(_pair(pool, match, one, two, check))
    return found


def _pair(pool: str, match: Match, one: Track, two: Track, check: str) -> PoolPair:
    a, b = one.columns(), two.columns()
    total_a, total_b = totals_of(match.a, one), totals_of(match.b, two)
    names = [name for name in a if name in b]
    mine, theirs = dict(a), dict(b)
    known = total_a[0] != ABSENT and total_b[0] != ABSENT
    same_total = not known or int(total_a[0]) == int(total_b[0])
    if same_total and known:
        names.append("total")
        mine["total"], theirs["total"] = total_a, total_b
    elif known and "available" in names:
        names[names.index("available")] = TAKEN
        mine[TAKEN], theirs[TAKEN] = (
            np.where(
                (rows["available"] == ABSENT) | (total == ABSENT), ABSENT, total - rows["available"].astype(np.int64)
            )
            for rows, total in ((a, total_a), (b, total_b))
        )
    rows_a, rows_b = (tuple(rows[name] for name in names) for rows in (mine, theirs))
    at = [_places(track, check) for track in (one, two)]
    hashes = [_by_place(_hash(rows), place) for rows, place in zip((rows_a, rows_b), at, strict=True)]
    return PoolPair(
        pool,
        tuple(names),
        rows_a,
        rows_b,
        at[0],
        at[1],
        hashes[0],
        hashes[1],
        tuple(name for name in a if name not in b),
        tuple(name for name in b if name not in a),
        same_total,
    )


def totals_of(lane: Lane, track: Track) -> Array:
    """The total of each record, where none is printed what else tells it; ABSENT where nothing does."""
    totals = track.total.numbers().astype(np.int64)
    if (totals == ABSENT).any():
        told = lane.total(track.pool)
        if told is not None:
            totals[totals == ABSENT] = told
    return totals


def _places(track: Track, check: str) -> Array:
    """By iteration, the index of its record; reports of idle checks are counted instead."""
    n = len(track)
    iterations = track.iteration.numbers() if check == "busy" else np.arange(1, n + 1)
    at = np.full(int(iterations.max()) + 1 if n else 1, -1, np.int64)
    at[iterations] = np.arange(n)
    return at


def _by_place(hashes: Array, at: Array) -> Array:
    return np.where(at >= 0, hashes[at], np.uint64(0))


def _hash(rows: Sequence[Array]) -> Array:
    """64 bits a record, never 0."""
    state = np.zeros(len(rows[0]), np.uint64)
    for row in rows:
        # splitmix64's finalizer, fed with the columns one after the other
        state = (state ^ row.astype(np.int64).view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    state[state == 0] = 1
    return state


class Laid:
    """Two streams side by side."""

    def __init__(self, pools: Sequence[PoolPair]) -> None:
        self.pools = pools
        self.last_a = max((len(pool.at_a) - 1 for pool in pools), default=0)
        self.last_b = max((len(pool.at_b) - 1 for pool in pools), default=0)

    def start(self, offset: int) -> tuple[int, int]:
        """The first iterations that both sides have, where B's are A's plus `offset`."""
        return max(1, 1 - offset), max(1, 1 + offset)

    def overlap(self, i: int, j: int) -> int:
        """Checks from iterations i and j on until either side ends."""
        return max(0, min(self.last_a - i, self.last_b - j) + 1)

    def compare(self, i: int, j: int, n: int) -> tuple[Array, Array]:
        """Of n checks from i and j on: which differ in a record that both have, and of which both have one."""
        differ, both = np.zeros(n, bool), np.zeros(n, bool)
        for pool in self.pools:
            one, two = _cut(pool.hash_a, i, n), _cut(pool.hash_b, j, n)
            there = (one != 0) & (two != 0)
            both |= there
            differ |= there & (one != two)
        return differ, both

    def gaps(self, i: int, j: int, n: int) -> int:
        """Of n checks, those of which one side lacks a record that the other has."""
        lacking = np.zeros(n, bool)
        for pool in self.pools:
            lacking |= (_cut(pool.hash_a, i, n) != 0) != (_cut(pool.hash_b, j, n) != 0)
        return int(lacking.sum())

    def equal_from(self, i: int, j: int) -> int:
        """How many checks from i and j on do not differ, one after the other."""
        count = 0
        while n := min(STRETCH, self.overlap(i + count, j + count)):
            differ, _ = self.compare(i + count, j + count, n)
            if differ.any():
                return count + int(differ.argmax())
            count += n
        return count

    def walk(self, offset: int) -> Walk:
        """Follow both streams until they part, over places where one has some checks more."""
        first = self.start(offset)
        i, j = first
        leading = gaps = 0
        lost: list[Lost] = []
        while True:
            run = self.equal_from(i, j)
            leading += run
            gaps += self.gaps(i, j, run)
            i, j = i + run, j + run
            if not self.overlap(i, j):
                return Walk(first, leading, self.states(first, (i, j)), None, tuple(lost), gaps, (i, j))
            more = self._resumes(i, j) if len(lost) < 64 else None
            if more is None:
                return Walk(first, leading, self.states(first, (i, j)), (i, j), tuple(lost), gaps, (i, j))
            lost.append(Lost(i, j, "a" if more[0] else "b", more[0] or more[1]))
            i, j = i + more[0], j + more[1]

    def states(self, start: tuple[int, int], end: tuple[int, int]) -> int:
        """How many different checks each side has at least from one place to before another."""
        found = [
            (len(np.unique(pool.hash_a[start[0] : end[0]])), len(np.unique(pool.hash_b[start[1] : end[1]])))
            for pool in self.pools
        ]
        return max((min(both) for both in found), default=0)

    def _resumes(self, i: int, j: int) -> tuple[int, int] | None:
        """How many checks one side has more here, where the numbers go on equal behind them and nowhere else."""
        for size in range(1, REACH + 1):
            found = [more for more in ((size, 0), (0, size)) if self._goes_on(i + more[0], j + more[1])]
            if found:
                return found[0] if len(found) == 1 else None
        return None

    def _goes_on(self, i: int, j: int) -> bool:
        n = min(CONFIRM, self.overlap(i, j))
        if n < CONFIRM // 2:
            return False
        differ, both = self.compare(i, j, n)
        return not differ.any() and bool(both.all()) and self.states((i, j), (i + n, j + n)) >= n // 2

    def by_content(self) -> tuple[int, int] | None:
        """The offset under which most checks agree, and how many; only checks that occur once on each side vote."""
        if not self.pools:
            return None
        pool = max(self.pools, key=lambda pool: min(len(pool.hash_a), len(pool.hash_b)))
        one, at_one = _once(pool.hash_a)
        two, at_two = _once(pool.hash_b)
        _, mine, theirs = np.intersect1d(one, two, assume_unique=True, return_indices=True)
        if not len(mine):
            return None
        offsets, votes = np.unique(at_two[theirs] - at_one[mine], return_counts=True)
        best = int(votes.max())
        if best < VOTES or (votes == best).sum() > 1:
            return None
        return int(offsets[votes.argmax()]), best

    def echoes(self, i: int, j: int) -> tuple[int, int]:
        """Of the checks from i and j on, how many still agree in two terms or more that move; and how many there are.

        Two workloads that have nothing to do with each other do not: that tells a run that parted from another run.
        """
        n = min(self.overlap(i, j), 100_000)
        if n < 1 or not self.pools:
            return 0, n
        pool = self.pools[0]
        one, two = _cut(pool.at_a, i, n, -1), _cut(pool.at_b, j, n, -1)
        both = (one >= 0) & (two >= 0)
        agreeing = np.zeros(int(both.sum()), np.int64)
        for name, column_a, column_b in zip(pool.names, pool.a, pool.b, strict=True):
            mine, theirs = column_a[one[both]], column_b[two[both]]
            if name != "total" and len(np.unique(mine[:1000])) >= 4 and len(np.unique(theirs[:1000])) >= 4:
                agreeing += (mine == theirs) & (mine != 0)
        return int((agreeing >= 2).sum()), n


def _once(hashes: Array) -> tuple[Array, Array]:
    """The hashes that occur once, sorted, and their places."""
    values, at, counts = np.unique(hashes, return_index=True, return_counts=True)
    keep = (counts == 1) & (values != 0)
    return values[keep], at[keep]


def _cut(values: Array, start: int, n: int, missing: int = 0) -> Array:
    """values[start : start + n], with `missing` behind its end."""
    part = values[start : start + n]
    if len(part) == n:
        return part
    return np.concatenate([part, np.full(n - len(part), missing, values.dtype)])


def numbers_at(pool: PoolPair, i: int, j: int) -> tuple[Mapping[str, int], Mapping[str, int]] | None:
    """The compared numbers of a check on both sides; None where a side lacks the record."""
    one = int(pool.at_a[i]) if i < len(pool.at_a) else -1
    two = int(pool.at_b[j]) if j < len(pool.at_b) else -1
    if one < 0 or two < 0:
        return None
    a, b = (
        {name: int(values[at]) for name, values in zip(pool.names, rows, strict=True)}
        for rows, at in ((pool.a, one), (pool.b, two))
    )
    return a, b
