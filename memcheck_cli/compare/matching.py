"""Which stream of A goes with which of B: by hand, by rank, or by the role of the rank in another parallel layout."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from memcheck_cli.compare.ranks import Role, order_of, role_of
from memcheck_cli.compare.sides import Lane, Side
from memcheck_cli.errors import UsageError

BY_HAND, BY_RANK, BY_ROLE = "map", "rank", "role"
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip", ".tar", ".tgz", ".z")


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """Two streams that are compared. by: `map`, `rank` or `role`. turn: which of the streams of this rank, from 0."""

    a: Lane
    b: Lane
    by: str
    turn: int

    @property
    def order(self) -> tuple[object, ...]:
        """A sort key that does not depend on which side is A."""
        ranks = sorted((order_of(self.a.rank), order_of(self.b.rank)))
        places = sorted((lane.place, lane.turn) for lane in (self.a, self.b))
        return (*ranks, self.turn, *places)


@dataclass(frozen=True, slots=True)
class Matching:
    """All matches, and the streams of either side that have none."""

    matches: list[Match]
    only_a: list[Lane]
    only_b: list[Lane]


def match_lanes(a: Side, b: Side, by_hand: Sequence[tuple[str, str]] = ()) -> Matching:
    """Match the streams of two sides.

    Where a rank has several streams (sources, runs, processes), those of sources of one name go together, then the
    rest in their order. The only run of one side stands beside the run of the other that breaks. by_hand: pairs of
    ranks, A's first. Raises UsageError where such a rank is on no side.
    """
    left = _by_rank(a.lanes)
    right = _by_rank(b.lanes)
    turns = {**_turns(a, b), **_turns(b, a)}
    matches: list[Match] = []

    def take(one_rank: str, two_rank: str, by: str) -> None:
        pairs, ones, twos = _paired(left[one_rank], right[two_rank], a, b, turns)
        left[one_rank], right[two_rank] = ones, twos
        matches.extend(Match(one, two, by, turn) for turn, (one, two) in enumerate(pairs))

    for one_rank, two_rank in by_hand:
        for side, rank, known in ((a, one_rank, left), (b, two_rank, right)):
            if rank not in known:
                names = ", ".join(sorted(known, key=order_of)) or "none"
                raise UsageError(f"--map names the rank '{rank}', which {side.name} does not have (it has: {names})")
        take(one_rank, two_rank, BY_HAND)
    for rank in sorted(left.keys() & right.keys(), key=order_of):
        take(rank, rank, BY_RANK)
    roles: tuple[dict[Role, list[str]], dict[Role, list[str]]] = ({}, {})
    for known, by_role in zip((left, right), roles, strict=True):
        for rank in sorted((rank for rank, lanes in known.items() if lanes), key=order_of):
            by_role.setdefault(role_of(rank), []).append(rank)
    for role in sorted(roles[0].keys() & roles[1].keys()):
        for one_rank, two_rank in zip(roles[0][role], roles[1][role], strict=False):
            take(one_rank, two_rank, BY_ROLE)
    matches.sort(key=lambda match: match.order)
    alone = [[lane for lane in side.lanes if lane in known[lane.rank]] for side, known in ((a, left), (b, right))]
    return Matching(matches, *alone)


def _by_rank(lanes: Iterable[Lane]) -> dict[str, list[Lane]]:
    found: dict[str, list[Lane]] = {}
    for lane in lanes:
        found.setdefault(lane.rank, []).append(lane)
    return found


def _turns(side: Side, other: Side) -> dict[Lane, int]:
    """Which turn the run of each stream has in its source.

    A log with restarts in it, beside a log of one run: its run that breaks first comes first, else its first one.
    """
    single = all(lane.turn == 0 for lane in other.lanes)
    broken = {lane.stream: lane.turn for lane in side.lanes}
    firsts: dict[str, int] = {}
    for found in side.analysis.breaks if single else ():
        if found.stream in broken:
            firsts.setdefault(found.source, broken[found.stream])
    turns = {}
    for lane in side.lanes:
        first = firsts.get(lane.source, 0)
        turns[lane] = 0 if lane.turn == first else lane.turn + (lane.turn < first)
    return turns


def _paired(
    ones: list[Lane], twos: list[Lane], a: Side, b: Side, turns: Mapping[Lane, int]
) -> tuple[list[tuple[Lane, Lane]], list[Lane], list[Lane]]:
    """Pair streams of one rank: sources of one name first, of these runs of one turn, then all others in order.

    Answers the pairs, and what is left of either.
    """
    pairs: list[tuple[Lane, Lane]] = []
    left, right = ones, twos
    same_processes = {lane.stream.process for lane in ones} == {lane.stream.process for lane in twos}
    keys: list[Callable[[Lane, Side], Hashable]] = []
    if len(ones) > 1 or len(twos) > 1:
        if same_processes:
            keys.append(lambda lane, side: (_inside(lane, side), turns[lane], lane.stream.process))
        keys += [
            lambda lane, side: (_inside(lane, side), turns[lane]),
            lambda lane, side: (_bare(lane.source), turns[lane]),
            lambda lane, side: turns[lane],
        ]
    keys.append(lambda lane, side: None)
    for key in keys:
        groups: dict[Hashable, deque[Lane]] = {}
        for lane in right:
            groups.setdefault(key(lane, b), deque()).append(lane)
        found = [(lane, groups[key(lane, a)].popleft()) for lane in left if groups.get(key(lane, a))]
        pairs += found
        taken = {id(lane) for pair in found for lane in pair}
        left = [lane for lane in left if id(lane) not in taken]
        right = [lane for lane in right if id(lane) not in taken]
    return pairs, left, right


def _inside(lane: Lane, side: Side) -> str:
    """The name of a source inside its side, without what the compression put behind it."""
    inside = lane.source.removeprefix(side.name).lstrip("/")
    return _without_packing(inside)


def _bare(source: str) -> str:
    return _without_packing(PurePath(source).name)


def _without_packing(name: str) -> str:
    while name.lower().endswith(_PACKED):
        name = name.rpartition(".")[0]
    return name
