"""Stretches of records compared with those of peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memcheck_cli.ledger.peers import Group, Member
from memcheck_cli.ledger.stretch import EDGE, Pairs, StreamStretch


class Peered(NamedTuple):
    """What a stretch holds of a stream that has peers. base: the iteration that 0 stands for in it."""

    group: Group
    member: Member
    part: StreamStretch
    base: int


def all_fit(peered: Sequence[Peered], pairs: Pairs) -> bool:
    """Whether a stretch with only the ends of its records left for comparing may be taken: the rest was compared with
    the same peers, and they stand as far apart as it takes for all of them to be equal."""
    groups: dict[int, tuple[Group, dict[Member, tuple[StreamStretch, int]]]] = {}
    for one in peered:
        if not one.group.idle:
            members = groups.setdefault(id(one.group), (one.group, {}))[1]
            members[one.member] = (one.part, one.base)
    return all(group.fits(members, pairs) for group, members in groups.values())


def compare(peered: Sequence[Peered], lines: int) -> None:
    """Compare records of a stretch with those of peers: all of them, or those at its ends one end after the other.
    lines: those before the stretch's first line."""
    for end in (slice(EDGE), slice(EDGE, None)):
        groups = []
        for group, member, part, base in peered:
            for pool in part.pools:
                if pool.peers is None:
                    continue
                iteration, digest, offset, line = pool.peers
                records = pool.records if end.stop else 0
                if len(iteration) < pool.records:
                    iteration, digest, offset, line = (column[end] for column in pool.peers)
                elif end.stop is None:
                    continue
                if len(iteration):
                    columns = (iteration + base, digest, offset, line + lines)
                    group.extend(member, pool.pool, columns, records)
                    if group not in groups:
                        groups.append(group)
        for group in groups:
            group.compare()
