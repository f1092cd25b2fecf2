"""Page sizes that the numbers allow, and the sets of pages or slots that the checker printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import NamedTuple

from memcheck_cli.ledger.rows import Row

COMMON = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Page sizes, in tokens, that people run with."""

SAMPLE = 8
"""Ids of a printed set that are shown."""


def fitting_sizes(numbers: Iterable[int | None]) -> tuple[int, ...]:
    """The common page sizes that divide every number seen (None and 0 say nothing); empty where none was seen."""
    divisor = 0
    for number in numbers:
        divisor = gcd(divisor, abs(number or 0))
    return tuple(size for size in COMMON if divisor % size == 0) if divisor else ()


class PrintedSet(NamedTuple):
    """One set that the checker printed with its reports, such as `leaked_full_pages`.

    size: of the set in the last report of the own rank. same_in_reports, same_on_ranks: None where there is only one.
    new: ids of the last report that the first did not have. lines: of the reports.
    """

    name: str
    size: int
    sample: tuple[int, ...]
    reports: int
    same_in_reports: bool | None
    ranks: int
    same_on_ranks: bool | None
    new: tuple[int, ...]
    lines: tuple[int, ...]


def printed_sets(own: Sequence[Row], others: Sequence[Row]) -> list[PrintedSet]:
    """The sets in the reports of one series (first to last), compared with those of other ranks."""
    found = []
    names = dict.fromkeys(name for row in own for name, value in (row.extra or {}).items() if _is_set(name, value))
    for name in names:
        seen = [(row.line, ids) for row in own if (ids := _ids(row, name)) is not None]
        peers = [(row.line, ids) for row in others if (ids := _ids(row, name)) is not None]
        if not seen:
            continue
        first, last = seen[0][1], seen[-1][1]
        found.append(
            PrintedSet(
                name,
                len(last),
                tuple(sorted(last)[:SAMPLE]),
                len(seen),
                all(ids == first for _, ids in seen) if len(seen) > 1 else None,
                1 + len(peers),
                all(ids == first for _, ids in peers) if peers else None,
                tuple(sorted(last - first)[:SAMPLE]),
                tuple(dict.fromkeys([seen[0][0], seen[-1][0], *(line for line, _ in peers[:3])])),
            )
        )
    return found


def _is_set(name: str, value: object) -> bool:
    return isinstance(value, list) and ("leaked" in name or name in ("sample_pages", "duplicate_slot_ids"))


def _ids(row: Row, name: str) -> frozenset[int] | None:
    value = (row.extra or {}).get(name)
    if not isinstance(value, list):
        return None
    return frozenset(item for item in value if isinstance(item, int))
