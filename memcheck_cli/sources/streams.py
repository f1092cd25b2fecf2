"""Streams that a reader gets: a plain file, or chunks of bytes made into a stream."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memcheck_cli.errors import UnreadableError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def os_reason(error: OSError) -> str:
    """A system error as half a sentence: `no such file or directory`."""
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]


class PlainFile(io.FileIO):
    """A file as it lies on disk, unbuffered; system errors become `UnreadableError`."""

    def __init__(self, path: str, *, start: int = 0) -> None:
        try:
            super().__init__(path, "rb")
            if start:
                self.seek(start)
        except (OSError, ValueError) as error:
            raise UnreadableError(os_reason(error) if isinstance(error, OSError) else str(error)) from error

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See `io.RawIOBase`."""
        try:
            return super().readinto(buffer) or 0
        except OSError as error:
            raise UnreadableError(os_reason(error)) from error

    def read(self, size: int | None = -1, /) -> bytes:
        """See `io.RawIOBase`."""
        try:
            return super().read(-1 if size is None else size) or b""
        except OSError as error:
            raise UnreadableError(os_reason(error)) from error


class ChunkStream(io.RawIOBase):
    """Chunks of bytes as a stream to be read once, front to back.

    fill: a read goes on until the buffer is full or the chunks end; without it, it returns what one chunk brings, which
    is right for a pipe whose writer is still at work. An `UnreadableError` that the chunks raise comes after every byte
    before it has been read, and again on every later read.
    """

    def __init__(self, chunks: Iterator[bytes], *, fill: bool = True) -> None:
        super().__init__()
        self._chunks = chunks
        self._fill = fill
        self._rest = memoryview(b"")
        self._error: UnreadableError | None = None
        self._ended = False

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See `io.RawIOBase`."""
        with memoryview(buffer).cast("B") as target:
            done = 0
            while done < len(target) and self._more(wait=not done or self._fill):
                taken = self._rest[: len(target) - done]
                target[done : done + len(taken)] = taken
                done += len(taken)
                self._rest = self._rest[len(taken) :]
            if not done and len(target) and self._error is not None:
                raise self._error
            return done

    def read(self, size: int | None = -1, /) -> bytes:
        """See `io.RawIOBase`; `read(-1)` is all there is left."""
        if size is None or size < 0:
            rest = []
            while self._more(wait=True):
                rest.append(bytes(self._rest))
                self._rest = memoryview(b"")
            if not rest and self._error is not None:
                raise self._error
            return b"".join(rest)
        pieces: list[memoryview] = []
        left = size
        while left and self._more(wait=not pieces or self._fill):
            taken = self._rest[:left]
            pieces.append(taken)
            left -= len(taken)
            self._rest = self._rest[len(taken) :]
        if left == size and left and self._error is not None:
            raise self._error
        return b"".join(pieces)

    def close(self) -> None:
        """Give up whatever the chunks hold open."""
        if not self.closed:
            self._rest = memoryview(b"")
            close = getattr(self._chunks, "close", None)
            if close is not None:
                close()
        super().close()

    def _more(self, wait: bool) -> bool:
        """There are bytes in `_rest`, asking for the next chunk where it is empty."""
        if self.closed:
            raise ValueError("I/O operation on closed stream")
        while not self._rest:
            if not wait or self._ended:
                return False
            try:
                self._rest = memoryview(next(self._chunks))
            except StopIteration:
                self._ended = True
            except UnreadableError as error:
                self._ended = True
                self._error = error
        return True
