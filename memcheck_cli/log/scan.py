"""The fast reader: hands a sink the same records and messages as the exact reader, without reading every line.

Lines that can matter hold one of a few byte strings; those are found by a search and read exactly, all others are
passed over. Where busy lines are dense the kernel turns them into columns, and only what it does not recognise is read
exactly. Which lines can matter depends on the sink's state, so it is asked again after every line that was read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from memcheck_cli.log.context import BATCH_MARKERS, STRUCTURAL_MARKERS
from memcheck_cli.log.markers import Markers
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy, Line, Message

TAG = b"[Mem Check"
STEADY = (
    b"etected!",
    b"server_args=",
    b"command=",
    b"max_total_num_tokens=",
    b" hit an exception: ",
    b"ModelRpcClient:",
    b"flushed successfully!",
    b"KV double free: ",
    b"KV page use-after-free: ",
    b"UserWarning: ",
    b"SWA accounting",
    b"SWA-slot",
    b"- Captured std",
    b"batch_size()=",
    b"\x00",
)
"""Besides the busy tag, what every line holds that matters to a sink that wants nothing in particular."""

KERNEL_FROM = 20_000
"""Busy lines read one by one before the kernel is loaded: it pays for its start after that many."""

HEAD = 64 * 1024
"""Bytes at the beginning that are read line by line: pasted text, which may be broken anywhere, is no longer."""

LINES_BEFORE = 2
"""Lines read before a marked line that may be the end of a wrapped one."""


class Sink(Protocol):
    """What the scanner reads into; `ledger.skim.LedgerSink` is the one.

    wants_batches: batch lines matter now. wants_startup: so do start-up lines. wants_every_line: so does every line.
    """

    @property
    def wants_batches(self) -> bool: ...
    @property
    def wants_startup(self) -> bool: ...
    @property
    def wants_every_line(self) -> bool: ...

    def fold(self, line: Line, message: Message | None, /) -> None:
        """A line, read exactly."""

    def takes(self, streams: Iterable[tuple[str | None, str]], /) -> bool:
        """Whether records of these streams may come as rows now."""

    def rows(self, kernel: Any, batch: Any, lo: int, hi: int, base: int, lines: Any, /) -> None:
        """Recognised lines lo to hi of a batch. base: what is added to its offsets; lines: their line numbers."""

    def flush(self) -> None:
        """The rows handed over so far stand before what comes next."""


class Scanner:
    """Reads a text given in pieces of whole lines. lines: how many were passed so far."""

    def __init__(self, sink: Sink, kernel_from: int = KERNEL_FROM, head: int = HEAD) -> None:
        self.reader = LineReader()
        self._head = head
        self._stop = 0
        self._sink = sink
        self._kernel_from = kernel_from
        self._busy = 0
        self._kernel: Any = None
        self._markers: dict[tuple[bytes, ...], Markers] = {}
        self._wanted: tuple[bytes, ...] = ()

    @property
    def lines(self) -> int:
        """Physical lines passed so far."""
        return self.reader.lines

    def scan(self, data: bytearray, start: int, stop: int, base: int) -> None:
        """data[start:stop], whole lines. base: source offset of data[0]."""
        at = start
        self._stop = stop
        while at < stop:
            if base + at < self._head or self._every_line():
                at = self._one(data, at, stop, base)
            elif self._kernel is not None and not self._sink.wants_batches:
                at = self._columns(data, at, stop, base)
            else:
                at = self._marked(data, at, stop, base)
                if self._kernel is None and self._busy >= self._kernel_from:
                    from memcheck_cli.log.kernel import Kernel

                    self._kernel = Kernel(TAG)

    def end_of_part(self) -> None:
        """A file of several ends here."""
        self._sink.flush()

    def rest(self, raw: bytes, size: int, base: int) -> None:
        """A last line without line end, or the head of one that is too long; size: its bytes."""
        self._sink.flush()
        self.reader.offset = base
        for line, message in self.reader.line(raw, size, False):
            self._sink.fold(line, message)

    def finish(self) -> None:
        """No more text."""
        self._sink.flush()
        for line, message in self.reader.finish():
            self._sink.fold(line, message)

    # One way each

    def _one(self, data: bytearray, at: int, stop: int, base: int) -> int:
        """Read the line at `at`."""
        end = data.find(b"\n", at, stop) + 1 or stop
        self._read(data, at, end, base)
        return end

    def _marked(self, data: bytearray, at: int, stop: int, base: int) -> int:
        """Read the marked lines until what matters changes; answers how far it came."""
        markers = self._searching(data, at, stop, True)
        for a, b in markers.find(data, at, stop):
            if a < at:
                continue  # read already, before the line behind it
            if a > at:
                before = self._before(data, at, a)
                self.reader.lines += data.count(b"\n", at, before)
                at = before
                while at < b:
                    at = self._one(data, at, b, base)
            else:
                at = self._one(data, a, b, base)
            if self._changed():
                return at
            if self._kernel is None and self._busy >= self._kernel_from and not self._sink.wants_batches:
                return at
        self.reader.lines += data.count(b"\n", at, stop)
        return stop

    @staticmethod
    def _before(data: bytearray, at: int, a: int) -> int:
        """Where to begin reading for the marked line at `a`: it may be the end of a line that was broken in two."""
        if data[a] == 0x5B:  # the server's own bracket
            return a
        for _ in range(LINES_BEFORE):
            if a <= at:
                break
            a = data.rfind(b"\n", at, a - 1) + 1 or at
        return max(a, at)

    def _columns(self, data: bytearray, at: int, stop: int, base: int) -> int:
        """Dense stretches as columns, and the other lines that matter one by one."""
        import numpy as np

        kernel, sink, reader = self._kernel, self._sink, self.reader
        markers = self._searching(data, at, stop, False)
        wanted = self._wanted
        for batch in kernel.read(data, at, stop):
            at = int(batch.stop)
            streams = [kernel.streams[code] for code in np.bincount(batch.stream).nonzero()[0].tolist()]
            if streams and not sink.takes(streams):
                sink.flush()
                start = batch.start
                while start < at:
                    if self._every_line():
                        start = self._one(data, start, at, base)
                    else:
                        start = self._marked(data, start, at, base)
                self._wanted = wanted
                if self._changed():
                    return at
                continue
            first = reader.lines
            offset = batch.offset
            if batch.n * 5 >= batch.newlines * 3:
                special = [found for _, a, b in batch.gaps() for found in markers.find(data, a, b)]
            else:
                special = markers.find(data, batch.start, at)
            special = sorted({*special, *((a, b) for _, a, b in batch.unread)})
            if batch.n == batch.newlines and not special:
                lines = np.arange(first + 1, first + 1 + batch.n)
            elif batch.n or special:
                feeds = np.flatnonzero(np.frombuffer(data, np.uint8)[batch.start : at] == 10)
                lines = np.searchsorted(feeds, offset - batch.start) + (first + 1)
            row = 0
            passed = batch.start
            for a, b in special:
                if a < passed:
                    continue
                until = int(np.searchsorted(offset, a))
                if until < batch.n and int(offset[until]) == a:
                    continue  # recognised: a marker in its wrapping
                if until > row:
                    sink.rows(kernel, batch, row, until, base, lines[row:until])
                    row = until
                sink.flush()
                begin = max(self._before(data, passed, a), int(batch.end[row - 1]) if row else batch.start)
                reader.lines = first + int(np.searchsorted(feeds, begin - batch.start))
                passed = begin
                while passed < b:
                    passed = self._one(data, passed, b, base)
                # Behind the start of a server its streams are new ones.
                if self._changed() or not sink.takes(streams):
                    return int(passed)
            if row < batch.n:
                sink.rows(kernel, batch, row, batch.n, base, lines[row:])
            reader.lines = first + batch.newlines
        return at

    # Helpers

    def _read(self, data: bytearray, a: int, b: int, base: int) -> None:
        """Read data[a:b], one physical line, exactly."""
        reader, sink = self.reader, self._sink
        raw = bytes(data[a:b])
        reader.offset = base + a
        ended = raw.endswith(b"\n")
        number = reader.lines + 1
        digit_follows = 0x30 <= data[b] <= 0x39 if b < self._stop else False
        for line, message in reader.line(raw[:-1] if ended else raw, b - a, ended, digit_follows):
            sink.fold(line, message)
            if isinstance(message, Busy):
                self._busy += 1
                if self._kernel is not None and line.number == number and not (line.captured or line.copied):
                    self._kernel.learn(raw, line, message)

    def _searching(self, data: bytearray, at: int, stop: int, tagged: bool) -> Markers:
        """The search for what matters now; remembers what that is, for `_changed`."""
        self._wanted = self._matters()
        sought = (TAG, *self._wanted) if tagged else self._wanted
        if data[at] != 0x5B:
            # Wrapped, it seems: a collector's parts of lines must be read, unless there are none in this piece.
            unwrapper = self.reader.unwrapper
            if not unwrapper.quiet(bytes(data[at:stop])):
                sought += tuple(m for m in unwrapper.sticky_markers if m not in sought and (tagged or m != b"[Mem"))
        markers = self._markers.get(sought)
        if markers is None:
            markers = self._markers[sought] = Markers(sought)
        return markers

    def _matters(self) -> tuple[bytes, ...]:
        sink = self._sink
        wanted: tuple[bytes, ...] = STEADY
        if sink.wants_startup:
            wanted += STRUCTURAL_MARKERS
        if sink.wants_batches:
            wanted += BATCH_MARKERS
        return wanted

    def _changed(self) -> bool:
        """Whether other lines matter now than when the search began."""
        return self._every_line() or self._matters() != self._wanted

    def _every_line(self) -> bool:
        unwrapper = self.reader.unwrapper
        return self._sink.wants_every_line or unwrapper.needs_all_lines or unwrapper.captured
