"""Bytes from somewhere: a file, a piece of one, a pipe, or what another blob holds in packed form.

A blob's `chunks` gives its bytes in order. Those that lie on disk as they are can be read at any place as well
(`DiskBlob`), which archives need.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from typing import TYPE_CHECKING, BinaryIO, Protocol

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.budget import Meter
from memcheck_cli.sources.streams import os_reason

if TYPE_CHECKING:
    from memcheck_cli.sources.decompress import Codec

CHUNK = 256 << 10
"""Bytes that are read at once."""
_FIRST_CHUNK = 32 << 10
_KEPT = 4 << 20


class Blob:
    """Base of all. once: it comes from a pipe."""

    once = False

    @property
    def again(self) -> bool:
        """`chunks` may be called (once more) and begins at the first byte."""
        return True

    def chunks(self) -> Iterator[bytes]:
        """The bytes in order. Raises `UnreadableError` after all that stands before a damage."""
        raise NotImplementedError

    def on_disk(self) -> DiskBlob | None:
        """The same bytes for reading at any place, where they lie on disk as they are."""
        return None


class Backing(Protocol):
    """Where a `DiskBlob` lies."""

    @contextmanager
    def descriptor(self) -> Iterator[int]:
        """A file descriptor for `os.pread`, good inside the `with`."""


class PathBacking:
    """A file by its path; no descriptor is held between uses."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    @contextmanager
    def descriptor(self) -> Iterator[int]:
        """See `Backing`. Raises `UnreadableError`."""
        try:
            number = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise UnreadableError(os_reason(error) if isinstance(error, OSError) else str(error)) from error
        try:
            yield number
        finally:
            os.close(number)


class OpenBacking:
    """A file that somebody else holds open."""

    __slots__ = ("_number", "owner")

    def __init__(self, number: int, owner: object) -> None:
        self._number = number
        self.owner = owner

    @contextmanager
    def descriptor(self) -> Iterator[int]:
        """See `Backing`."""
        yield self._number


class DiskBlob(Blob):
    """A regular file, or `size` bytes of one from `offset` on (size None: up to its end, wherever that is by then).

    flaw: why it is shorter than it should be, where that is known beforehand.
    """

    __slots__ = ("backing", "flaw", "offset", "size")

    def __init__(self, backing: Backing, offset: int = 0, size: int | None = None, flaw: str | None = None) -> None:
        self.backing = backing
        self.offset = offset
        self.size = size
        self.flaw = flaw

    def chunks(self) -> Iterator[bytes]:
        """See `Blob`."""
        with self.backing.descriptor() as number:
            position = 0
            while self.size is None or position < self.size:
                wanted = CHUNK if position else _FIRST_CHUNK  # often nobody wants more than a glance
                if self.size is not None:
                    wanted = min(wanted, self.size - position)
                chunk = _pread(number, wanted, self.offset + position)
                if not chunk:
                    break
                position += len(chunk)
                yield chunk
        if self.flaw is not None:
            raise UnreadableError(self.flaw)
        if self.size is not None and position < self.size:
            raise UnreadableError(_missing(self.size - position))

    def on_disk(self) -> DiskBlob:
        """See `Blob`."""
        return self

    def length(self) -> int:
        """Bytes that are there now."""
        with self.backing.descriptor() as number:
            there = max(0, os.fstat(number).st_size - self.offset)
        return there if self.size is None else min(there, self.size)

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position` on; fewer at the end. Raises `UnreadableError`."""
        if self.size is not None:
            size = max(0, min(size, self.size - position))
        pieces = []
        with self.backing.descriptor() as number:
            while size:
                piece = _pread(number, size, self.offset + position)
                if not piece:
                    break
                pieces.append(piece)
                position += len(piece)
                size -= len(piece)
        return b"".join(pieces)

    def span(self, position: int, size: int) -> DiskBlob:
        """A piece of this one. It may reach beyond the end: then it is truncated."""
        lost = self.size is not None and position + size > self.size
        kept = max(0, self.size - position) if lost and self.size is not None else size
        flaw = (self.flaw or _missing(size - kept)) if lost else None
        return DiskBlob(self.backing, self.offset + position, kept, flaw)


def _pread(number: int, size: int, position: int) -> bytes:
    try:
        return os.pread(number, size, position)
    except (OSError, OverflowError) as error:
        raise UnreadableError(os_reason(error) if isinstance(error, OSError) else "truncated") from error


class PipeBlob(Blob):
    """Something that can only be read through once: a pipe, a terminal, a device.

    Its first 4 MiB are kept, so that looking at the beginning takes nothing away from the reader.
    """

    once = True

    def __init__(self, opener: Callable[[], BinaryIO | FileIO]) -> None:
        self._opener = opener
        self._file: BinaryIO | FileIO | None = None
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._ended = False
        self._lost = False

    @property
    def again(self) -> bool:
        """See `Blob`."""
        return not self._lost

    def chunks(self) -> Iterator[bytes]:
        """See `Blob`."""
        if self._lost:
            raise UnreadableError("a pipe can be read only once")
        index = 0
        while True:
            if index < len(self._kept):
                yield self._kept[index]
                index += 1
                continue
            chunk = b"" if self._ended else self._next()
            if not chunk:
                self._ended = True
                return
            if self._lost or self._kept_bytes + len(chunk) > _KEPT:
                self._lost = True
                self._kept.clear()
                index = 0
                yield chunk
            else:
                self._kept.append(chunk)
                self._kept_bytes += len(chunk)

    def _next(self) -> bytes:
        try:
            if self._file is None:
                self._file = self._opener()
            chunk = _read_some(self._file)
            if not chunk and _would_wait(self._file):
                chunk = _read_some(self._file)
            return chunk
        except OSError as error:
            raise UnreadableError(os_reason(error)) from error
        except ValueError as error:  # it is closed
            raise UnreadableError(str(error)) from error


def _read_some(file: BinaryIO | FileIO) -> bytes:
    try:
        return bytes(getattr(file, "read1", file.read)(CHUNK) or b"")
    except BlockingIOError:
        return b""


def _would_wait(file: BinaryIO | FileIO) -> bool:
    """Somebody has made the pipe non-blocking, so an empty read is no end yet: wait for bytes, or the end."""
    try:
        number = file.fileno()
    except (OSError, ValueError):
        return False
    if os.get_blocking(number):
        return False
    from select import select

    select([number], [], [])
    return True


class PackedBlob(Blob):
    """What `inner` holds, decompressed.

    crc, size: what they must come to, where they are known (members of a zip). codec None: it is stored as it is.
    """

    def __init__(
        self, inner: Blob, codec: Codec | None, meter: Meter, *, size: int | None = None, crc: int | None = None
    ) -> None:
        self._inner = inner
        self._codec = codec
        self.meter = meter
        self._size = size
        self._crc = crc
        self._drawn = 0

    @property
    def once(self) -> bool:  # type: ignore[override]
        """See `Blob`."""
        return self._inner.once

    @property
    def again(self) -> bool:
        """See `Blob`."""
        return self._inner.again

    def chunks(self) -> Iterator[bytes]:
        """See `Blob`; also raises when it unfolds beyond a limit."""
        from memcheck_cli.sources.decompress import crc32, decompressed

        feed = _Counted(self._inner)
        position = crc = 0
        for out in feed.chunks() if self._codec is None else decompressed(self._codec, feed):
            position += len(out)
            self.meter.reached(position, feed.drawn)
            if self._crc is not None:
                crc = crc32(out, crc)
            yield out
        if self._size is not None and position != self._size:
            raise UnreadableError(f"damaged: {_bytes(position)} instead of {self._size:,}")
        if self._crc is not None and crc != self._crc:
            raise UnreadableError("damaged: the checksum is wrong")

    def on_disk(self) -> DiskBlob | None:
        """See `Blob`."""
        return self._inner.on_disk() if self._codec is None else None


class _Counted:
    """A blob as a decompressor's feed. drawn: bytes taken since its last beginning."""

    def __init__(self, inner: Blob) -> None:
        self._inner = inner
        self.drawn = 0

    @property
    def again(self) -> bool:
        return self._inner.again

    def chunks(self) -> Iterator[bytes]:
        self.drawn = 0
        for chunk in self._inner.chunks():
            self.drawn += len(chunk)
            yield chunk


class SparseBlob(Blob):
    """A sparse file as tar keeps it: `inner` has the data, one behind the other, and `pieces` says where they belong
    (offset, size), in ascending order; the rest is NUL up to `size`."""

    def __init__(self, inner: Blob, pieces: Sequence[tuple[int, int]], size: int, meter: Meter) -> None:
        self._inner = inner
        self._pieces = pieces
        self._size = size
        self._meter = meter

    def chunks(self) -> Iterator[bytes]:
        """See `Blob`."""
        zeros = bytes(CHUNK)
        position = drawn = 0
        data = self._inner.chunks()
        rest = b""
        for offset, size in (*self._pieces, (self._size, 0)):
            while position < offset:
                hole = zeros[: offset - position]
                position += len(hole)
                self._meter.reached(position, drawn)
                yield hole
            while size:
                rest = rest or next(data, b"")
                if not rest:
                    raise UnreadableError("truncated: a sparse member has too few data")
                piece = rest[:size]
                rest = rest[len(piece) :]
                size -= len(piece)
                drawn += len(piece)
                position += len(piece)
                self._meter.reached(position, drawn)
                yield piece


def _missing(size: int) -> str:
    return f"truncated: {_bytes(size)} {'is' if size == 1 else 'are'} missing"


def _bytes(size: int) -> str:
    return f"{size:,} {'byte' if size == 1 else 'bytes'}"
