"""The fast reader: hands a sink the same records and messages as the exact reader, without reading every line.

Lines that can matter hold one of a few byte strings; those are found by a search and read exactly, all others are
passed over. Where busy lines are dense the kernel turns them into columns, and only what it does not recognise is read
exactly. Which lines can matter depends on the sink's state, so it is asked again after every line that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from memcheck_cli.log.batch_lines import SURE_BATCH
from memcheck_cli.log.context import BATCH_MARKERS, STRUCTURAL_MARKERS
from memcheck_cli.log.lines import BUSY_LINE
from memcheck_cli.log.markers import Markers, Span
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy, Line, Message

if TYPE_CHECKING:
    import re

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
    b"Sanity check FAILED",
    b"Radix tree sanity check failed",
    b"RadixTree sanity check failed",
    b"SWA accounting",
    b"SWA-slot",
    b"- Captured std",
    b"batch_size()=",
    b"\x00",
)
"""Besides the busy tag, what every line holds that matters to a sink that wants nothing in particular."""

KERNEL_PAYS = 16_000
"""Busy lines for which loading the kernel (and numpy) costs as much as it saves."""

KERNEL_GUESS = 5_000
"""Busy lines after which as many more are expected, where the size of a text is not known."""

NEVER = 1 << 62
"""Busy lines that no log has: the kernel is not loaded."""

SURE = 256
"""Busy lines after which their number in the rest of a file is guessed."""

COUNTS = 256 << 20
"""Bytes still to be read from which on numpy is worth loading for nothing but counting lines."""

REACH = 64 << 10
"""Bytes searched at once at first; twice as many each time that nothing changed."""

LEAST_REACH = 8 << 10
"""Bytes searched at once where what matters changes all the time."""

HEAD = 64 * 1024
"""Bytes at the beginning that are read line by line: pasted text, which may be broken anywhere, is no longer."""

COUNTED_BY_ARRAY = 16 << 10
"""Bytes from which on lines are counted by numpy once it is loaded."""

MOST_CHAINED = 1024
"""Records that are handed over at once."""

LINES_BEFORE = 2
"""Lines read before a marked line that may be the end of a wrapped one."""


class Now(Protocol):
    """What matters to a sink at the moment; a `ledger.book.Ledger` knows.

    settled: one more record of a known stream changes nothing of the following. wants_batches: batch lines matter now.
    wants_startup: so do start-up lines. wants_every_line: so does every line.
    """

    @property
    def settled(self) -> bool: ...
    @property
    def wants_batches(self) -> bool: ...
    @property
    def wants_startup(self) -> bool: ...
    @property
    def wants_every_line(self) -> bool: ...


class Sink:
    """What the scanner reads into. Whoever defines no more than `fold` is handed every line that matters, read exactly;
    the other methods take records and batch lines in shorter ways. now: what matters."""

    def __init__(self, now: Now) -> None:
        self.now = now

    @property
    def observed(self) -> tuple[bytes, ...]:
        """What other lines hold that matter, always."""
        return ()

    def fold(self, line: Line, message: Message | None, /) -> None:
        """A line, read exactly."""
        raise NotImplementedError

    def records(self, printed: Sequence[tuple[int, tuple[bytes, ...]]], line: int, /) -> int:
        """Whole bare busy lines of the current form that follow each other, while not every line is wanted: where each
        begins, and the groups of `BUSY_LINE`. line: the first. Answers how many were taken; behind one after which
        every line matters, none is."""
        return 0

    @property
    def tells_batches(self) -> bool:
        """Batch lines matter to nobody but somebody who observes."""
        return False

    def batch(self, printed: re.Match[bytes], line: int, offset: int, /) -> None:
        """A whole bare batch line while it `tells_batches`: a match of `SURE_BATCH`."""

    def takes(self, streams: Iterable[tuple[str | None, str]], /) -> bool:
        """Whether records of these streams may come as rows now."""
        return False

    def rows(self, kernel: Any, batch: Any, lo: int, hi: int, base: int, lines: Any, /) -> None:
        """Recognised lines lo to hi of a batch. base: what is added to its offsets; lines: their line numbers."""

    def flush(self) -> None:
        """The rows handed over so far stand before what comes next."""


class Scanner:
    """Reads a text given in pieces of whole lines. lines: how many were passed so far.

    kernel_from: busy lines read one by one before the kernel is loaded, None to decide by what they cost. head: bytes
    at the beginning of which every line is read. size: bytes of the whole text, where that is known.
    """

    def __init__(self, sink: Sink, kernel_from: int | None = None, head: int = HEAD, size: int | None = None) -> None:
        self.reader = LineReader()
        self._head = head
        self._size = size
        self._stop = 0
        self._sink = sink
        self._now = sink.now
        self._kernel_from = kernel_from
        self._busy = 0
        self._sure = SURE if kernel_from is None else kernel_from
        self._kernel: Any = None
        self._tags = Markers((TAG,))
        self._markers: dict[tuple[bytes, ...], Markers] = {}
        self._wanted: tuple[bytes, ...] = ()
        self._reach = REACH
        self._count_lines: Callable[[bytearray, int, int], int] | None = None

    @property
    def busy(self) -> int:
        """Busy lines read one by one so far."""
        return self._busy

    @property
    def scattered(self) -> bool:
        """Busy lines are made columns by now, and stand far apart."""
        return self._kernel is not None and not self._kernel.dense

    @property
    def lines(self) -> int:
        """Physical lines passed so far."""
        return self.reader.lines

    def wanted(self) -> tuple[bytes, ...]:
        """Markers of the lines that matter now; one that is empty where every line does."""
        return (b"",) if self._every_line() else self._matters()

    def scan(self, data: bytearray, start: int, stop: int, base: int) -> None:
        """data[start:stop], whole lines. base: source offset of data[0]."""
        at = start
        self._stop = stop
        if self._count_lines is None and base + at >= self._head and (self._size or 0) - (base + at) >= COUNTS:
            self._load_counter()
        while at < stop:
            if base + at < self._head or self._every_line():
                at = self._one(data, at, stop, base)
            elif self._kernel is not None and not self._now.wants_batches:
                at = self._columns(data, at, stop, base)
            else:
                at = self._marked(data, at, stop, base)
                if self._pays(base + at):
                    self._load_kernel()

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
        """Read the line at `at`, or all records that follow each other from there on."""
        # The kernel learns from lines that are read exactly.
        if self._kernel is None and self.reader.unwrapper.passes_bare_records and not self._now.wants_every_line:
            came = self._chain(data, at, stop, base)
            if came > at:
                return came
        end = data.find(b"\n", at, stop) + 1 or stop
        self._read(data, at, end, base)
        return end

    def _marked(self, data: bytearray, at: int, stop: int, base: int) -> int:
        """Read the marked lines until what matters changes; answers how far it came."""
        if stop - at > 2 * self._reach:
            stop = data.rfind(b"\n", at, at + self._reach) + 1 or stop
        if self.reader.unwrapper.passes_bare_records:
            at = self._chain(data, at, stop, base)
            if at == stop or self._pays(base + at):
                return at
        markers = self._searching(data, at, stop, True)
        found = tags = self._tags.find(data, at, stop)
        others = markers.find(data, at, stop, _between(tags, at, stop) if tags else None)
        if others:
            found = sorted({*tags, *others})
        reader, sink = self.reader, self._sink
        plain = reader.unwrapper.passes_bare_records
        for a, b in found:
            if a < at:
                continue  # read already, before the line behind it
            if a > at:
                before = self._before(data, at, a)
                reader.lines += self._count(data, at, before)
                at = before
            came = self._chain(data, at, stop, base) if plain and at == a else at
            if came == at == a and sink.tells_batches and self._batch(data, at, b, base):
                at = b
                continue
            if came > at:
                at = came
                if self._now.settled and self._busy < self._sure:
                    continue
            else:
                while at < b:
                    at = self._one(data, at, b, base)
                plain = reader.unwrapper.passes_bare_records
            if self._changed():
                self._reach = max(self._reach // 2, LEAST_REACH)
                return at
            if self._busy >= self._sure and self._pays(base + at):
                return at
        self._reach = min(self._reach * 2, 1 << 30)
        reader.lines += self._count(data, at, stop)
        return stop

    def _chain(self, data: bytes | bytearray, at: int, stop: int, base: int) -> int:
        """Read the records that follow each other from `at` on, while not every line matters; answers how far it
        came."""
        most = self._sure - self._busy
        if not 0 < most < MOST_CHAINED or self._kernel is not None:
            most = MOST_CHAINED
        match = BUSY_LINE.match
        last = self._stop
        printed: list[tuple[int, tuple[bytes, ...]]] = []
        while at < stop and len(printed) < most:
            found = match(data, at, stop)
            if found is None:
                break
            end = found.end()
            # A digit behind its line end may be the rest of a number.
            if data[end] != 0x0A or (end + 1 < last and 0x30 <= data[end + 1] <= 0x39):
                break
            groups = found.groups()
            if groups[9]:
                break
            printed.append((base + at, groups))
            at = end + 1
        if not printed:
            return at
        reader = self.reader
        taken = self._sink.records(printed, reader.lines + 1)
        if taken < len(printed):
            at = printed[taken][0] - base
        if taken:
            reader.lines += taken
            self._busy += taken
            reader.unwrapper.passed(reader.lines, at - (printed[taken - 1][0] - base) - 1)
        return at

    def _batch(self, data: bytearray, a: int, b: int, base: int) -> bool:
        """Tell of a batch line for which `plain` would pass; answers whether it was one."""
        reader = self.reader
        if not reader.unwrapper.passes_bare_lines or (b < self._stop and 0x30 <= data[b] <= 0x39):
            return False
        found = SURE_BATCH.match(data, a, b)
        if found is None or found.end() != b:
            return False
        reader.lines += 1
        self._sink.batch(found, reader.lines, base + a)
        reader.unwrapper.passed(reader.lines, b - a - 1)
        return True

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
            special = markers.find(data, batch.start, at, batch.gaps() if batch.n else None)
            if batch.unread:
                special = sorted({*special, *((a, b) for _, a, b in batch.unread)})
            feeds = batch.feeds
            if batch.n == batch.newlines:
                lines = np.arange(first + 1, first + 1 + batch.n)
            elif batch.n:
                lines = np.searchsorted(feeds, offset) + (first + 1)
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
                before = self._count(data, batch.start, begin) if feeds is None else int(np.searchsorted(feeds, begin))
                reader.lines = first + before
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

    def _pays(self, passed: int) -> bool:
        """Whether the kernel is to be loaded, after so many bytes of the text."""
        busy = self._busy
        if busy < self._sure or self._kernel is not None or self._now.wants_batches:
            return False
        if self._kernel_from is not None:
            return True
        pays = busy >= KERNEL_GUESS if self._size is None else busy * (self._size - passed) >= KERNEL_PAYS * passed
        if not pays:
            self._sure = busy + SURE
        return pays

    def _load_kernel(self) -> None:
        self._load_counter()
        from memcheck_cli.log.kernel import Kernel

        self._kernel = Kernel(TAG)

    def _load_counter(self) -> None:
        from memcheck_cli.log.blocks import line_counter

        self._count_lines = line_counter()

    def _count(self, data: bytearray, start: int, stop: int) -> int:
        """Line feeds in data[start:stop]."""
        if self._count_lines is None or stop - start < COUNTED_BY_ARRAY:
            return data.count(b"\n", start, stop)
        return self._count_lines(data, start, stop)

    def _read(self, data: bytearray, a: int, b: int, base: int) -> None:
        """Read data[a:b], one physical line, exactly."""
        digit_follows = 0x30 <= data[b] <= 0x39 if b < self._stop else False
        self._exactly(bytes(data[a:b]), base + a, digit_follows)

    def line(self, raw: bytes, offset: int, digit_follows: bool) -> None:
        """Read one physical line with its line feed, apart from the text it stands in. offset: where it begins there.
        digit_follows: the next line begins with a digit."""
        self._stop = len(raw)
        plain = not digit_follows and self.reader.unwrapper.passes_bare_records and not self._now.wants_every_line
        if not (plain and self._chain(raw, 0, len(raw), offset) == len(raw)):
            self._exactly(raw, offset, digit_follows)

    def _exactly(self, raw: bytes, offset: int, digit_follows: bool) -> None:
        reader, sink = self.reader, self._sink
        reader.offset = offset
        ended = raw.endswith(b"\n")
        number = reader.lines + 1
        for line, message in reader.line(raw[:-1] if ended else raw, len(raw), ended, digit_follows):
            sink.fold(line, message)
            if isinstance(message, Busy):
                self._busy += 1
                if self._kernel is not None and line.number == number and not (line.captured or line.copied):
                    self._kernel.learn(raw, line, message)

    def _searching(self, data: bytearray, at: int, stop: int, tagged: bool) -> Markers:
        """The search for what matters now; remembers what that is, for `_changed`."""
        self._wanted = self._matters()
        sought = self._wanted
        if data[at] != 0x5B:
            # Wrapped, it seems: a collector's parts of lines must be read, unless there are none in this piece.
            unwrapper = self.reader.unwrapper
            if not unwrapper.quiet(data, at, stop):
                sought += tuple(m for m in unwrapper.sticky_markers if m not in sought and (tagged or m != b"[Mem"))
        markers = self._markers.get(sought)
        if markers is None:
            markers = self._markers[sought] = Markers(sought)
        return markers

    def _matters(self) -> tuple[bytes, ...]:
        now = self._now
        wanted: tuple[bytes, ...] = STEADY
        if now.wants_startup:
            wanted += STRUCTURAL_MARKERS
        if now.wants_batches:
            wanted += BATCH_MARKERS
        return wanted + self._sink.observed

    def _changed(self) -> bool:
        """Whether other lines matter now than when the search began."""
        return self._every_line() or self._matters() != self._wanted

    def _every_line(self) -> bool:
        unwrapper = self.reader.unwrapper
        return self._now.wants_every_line or unwrapper.needs_all_lines or unwrapper.captured


def _between(lines: list[Span], start: int, stop: int) -> list[Span]:
    """The stretches of start to stop between some lines."""
    gaps = []
    at = start
    for a, b in lines:
        if a > at:
            gaps.append((at, a))
        at = b
    if at < stop:
        gaps.append((at, stop))
    return gaps
