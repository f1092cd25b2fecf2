"""Members of a zip archive.

`zipfile` reads the directory of the archive. The members' data are read here, because `zipfile` unpacks some methods
without any bound on memory.
"""

from __future__ import annotations

import io
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.blobs import Blob, DiskBlob, PackedBlob
from memcheck_cli.sources.budget import Budget, Meter
from memcheck_cli.sources.decompress import Codec, codec, lzma_codec
from memcheck_cli.sources.entries import Entry, Listed
from memcheck_cli.sources.interface import Skipped, Unreadable
from memcheck_cli.sources.names import is_hidden, member_path

if TYPE_CHECKING:
    from zipfile import ZipInfo

_METHODS = {8: "deflate", 12: "bzip2", 93: "zstd", 95: "xz"}
_NAMES = {1: "shrink", 6: "implode", 9: "deflate64", 97: "wavpack", 98: "ppmd", 99: "encryption"}


def zip_members(archive: DiskBlob, name: str, budget: Budget, outer: Meter | None) -> Iterator[Listed]:
    """The members in the order of the archive's directory; the archive itself as unreadable where it has none."""
    size = archive.length()
    meter = Meter(budget, outer, packed=size)
    try:
        infos = _directory(archive, size, budget)
    except UnreadableError as error:
        yield Unreadable(name, archive.flaw or str(error))
        return
    for info in infos:
        if info.is_dir():
            continue
        path = member_path(_slashed(info.filename))
        full = f"{name}/{path}"
        try:
            budget.count_member()
        except UnreadableError as error:
            yield Unreadable(name, str(error))
            return
        kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0
        if kind not in (0, stat.S_IFREG):
            yield Skipped(full, "a link" if kind == stat.S_IFLNK else "no regular file")
        elif is_hidden(path):
            yield Skipped(full, "hidden")
        else:
            try:
                yield Entry(full, _member(archive, info, budget, meter), place=full)
            except UnreadableError as error:
                yield Unreadable(full, str(error))


def _directory(archive: DiskBlob, size: int, budget: Budget) -> list[ZipInfo]:
    from zipfile import ZipFile

    try:
        with ZipFile(_Seekable(archive, size, max(1 << 20, 256 * budget.limits.members))) as opened:
            return opened.infolist()
    except UnreadableError:
        raise
    except Exception as error:  # a hostile directory makes it raise nearly anything
        raise UnreadableError("truncated or damaged zip archive") from error


def _member(archive: DiskBlob, info: ZipInfo, budget: Budget, outer: Meter) -> Blob:
    if info.flag_bits & 0x41:
        raise UnreadableError("encrypted")
    method = info.compress_type
    expanded = info.file_size
    member_codec: Codec | None
    if method == 0:
        member_codec = None
    elif method == 14:
        member_codec = lzma_codec(None if info.flag_bits & 2 else expanded)
    elif method in _METHODS:
        member_codec = codec(_METHODS[method])
    else:
        raise UnreadableError(f"packed by a method that is not supported ({_NAMES.get(method, method)})")
    meter = Meter(budget, outer)
    meter.declared(expanded, info.compress_size)
    data = _MemberData(archive, info.header_offset, info.compress_size)
    return PackedBlob(data, member_codec, meter, size=expanded, crc=info.CRC)


class _MemberData(Blob):
    """The packed bytes of a member, found through its local header."""

    def __init__(self, archive: DiskBlob, header: int, size: int) -> None:
        self._archive = archive
        self._header = header
        self._size = size

    def chunks(self) -> Iterator[bytes]:
        return self.on_disk().chunks()

    def on_disk(self) -> DiskBlob:
        header = self._archive.read_at(self._header, 30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise UnreadableError("truncated or damaged zip archive")
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return self._archive.span(self._header + 30 + names, self._size)


def _slashed(name: str) -> str:
    """Some Windows tools write their own separator."""
    return name.replace("\\", "/") if "/" not in name else name


class _Seekable(io.RawIOBase):
    """An archive as the file that `zipfile` wants. most: bytes of one read; a directory beyond it is refused."""

    def __init__(self, archive: DiskBlob, size: int, most: int) -> None:
        super().__init__()
        self._archive = archive
        self._size = size
        self._most = most
        self._position = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0, /) -> int:
        position = offset + (0, self._position, self._size)[whence]
        if position < 0:
            raise OSError("negative position")
        self._position = position
        return position

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._size - self._position)
        size = left if size is None or size < 0 else min(size, left)
        if size > self._most:
            raise UnreadableError("the directory of the zip archive is too large (limit)")
        data = self._archive.read_at(self._position, size)
        self._position += len(data)
        return data
