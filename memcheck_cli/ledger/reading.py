"""Read a source into a ledger."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.again import Again, Passed
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.ledger.pieces import BLOCK, Piece, Pieces, blocks_of
from memcheck_cli.ledger.progress import Progress, Waiting, interrupted
from memcheck_cli.ledger.rows import Row
from memcheck_cli.ledger.skim import InColumns, LedgerSink
from memcheck_cli.ledger.stream import Stream
from memcheck_cli.ledger.window import WINDOW, Around, Event, SeriesKey
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy, Context, Line, Message, PoolText
from memcheck_cli.log.scan import HEAD, NEVER, Scanner

if TYPE_CHECKING:
    from io import RawIOBase

    from memcheck_cli.ledger.columns import Said
    from memcheck_cli.ledger.parallel import Splitting
    from memcheck_cli.ledger.rejects import Rejecting
    from memcheck_cli.log.release_hints import ReleaseHints
    from memcheck_cli.sources import Source

__all__ = ["WINDOW", "Around", "Event", "Flush", "Observer", "SeriesKey", "SourceReading", "read_source"]

MOST_FLUSHES = 10_000

BUSY_WORDS = ("[Mem Check (BUSY", "vailable")
"""What every busy record holds, whatever stands before it."""


class Flush(NamedTuple):
    """A line that says that the cache was flushed: the accounting of its run starts anew."""

    run: int
    process: str | None
    rank: str
    line: int


class Observer(Protocol):
    """Is told of every record that counts, and of context lines: what trends are drawn from.

    markers: every context line that matters to it holds one of these; it may be told of others. One that is `InColumns`
    too is told of many records at once where they are dense.
    """

    markers: tuple[bytes, ...]

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
    with the lines before each, else empty. strange: lines that hold the text of a busy record behind a head that is not
    known, and were not read; strange_line: the first of them.
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
    strange: int = 0
    strange_line: int | None = None

    def place(self, line: int) -> tuple[str | None, int]:
        """Where a line stands: the member of a rotated set (None for any other source) and the line in it."""
        member, before = None, 0
        for name, lines in self.parts:
            if lines >= line:
                break
            member, before = name, lines
        return member, line - before


def read_source(
    source: Source,
    observer: Observer | None = None,
    *,
    exact: bool = False,
    rejects: Rejecting | None = None,
    block: int = BLOCK,
    kernel_from: int | None = None,
    head: int = HEAD,
    lines_before: int = 0,
    splitting: Splitting | None = None,
    progress: Progress | None = None,
) -> SourceReading:
    """Read a source; damage ends the reading, what came before it counts.

    observer: is told of records and context lines. exact: read every line. rejects: is told of every rejected line.
    block: bytes read at once. kernel_from: busy lines that are read one by one before columns are made of them, None
    to decide by what pays. head: bytes at the beginning of which every line is read. lines_before: of the log that
    the source is a piece of: lines are counted on from there, in `lines` too. splitting: how several processes share
    a large file, None for this one alone. progress: is told how far it came, and may stop it.
    """
    reading = SourceReading(source.name)
    try:
        stream = source.open()
    except UnreadableError as error:
        reading.error = str(error)
        return reading
    reading.ledger = Ledger(source.name, observer.record if observer is not None else None, head)
    progress = progress or Progress()
    stream = Waiting(stream, progress)
    with closing(stream):
        if exact:
            _read_every_line(reading, source, stream, observer, rejects, lines_before, progress)
        else:
            how = _How(kernel_from, head, lines_before, progress, splitting if observer is None else None)
            _skim(reading, Pieces(source, stream, block), observer, rejects, how)
    reading.records = reading.ledger.records
    reading.rejected = reading.ledger.rejected_count
    return reading


class _How(NamedTuple):
    """How to skim: see `read_source`."""

    kernel_from: int | None
    head: int
    lines_before: int
    progress: Progress
    splitting: Splitting | None


def _tell_rejects(reading: SourceReading, ledger: Ledger, passed: Passed, rejects: Rejecting) -> None:
    from memcheck_cli.ledger.rejects import Reject, physical

    def tell(line: Line, reason: str) -> None:
        member, number = reading.place(line.number)
        rejects(Reject(member or reading.name, number, reason, physical(passed, line)))

    ledger.rejecting = tell


def _fold(reading: SourceReading, ledger: Ledger, line: Line, message: Message | None) -> None:
    """Take a line into the ledger, and into what else is told of a run."""
    if line.offset < ledger.head:
        ledger.saw(line)
    if message is not None:
        if not isinstance(message, Busy) and not ledger.heeds(line, message):
            ledger.fold(line, None)
            return
        ledger.fold(line, message)
        run = ledger.run_number(line.process)
        _hint(reading, run, message, line.text)
        if isinstance(message, Context) and message.kind == "flush" and len(reading.flushes) < MOST_FLUSHES:
            reading.flushes.append(Flush(run, line.process, line.rank, line.number))
    else:
        ledger.fold(line, None)
        if all(word in line.text for word in BUSY_WORDS):
            reading.strange += 1
            reading.strange_line = reading.strange_line or line.number


def _hint(reading: SourceReading, run: int, message: Message, text: str) -> None:
    hints = reading.hints.get(run)
    if hints is None:
        from memcheck_cli.log.release_hints import ReleaseHints

        hints = reading.hints[run] = ReleaseHints()
    hints.add(message, text)


def _read_every_line(
    reading: SourceReading,
    source: Source,
    stream: RawIOBase,
    observer: Observer | None,
    rejects: Rejecting | None,
    lines_before: int,
    progress: Progress,
) -> None:
    """The exact way: what the fast one is held to."""
    ledger = reading.ledger
    assert ledger is not None
    reader = LineReader(line=lines_before)
    passed = Passed(source)
    again = Again(ledger, passed)
    reading.around = again.window.kept
    if rejects is not None:
        _tell_rejects(reading, ledger, passed, rejects)

    def fold(line: Line, message: Message | None) -> None:
        _fold(reading, ledger, line, message)
        if observer is not None and isinstance(message, Context):
            observer.context(ledger.run_number(line.process), line, message)
        if ledger.openings:
            again.keep()

    offset = 0
    try:
        for block, part in blocks_of(source, stream):
            if part is not None:
                for line, message in reader.end_of_part():
                    fold(line, message)
                reading.parts.append((part.name, reader.lines))
                reader.offset = offset = part.offset
            if passed.kept:
                passed.keep(offset, block)
            offset += len(block)
            for line, message in reader.feed(block):
                fold(line, message)
            progress.passed(offset, ledger)
            if progress.stopped:
                reading.error = interrupted(offset)
                break
    except UnreadableError as error:
        reading.error = str(error)
    except KeyboardInterrupt:
        if not progress.stopped:
            raise
        reading.error = interrupted(offset)
    for line, message in reader.finish():
        fold(line, message)
    ledger.finish()
    again.keep()
    passed.close()
    reading.lines = reader.lines


def _skim(
    reading: SourceReading, pieces: Pieces, observer: Observer | None, rejects: Rejecting | None, how: _How
) -> None:
    """The fast way."""
    ledger = reading.ledger
    assert ledger is not None

    def fold(line: Line, message: Message | None) -> None:
        _fold(reading, ledger, line, message)
        if isinstance(message, Context):
            context(line, message)

    def context(line: Line, message: Context) -> None:
        if observer is not None:
            observer.context(ledger.run_number(line.process), line, message)

    def hint(said: Said) -> None:
        process, form, names = said
        message = Busy(form, (PoolText("", None, {}, dict.fromkeys(names, 0)),))
        _hint(reading, ledger.run_number(process), message, "")

    again = Again(ledger, pieces.passed)
    reading.around = again.window.kept
    if rejects is not None:
        _tell_rejects(reading, ledger, pieces.passed, rejects)
    in_columns = observer if isinstance(observer, InColumns) else None
    ledger.told_in_columns = in_columns is not None
    observed = observer.markers if observer is not None else ()
    sink = LedgerSink(ledger, again, fold, hint, observed, context, in_columns)
    source, progress = pieces.source, how.progress
    kernel_from = NEVER if observer is not None and in_columns is None else how.kernel_from
    scanner = Scanner(sink, kernel_from, how.head, None if source.members else source.size)
    scanner.reader.lines = how.lines_before
    splitting = how.splitting if how.splitting is not None and how.splitting.suits(source) else None
    at = 0

    def passed(piece: Piece) -> bool:
        """Read a piece; answers whether to stop behind it."""
        nonlocal at
        if piece.part is not None:
            reading.parts.append((piece.part.name, scanner.lines))
            return False
        pieces.hand_to(scanner, piece)
        at = piece.base + piece.start + (piece.size or piece.stop - piece.start)
        progress.passed(at, ledger)
        return progress.stopped

    try:
        for piece in pieces:
            if passed(piece):
                break
            if splitting is not None and piece.whole and at >= how.head and (ledger.settled or at > splitting.patience):
                wanted = scanner.wanted()
                if b"" not in wanted and not ledger.wants_batches:
                    at = splitting.read(scanner, sink, pieces, at, wanted, progress)
                    for rest in () if progress.stopped else pieces.of_range(at, None):
                        if passed(rest):
                            break
                    break
        if progress.stopped:
            reading.error = interrupted(at)
    except UnreadableError as error:
        reading.error = str(error)
    except KeyboardInterrupt:
        if not progress.stopped:
            raise
        reading.error = interrupted(at)
    scanner.finish()
    sink.finish()
    pieces.passed.close()
    reading.lines = scanner.lines
