"""The records of a side's streams as columns, collected while its logs are read: what two runs are compared by.

Numbers are tokens (slots for the mamba and request pools). Of a long log the first records are kept, in about 36 bytes
each; what lies behind the limits is counted and named, never compared.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memcheck_cli.ledger import Row, Stream
from memcheck_cli.ledger.dumps import second_of
from memcheck_cli.ledger.stream import EMPTY
from memcheck_cli.log.records import TERMS, Context, Line

if TYPE_CHECKING:
    from memcheck_cli.ledger.columns import Taken

Array = Any
ABSENT = -(1 << 31)
"""Stands in a column where a record does not print the number."""

AT_ONCE = 1024
"""Records that are put into columns together."""

EVENTS = ("retract", "abort", "flush", "exception", "out-of-memory")
"""Kinds of context lines that are counted a side."""

EVENT_MARKERS = (
    b"#retracted_reqs: ",
    b"retract_decode: aborted",
    b"Abort ",
    b"Cache flushed successfully!",
    b" hit an exception: ",
    b"Exception in ModelRpcClient:",
    b" crashed: ",
    b"ut of memory",
    b"OutOfMemoryError",
    b"Try to allocate ",
    b"ble tokens: ",
    b"ble full tokens: ",
    b"ble swa tokens: ",
)
"""Every line of one of these kinds holds one of these."""

BIGGEST = 1 << 62
"""Numbers beyond it, either way, are kept as this one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How much is kept. checks: of one stream, counted from its first. records: of one side. tracks: pools of streams
    of one side. extra: further terms of one pool, by name."""

    checks: int = 2_000_000
    records: int = 8_000_000
    tracks: int = 4096
    extra: int = 4


class Column:
    """Whole numbers, in 4 bytes each for as long as they fit."""

    __slots__ = ("_values",)

    def __init__(self, absent: int = 0) -> None:
        self._values: array[int] = array("i")
        self.lack(absent)

    def __len__(self) -> int:
        return len(self._values)

    def extend(self, values: Sequence[int | None]) -> None:
        """More numbers, None where one is not printed."""
        try:
            self._values.extend(array("i", values))  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            whole = [ABSENT if value is None else max(-BIGGEST, min(value, BIGGEST)) for value in values]
            import numpy as np

            self.take(np.array(whole, np.int64))

    def take(self, values: Array) -> None:
        """More numbers at once, ABSENT where one is not printed: int64 of shape (n,)."""
        import numpy as np

        if self._values.typecode == "i" and not (values.min() >= ABSENT and values.max() < -ABSENT):
            self._values = array("q", self._values)
        kind = np.int32 if self._values.typecode == "i" else np.int64
        self._values.frombytes(np.clip(values, -BIGGEST, BIGGEST).astype(kind).tobytes())

    def lack(self, count: int) -> None:
        """So many records that do not print the number."""
        self._values.extend(array(self._values.typecode, [ABSENT]) * count)

    def numbers(self) -> Array:
        """All of them: int32 or int64 of shape (n,), not to be written to; nothing can be added any more."""
        import numpy as np

        kind = np.int32 if self._values.typecode == "i" else np.int64
        return np.frombuffer(self._values, kind) if self._values else np.empty(0, kind)


class Track:
    """The records of one pool of one stream, of busy checks or of idle reports.

    iteration: the busy check it belongs to, or after which the report came (0: none). second: whole seconds since
    `start`, the server's own time. extra: further terms by printed name. forgotten: records behind the limits.
    """

    __slots__ = (
        "_count",
        "_most_extra",
        "_names",
        "_waiting",
        "check",
        "extra",
        "forgotten",
        "iteration",
        "line",
        "pool",
        "second",
        "start",
        "terms",
        "total",
    )

    def __init__(self, check: str, pool: str, most_extra: int) -> None:
        self.check = check
        self.pool = pool
        self.iteration = Column()
        self.line = Column()
        self.second = Column()
        self.start: int | None = None
        self.total = Column()
        self.terms = {name: Column() for name in TERMS}
        self.extra: dict[str, Column] = {}
        self.forgotten = 0
        self._count = 0
        self._most_extra = most_extra
        self._waiting: list[Row] = []
        self._names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return self._count

    def add(self, row: Row) -> None:
        """One more record."""
        self._count += 1
        self._waiting.append(row)
        if len(self._waiting) >= AT_ONCE:
            self.settle()

    def extend(self, taken: Taken) -> None:
        """More records, as columns."""
        self.settle()
        n = len(taken.iteration)
        self._count += n
        for name in taken.extra:
            if name not in self.extra and len(self.extra) < self._most_extra:
                self.extra[name] = Column(len(self.iteration))
        self.iteration.take(taken.iteration)
        self.line.take(taken.line)
        self._extend_seconds(taken.time)
        printed = {"total": taken.total, **taken.terms, **taken.extra}
        for name, column in (("total", self.total), *self.terms.items(), *self.extra.items()):
            values = printed.get(name)
            if values is None:
                column.lack(n)
            else:
                column.take(values)

    def _extend_seconds(self, times: Array) -> None:
        import numpy as np

        from memcheck_cli.log.kernel import NO_TIME, UNDATED

        known = times != NO_TIME
        since = second_of("1970-01-01T00:00:00") or 0
        # Of a time without date only the clock counts.
        seconds = np.where(times < UNDATED // 2, (times - UNDATED) // 1000, times // 1000 + since)
        if self.start is None and known.any():
            self.start = int(seconds[known.argmax()])
        self.second.take(np.where(known, seconds - (self.start or 0), ABSENT))

    def settle(self) -> None:
        """Put the latest records into the columns; to be called before these are read."""
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        if self.extra or any(row.extra for row in rows):
            self._settle_extra(rows)
        self.iteration.extend([row.iteration or 0 for row in rows])
        self.line.extend([row.line for row in rows])
        seconds = [second_of(row.time) for row in rows]
        if self.start is None:
            self.start = next((second for second in seconds if second is not None), None)
        start = self.start or 0
        self.second.extend([None if second is None else second - start for second in seconds])
        self.total.extend([row.total for row in rows])
        for column, values in zip(self.terms.values(), zip(*(row.terms for row in rows), strict=True), strict=True):
            column.extend(values)

    def _settle_extra(self, rows: Sequence[Row]) -> None:
        told = [
            {
                name: value
                for name, value in (row.extra or {}).items()
                if isinstance(value, int) and not isinstance(value, bool)
            }
            for row in rows
        ]
        for name in dict.fromkeys(name for numbers in told for name in numbers):
            if name not in self.extra and len(self.extra) < self._most_extra:
                self.extra[name] = Column(len(self.iteration))
        for name, column in self.extra.items():
            column.extend([numbers.get(name) for numbers in told])

    def names(self) -> tuple[str, ...]:
        """The terms and further terms that any record prints. Only to be asked once all records are in."""
        if self._names is None:
            self._names = tuple(self.columns())
        return self._names

    def columns(self) -> dict[str, Array]:
        """By name: the terms and further terms that any record prints, in that order; see `Column.numbers`."""
        named = {name: column.numbers() for name, column in (*self.terms.items(), *self.extra.items())}
        return {name: numbers for name, numbers in named.items() if (numbers != ABSENT).any()}


TrackKey = tuple[str, str]
"""Check (`busy` or `idle`) and pool."""


class Collector:
    """Fills the tracks of one side; an `Observer` of `ledger.reading`, and `InColumns`. pools: the only ones to keep,
    all if empty."""

    markers: tuple[bytes, ...] = EVENT_MARKERS

    def __init__(self, pools: frozenset[str] = frozenset(), kept: Kept | None = None) -> None:
        self.tracks: dict[Stream, dict[TrackKey, Track]] = {}
        self.events: Counter[str] = Counter()
        self.dropped_tracks = 0
        self._pools = pools
        self._kept = kept or Kept()
        self._room = self._kept.records
        self._count = 0

    def record(self, stream: Stream, check: str, pool: str, row: Row, /) -> None:
        """One record, as it is counted."""
        if pool == EMPTY or "skipped" in row.marks or (self._pools and pool not in self._pools):
            return
        track = self._track(stream, check, pool)
        if track is None:
            self.dropped_tracks += 1
            return
        if self._room <= 0 or (row.iteration or 0) > self._kept.checks or len(track) >= self._kept.checks:
            track.forgotten += 1
            return
        self._room -= 1
        track.add(row)

    def has_room(self, records: int, /) -> bool:
        """Whether it does not matter in which order so many more records of all streams come."""
        return records <= self._room

    def columns(self, stream: Stream, pool: str, taken: Taken, /) -> None:
        """Busy records of one pool of a stream, as columns."""
        if self._pools and pool not in self._pools:
            return
        track = self._track(stream, "busy", pool)
        count = len(taken.iteration)
        if track is None:
            self.dropped_tracks += count
            return
        most = self._kept.checks
        kept = min(int((taken.iteration <= most).sum()), max(0, most - len(track)))
        track.forgotten += count - kept
        if kept:
            self._room -= kept
            track.extend(taken if kept == count else taken.first(kept))

    def _track(self, stream: Stream, check: str, pool: str) -> Track | None:
        """The track of a pool of a stream, None where there are too many."""
        tracks = self.tracks.get(stream)
        if tracks is None:
            tracks = self.tracks[stream] = {}
        track = tracks.get((check, pool))
        if track is None and self._count < self._kept.tracks:
            self._count += 1
            track = tracks[(check, pool)] = Track(check, pool, self._kept.extra)
        return track

    def settle(self) -> None:
        """No more records."""
        for tracks in self.tracks.values():
            for track in tracks.values():
                track.settle()

    def context(self, run: int, line: Line, message: Context, /) -> None:
        """One context line."""
        if message.kind in EVENTS:
            self.events[message.kind] += 1
