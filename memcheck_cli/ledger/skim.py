"""What the fast reader reads into: the ledger, with what it needs to explain a break later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from memcheck_cli.ledger.again import KEPT, Again
from memcheck_cli.ledger.bare_records import BareRecords, Printed
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.log.batch_lines import BatchValues, form_of_batch
from memcheck_cli.log.context import BATCH_MARKERS
from memcheck_cli.log.prefixes import rank_of, time_of
from memcheck_cli.log.records import Context, Line, Message
from memcheck_cli.log.scan import Sink

if TYPE_CHECKING:
    import re

    from memcheck_cli.ledger.chunks import Rows
    from memcheck_cli.ledger.columns import Columns, Said, Taken
    from memcheck_cli.ledger.stream import Stream
    from memcheck_cli.ledger.stretch import Stretch

SPAN = KEPT // 2
"""Bytes from the first record that waits to be summed up to the last: what stands before them must still be kept."""


@runtime_checkable
class InColumns(Protocol):
    """Is told of busy records many at a time, between those that it is told of one by one."""

    def has_room(self, records: int, /) -> bool:
        """Whether so many more may come as columns; where not, they come one by one."""

    def columns(self, stream: Stream, pool: str, taken: Taken, /) -> None:
        """Records of one pool of a stream, behind all that it was told of."""


_BARE: Said = (None, "B3", ())


class LedgerSink(Sink):
    """Hands lines and columns on to a ledger. again: keeps what stands before a break.

    fold: takes a line into the ledger and whatever else follows it. hint: is told once a run what its records say of
    the release. observed: what the lines hold that somebody who observes wants besides; context: is told of batch lines
    among them that are not folded. in_columns: takes records that are told as columns, None where all must be told one
    by one.
    """

    def __init__(
        self,
        ledger: Ledger,
        again: Again,
        fold: Callable[[Line, Message | None], None],
        hint: Callable[[Said], None],
        observed: tuple[bytes, ...] = (),
        context: Callable[[Line, Context], None] | None = None,
        in_columns: InColumns | None = None,
    ) -> None:
        super().__init__(ledger)
        self._observed = observed
        self._context = context if set(BATCH_MARKERS) <= set(observed) else None
        self.ledger = ledger
        self.again = again
        self._fold = fold
        self._hint = hint
        self._hinted: set[tuple[int, Said]] = set()  # by run
        self._bare = BareRecords(ledger)
        self._columns: Columns | None = None
        self._in_columns = in_columns
        self._span = SPAN if again.kept else 1 << 62

    @property
    def observed(self) -> tuple[bytes, ...]:
        """See `Sink`, as the others."""
        return self._observed

    def fold(self, line: Line, message: Message | None) -> None:
        """A line, read exactly."""
        self._fold(line, message)
        if self.ledger.openings:
            self.again.keep()
        self.again.tell_peers()

    def records(self, printed: Sequence[Printed], line: int) -> int:
        """Whole bare busy lines of the current form, of which `line` is the first. Answers how many were taken."""
        taken = self._bare.take(printed, line)
        self.hint(_BARE)
        if self.ledger.openings:
            self.again.keep()
        return taken

    @property
    def tells_batches(self) -> bool:
        return self._context is not None and not self.ledger.wants_batches

    def batch(self, printed: re.Match[bytes], line: int, offset: int) -> None:
        """A whole bare batch line that is only told."""
        assert self._context is not None
        when, tokens, message, _ = printed.groups()
        text = message.decode("ascii")
        kind, form = form_of_batch(text)
        told = Line(line, offset, None, rank_of(tokens), time_of(when), True, text)
        self._context(told, Context(form, kind, BatchValues(text)))

    def takes(self, streams: Iterable[tuple[str | None, str]]) -> bool:
        """Whether records of these streams may come as rows now."""
        return self.ledger.takes(streams)

    def rows(self, kernel: Any, batch: Any, lo: int, hi: int, base: int, lines: Any) -> None:
        """Recognised lines of a batch."""
        columns = self._columns
        if columns is None:
            from memcheck_cli.ledger.columns import Columns

            columns = self._columns = Columns(kernel, span=self._span)
        columns.extend(batch, lo, hi, base, lines, self.flush)

    def take(self, rows: Rows, lines: int) -> bool:
        """Records that another process summed up; lines: those before its chunk. Answers False where the records must
        be read again."""
        ledger = self.ledger
        stretch = rows.stretch
        if stretch is None or rows.quoted or not ledger.takes((part.process, part.rank) for part in stretch):
            return False
        if not ledger.fits(stretch, rows.pairs):
            return False
        for said in rows.said:
            self.hint(said)
        ledger.take(stretch, lines)
        if ledger.openings:
            self.again.keep()
        self.again.tell_peers()
        return True

    def flush(self) -> None:
        """Take the rows handed over so far."""
        columns = self._columns
        if columns is None or not columns.n:
            return
        from memcheck_cli.ledger.columns import summarize

        ledger = self.ledger
        for said in columns.said():
            self.hint(said)
        told = self._in_columns
        stretch = None
        if told is None or told.has_room(columns.n):
            stretch = summarize(columns, ledger.peered, told is not None)
        if stretch is None:
            for at in range(columns.n):
                process, rank = columns.kernel.streams[int(columns.stream[at])]
                ledger.add(process, rank, columns.kernel.pools[int(columns.pool[at])], columns.row(at))
                if ledger.openings:
                    self.again.keep()
        else:
            if told is not None:
                self._tell(told, columns, stretch)
            ledger.take(stretch)
            if ledger.openings:
                self.again.keep()
        self.again.tell_peers()
        columns.n = 0

    def _tell(self, told: InColumns, columns: Columns, stretch: Stretch) -> None:
        """Tell of the records of a stretch before it is taken."""
        from memcheck_cli.ledger.columns import taken_of

        for part in stretch:
            stream = self.ledger.stream_of(part.process, part.rank)
            base = stream.base_of(part)
            for pool in part.pools:
                told.columns(stream, pool.pool, taken_of(columns, pool, base))

    def hint(self, said: Said) -> None:
        """What a record tells of the release of its run."""
        key = (self.ledger.run_number(said[0]), said)
        if key not in self._hinted:
            self._hinted.add(key)
            self._hint(said)

    def finish(self) -> None:
        """No more lines."""
        self.ledger.finish()
        self.again.keep()
        self.again.tell_peers()
