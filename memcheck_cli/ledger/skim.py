"""What the fast reader reads into: the ledger, with what it needs to explain a break later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from memcheck_cli.ledger.again import KEPT, Again
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.log.records import Busy, Line, Message

if TYPE_CHECKING:
    from memcheck_cli.ledger.columns import Columns

SPAN = KEPT // 2
"""Bytes from the first record that waits to be summed up to the last: what stands before them must still be kept."""


class LedgerSink:
    """Hands lines and columns on to a ledger. again: keeps what stands before a break.

    fold: takes a line into the ledger and whatever else follows it. hint: is told once a run what a record of a process
    looks like.
    """

    def __init__(
        self,
        ledger: Ledger,
        again: Again,
        fold: Callable[[Line, Message | None], None],
        hint: Callable[[str | None, Message], None],
    ) -> None:
        self.ledger = ledger
        self.again = again
        self._fold = fold
        self._hint = hint
        self._hinted: set[tuple[int, int]] = set()  # run and reading
        self._told: set[int] = set()  # runs
        self._columns: Columns | None = None
        self._span = SPAN if again.kept else 1 << 62

    @property
    def settled(self) -> bool:
        """See `log.scan.Sink`, as the others."""
        return self.ledger.settled

    @property
    def wants_batches(self) -> bool:
        return self.ledger.wants_batches

    @property
    def wants_startup(self) -> bool:
        return self.ledger.wants_startup

    @property
    def wants_every_line(self) -> bool:
        return self.ledger.wants_every_line

    def fold(self, line: Line, message: Message | None) -> None:
        """A line, read exactly."""
        self._fold(line, message)
        if self.ledger.openings:
            self.again.keep()
        self.again.tell_peers()

    def record(
        self, rank: str, pool: str, line: int, offset: int, time: str, total: int, terms: tuple[int, ...]
    ) -> bool:
        """A whole bare busy line of the current form, not read otherwise. Answers whether it was taken."""
        ledger = self.ledger
        opened = ledger.record(rank, pool, line, offset, time, total, terms)
        if opened is None:
            return False
        run = ledger.run_number(None)
        if run not in self._told:
            self._told.add(run)
            self._hint(None, Busy("B3", ()))
        if opened:
            self.again.keep()
        return True

    def takes(self, streams: Iterable[tuple[str | None, str]]) -> bool:
        """Whether records of these streams may come as rows now."""
        return self.ledger.takes(streams)

    def rows(self, kernel: Any, batch: Any, lo: int, hi: int, base: int, lines: Any) -> None:
        """Recognised lines of a batch."""
        columns = self._columns
        if columns is None:
            from memcheck_cli.ledger.columns import Columns

            columns = self._columns = Columns(kernel)
        while lo < hi:
            if not columns.room or (columns.n and base + batch.offset[lo] - columns.offset[0] > self._span):
                self.flush()
            upto = min(hi, lo + columns.room)
            columns.append(batch, lo, upto, base, lines[: upto - lo])
            lines = lines[upto - lo :]
            lo = upto

    def flush(self) -> None:
        """Take the rows handed over so far."""
        columns = self._columns
        if columns is None or not columns.n:
            return
        from memcheck_cli.ledger.columns import summarize

        ledger = self.ledger
        for at in columns.first_of_each(lambda code: self._is_new(columns, code)):
            self._hint(*columns.message(at))
        stretch = summarize(columns, ledger.peered)
        if stretch is None:
            for at in range(columns.n):
                process, rank = columns.kernel.streams[int(columns.stream[at])]
                ledger.add(process, rank, columns.kernel.pools[int(columns.pool[at])], columns.row(at))
                if ledger.openings:
                    self.again.keep()
        else:
            ledger.take(stretch)
            if ledger.openings:
                self.again.keep()
        self.again.tell_peers()
        columns.n = 0

    def _is_new(self, columns: Columns, code: int) -> bool:
        key = (self.ledger.run_number(columns.kernel.readings[code].process), code)
        if key in self._hinted:
            return False
        self._hinted.add(key)
        return True

    def finish(self) -> None:
        """No more lines."""
        self.ledger.finish()
        self.again.keep()
        self.again.tell_peers()
