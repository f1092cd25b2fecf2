"""One chunk of a large file, read apart from the ledger: the work of a process beside the one that keeps the ledger.

It goes the same way as the fast reader of a whole file, in the belief that nothing is wanted but what was wanted when
it began. Busy records come back as stretches; every other line that may matter comes back as it stands, and the
ledger's process reads it. Where the belief turns out wrong, that process reads the lines concerned itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memcheck_cli.ledger.again import Passed
from memcheck_cli.ledger.pieces import WIDE, Pieces
from memcheck_cli.ledger.stretch import EDGE, Pairs, PoolStretch, StreamStretch, Stretch
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Line, Message
from memcheck_cli.log.scan import Scanner, Sink

if TYPE_CHECKING:
    from memcheck_cli.ledger.columns import Columns, Said
    from memcheck_cli.ledger.peers import Member
    from memcheck_cli.sources import Source

CAPACITY = 64 * 1024
"""Records that are summed up at once."""

LEARN_FROM = 16
"""Busy lines after which a chunk's reader loads the kernel."""

MOST_PIECES = 4096
"""Changes of a balance in one stretch; where there are more the ledger's process reads the records again."""

MOST_LINES = 1 << 20
"""Bytes of lines of one chunk that are handed on as they stand."""

_SEARCH = 1 << 16

Groups = Sequence[tuple["Member", Sequence["Member"]]]
"""The first member of every group of peers, and those that are still compared with it."""


class Lines(NamedTuple):
    """Lines that follow each other. start: offset of the first; before: lines of the chunk before it. raws: with line
    feeds. digit_follows: the line behind the last begins with a digit."""

    start: int
    before: int
    raws: list[bytes]
    digit_follows: bool

    @property
    def stop(self) -> int:
        """Offset behind the last."""
        return self.start + sum(map(len, self.raws))

    @property
    def after(self) -> int:
        """Lines of the chunk up to here."""
        return self.before + len(self.raws)


class Rows(NamedTuple):
    """Busy records, with lines between them that say nothing. start, stop: offsets of the first and behind the last.
    before, after: lines of the chunk before the first, and with the last. stretch: its lines count from 1 in the chunk;
    None where the records must be read again one by one. said: what they tell of the release. pairs: see `Pairs`.
    quoted: lines like these were seen behind quote marks: whether they are copies depends on what stands before."""

    start: int
    stop: int
    before: int
    after: int
    stretch: Stretch | None
    said: tuple[Said, ...]
    pairs: Pairs
    quoted: bool


class Found(NamedTuple):
    """What stands in one chunk. start, stop: offsets of the lines that were read, None where no line begins in it. end:
    where the chunk ends; beyond `stop` nothing was read. lines: up to `stop`. line_ends: docker records with line ends
    were passed over."""

    start: int | None
    stop: int
    end: int
    lines: int
    items: list[Lines | Rows]
    line_ends: bool


class _EnoughError(Exception):
    """The rest of a chunk is better read by the ledger's process. The arguments: offset, lines before it."""


def line_start(passed: Passed, at: int) -> int | None:
    """Where the first line begins that does not begin before an offset; None where none does."""
    if at <= 0:
        return 0
    at -= 1
    while True:
        text, begin = passed.fetch(at, at + _SEARCH)
        found = text.find(b"\n")
        if found >= 0:
            return begin + found + 1
        if not text:
            return None
        at = begin + len(text)


class ChunkReader:
    """Reads chunks of a plain file, one after the other. wanted: markers of the lines that matter."""

    def __init__(self, source: Source, wanted: tuple[bytes, ...], block: int, learn_from: int = LEARN_FROM) -> None:
        self._pieces = Pieces(source, None, block)
        self._recorder = _Recorder()
        self._scanner = _ChunkScanner(self._recorder, wanted, learn_from, source.size)

    def read(self, start: int, stop: int, groups: Groups) -> Found:
        """The lines that begin from offset `start` to `stop`. groups: peers whose records are to be compared."""
        pieces, scanner, recorder = self._pieces, self._scanner, self._recorder
        begin = line_start(pieces.passed, start)
        if begin is None:
            return Found(None, start, start, 0, [], False)
        if begin >= stop:
            return Found(begin, begin, begin, 0, [], False)
        end = line_start(pieces.passed, stop)
        scanner.reader = LineReader()
        recorder.begin(groups)
        at = begin
        lines = None
        try:
            for piece in pieces.of_range(begin, stop if end is None else end):
                if not piece.whole:
                    break
                scanner.scan(pieces.buffer, piece.start, piece.stop, piece.base)
                if scanner.scattered:
                    pieces.widen(WIDE)
                at = piece.base + piece.stop
        except _EnoughError as enough:
            at, lines = enough.args
        recorder.flush()
        return Found(
            begin,
            at,
            at if end is None else end,
            scanner.lines if lines is None else lines,
            recorder.items,
            scanner.reader.unwrapper.line_ends_seen,
        )


class _ChunkScanner(Scanner):
    """Hands lines that matter on to the recorder, and learns from them."""

    def __init__(self, recorder: _Recorder, wanted: tuple[bytes, ...], learn_from: int, size: int | None) -> None:
        super().__init__(recorder, learn_from, 0, size)
        self._recorder = recorder
        self._constant = wanted

    def _matters(self) -> tuple[bytes, ...]:
        return self._constant

    def _chain(self, data: bytes | bytearray, at: int, stop: int, base: int) -> int:
        """None: the recorder takes no records, so looking for them would be in vain."""
        return at

    def _read(self, data: bytearray, a: int, b: int, base: int) -> None:
        reader, recorder = self.reader, self._recorder
        if reader.unwrapper.captured or recorder.size > MOST_LINES:
            raise _EnoughError(base + a, reader.lines)
        digit_follows = 0x30 <= data[b] <= 0x39 if b < self._stop else False
        recorder.line(base + a, reader.lines, bytes(data[a:b]), digit_follows)
        super()._read(data, a, b, base)
        recorder.quoted = recorder.quoted or "quote" in reader.unwrapper.layers


class _Believed:
    """What a chunk is read in the belief of."""

    settled = True
    wants_batches = wants_startup = wants_every_line = False


class _Recorder(Sink):
    """The sink of a chunk. items: what was found so far. size: bytes of lines in it. quoted: a line behind quote marks
    was read, in this chunk or one before."""

    def __init__(self) -> None:
        super().__init__(_Believed())
        self.items: list[Lines | Rows] = []
        self.size = 0
        self.quoted = False
        self._columns: Columns | None = None
        self._groups: Groups = ()
        self._peered: set[Member] = set()

    def begin(self, groups: Groups) -> None:
        """A new chunk."""
        self.items = []
        self.size = 0
        self._groups = groups
        self._peered = {member for first, others in groups for member in (first, *others)}

    def fold(self, line: Line, message: Message | None) -> None:
        """Lines are read for what the kernel learns from them; the ledger's process reads them again."""

    def takes(self, streams: Iterable[tuple[str | None, str]]) -> bool:
        """Always: the ledger's process decides."""
        return True

    def line(self, offset: int, before: int, raw: bytes, digit_follows: bool) -> None:
        """One line that matters."""
        self.size += len(raw)
        last = self.items[-1] if self.items else None
        if isinstance(last, Lines) and last.after == before:
            last.raws.append(raw)
            self.items[-1] = last._replace(digit_follows=digit_follows)
        else:
            self.items.append(Lines(offset, before, [raw], digit_follows))

    def rows(self, kernel: Any, batch: Any, lo: int, hi: int, base: int, lines: Any) -> None:
        """Recognised lines of a batch."""
        columns = self._columns
        if columns is None:
            from memcheck_cli.ledger.columns import Columns

            columns = self._columns = Columns(kernel, CAPACITY)
        columns.extend(batch, lo, hi, base, lines, self.flush)

    def flush(self) -> None:
        """Sum up the rows handed over so far."""
        columns = self._columns
        if columns is None or not columns.n:
            return
        from memcheck_cli.ledger.columns import summarize

        last = columns.n - 1
        stretch = summarize(columns, lambda process, rank: (process, rank) in self._peered)
        pairs: Pairs = {}
        if stretch is not None:
            if sum(len(pool.pieces) for part in stretch for pool in part.pools) > MOST_PIECES:
                stretch = None
            else:
                stretch, pairs = _compared(stretch, self._groups)
        self.items.append(
            Rows(
                int(columns.offset[0]),
                int(columns.end[last]),
                int(columns.line[0]) - 1,
                int(columns.line[last]),
                stretch,
                columns.said(),
                pairs,
                self.quoted,
            )
        )
        columns.n = 0


def _compared(stretch: Stretch, groups: Groups) -> tuple[Stretch, Pairs]:
    """The stretch with nothing but the ends of its records left for comparing, and how its peers fit each other."""
    pools: dict[tuple[Member, str], PoolStretch] = {
        ((part.process, part.rank), pool.pool): pool for part in stretch for pool in part.pools
    }
    pairs: Pairs = {}
    for first, others in groups:
        for other in others:
            for label in ("full", "swa"):
                one, two = pools.get((first, label)), pools.get((other, label))
                if one is not None and two is not None and max(one.records, two.records) > 2 * EDGE:
                    pairs[first, other, label] = _shifts(one, two)
    return [_with_ends(part) for part in stretch], pairs


def _with_ends(part: StreamStretch) -> StreamStretch:
    import numpy as np

    pools = []
    for pool in part.pools:
        if pool.peers is not None and pool.records > 2 * EDGE:
            iteration, digest, offset, line = (np.concatenate((c[:EDGE], c[-EDGE:])) for c in pool.peers)
            pool = pool._replace(peers=(iteration, digest, offset, line))
        pools.append(pool)
    return part._replace(pools=pools)


def _shifts(one: PoolStretch, two: PoolStretch) -> frozenset[int]:
    """By how many records the two may stand apart, so that all records of one check are equal and within reach: a shift
    of 1 means that the second record of `two` belongs to the check of the first of `one`."""
    import numpy as np

    from memcheck_cli.ledger.peers import REACH

    if one.peers is None or two.peers is None:
        return frozenset()
    n, m = one.records, two.records
    for peers, count in ((one.peers, n), (two.peers, m)):
        if int(peers[0][-1]) - int(peers[0][0]) != count - 1:
            return frozenset()
    found = []
    for shift in range(-EDGE, EDGE + 1):
        begin, end = max(0, shift), min(m, n + shift)
        if end - begin < EDGE:
            continue
        mine, theirs = slice(begin - shift, end - shift), slice(begin, end)
        if not np.array_equal(one.peers[1][mine][:EDGE], two.peers[1][theirs][:EDGE]):
            continue
        if not np.array_equal(one.peers[1][mine], two.peers[1][theirs]):
            continue
        if int(np.abs(one.peers[2][mine] - two.peers[2][theirs]).max()) <= REACH:
            found.append(shift)
    return frozenset(found)
