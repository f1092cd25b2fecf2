"""Read a source into a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.ledger.rows import Row
from memcheck_cli.ledger.stream import Stream
from memcheck_cli.ledger.window import WINDOW, Around, Event, SeriesKey, Window
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Context, Line, Message

if TYPE_CHECKING:
    from io import RawIOBase

    from memcheck_cli.log.release_hints import ReleaseHints
    from memcheck_cli.sources import Part, Source

__all__ = ["WINDOW", "Around", "Event", "Flush", "Observer", "SeriesKey", "SourceReading", "read_source"]

BLOCK = 1 << 20
MOST_FLUSHES = 10_000


class Flush(NamedTuple):
    """A line that says that the cache was flushed: the accounting of its run starts anew."""

    run: int
    process: str | None
    rank: str
    line: int


class Observer(Protocol):
    """Is told of every record that counts and of every context line: what trends are drawn from.

    A reader that leaves lines out must not be used while somebody observes.
    """

    def record(self, stream: Stream, check: str, pool: str, row: Row, /) -> None:
        """One record, as it is counted; see `ledger.stream.Watcher`."""

    def context(self, run: int, line: Line, message: Context, /) -> None:
        """One context line of a run."""


@dataclass(slots=True)
class SourceReading:
    """One source as it was read.

    lines: physical lines; records: pool texts read; rejected: tagged lines that could not be read whole; error: why
    reading stopped early or did not start, or None; ledger: None where nothing was read; around: for each series that
    stopped balancing, what stands before its first unbalanced records and before its last one; hints: by run, which
    releases its lines fit; flushes: the first of the cache flushes, in order; parts: of a rotated set, its members
    with the lines before each, else empty.
    """

    name: str
    lines: int = 0
    records: int = 0
    rejected: int = 0
    error: str | None = None
    ledger: Ledger | None = None
    around: dict[SeriesKey, list[Around]] = field(default_factory=dict)
    hints: dict[int, ReleaseHints] = field(default_factory=dict)
    flushes: list[Flush] = field(default_factory=list)
    parts: list[tuple[str, int]] = field(default_factory=list)

    def place(self, line: int) -> tuple[str | None, int]:
        """Where a line stands: the member of a rotated set (None for any other source) and the line in it."""
        member, before = None, 0
        for name, lines in self.parts:
            if lines >= line:
                break
            member, before = name, lines
        return member, line - before


def read_source(source: Source, observer: Observer | None = None) -> SourceReading:
    """Read every line of a source; damage ends the reading, what came before it counts."""
    from memcheck_cli.log.release_hints import ReleaseHints

    reading = SourceReading(source.name)
    try:
        stream = source.open()
    except UnreadableError as error:
        reading.error = str(error)
        return reading
    ledger = reading.ledger = Ledger(source.name, observer.record if observer is not None else None)
    reader = LineReader()
    window = Window()
    reading.around = window.kept

    def fold(line: Line, message: Message | None) -> None:
        # Only lines that every reader gives may narrow the release; others count where they stand before a break.
        heeded = message is not None and (not isinstance(message, Context) or ledger.heeds(message))
        ledger.fold(line, message)
        if message is not None:
            window.add(line, message)
            run = ledger.run_number(line.process)
            if heeded:
                hints = reading.hints.get(run)
                if hints is None:
                    hints = reading.hints[run] = ReleaseHints()
                hints.add(message, line.text)
            if isinstance(message, Context):
                if message.kind == "flush" and len(reading.flushes) < MOST_FLUSHES:
                    reading.flushes.append(Flush(run, line.process, line.rank, line.number))
                if observer is not None:
                    observer.context(run, line, message)
        if ledger.openings:
            window.keep(ledger.openings)
            ledger.openings.clear()

    try:
        for block, part in blocks_of(source, stream):
            if part is not None:
                for line, message in reader.end_of_part():
                    fold(line, message)
                reading.parts.append((part.name, reader.lines))
            for line, message in reader.feed(block):
                fold(line, message)
    except UnreadableError as error:
        reading.error = str(error)
    for line, message in reader.finish():
        fold(line, message)
    ledger.finish()
    window.keep(ledger.openings)
    ledger.openings.clear()
    reading.lines = reader.lines
    reading.records = ledger.records
    reading.rejected = ledger.rejected_count
    return reading


def blocks_of(source: Source, stream: RawIOBase) -> Iterator[tuple[bytes, Part | None]]:
    """The text of a source in blocks, cut where a member of a rotated set begins: such a block has that member.

    The line end that was put behind a member without one is left out, so that its last line is told to be cut.
    """
    offset = 0
    known = 0
    while block := stream.read(BLOCK):
        end = offset + len(block)
        at = 0
        while source.members and known < len(source.parts) and source.parts[known].offset < end:
            part = source.parts[known]
            cut = max(at, part.offset - offset - (1 if part.after_cut and known else 0))
            if cut > at:
                yield block[at:cut], None
            at = max(at, part.offset - offset)
            yield b"", part
            known += 1
        yield block[at:] if at else block, None
        offset = end
