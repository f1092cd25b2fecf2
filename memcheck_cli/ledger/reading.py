"""Read a source into a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.log.reader import LineReader

if TYPE_CHECKING:
    from memcheck_cli.sources import Source


@dataclass(slots=True)
class SourceReading:
    """One source as it was read.

    lines: physical lines; records: pool texts read; rejected: tagged lines that could not be read whole; error: why
    reading stopped early or did not start, or None; ledger: None where nothing was read.
    """

    name: str
    lines: int = 0
    records: int = 0
    rejected: int = 0
    error: str | None = None
    ledger: Ledger | None = None


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
    try:
        while block := stream.read(1 << 20):
            for line, message in reader.feed(block):
                ledger.fold(line, message)
    except UnreadableError as error:
        reading.error = str(error)
    for line, message in reader.finish():
        ledger.fold(line, message)
    ledger.finish()
    reading.lines = reader.lines
    reading.records = ledger.records
    reading.rejected = ledger.rejected_count
    return reading
