"""The text of a source in pieces of whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.again import Passed
from memcheck_cli.log.reader import LONGEST_LINE

if TYPE_CHECKING:
    from io import RawIOBase

    from memcheck_cli.log.scan import Scanner
    from memcheck_cli.sources import Part, Source

BLOCK = 1 << 20
"""Bytes read at once."""

WIDE = 2 << 20
"""The same where records are few and far between: a kernel's calls cost more than the bytes that it passes over."""

MARGIN = 2048
"""Bytes kept free on both sides of the text in the buffer; the kernel wants them."""


SPLIT_FROM = 64 << 20
"""Bytes of a plain file from which on several processes share it."""


class Piece(NamedTuple):
    """buffer[start:stop] of `Pieces`. base: what makes a source offset of a buffer index. whole: whole lines; else one
    line that has no end or is too long, and `size` is its length in bytes. part: a member of a rotated set begins
    here (an empty piece)."""

    start: int
    stop: int
    base: int
    whole: bool = True
    size: int = 0
    part: Part | None = None


class Pieces:
    """Iterate for the pieces of a stream (None: only `of_range` is used); each is valid until the next is asked for.
    Raises UnreadableError at damage, behind all that could be read."""

    def __init__(self, source: Source, stream: RawIOBase | None, block: int = BLOCK) -> None:
        self.buffer = bytearray(block + 2 * MARGIN)
        self.source = source
        self._least = 0
        self._stream = stream
        self.passed = Passed(source)

    def __iter__(self) -> Iterator[Piece]:
        try:
            if self.source.members:
                yield from self._of_blocks()
            else:
                yield from self._of_stream()
        finally:
            self.passed.close()

    def widen(self, block: int) -> None:
        """Read so many bytes at once, at least, from the next piece on."""
        self._least = block + 2 * MARGIN

    def hand_to(self, scanner: Scanner, piece: Piece) -> None:
        """Let a scanner read the piece that came last."""
        if piece.whole:
            scanner.scan(self.buffer, piece.start, piece.stop, piece.base)
        else:
            raw = bytes(memoryview(self.buffer)[piece.start : piece.stop])
            scanner.rest(raw, piece.size, piece.base + piece.start)

    def of_range(self, start: int, stop: int | None) -> Iterator[Piece]:
        """The pieces of a plain file from one offset, where a line begins, to another (None: to its end)."""
        at = start

        def fill(view: memoryview) -> int:
            nonlocal at
            count = self.passed.read_into(view if stop is None else view[: max(0, stop - at)], at)
            at += count
            return count

        yield from self._cut(fill, start)

    def _of_stream(self) -> Iterator[Piece]:
        assert self._stream is not None
        yield from self._cut(self._stream.readinto)

    def _of_blocks(self) -> Iterator[Piece]:
        """A rotated set: each of its members by itself, at its place in the whole text."""
        assert self._stream is not None
        blocks = blocks_of(self.source, self._stream)
        rest = memoryview(b"")
        offset = 0
        begins: Part | None = None

        def fill(view: memoryview) -> int:
            nonlocal rest, begins
            while not rest:
                block, begins = next(blocks, (b"", None))
                if begins is not None or not block:
                    return 0
                rest = memoryview(block)
            count = min(len(view), len(rest))
            view[:count] = rest[:count]
            rest = rest[count:]
            return count

        while True:
            yield from self._cut(fill, offset)
            if begins is None:
                return
            offset = begins.offset
            yield Piece(0, 0, 0, part=begins)
            begins = None

    def _cut(self, fill: Callable[[memoryview], int | None], offset: int = 0) -> Iterator[Piece]:
        """Pieces of what `fill` puts into the buffer until it puts nothing. offset: where that begins."""
        begin = end = MARGIN  # of what is in the buffer and not handed on yet; begin is at `offset`
        while True:
            if len(self.buffer) < self._least:
                self.buffer = self.buffer + bytearray(self._least - len(self.buffer))
            limit = len(self.buffer) - MARGIN
            if end == limit and begin > MARGIN:
                self.buffer[MARGIN : MARGIN + end - begin] = self.buffer[begin:end]
                begin, end = MARGIN, MARGIN + end - begin
            elif end == limit and end - begin < LONGEST_LINE:
                self.buffer = self.buffer + bytearray(len(self.buffer))
                continue
            elif end == limit:
                size, left = self._past_line(fill, end - begin)
                yield Piece(begin, begin + LONGEST_LINE, offset - begin, False, size)
                offset += size
                self.buffer[MARGIN : MARGIN + len(left)] = left
                begin, end = MARGIN, MARGIN + len(left)
            try:
                count = fill(memoryview(self.buffer)[end:limit]) or 0
            except UnreadableError:
                yield from self._last(begin, end, offset)
                raise
            if not count:
                yield from self._last(begin, end, offset)
                return
            stop = self.buffer.rfind(b"\n", end, end + count) + 1
            end += count
            if stop:
                self._keep(offset, begin, stop)
                yield Piece(begin, stop, offset - begin)
                offset += stop - begin
                begin = stop
                if begin == end:
                    begin = end = MARGIN

    def _last(self, begin: int, end: int, offset: int) -> Iterator[Piece]:
        stop = self.buffer.rfind(b"\n", begin, end) + 1
        if stop:  # what was read behind an endless line
            self._keep(offset, begin, stop)
            yield Piece(begin, stop, offset - begin)
            begin, offset = stop, offset + stop - begin
        if end > begin:
            self._keep(offset, begin, end)
            yield Piece(begin, end, offset - begin, False, end - begin)

    @staticmethod
    def _past_line(fill: Callable[[memoryview], int | None], size: int) -> tuple[int, bytes]:
        """Read on to the end of an endless line: its size with its line end, and what was read behind it."""
        spare = bytearray(BLOCK)
        while count := fill(memoryview(spare)):
            at = spare.find(b"\n", 0, count) + 1
            if at:
                return size + at, bytes(spare[at:count])
            size += count
        return size, b""

    def _keep(self, offset: int, begin: int, stop: int) -> None:
        """Keep a copy of what is handed on, where it cannot be read again."""
        if self.passed.kept:
            self.passed.keep(offset, memoryview(self.buffer)[begin:stop])


def blocks_of(source: Source, stream: RawIOBase) -> Iterator[tuple[bytes, Part | None]]:
    """The text of a source in blocks, cut where a member of a rotated set begins: before it stands an empty block with
    that member.

    The line end that was put behind a member without one is left out, so that its last line is told to be cut.
    """
    offset = known = 0
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
        if at < len(block):
            yield block[at:] if at else block, None
        offset = end
