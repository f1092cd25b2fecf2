"""Tensor-parallel peers run in lock step: find the first check where two of them print different numbers.

Ranks that share every token but TP (and EP, which follows it) are peers: they schedule the same requests, so their
pools move alike. Peers of different processes are compared too (several nodes), unless two processes hold the same
rank: then each process is an engine of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.ledger.rows import Row

WINDOW = 20_000
"""Records of a group that wait for their peers, at most; the oldest are given up."""

CONFIRM = 8
"""Checks after a difference that are looked at, to tell two parted ranks from a log that lost a line of one."""

Key = tuple[int, str]


class Divergence(NamedTuple):
    """The first check where peers differ: the rows of two ranks, and the terms that differ."""

    pool: str
    iteration: int
    ranks: tuple[str, str]
    rows: tuple[Row, Row]


class Group:
    """Peers of one run. `parted` is the first difference, once it is certain."""

    __slots__ = ("_doubt", "_newer", "_waiting", "lost_lines", "members", "parted")

    def __init__(self) -> None:
        self.members: dict[tuple[str | None, str], int] = {}  # (process, rank) -> last iteration
        self.parted: Divergence | None = None
        self.lost_lines: Divergence | None = None
        self._waiting: dict[Key, dict[tuple[str | None, str], Row]] = {}
        self._doubt: Divergence | None = None
        self._newer: dict[str, dict[int, tuple[object, ...]]] = {}

    @property
    def settled(self) -> bool:
        """Nothing more to find in this group."""
        return self.parted is not None or self.lost_lines is not None

    def add(self, member: tuple[str | None, str], pool: str, row: Row) -> None:
        """One busy record of a peer."""
        iteration = row.iteration or 0
        self.members[member] = iteration
        if self._doubt is not None:
            self._watch(member, pool, row)
            return
        key = (iteration, pool)
        waiting = self._waiting.get(key)
        if waiting is None:
            self._waiting[key] = {member: row}
            if len(self._waiting) > WINDOW:
                del self._waiting[next(iter(self._waiting))]
            return
        other, first = next(iter(waiting.items()))
        if first.terms != row.terms or first.total != row.total:
            ordered = sorted([(other, first), (member, row)], key=lambda pair: _by_rank(pair[0][1]))
            (a, row_a), (b, row_b) = ordered
            self._doubt = Divergence(pool, iteration, (a[1], b[1]), (row_a, row_b))
            self._newer = {a[1]: {}, b[1]: {}}
            for (later, later_pool), rows in self._waiting.items():
                if later_pool == pool and later >= iteration:
                    for who, seen in rows.items():
                        if who[1] in self._newer:
                            self._newer[who[1]][later] = _numbers(seen)
            self._newer[member[1]][iteration] = _numbers(row)
            return
        waiting[member] = row
        if len(waiting) >= len(self.members) > 1:
            del self._waiting[key]

    def _watch(self, member: tuple[str | None, str], pool: str, row: Row) -> None:
        doubt = self._doubt
        if doubt is None or pool != doubt.pool or member[1] not in self._newer:
            return
        self._newer[member[1]][row.iteration or 0] = _numbers(row)
        if all(len(rows) > 2 * CONFIRM for rows in self._newer.values()):
            self.settle()

    def settle(self) -> None:
        """No more records: decide whether the difference in doubt is one."""
        doubt, self._doubt = self._doubt, None
        if doubt is None:
            return
        one, two = (self._newer[rank] for rank in doubt.ranks)
        for shift in [s for n in range(1, CONFIRM + 1) for s in (n, -n)]:
            both = [i for i in one if i + shift in two]
            same = sum(one[i] == two[i + shift] for i in both)
            if same >= 3 and same * 4 >= len(both) * 3:
                self.lost_lines = doubt
                return
        self.parted = doubt


class Peers:
    """All groups of one source."""

    def __init__(self) -> None:
        self.groups: dict[tuple[int, str | None, str], Group] = {}
        self.splits = 0  # how often groups were split: streams must then ask for their group anew
        self._split: set[tuple[int, str]] = set()

    def group_of(self, run: int, process: str | None, rank: str) -> Group | None:
        """The group a stream belongs to; None for a rank without a TP token."""
        rest, parallel = _without_tp(rank)
        if not parallel:
            return None
        if (run, rest) not in self._split:
            group = self.groups.setdefault((run, None, rest), Group())
            if not any(seen_rank == rank and seen != process for seen, seen_rank in group.members):
                return self._joined(group, process, rank)
            # Two processes with the same rank: engines of their own. What was compared so far does not count.
            self._split.add((run, rest))
            del self.groups[(run, None, rest)]
            self.splits += 1
        return self._joined(self.groups.setdefault((run, process or "", rest), Group()), process, rank)

    @staticmethod
    def _joined(group: Group, process: str | None, rank: str) -> Group:
        group.members.setdefault((process, rank), 0)
        return group

    def settle(self) -> None:
        """No more records."""
        for group in self.groups.values():
            group.settle()


def _without_tp(rank: str) -> tuple[str, bool]:
    tokens = rank.split(" ")
    rest = [token for token in tokens if not token.startswith(("TP", "EP"))]
    return " ".join(rest), any(token.startswith("TP") for token in tokens)


def _by_rank(rank: str) -> tuple[int, str]:
    return (len(rank), rank)


def _numbers(row: Row) -> tuple[object, ...]:
    return (row.total, row.terms)
