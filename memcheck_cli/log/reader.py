"""From bytes to lines with their meaning, every line, one by one: the reference that the fast reader is held to."""

from __future__ import annotations

from collections.abc import Iterator

from memcheck_cli.log.context import read_context
from memcheck_cli.log.lines import read_message
from memcheck_cli.log.prefixes import split_prefix
from memcheck_cli.log.records import Line, Message
from memcheck_cli.log.wrappers import Unwrapped, Unwrapper

_DIGITS = frozenset((b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9"))

LONGEST_LINE = 16 << 20
"""Bytes of one line that are looked at; a longer line is cut there and never read as whole."""


class LineReader:
    """Splits blocks into lines and reads each. `lines` and `offset` count what was taken in so far."""

    def __init__(self, unwrapper: Unwrapper | None = None, line: int = 0, offset: int = 0) -> None:
        self.lines = line
        self.offset = offset
        self.unwrapper = unwrapper if unwrapper is not None else Unwrapper()
        self._rest: list[bytes] = []
        self._rest_size = 0

    def feed(self, block: bytes) -> Iterator[tuple[Line, Message | None]]:
        """Every line that ends in this block, in order."""
        start = 0
        while (end := block.find(b"\n", start)) >= 0:
            raw = block[start:end]
            size = end - start + 1
            if self._rest:
                size += self._rest_size
                raw = b"".join([*self._rest, raw])
                self._rest = []
                self._rest_size = 0
            yield from self.line(raw, size, True, block[end + 1 : end + 2] in _DIGITS)
            start = end + 1
        if start < len(block):
            left = block[start:]
            # Of an endless line only the head is kept; its size still counts.
            if self._rest_size < LONGEST_LINE:
                self._rest.append(left)
            self._rest_size += len(left)

    def line(
        self, raw: bytes, size: int, whole: bool, digit_follows: bool = False
    ) -> Iterator[tuple[Line, Message | None]]:
        """One physical line without its line end; size: its bytes with it; digit_follows: the next line begins with a
        digit, so where a terminal cut lines the last number may go on there."""
        self.lines += 1
        offset = self.offset
        self.offset += size
        if len(raw) > LONGEST_LINE:
            raw, whole = raw[:LONGEST_LINE], False
        text = raw.decode("utf-8", "replace")
        for unwrapped in self.unwrapper.feed(self.lines, offset, text, whole, digit_follows):
            yield read_unwrapped(unwrapped)

    def end_of_part(self) -> Iterator[tuple[Line, Message | None]]:
        """The file ends here, and another one goes on: a last line without line end is cut."""
        if self._rest_size:
            raw = b"".join(self._rest)
            size, self._rest, self._rest_size = self._rest_size, [], 0
            yield from self.line(raw, size, False)

    def finish(self) -> Iterator[tuple[Line, Message | None]]:
        """A last line without line end, and what the wrappers still hold back."""
        yield from self.end_of_part()
        for unwrapped in self.unwrapper.finish():
            yield read_unwrapped(unwrapped)


def read_unwrapped(unwrapped: Unwrapped) -> tuple[Line, Message | None]:
    """The line and its meaning, once the collector's wrapping is off."""
    time, rank, prefixed, text = split_prefix(unwrapped.text)
    line = Line(
        unwrapped.number,
        unwrapped.offset,
        unwrapped.process,
        rank,
        time,
        prefixed,
        text,
        unwrapped.whole,
        unwrapped.copies,
        unwrapped.copied,
        unwrapped.captured,
    )
    message = read_message(text, prefixed)
    return line, message if message is not None else read_context(text, prefixed, unwrapped.whole)
