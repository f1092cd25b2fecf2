"""Members of a zip archive.

`zipfile` reads the directory of the archive. The members' data are read here, because `zipfile` unpacks some methods
without any bound on memory. Where the directory, which stands at the end, is missing, the members are found by the
headers before them (`zip_rescue`).
"""

from __future__ import annotations

import io
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.blobs import Blob, DiskBlob, PackedBlob
from memcheck_cli.sources.budget import Budget, Meter
from memcheck_cli.sources.decompress import Codec, codec, lzma_codec
from memcheck_cli.sources.entries import Entry, Listed
from memcheck_cli.sources.interface import Skipped, Unreadable
from memcheck_cli.sources.names import is_hidden, member_path

LOCAL_HEADER = b"PK\x03\x04"
LOCAL_HEADER_SIZE = 30
_ENCRYPTED = 0x41
_HAS_END_MARK = 2
_METHODS = {8: "deflate", 12: "bzip2", 93: "zstd", 95: "xz"}
_NAMES = {1: "shrink", 6: "implode", 9: "deflate64", 97: "wavpack", 98: "ppmd", 99: "encryption"}
_DAMAGED = "truncated or damaged zip archive"


@dataclass(frozen=True, slots=True)
class ZipMember:
    """header: where its local header begins. packed, expanded: bytes; crc and expanded are None where only the data
    can tell. kind: the file type of its Unix mode, 0 where it has none."""

    name: str
    header: int
    flags: int
    method: int
    packed: int
    expanded: int | None
    crc: int | None
    kind: int = 0


def zip_members(archive: DiskBlob, name: str, budget: Budget, outer: Meter | None) -> Iterator[Listed]:
    """The members in the order of the archive; and the archive itself as unreadable where its directory is missing."""
    size = archive.length()
    meter = Meter(budget, outer, packed=size)
    try:
        yield from _listed(archive, _directory(archive, size, budget), name, budget, meter)
    except UnreadableError as error:
        if str(error) == _DAMAGED:
            from memcheck_cli.sources.zip_rescue import rescued_members

            try:
                yield from _listed(archive, rescued_members(archive, size), name, budget, meter)
            except UnreadableError as another:
                error = another
        yield Unreadable(name, archive.flaw or str(error))


def _listed(
    archive: DiskBlob, members: Iterable[ZipMember], name: str, budget: Budget, meter: Meter
) -> Iterator[Listed]:
    for member in members:
        path = member_path(_slashed(member.name))
        full = f"{name}/{path}"
        budget.count_member()
        if member.name.endswith("/"):
            continue
        if member.kind not in (0, stat.S_IFREG):
            yield Skipped(full, "a link" if member.kind == stat.S_IFLNK else "no regular file")
        elif is_hidden(path):
            yield Skipped(full, "hidden")
        else:
            try:
                blob = _unpacked(archive, member, budget, meter)
            except UnreadableError as error:
                yield Unreadable(full, str(error))
            else:
                yield Entry(full, blob, place=full)


def _directory(archive: DiskBlob, size: int, budget: Budget) -> list[ZipMember]:
    from zipfile import ZipFile

    try:
        with ZipFile(_Seekable(archive, size, max(1 << 20, 256 * budget.limits.members))) as opened:
            infos = opened.infolist()
    except UnreadableError:
        raise
    except Exception as error:  # a hostile directory makes it raise nearly anything
        raise UnreadableError(_DAMAGED) from error
    return [
        ZipMember(
            info.filename,
            info.header_offset,
            info.flag_bits,
            info.compress_type,
            info.compress_size,
            info.file_size,
            info.CRC,
            stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0,
        )
        for info in infos
    ]


def _unpacked(archive: DiskBlob, member: ZipMember, budget: Budget, outer: Meter) -> Blob:
    if member.flags & _ENCRYPTED:
        raise UnreadableError("encrypted")
    member_codec: Codec | None
    if member.method == 0:
        member_codec = None
    elif member.method == 14:
        member_codec = lzma_codec(None if member.flags & _HAS_END_MARK else member.expanded)
    elif member.method in _METHODS:
        member_codec = codec(_METHODS[member.method])
    else:
        method = _NAMES.get(member.method, f"number {member.method}")
        raise UnreadableError(f"packed by a method that is not supported ({method})")
    meter = Meter(budget, outer)
    if member.expanded is not None:
        meter.declared(member.expanded, member.packed)
    data = _MemberData(archive, member.header, member.packed)
    return PackedBlob(data, member_codec, meter, size=member.expanded, crc=member.crc)


class _MemberData(Blob):
    """The packed bytes of a member, found through its local header."""

    def __init__(self, archive: DiskBlob, header: int, size: int) -> None:
        self._archive = archive
        self._header = header
        self._size = size

    def chunks(self) -> Iterator[bytes]:
        return self.on_disk().chunks()

    def on_disk(self) -> DiskBlob:
        header = self._archive.read_at(self._header, LOCAL_HEADER_SIZE)
        if len(header) < LOCAL_HEADER_SIZE or not header.startswith(LOCAL_HEADER):
            raise UnreadableError(_DAMAGED)
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return self._archive.span(self._header + LOCAL_HEADER_SIZE + names, self._size)


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
