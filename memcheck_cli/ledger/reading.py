"""Read a source into a ledger."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Context, Line, Message, Value

if TYPE_CHECKING:
    from memcheck_cli.sources import Source


WINDOW = 1 << 20
"""Bytes before a break whose context lines are kept."""


class Event(NamedTuple):
    """A context line near a break. kind, values: see `log.context.KINDS`. time: the server's own."""

    line: int
    offset: int
    process: str | None
    rank: str
    time: str | None
    kind: str
    values: Mapping[str, Value]


SeriesKey = tuple[int, str | None, str, str, str]
"""Run, process, rank, check and pool of a series."""


@dataclass(slots=True)
class SourceReading:
    """One source as it was read.

    lines: physical lines; records: pool texts read; rejected: tagged lines that could not be read whole; error: why
    reading stopped early or did not start, or None; ledger: None where nothing was read; around: for each series that
    stopped balancing, the context events within WINDOW bytes before its first unbalanced record, in order.
    """

    name: str
    lines: int = 0
    records: int = 0
    rejected: int = 0
    error: str | None = None
    ledger: Ledger | None = None
    around: dict[SeriesKey, list[Event]] = field(default_factory=dict)


def read_source(source: Source) -> SourceReading:
    """Read every line of a source; damage ends the reading, what came before it counts."""
    reading = SourceReading(source.name)
    try:
        stream = source.open()
    except UnreadableError as error:
        reading.error = str(error)
        return reading
    ledger = reading.ledger = Ledger(source.name)
    reader = LineReader()
    recent: deque[Event] = deque()

    def fold(line: Line, message: Message | None) -> None:
        ledger.fold(line, message)
        if isinstance(message, Context):
            event = Event(line.number, line.offset, line.process, line.rank, line.time, message.kind, message.values)
            recent.append(event)
            while recent[0].offset < line.offset - WINDOW:
                recent.popleft()
        if ledger.openings:
            _keep_around(reading, ledger, recent)

    try:
        while block := stream.read(1 << 20):
            for line, message in reader.feed(block):
                fold(line, message)
    except UnreadableError as error:
        reading.error = str(error)
    for line, message in reader.finish():
        fold(line, message)
    ledger.finish()
    _keep_around(reading, ledger, recent)
    reading.lines = reader.lines
    reading.records = ledger.records
    reading.rejected = ledger.rejected_count
    return reading


def _keep_around(reading: SourceReading, ledger: Ledger, recent: Iterable[Event]) -> None:
    """For series that just stopped balancing for the first time, keep the events before."""
    for opening in ledger.openings:
        stream = opening.stream
        key = (stream.run, stream.process, stream.rank, opening.check, opening.pool)
        if key not in reading.around:
            offset = opening.row.offset
            reading.around[key] = [event for event in recent if offset - WINDOW <= event.offset <= offset]
    ledger.openings.clear()
