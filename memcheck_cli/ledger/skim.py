"""What the fast reader reads into: the ledger, with what it needs to explain a break later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from memcheck_cli.ledger.book import Ledger, Opening
from memcheck_cli.ledger.window import WINDOW, Window
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy, Line, Message

if TYPE_CHECKING:
    from memcheck_cli.ledger.columns import Columns
    from memcheck_cli.ledger.reading import SourceReading

Fetch = Callable[[int, int], tuple[bytes, int]]
"""Source bytes from one offset to another, as far as they can still be had, and the offset they begin at."""

LONGEST_RECORD = 1 << 16


class LedgerSink:
    """Hands lines and columns on to a ledger. fetch: reads bytes again that were passed over.

    fold: takes a line into the ledger and whatever else follows it. hint: is told once a run what a record of a process
    looks like.
    """

    def __init__(
        self,
        reading: SourceReading,
        ledger: Ledger,
        fetch: Fetch,
        fold: Callable[[Line, Message | None], None],
        hint: Callable[[str | None, Message], None],
    ) -> None:
        self.ledger = ledger
        self.window = Window()
        reading.around = self.window.kept
        self._fetch = fetch
        self._fold = fold
        self._hint = hint
        self._hinted: set[tuple[int, int]] = set()  # run and reading
        self._columns: Columns | None = None
        self._seen_to = 0  # the window holds what stands before this offset

    @property
    def wants_batches(self) -> bool:
        """See `log.scan.Sink`, as the others."""
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
            self.keep()
        self._tell_peers()

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
            if not columns.room:
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
                    self.keep()
        else:
            ledger.take(stretch)
            if ledger.openings:
                self.keep()
        self._tell_peers()
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
        self.keep()
        self._tell_peers()

    def keep(self) -> None:
        """Fill the window with what stands before the records that opened a break, and keep it."""
        openings = self.ledger.openings
        for opening in openings:
            if self.window.wants(opening):
                self._fill(opening)
                self.window.keep([opening])
        openings.clear()

    def _fill(self, opening: Opening) -> None:
        row = opening.row
        since = max(0, row.offset - WINDOW)
        if since > self._seen_to or row.offset < self._seen_to:
            self.window.clear()
        else:
            since = self._seen_to
        text, at = self._fetch(since, row.offset)
        if at > 0 and at != self._seen_to:
            # The first line is only half there.
            cut = text.find(b"\n") + 1
            text, at = text[cut:], at + cut
        reader = LineReader(line=row.line - 1 - text.count(b"\n"), offset=at)
        for line, message in reader.feed(text):
            self.window.add(line, message)
        self._seen_to = row.offset

    def _tell_peers(self) -> None:
        """Read the lines again in which peers were found to differ."""
        for group in self.ledger.peers.groups.values():
            if not group.fresh:
                continue
            group.fresh = False
            for found in list(group.doubts()):
                for sight in found.sights:
                    if sight.row is None:
                        self._tell(group, sight.offset, sight.line)

    def _tell(self, group: Any, offset: int, number: int) -> None:
        text, at = self._fetch(offset, offset + LONGEST_RECORD)
        if at != offset:
            return
        reader = LineReader(line=number - 1, offset=offset)
        for line, message in reader.feed(text):
            # A record in several wrapped parts has the place of its first part.
            if isinstance(message, Busy) and message.pools and line.number == number:
                group.tell(offset, self.ledger.row_of(line, message, message.pools[0]))
                return
