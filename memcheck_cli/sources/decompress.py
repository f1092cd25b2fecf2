"""Decompression in bounded steps, which gives out everything that stands before a damage.

Each codec is a decompressor with the interface of `bz2.BZ2Decompressor`: it takes input piece by piece and never gives
back more than it is asked for, so no input, however well packed, takes more memory than a step.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from memcheck_cli.errors import UnreadableError

PIECE = 16 << 10
"""Compressed bytes that are fed at once behind the beginning of a member; what is left behind its end is copied each
time, so with many small members it must be little."""
LARGE_PIECE = 64 << 10
"""Compressed bytes that are fed at once further on: long calls, in which another thread can work."""
STEP = 512 << 10
"""Decompressed bytes that are given out at once, at most."""

_XZ_MEMORY = 256 << 20
_HEADER_LIMIT = 64 << 10


class Decompressor(Protocol):
    """One compressed member, stream or frame."""

    @property
    def eof(self) -> bool:
        """Its end has been reached."""

    @property
    def needs_input(self) -> bool:
        """Nothing more comes out before more is fed."""

    @property
    def unused_data(self) -> bytes:
        """What was fed beyond its end."""

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """Feed `data`, which is empty unless `needs_input`."""


@dataclass(frozen=True, slots=True)
class Codec:
    """name: for messages. new: makes a decompressor. exact: makes one that is used to read up to a damage (and to make
    sure that it is one). errors: what they raise on damage. starts: first bytes of another member behind the first,
    empty where there is only ever one."""

    name: str
    new: Callable[[], Decompressor]
    exact: Callable[[], Decompressor]
    errors: tuple[type[Exception], ...]
    starts: bytes = b""


class Feed(Protocol):
    """The compressed bytes: `chunks` begins anew at each call, as long as `again` is true."""

    @property
    def again(self) -> bool:
        """`chunks` may be called once more."""

    def chunks(self) -> Iterator[bytes]:
        """The bytes in order."""


def codec(kind: str) -> Codec:
    """The codec for a kind of `magic.kind`, or `deflate` for the raw data of a zip member."""
    if kind == "gzip":
        gunzip = partial(_Inflate, 31)
        fast = _isal()
        if fast is None:
            return Codec("gzip", gunzip, gunzip, (zlib.error,), b"\x1f")
        return Codec("gzip", _GzipMember, gunzip, (zlib.error, fast.IsalError, ValueError), b"\x1f")
    if kind == "deflate":
        inflate = partial(_Inflate, -15)
        fast = _isal()
        if fast is None:
            return Codec("deflate", inflate, inflate, (zlib.error,))
        return Codec("deflate", fast.IgzipDecompressor, inflate, (zlib.error, fast.IsalError))
    if kind == "bzip2":
        import bz2

        return Codec("bzip2", bz2.BZ2Decompressor, bz2.BZ2Decompressor, (OSError, ValueError), b"B")
    if kind == "xz":
        import lzma

        def new() -> Decompressor:
            return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

        return Codec("xz", new, new, (lzma.LZMAError, ValueError), b"\xfd")
    from memcheck_cli.sources.zstd import ZstdFrame, frame_errors

    return Codec("zstd", ZstdFrame, ZstdFrame, frame_errors(), bytes([0x28, *range(0x50, 0x60)]))


def lzma_codec(expanded: int | None) -> Codec:
    """The codec of an LZMA member of a zip, `expanded` bytes long (None: it has an end mark)."""
    import lzma

    def new() -> Decompressor:
        return _ZipLzma(expanded)

    return Codec("lzma", new, new, (lzma.LZMAError, ValueError))


def decompressed(codec: Codec, feed: Feed) -> Iterator[bytes]:
    """What `feed` holds, decompressed, in steps.

    Raises `UnreadableError` on damaged or truncated data, and passes on the feed's own, after everything that can be
    read before it. A damage loses what its own call would have given, so where the feed can be read again, the data
    are read again up to that call and then byte by byte. That also makes good what a fast decompressor gets wrong: at
    a cut, ISA-L keeps the last byte to itself.
    """
    pieces = _Pieces(feed.chunks())
    given = 0
    try:
        for out in _expanded(codec, codec.new, pieces):
            given += len(out)
            yield out
        return
    except _DamageError as error:
        damage = error
    finally:
        pieces.close()
    if feed.again and not (damage.cut and codec.exact is codec.new):
        slow = _Pieces(feed.chunks(), fine=(pieces.before, pieces.before + LARGE_PIECE))
        passed = 0
        try:
            for out in _expanded(codec, codec.exact, slow):
                passed += len(out)
                if passed > given:
                    fresh = out[-(passed - given) :]
                    given = passed
                    yield fresh
            return
        except _DamageError as error:
            damage = error
        finally:
            slow.close()
    raise UnreadableError(str(damage) if damage.cut else f"{damage} after {given:,} decompressed bytes")


class _DamageError(Exception):
    """cut: the data end too early."""

    def __init__(self, text: str, *, cut: bool = False) -> None:
        super().__init__(text)
        self.cut = cut


class _Pieces:
    """Chunks cut into pieces of `size`. before: how many bytes stand before the piece in work. fine: a range of offsets
    in which a piece is one byte."""

    def __init__(self, chunks: Iterator[bytes], fine: tuple[int, int] = (0, 0)) -> None:
        self._chunks = chunks
        self._fine = fine
        self.before = 0
        self.size = PIECE

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()

    def __iter__(self) -> Iterator[bytes]:
        low, high = self._fine
        for chunk in self._chunks:
            position = 0
            while position < len(chunk):
                size = self.size
                if self.before < low:
                    size = min(size, low - self.before)
                elif self.before < high:
                    size = 1
                piece = chunk[position : position + size]
                yield piece
                position += len(piece)
                self.before += len(piece)


def _expanded(codec: Codec, new: Callable[[], Decompressor], pieces: _Pieces) -> Iterator[bytes]:
    decompressor = new()
    between = False  # behind a whole member and before the first byte of another
    for data in pieces:
        while True:
            if between:
                data = data.lstrip(b"\0")  # padding: tapes, and xz to a multiple of four
                if not data:
                    break
                if data[0] not in codec.starts:
                    raise UnreadableError(f"something else follows behind the end of the {codec.name} data")
                between = False
            try:
                out = decompressor.decompress(data, STEP)
            except codec.errors as error:
                raise _DamageError(f"damaged {codec.name} data{_detail(error)}") from error
            if out:
                yield out
            if decompressor.eof:
                if not codec.starts:
                    return
                data = decompressor.unused_data
                decompressor = new()
                between = True
                pieces.size = PIECE
            elif decompressor.needs_input or not (data or out):  # the latter: it makes no way, so do not wait for it
                pieces.size = LARGE_PIECE
                break
            else:
                data = b""
    if not between:
        raise _DamageError(f"truncated {codec.name} data", cut=True)


def _detail(error: Exception) -> str:
    """What the libraries alone know and a person can use."""
    text = str(error)
    if "emory" in text:
        return " (it asks for too much memory)"
    return f" ({text})" if isinstance(error, ValueError) and text else ""


class _Inflate:
    """zlib's decompressor with the interface of the others. wbits: 31 for a gzip member, -15 for raw deflate."""

    __slots__ = ("_inflate", "_rest", "needs_input")

    def __init__(self, wbits: int) -> None:
        self._inflate = zlib.decompressobj(wbits)
        self._rest = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        out = self._inflate.decompress(self._rest or data, max(0, max_length))
        self._rest = self._inflate.unconsumed_tail
        self.needs_input = not self._rest and len(out) != max_length
        return out


def _isal() -> Any:
    """ISA-L's module, None where it is not installed."""
    try:
        from isal import igzip_lib
    except ImportError:
        return None
    return igzip_lib


def crc32(data: bytes, value: int) -> int:
    """`zlib.crc32`, several times as fast where ISA-L is installed."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.crc32(data, value)
    return isal_zlib.crc32(data, value)


class _BehindHead:
    """A decompressor that gets its input only once the head of it is whole and was read here."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self._head: bytes | None = b""

    @property
    def eof(self) -> bool:
        return bool(self._body.eof)

    @property
    def needs_input(self) -> bool:
        return self._head is not None or self._body.needs_input

    @property
    def unused_data(self) -> bytes:
        data: bytes = self._body.unused_data
        return data

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """As that of the standard library's decompressors."""
        if self._head is not None:
            begun = self._head + data
            body = self._begin(begun)
            if body is None:
                self._head = begun
                return b""
            self._head, data = None, body
        text: bytes = self._body.decompress(data, max_length)
        return text

    def _begin(self, data: bytes) -> bytes | None:
        """What the decompressor is to get for an input that begins like this; None where more is needed to tell."""
        raise NotImplementedError


class _GzipMember(_BehindHead):
    """A gzip member through ISA-L, which gets the data and the checksum behind the header: its own reader of that goes
    wrong where it comes in pieces."""

    def __init__(self) -> None:
        from isal import igzip_lib

        super().__init__(igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP_NO_HDR_VER))

    def _begin(self, data: bytes) -> bytes | None:
        end = gzip_header_end(data)
        return None if end is None else data[end:]


def gzip_header_end(data: bytes) -> int | None:
    """Length of the gzip header that `data` begins with, None where more is needed. Raises `ValueError`."""
    if not b"\x1f\x8b\x08".startswith(data[:3]):
        raise ValueError("no gzip header")
    if len(data) < 10:
        return None
    flags = data[3]
    if flags & 0xE0:
        raise ValueError("unknown gzip flags")
    end = 10
    if flags & 4:  # an extra field, its length before it
        end += 2 + int.from_bytes(data[end : end + 2], "little")
    for text in (8, 16):  # the file's name, a comment
        if flags & text:
            found = data.find(b"\0", end)
            if found < 0:
                if len(data) > _HEADER_LIMIT:
                    raise ValueError("endless gzip header")
                return None
            end = found + 1
    if flags & 2:  # the header's checksum
        end += 2
        if end <= len(data) and zlib.crc32(data[: end - 2]) & 0xFFFF != int.from_bytes(data[end - 2 : end], "little"):
            raise ValueError("gzip header checksum")
    return end if end <= len(data) else None


class _ZipLzma(_BehindHead):
    """An LZMA member of a zip: its short header is made into that of a `.lzma` file."""

    def __init__(self, expanded: int | None) -> None:
        import lzma

        super().__init__(lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_XZ_MEMORY))
        self._size = (2**64 - 1 if expanded is None else expanded).to_bytes(8, "little")

    def _begin(self, data: bytes) -> bytes | None:
        if len(data) < 9:  # version (2), length of the properties (2), the properties (5)
            return None
        if data[2:4] != b"\x05\x00":
            raise ValueError("unknown LZMA properties")
        return data[4:9] + self._size + data[9:]
