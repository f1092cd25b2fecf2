"""The last lines that were read, kept so that a break can be explained by what stands before it.

Only when a series stops balancing are they looked through; then the context events before it and the checks of its
stream are copied. A fast reader need not fill the window line by line: it may read the last `WINDOW` bytes again, line
by line, when the ledger opens a break, `add` them, and then `keep`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from memcheck_cli.ledger.book import Opening
from memcheck_cli.ledger.rows import Row
from memcheck_cli.log.batch_lines import BatchValues, form_of_batch
from memcheck_cli.log.prefixes import time_of
from memcheck_cli.log.records import TERMS, Busy, Context, Line, Message, Value

if TYPE_CHECKING:
    import re

WINDOW = 1 << 20
"""Bytes before a break whose context lines are kept."""

CHECKS = 256
"""Records of the own stream before a break that are kept, at most."""

LONGEST_TEXT = 300
"""Characters of an event's text that are kept."""

MOST_KEPT = 8
"""Openings of one series whose surroundings are kept: the first ones and a late one (the last whose number is a power
of two: a series that flaps must cost little)."""

MOST_SERIES = 1024
"""Series of which anything is kept."""

MOST_EVENTS = 100_000
"""Context lines kept of all windows together. When there are so many, only the NEAREST of each further window are kept,
and none when there are twice as many."""

NEAREST = 100


class ReadEvent(NamedTuple):
    """A context line near a break. kind, values: see `log.context.KINDS`. time: the server's own. text: the message
    part of the line. form: as the line was read."""

    line: int
    offset: int
    process: str | None
    rank: str
    time: str | None
    kind: str
    values: Mapping[str, Value]
    text: str = ""
    form: str = ""


class BatchEvent:
    """A `ReadEvent` of a line that `SURE_BATCH` fits. Thousands of them stand before a break, and of nearly all of them
    only the place is asked for: the rest is read then."""

    __slots__ = ("_message", "_time", "_values", "kind", "line", "offset", "rank")
    process = None

    def __init__(self, line: int, offset: int, rank: str, kind: str, time: bytes, message: bytes) -> None:
        self.line = line
        self.offset = offset
        self.rank = rank
        self.kind = kind
        self._time = time
        self._message = message
        self._values: BatchValues | None = None

    @property
    def time(self) -> str:
        return time_of(self._time)

    @property
    def values(self) -> BatchValues:
        if self._values is None:
            self._values = BatchValues(self._message.decode("ascii"))
        return self._values

    @property
    def text(self) -> str:
        return self._message[:LONGEST_TEXT].decode("ascii")

    @property
    def form(self) -> str:
        return form_of_batch(self._message.decode("ascii"))[1]

    def _whole(self) -> ReadEvent:
        return ReadEvent(*(getattr(self, name) for name in ReadEvent._fields))

    def __eq__(self, other: object) -> bool:
        return self._whole() == (other._whole() if isinstance(other, BatchEvent) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._whole())


Event = ReadEvent | BatchEvent


class Seen(NamedTuple):
    """A busy record of the own stream before a break. terms: in the order of TERMS, None where not printed."""

    line: int
    pool: str
    total: int | None
    terms: tuple[int | None, ...]


class Around(NamedTuple):
    """What stands before the record on `line`, oldest first: context events of all ranks, busy records of its own
    stream."""

    line: int
    events: list[Event]
    checks: list[Seen]


BareRecord = tuple[int, int, "re.Match[bytes]"]
"""Offset and line of a bare busy line, and its match of `lines.BUSY_LINE`. Most are of streams that do not break, so
they are kept as they stand."""

SeriesKey = tuple[int, str | None, str, str, str]
"""Run, process, rank, check and pool of a series."""


class Window:
    """The lines of the last WINDOW bytes that explain, and what was kept of them: `kept`, by series."""

    def __init__(self) -> None:
        self.kept: dict[SeriesKey, list[Around]] = {}
        self._events: deque[Event] = deque()
        self._all_events: list[Event] | None = None  # the same as a list, made when it is asked for
        # Records by stream, and the streams of all of them in the order in which they came.
        self._checks: dict[tuple[str | None, str], deque[tuple[int, Seen]]] = {}
        self._order: deque[tuple[int, tuple[str | None, str]]] = deque()
        self._bare: deque[BareRecord] = deque()
        self._bare_by_rank: dict[bytes, deque[BareRecord]] = {}  # the same, by the rank's tokens as printed
        self._openings: dict[SeriesKey, int] = {}
        self._events_kept = 0
        self._last_kept: list[Event] | None = None

    def add(self, line: Line, message: Message | None) -> None:
        """One more line."""
        if isinstance(message, Context):
            head = (line.number, line.offset, line.process, line.rank, line.time)
            text = line.text[:LONGEST_TEXT]
            self._events.append(ReadEvent(*head, message.kind, message.values, text, message.form))
            self._all_events = None
        elif isinstance(message, Busy):
            key = (line.process, line.rank)
            checks = self._checks.get(key)
            if checks is None:
                checks = self._checks[key] = deque()
            for pool in message.pools:
                terms = tuple(pool.terms.get(name) for name in TERMS)
                checks.append((line.offset, Seen(line.number, pool.pool, pool.total, terms)))
                self._order.append((line.offset, key))
        else:
            return
        self._forget(line.offset - WINDOW)

    def add_bare(self, records: list[BareRecord], events: list[BatchEvent]) -> None:
        """Whole bare lines that follow each other: busy ones of the current form, and batch lines."""
        if events:
            self._events.extend(events)
            self._all_events = None
        by_rank = self._bare_by_rank
        for record in records:
            tokens = record[2][2]
            own = by_rank.get(tokens)
            if own is None:
                own = by_rank[tokens] = deque()
            own.append(record)
        self._bare.extend(records)
        self._forget(max(records[-1][0] if records else 0, events[-1].offset if events else 0) - WINDOW)

    def _forget(self, edge: int) -> None:
        """Drop what stands before an offset."""
        while self._events and self._events[0].offset < edge:
            self._events.popleft()
            self._all_events = None
        while self._order and self._order[0][0] < edge:
            key = self._order.popleft()[1]
            checks = self._checks[key]
            checks.popleft()
            if not checks:
                del self._checks[key]
        while self._bare and self._bare[0][0] < edge:
            tokens = self._bare.popleft()[2][2]
            own = self._bare_by_rank[tokens]
            own.popleft()
            if not own:
                del self._bare_by_rank[tokens]

    def clear(self) -> None:
        """Forget the lines, not what was kept of them."""
        self._events.clear()
        self._all_events = None
        self._checks.clear()
        self._order.clear()
        self._bare.clear()
        self._bare_by_rank.clear()

    def wants(self, opening: Opening) -> bool:
        """Whether what stands before this record is to be kept: of a series that flaps ever more rarely."""
        stream = opening.stream
        key = (stream.run, stream.process, stream.rank, opening.check, opening.pool)
        if key not in self._openings and len(self._openings) >= MOST_SERIES:
            return False
        count = self._openings[key] = self._openings.get(key, 0) + 1
        return count < MOST_KEPT or count & (count - 1) == 0

    def keep(self, openings: Iterable[Opening]) -> None:
        """Copy what stands before each of these records."""
        for opening in openings:
            stream = opening.stream
            key = (stream.run, stream.process, stream.rank, opening.check, opening.pool)
            kept = self.kept.setdefault(key, [])
            if len(kept) >= MOST_KEPT:
                kept.pop()
            kept.append(self._before(opening))

    def _before(self, opening: Opening) -> Around:
        stream, row = opening.stream, opening.row
        edge = row.offset - WINDOW
        if self._all_events is None:
            self._all_events = list(self._events)
        # Many ranks break at once, and one list serves them all.
        events = self._all_events
        if events and not (edge <= events[0].offset and events[-1].offset <= row.offset):
            events = [event for event in events if edge <= event.offset <= row.offset]
        own = [
            seen
            for offset, seen in self._checks.get((stream.process, stream.rank), ())
            if seen.line < row.line and edge <= offset <= row.offset
        ]
        if stream.process is None:
            own += self._bare_checks(stream.rank, edge, row)
            own.sort(key=lambda seen: seen.line)
        return Around(row.line, self._within(events), own[-CHECKS:])

    def _bare_checks(self, rank: str, edge: int, row: Row) -> list[Seen]:
        """The newest bare records of a rank before a row, from an offset on."""
        tokens = b"" if rank == "-" else b" " + rank.encode("utf-8", "replace")
        found: list[Seen] = []
        for offset, line, printed in reversed(self._bare_by_rank.get(tokens, ())):
            if offset < edge or len(found) == CHECKS:
                break
            if line < row.line and offset <= row.offset:
                found.append(_seen(line, printed))
        return found

    def _within(self, events: list[Event]) -> list[Event]:
        """As many of the events as may be kept."""
        if events is self._last_kept:
            return events
        if self._events_kept >= 2 * MOST_EVENTS:
            events = []
        elif self._events_kept >= MOST_EVENTS:
            events = events[-NEAREST:]
        self._events_kept += len(events)
        self._last_kept = events
        return events


def _seen(line: int, printed: re.Match[bytes]) -> Seen:
    _, _, pool, total, *terms, _ = printed.groups()
    return Seen(line, pool.decode("ascii"), int(total), tuple(int(term) for term in terms))
