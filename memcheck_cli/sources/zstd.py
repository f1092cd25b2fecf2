"""Zstandard, block by block.

The libraries do not tell a truncated frame from a whole one in every interface, nor bound what one call gives back. A
frame is a chain of blocks, each with its length before it and at most 128 KiB when decompressed, so the chain is walked
here and each block handed to the library by itself. Format: RFC 8878.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_FRAME = 0xFD2FB528
_BLOCK_LIMIT = 128 << 10


def _decompressor() -> Any:
    """A decompressor for one frame of whichever library there is."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # from Python 3.14 on

        return zstd.ZstdDecompressor()
    except ImportError:
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj()


def frame_errors() -> tuple[type[Exception], ...]:
    """What `ZstdFrame` raises on damage."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return (zstd.ZstdError, ValueError, EOFError, MemoryError)
    except ImportError:
        import zstandard

        return (zstandard.ZstdError, ValueError, EOFError, MemoryError)


class ZstdFrame:
    """One frame, or a skippable one, which gives nothing. See `decompress.Decompressor`.

    A call gives the output of one block at most. Raises `ValueError` where the chain of blocks is wrong, and the
    library's error where a block is.
    """

    __slots__ = ("_buffer", "_checksum", "_frame", "_next", "_skip", "eof", "needs_input")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._frame: Any = None
        self._checksum = False
        self._skip = 0
        self._next: Callable[[], bytes | None] = self._header
        self.eof = False
        self.needs_input = True

    @property
    def unused_data(self) -> bytes:
        """What was fed beyond the end of the frame."""
        return bytes(self._buffer) if self.eof else b""

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """Feed `data`; the output of the next block, if it is whole. `max_length` is not needed."""
        self._buffer += data
        while not self.eof:
            out = self._next()
            if out is None:
                self.needs_input = True
                return b""
            if out:
                self.needs_input = False
                return out
        return b""

    def _take(self, size: int) -> bytes | None:
        if len(self._buffer) < size:
            return None
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _header(self) -> bytes | None:
        head = self._buffer
        if len(head) < 5:
            return None
        magic = int.from_bytes(head[:4], "little")
        if magic & 0xFFFFFFF0 == 0x184D2A50:
            if len(head) < 8:
                return None
            self._skip = int.from_bytes(head[4:8], "little")
            del self._buffer[:8]
            self._next = self._skippable
            return b""
        if magic != _FRAME:
            raise ValueError("no zstd frame")
        descriptor = head[4]
        single = descriptor >> 5 & 1
        dictionary = (0, 1, 2, 4)[descriptor & 3]
        size = 5 + (1 - single) + dictionary + (single, 2, 4, 8)[descriptor >> 6]
        if len(head) < size:
            return None
        if any(head[6 - single : 6 - single + dictionary]):
            raise ValueError("it needs a dictionary")
        self._checksum = bool(descriptor >> 2 & 1)
        self._frame = _decompressor()
        self._next = self._block
        return self._fed(size)

    def _skippable(self) -> bytes | None:
        passed = min(self._skip, len(self._buffer))
        del self._buffer[:passed]
        self._skip -= passed
        if self._skip:
            return None
        self.eof = True
        return b""

    def _block(self) -> bytes | None:
        if len(self._buffer) < 3:
            return None
        header = int.from_bytes(self._buffer[:3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if size > _BLOCK_LIMIT or kind == 3:
            raise ValueError("a block is too large or of no known kind")
        whole = 3 + (1 if kind == 1 else size)  # kind 1: one byte, repeated
        if len(self._buffer) < whole:
            return None
        if last:
            self._next = self._trailer
        return self._fed(whole)

    def _trailer(self) -> bytes | None:
        out = b""
        if self._checksum:
            if len(self._buffer) < 4:
                return None
            out = self._fed(4) or b""
        if not self._frame.eof:
            raise ValueError("the frame does not end where it should")
        self.eof = True
        return out

    def _fed(self, size: int) -> bytes | None:
        taken = self._take(size)
        if taken is None:
            return None
        out: bytes = self._frame.decompress(taken)
        return out
