"""A stretch: busy records of many lines, summed up, that the ledger takes in one step.

Made from columns by `columns.summarize`. It holds for every stream how many checks it opens and for every pool the runs
of equal balance, so its size depends on what happens in it and not on how many lines it stands for. Iterations in it
count from 0, the check that was open when it began.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memcheck_cli.ledger.rows import Combination, Row, Segment, Series


class Piece(NamedTuple):
    """Consecutive records of one balance; see `rows.Segment`. witness: the last balanced record before, inside."""

    balance: int
    status: str
    first: Row
    last: Row
    rows: int
    witness: Row | None


class PoolStretch(NamedTuple):
    """The records of one pool.

    first_total: of the first record, None where none is printed. total_changed: the first record with another total.
    odd: the first record with a term below zero and the first with one above the total, with term and value.
    extra: names of further terms; closing: the signed combinations of them under which every record balances.
    peers: arrays of iteration, digest, offset and line, or None without peers; of the first and last `EDGE` records
    only where the others were compared already. rows: arrays of places in the columns and of iteration, where they were
    asked for.
    """

    pool: str
    records: int
    unbalanced: int
    pieces: list[Piece]
    first_total: int | None
    total_changed: Row | None
    odd: tuple[tuple[Row, str, int], ...]
    last_balanced: Row | None
    extra: tuple[str, ...] | None
    closing: set[Combination] | None
    peers: tuple[Any, Any, Any, Any] | None
    rows: tuple[Any, Any] | None = None


class StreamStretch(NamedTuple):
    """What one stream does in a stretch.

    checks: checks it opens, not counting its first record where that may belong to the open check (`joins` names its
    pool then). open_after: the pools of the check that is open at the end.
    """

    process: str | None
    rank: str
    joins: str | None
    checks: int
    open_after: frozenset[str]
    pools: list[PoolStretch]
    last: tuple[str, Row]


Stretch = list[StreamStretch]

Pairs = dict[tuple[tuple[str | None, str], tuple[str | None, str], str], frozenset[int]]
"""For the first member of a group of peers, another one and a pool: by how many records the two may stand apart in a
stretch so that all of them are equal that belong to one check."""

EDGE = 8
"""Records at each end of a stretch that are kept for comparing with those of other stretches."""


def placed(row: Row, base: int, lines: int) -> Row:
    """A row of a stretch as the ledger keeps it. base: the iteration that 0 stands for; lines: those before."""
    line, offset, iteration, time, total, terms, extra, marks, form, cut, check = row
    return Row(line + lines, offset, base + (iteration or 0), time, total, terms, extra, marks, form, cut, check)


def take_pool(series: Series, pool: PoolStretch, base: int, lines: int, before: Row | None) -> list[Row]:
    """Add a pool's records to its series. base, lines: see `placed`; before: the last balanced record so far. Answers
    the rows that open a segment that does not balance."""

    if pool.first_total is None:
        series.open_total = True
    else:
        changed = pool.pieces[0].first if pool.first_total != series.first_total else pool.total_changed
        if series.first_total is None:
            series.first_total = pool.first_total
            changed = pool.total_changed
        if changed is not None and changed.total is not None:
            series.saw_total(placed(changed, base, lines), changed.total)
    for row, name, value in pool.odd:
        series.saw_odd_term(placed(row, base, lines), name, value, row.total or 0)
    if pool.extra is not None or series.combinations is not None:
        series.keep_closing(pool.extra or (), pool.closing, pool.unbalanced)
    series.records += pool.records
    series.unbalanced += pool.unbalanced
    opened = []
    for piece in pool.pieces:
        row = placed(piece.first, base, lines)
        if series.extend(piece.balance, piece.status, row, placed(piece.last, base, lines), piece.rows):
            segment: Segment = series.segments[-1]
            segment.witness = before if piece.witness is None else placed(piece.witness, base, lines)
            opened.append(row)
    return opened
