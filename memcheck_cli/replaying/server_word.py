"""What the server itself concluded from a record, as the rest of its log shows.

It *failed* a record when its assertion or report stands behind it, *passed* it when a later check of that rank shows
that the process lived on (its asserts on), and otherwise it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memcheck_cli.ledger import Row, Stream
from memcheck_cli.ledger.rows import SESSION_UNPRINTED
from memcheck_cli.ledger.stream import Asserted
from memcheck_cli.replaying.judgements import sum_breaks

FAILED, PASSED, UNKNOWN = "failed", "passed", "unknown"

Rows = Sequence[tuple[str, Row]]


def completed(stream: Stream, rows: Rows) -> list[tuple[str, Row]]:
    """The records of a busy check, with the session_held that only the assertion behind one shows."""
    unprinted = [known for known in stream.asserted if known.unprinted]
    return [
        (pool, next((row.with_unprinted(k.unprinted) for k in unprinted if _completes(k, pool, row)), row))
        for pool, row in rows
    ]


def _completes(known: Asserted, pool: str, row: Row) -> bool:
    return (
        known.pool == pool
        and known.line > row.line
        and SESSION_UNPRINTED in row.marks
        and known.accounted == row.accounted + known.unprinted
    )


def failed_pools(stream: Stream, rows: Rows) -> set[str]:
    """The pools of a busy check whose record an assertion of the server repeats."""
    return {pool for pool, row in rows if _asserted(stream, pool, row)}


def _asserted(stream: Stream, pool: str, row: Row) -> bool:
    """An assertion of the server repeats this record."""
    return any(
        known.pool == pool
        and known.line > row.line
        and known.accounted == row.accounted
        and (row.total is None or known.total == row.total)
        for known in stream.asserted
    )


def busy_words(stream: Stream, rows: Rows, failed: set[str], lived: bool) -> Mapping[str, str]:
    """The server's word on each pool of a busy check. lived: a later check (or a page report behind this one) was
    printed."""
    return {pool: _busy_word(stream, pool, row, failed, lived) for pool, row in rows}


def idle_words(rows: Rows) -> Mapping[str, str]:
    """The server's word on each pool of an idle report: all pools are listed, so it speaks of the broken ones, or of
    all where none is."""
    broken = {pool for pool, row in rows if sum_breaks(row)}
    return {pool: FAILED if pool in broken or not broken else UNKNOWN for pool, _ in rows}


def _busy_word(stream: Stream, pool: str, row: Row, failed: set[str], lived: bool) -> str:
    if pool in failed:
        return FAILED
    if failed:
        # Full is asserted before SWA: an SWA assertion shows that full had passed, not the other way round.
        return PASSED if pool == "full" and "swa" in failed else UNKNOWN
    if stream.burst.repeated and sum_breaks(row):
        return FAILED  # asserts are off, and the ring is dumped at every leak
    return PASSED if lived else UNKNOWN
