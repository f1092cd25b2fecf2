"""Tensor-parallel peers run in lock step: find the first check where two of them print different numbers.

Ranks that share every token but TP (and EP and MOE_DP, which follow it) are peers: they schedule the same requests, so
their pools move alike. Each is compared with the first of them that spoke. Peers of different processes are compared
too (several nodes), unless two processes hold the same rank: then each process is an engine of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memcheck_cli.ledger import bounds
from memcheck_cli.ledger.rows import Row
from memcheck_cli.ledger.stretch import Pairs, PoolStretch, StreamStretch

REACH = 2 << 20
"""Bytes two records may stand apart to be compared; what lies further back is forgotten."""

CONFIRM = 8
"""Checks after a difference that are looked at, to tell parted ranks from a log that lost a line of one."""

ALONE = 4096
"""Records of the first member that are kept while it is the only one: who joins later is compared from there on."""

_MASK = (1 << 64) - 1
_FACTORS = (
    0x9E3779B97F4A7C15,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0xD6E8FEB86659FD93,
    0xFF51AFD7ED558CCD,
    0xC4CEB9FE1A85EC53,
)

Member = tuple[str | None, str]
"""Process and rank."""


class Sight(NamedTuple):
    """One record of a peer. row: None until the line was read again."""

    iteration: int
    digest: int
    offset: int
    line: int
    row: Row | None


class Divergence(NamedTuple):
    """The first check where a peer differs from the group's first member."""

    pool: str
    iteration: int
    members: tuple[Member, Member]
    sights: tuple[Sight, Sight]


def digest(row: Row) -> int:
    """64 bits that tell the numbers of a record; `digests` computes the same of columns."""
    value = (row.total or 0) * _FACTORS[0]
    for term, factor in zip(row.terms, _FACTORS[1:], strict=True):
        if term:
            value += term * factor
    return value & _MASK


def _same(one: Row, two: Row) -> bool:
    return (one.terms == two.terms and one.total == two.total) or digest(one) == digest(two)


def digests(values: Any) -> Any:
    """`digest` of n records at once. values: int64 of shape (6, n), total first; answers uint64 of shape (n,)."""
    import numpy as np

    columns = values.view(np.uint64)
    result = columns[0] * np.uint64(_FACTORS[0])
    for column, factor in zip(columns[1:6], _FACTORS[1:], strict=True):
        result += column * np.uint64(factor)
    return result


class _Trail:
    """The latest records of one member in one pool: rows read one by one, or columns of stretches."""

    __slots__ = ("columns", "rows")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        # (iteration, digest, offset, line) arrays, all before `rows`
        self.columns: tuple[Any, Any, Any, Any] | None = None

    def __len__(self) -> int:
        return len(self.rows) + (0 if self.columns is None else len(self.columns[0]))

    def clear(self) -> None:
        self.rows = []
        self.columns = None

    def forget(self, before: int) -> None:
        """Drop what stands before an offset."""
        if self.rows and self.rows[0].offset < before:
            self.rows = [row for row in self.rows if row.offset >= before]
        if self.columns is not None:
            keep = int(self.columns[2].searchsorted(before))
            self.columns = tuple(column[keep:] for column in self.columns) if keep < len(self.columns[0]) else None

    def as_columns(self) -> tuple[Any, Any, Any, Any]:
        """All of it as arrays."""
        import numpy as np

        if self.columns is not None and not self.rows:
            return self.columns
        sights = [_sight(row) for row in self.rows]
        tail = [
            np.array([sight[i] for sight in sights], dtype)
            for i, dtype in enumerate((np.int64, np.uint64, np.int64, np.int64))
        ]
        if self.columns is None:
            return tail[0], tail[1], tail[2], tail[3]
        one, two, three, four = (np.concatenate(pair) for pair in zip(self.columns, tail, strict=True))
        return one, two, three, four

    def extend(self, columns: tuple[Any, Any, Any, Any]) -> None:
        """Append a stretch."""
        import numpy as np

        held = self.as_columns() if len(self) else None
        joined = columns if held is None else tuple(np.concatenate(pair) for pair in zip(held, columns, strict=True))
        self.columns = joined  # type: ignore[assignment]
        self.rows = []

    def all_sights(self) -> Iterable[Sight]:
        """All of it, one by one."""
        if self.columns is not None:
            for numbers in zip(*(column.tolist() for column in self.columns), strict=True):
                yield Sight(numbers[0], numbers[1], numbers[2], numbers[3], None)
        yield from map(_sight, self.rows)


def _sight(row: Row) -> Sight:
    return Sight(row.iteration or 0, digest(row), row.offset, row.line, row)


class _Follower:
    """What is known of one member against the first."""

    __slots__ = ("doubt", "lost", "newer", "parted", "trails")

    def __init__(self) -> None:
        self.trails: dict[str, _Trail] = {}  # what the first member was not yet compared with
        self.doubt: Divergence | None = None
        self.newer: tuple[dict[int, int], dict[int, int]] = ({}, {})  # iteration -> digest since the doubt
        self.parted: Divergence | None = None
        self.lost: Divergence | None = None

    @property
    def settled(self) -> bool:
        return self.parted is not None or self.lost is not None


class Group:
    """Peers of one run, in the order in which they first spoke."""

    __slots__ = ("_alone", "_followers", "_fresh", "_newest", "_over", "_pending", "_trails", "first", "members")

    LIMIT = 256  # rows that wait before they are compared

    def __init__(self, fresh: list[Group]) -> None:
        self._fresh = fresh
        self.members: dict[Member, None] = {}
        self.first: Member | None = None
        self._followers: dict[Member, _Follower] = {}
        self._trails: dict[str, _Trail] = {}  # of the first member
        self._pending = 0
        self._newest = 0
        self._over = False
        self._alone = 0  # records while there was one member

    @property
    def idle(self) -> bool:
        """Nothing is left to find: all members but the first are settled, or nobody else came for long."""
        followers = self._followers
        if len(self.members) == 1:
            return self._alone > ALONE
        return len(self.members) == len(followers) + 1 and all(f.settled for f in followers.values())

    def join(self, member: Member) -> None:
        """One more member: there is something to find again, from here on if all before were settled."""
        if member in self.members:
            return
        self.compare()
        if self._over:
            self._trails.clear()
            self._over = False
            self._alone = 0
        self.members[member] = None

    def unsettled(self) -> list[Member]:
        """The members that are still compared with the first."""
        return [member for member in self.members if member != self.first and not self._settled(member)]

    def _settled(self, member: Member) -> bool:
        follower = self._followers.get(member)
        return follower is not None and follower.settled

    def fits(self, members: Mapping[Member, tuple[StreamStretch, int]], pairs: Pairs) -> bool:
        """See `Ledger.fits`. members: what each has in the stretch, and the iteration that 0 stands for."""
        have = {
            (member, pool.pool): (pool, base + (int(pool.peers[0][0]) if pool.peers is not None else 0))
            for member, (part, base) in members.items()
            for pool in part.pools
        }
        if all(_is_whole(pool) for pool, _ in have.values()):
            return True
        if len(self.members) == 1 or any(follower.doubt is not None for follower in self._followers.values()):
            return False
        first = self.first
        if first is None:
            return False
        labels = {label for _, label in have}
        for other in self.unsettled():
            for label in labels:
                one, two = have.get((first, label)), have.get((other, label))
                if (one is None or _is_whole(one[0])) and (two is None or _is_whole(two[0])):
                    continue
                if one is None or two is None or one[1] - two[1] not in pairs.get((first, other, label), ()):
                    return False
        return True

    def wants(self, member: Member) -> bool:
        """Whether the records of a member are still compared."""
        return not self._over and not self._settled(member)

    def add(self, member: Member, pool: str, row: Row) -> None:
        """One busy record of a member, read by itself."""
        if self._over:
            return
        trails = self._trails_of(member)
        if trails is None:
            return
        trail = trails.get(pool)
        if trail is None:
            trail = trails[pool] = _Trail()
        trail.rows.append(row)
        if len(self.members) == 1:
            self._alone += 1
        self._newest = row.offset
        self._pending += 1
        if self._pending >= self.LIMIT:
            self.compare()

    def extend(self, member: Member, pool: str, columns: tuple[Any, Any, Any, Any], records: int) -> None:
        """A stretch of records of a member: arrays of iteration, digest, offset and line; `compare` must follow.

        records: how many it stands for.
        """
        trails = self._trails_of(member)
        if trails is None:
            return
        trail = trails.get(pool)
        if trail is None:
            trail = trails[pool] = _Trail()
        trail.extend(columns)
        if len(self.members) == 1:
            self._alone += records
        self._newest = max(self._newest, int(columns[2][-1]))

    def _trails_of(self, member: Member) -> dict[str, _Trail] | None:
        if self.first is None:
            self.first = member
        if member == self.first:
            return self._trails
        follower = self._followers.get(member)
        if follower is None:
            follower = self._followers[member] = _Follower()
        return None if follower.settled else follower.trails

    def compare(self) -> None:
        """Compare what was added since the last time, and forget what is out of reach."""
        self._pending = 0
        self._over = self.idle
        if self._over:
            return
        for member, follower in self._followers.items():
            if follower.settled:
                continue
            if follower.doubt is None:
                self._compare(member, follower)
            else:
                pool = follower.doubt.pool
                mine, trail = self._trails.get(pool), follower.trails.get(pool)
                self._watch(follower, mine or _Trail(), trail or _Trail())
                if trail is not None:
                    trail.clear()
            if follower.doubt is not None and all(len(rows) > 2 * CONFIRM for rows in follower.newer):
                self._settle(follower)
        before = self._newest - REACH
        for trail in self._trails.values():
            trail.forget(before)
        for follower in self._followers.values():
            for trail in follower.trails.values():
                trail.forget(before)

    def _compare(self, member: Member, follower: _Follower) -> None:
        """Compare the records that wait. Of all differences the one counts that could be seen first in the log, so that
        it does not matter after how many lines this is done."""
        found: list[tuple[int, str, Sight, Sight]] = []
        for pool, trail in follower.trails.items():
            mine = self._trails.get(pool)
            if mine is None or not len(trail):
                continue
            if mine.columns is None and trail.columns is None:
                pair = self._compare_rows(mine, trail)
            else:
                pair = self._compare_columns(mine, trail)
            if pair is not None:
                found.append((max(pair[0].offset, pair[1].offset), pool, *pair))
        if not found:
            return
        _, pool, first, sight = min(found, key=lambda item: item[:2])
        assert self.first is not None
        self._fresh.append(self)
        follower.doubt = Divergence(pool, sight.iteration, (self.first, member), (first, sight))
        follower.newer = ({}, {})
        trail = follower.trails[pool]
        self._watch(follower, self._trails[pool], trail)
        trail.clear()

    @staticmethod
    def _compare_rows(mine: _Trail, trail: _Trail) -> tuple[Sight, Sight] | None:
        """The first pair that differs; what was compared and is equal goes, unless there is one."""
        known = {row.iteration: row for row in mine.rows}
        waiting: list[Row] = []
        wrong: list[tuple[Row, Row]] = []
        for row in trail.rows:
            first = known.get(row.iteration)
            if first is None or abs(first.offset - row.offset) > REACH:
                waiting.append(row)
            elif not _same(first, row):
                wrong.append((first, row))
        if wrong:
            one, two = min(wrong, key=lambda pair: max(pair[0].offset, pair[1].offset))
            return _sight(one), _sight(two)
        trail.rows = waiting
        return None

    @staticmethod
    def _compare_columns(mine: _Trail, trail: _Trail) -> tuple[Sight, Sight] | None:
        import numpy as np

        ours, theirs = mine.as_columns(), trail.as_columns()
        place = np.searchsorted(ours[0], theirs[0])
        found = place < len(ours[0])
        place[~found] = 0
        found &= ours[0][place] == theirs[0]
        found &= np.abs(ours[2][place] - theirs[2]) <= REACH
        wrong = (found & (ours[1][place] != theirs[1])).nonzero()[0]
        if len(wrong):
            seen = np.maximum(ours[2][place[wrong]], theirs[2][wrong])
            at = int(wrong[int(seen.argmin())])
            iteration = int(theirs[0][at])
            return (
                next(s for s in mine.all_sights() if s.iteration == iteration),
                next(s for s in trail.all_sights() if s.iteration == iteration),
            )
        keep = ~found
        trail.rows = []
        trail.columns = tuple(column[keep] for column in theirs) if keep.any() else None
        return None

    def _watch(self, follower: _Follower, mine: _Trail, theirs: _Trail) -> None:
        """Note the newest records of both, from the doubt on."""
        assert follower.doubt is not None
        since = follower.doubt.iteration
        for side, trail in enumerate((mine, theirs)):
            rows = follower.newer[side]
            if len(rows) <= 4 * CONFIRM:
                for sight in trail.all_sights():
                    if sight.iteration >= since and len(rows) <= 4 * CONFIRM:
                        rows[sight.iteration] = sight.digest

    def _settle(self, follower: _Follower) -> None:
        """Decide whether a doubt is a difference, or the same numbers some checks apart."""
        doubt, follower.doubt = follower.doubt, None
        if doubt is None:
            return
        one, two = ({i: d for i, d in rows.items() if i <= doubt.iteration + 2 * CONFIRM} for rows in follower.newer)
        for shift in [s for n in range(1, CONFIRM + 1) for s in (n, -n)]:
            both = [i for i in one if i + shift in two]
            same = sum(one[i] == two[i + shift] for i in both)
            if same >= 3 and same * 4 >= len(both) * 3:
                follower.lost = doubt
                return
        follower.parted = doubt

    def settle(self) -> None:
        """No more records."""
        self.compare()
        for follower in self._followers.values():
            self._settle(follower)

    @property
    def parted(self) -> Divergence | None:
        """The earliest certain difference."""
        return _earliest(f.parted for f in self._followers.values())

    @property
    def lost_lines(self) -> Divergence | None:
        """The earliest place from which a member prints the same numbers some checks apart."""
        return _earliest(f.lost for f in self._followers.values())

    def doubts(self) -> Iterable[Divergence]:
        """Differences found, certain or not, whose rows may still have to be read again."""
        for follower in self._followers.values():
            for found in (follower.doubt, follower.parted, follower.lost):
                if found is not None:
                    yield found

    def tell(self, offset: int, row: Row) -> None:
        """The row that stands at an offset, read again."""
        for follower in self._followers.values():
            for name in ("doubt", "parted", "lost"):
                found: Divergence | None = getattr(follower, name)
                if found is not None:
                    one, two = found.sights
                    one = one._replace(row=row) if one.offset == offset and one.row is None else one
                    two = two._replace(row=row) if two.offset == offset and two.row is None else two
                    setattr(follower, name, found._replace(sights=(one, two)))


def _is_whole(pool: PoolStretch) -> bool:
    """Whether all records of a pool are there for comparing, not its ends alone."""
    return pool.peers is not None and len(pool.peers[0]) == pool.records


def _earliest(found: Iterable[Divergence | None]) -> Divergence | None:
    return min((f for f in found if f is not None), key=lambda f: (f.iteration, f.sights[1].line), default=None)


class Peers:
    """All groups of one source."""

    def __init__(self) -> None:
        self.groups: dict[tuple[int, str | None, str], Group] = {}
        self.fresh: list[Group] = []  # in which a difference was found whose lines may have to be read again
        self._apart: list[Member] = []
        self._split: set[tuple[int, str]] = set()

    def apart(self) -> list[Member]:
        """The members of groups that were split since the last time: their streams must ask for their group anew."""
        members, self._apart = self._apart, []
        return members

    def group_of(self, run: int, process: str | None, rank: str) -> Group | None:
        """The group a stream belongs to; None for a rank without a TP token."""
        rest, parallel = _without_tp(rank)
        if not parallel:
            return None
        if (run, rest) not in self._split:
            group = self._group((run, None, rest))
            if len(group.members) >= bounds.PEERS and (process, rank) not in group.members:
                return None
            if not any(seen_rank == rank and seen != process for seen, seen_rank in group.members):
                return self._joined(group, process, rank)
            # Two processes with the same rank: engines of their own. What was compared so far does not count.
            self._split.add((run, rest))
            self._apart += group.members
            del self.groups[(run, None, rest)]
        return self._joined(self._group((run, process or "", rest)), process, rank)

    def _group(self, key: tuple[int, str | None, str]) -> Group:
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(self.fresh)
        return group

    @staticmethod
    def _joined(group: Group, process: str | None, rank: str) -> Group:
        group.join((process, rank))
        return group

    def settle(self) -> None:
        """No more records."""
        for group in self.groups.values():
            group.settle()


def _without_tp(rank: str) -> tuple[str, bool]:
    tokens = rank.split(" ")
    rest = [token for token in tokens if not token.startswith(("TP", "EP", "MOE_DP"))]
    return " ".join(rest), any(token.startswith("TP") for token in tokens)
