"""What callers of `sources` see: the values that `find_sources` yields, and the limits it keeps."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import NamedTuple

GIB = 1 << 30
MIB = 1 << 20


class Limits(NamedTuple):
    """How much an input may unfold to before it is given up as unreadable.

    member_bytes: decompressed bytes of one text. total_bytes: decompressed bytes of all inputs together, every layer
    of compression counted, and the most that is put into a temporary file. depth: containers inside each other (a
    compressed tar is one). members: entries of all archives together. ratio: decompressed by compressed bytes, of a
    text and of a whole archive, looked at once `ratio_after` decompressed bytes have come.
    """

    member_bytes: int = 32 * GIB
    total_bytes: int = 64 * GIB
    depth: int = 4
    members: int = 100_000
    ratio: int = 500
    ratio_after: int = 256 * MIB


class Unreadable(NamedTuple):
    """Something that could not be read. reason: half a sentence, one line, fit for a terminal."""

    name: str
    reason: str


class Skipped(NamedTuple):
    """Something that was passed over and is no error: binary, hidden, a link, named twice. reason: as above."""

    name: str
    reason: str


class Part(NamedTuple):
    """One file of a source. offset: where its text begins in what `Source.open` delivers, in bytes.

    after_cut: the part before it did not end in a line end (one was put in, so the offset is behind it) or is damaged:
    its last line may be incomplete.
    """

    name: str
    offset: int
    after_cut: bool = False


class Source:
    """One text to be read from start to end.

    name: what the user called it, members joined with "/" (`bundle.zip/job/server.log`), control characters escaped.
    path, size: a plain regular file on disk, and its bytes when it was found: several readers may open the path and
    each take a range of offsets. Both None where that is not possible.
    decoded: `open` decompresses or transcodes, so reading it in a thread of its own (`prefetch`) pays.
    once: a pipe; `open` may work only a single time.
    members: the sources a rotated set was joined from, oldest first; empty for any other source.
    parts: where each file begins in the text. It grows while a stream of a rotated set is read, and then has every
    part whose first byte has been delivered; for any other source it is one part from the start.
    """

    __slots__ = ("_open", "decoded", "members", "name", "once", "parts", "path", "size")

    def __init__(
        self,
        name: str,
        opener: Callable[[Source], io.RawIOBase],
        *,
        path: str | None = None,
        size: int | None = None,
        decoded: bool = False,
        once: bool = False,
        members: tuple[Source, ...] = (),
    ) -> None:
        self.name = name
        self.path = path
        self.size = size
        self.decoded = decoded
        self.once = once
        self.members = members
        self.parts: list[Part] = [Part(members[0].name if members else name, 0)]
        self._open = opener

    def open(self) -> io.RawIOBase:
        """A stream of the decompressed bytes, as UTF-8 where the text was UTF-16 or UTF-32, without a byte order mark.

        `readinto` and `read` may return fewer bytes than asked for; 0 bytes are the end. Both, and this call, raise
        `UnreadableError` (its text is the reason alone) when something is damaged, after all that stands before the
        damage has been delivered. A rotated set raises at its end and names the part.
        """
        return self._open(self)

    def part_at(self, offset: int) -> Part:
        """The part that holds the byte at `offset` of the text, as far as the text has been read."""
        from bisect import bisect_right

        return self.parts[max(0, bisect_right(self.parts, offset, key=_offset) - 1)]

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


def _offset(part: Part) -> int:
    return part.offset


Found = Source | Unreadable | Skipped
