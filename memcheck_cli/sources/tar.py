"""Members of a tar archive, on disk or as it streams by.

`tarfile` reads a header block. The walk from header to header is done here, because `tarfile` takes extended headers of
any claimed size into memory and, in some releases, loops or backtracks on crafted ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.blobs import CHUNK, Blob, DiskBlob, SparseBlob
from memcheck_cli.sources.budget import Budget, Meter
from memcheck_cli.sources.entries import Entry, Listed
from memcheck_cli.sources.interface import Skipped, Unreadable
from memcheck_cli.sources.magic import foreign, kind
from memcheck_cli.sources.names import is_hidden, member_path
from memcheck_cli.sources.spool import Spool
from memcheck_cli.sources.streams import ChunkStream
from memcheck_cli.sources.text import SAMPLE, is_binary

if TYPE_CHECKING:
    from tarfile import TarInfo

BLOCK = 512
_EXTENDED_LIMIT = 1 << 20
_PIECES_LIMIT = 1 << 16
_LINKS = {b"1": "a hard link", b"2": "a link"}
_NO_DATA = b"123456"
_SPECIAL = {b"3": "a device", b"4": "a device", b"6": "a pipe"}
_LABELS = b"VMD"  # a volume's label, the rest of a file from another volume, a directory's listing


@dataclass(frozen=True, slots=True)
class TarEntry:
    """kind: the type flag. size: bytes of data in the archive. start: where they begin. pieces, whole: of a sparse
    member, where its data belong and how long it is."""

    name: str
    kind: bytes
    size: int
    start: int = 0
    pieces: tuple[tuple[int, int], ...] | None = None
    whole: int = 0


class Reader(Protocol):
    """An archive being walked. position: bytes taken or skipped so far."""

    position: int

    def take(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""

    def skip(self, size: int) -> None:
        """Pass over the next bytes."""


class DiskReader:
    """See `Reader`."""

    def __init__(self, archive: DiskBlob) -> None:
        self._archive = archive
        self._size = archive.length()
        self.position = 0

    def take(self, size: int) -> bytes:
        """See `Reader`."""
        data = self._archive.read_at(self.position, size)
        self.position += len(data)
        return data

    def skip(self, size: int) -> None:
        """See `Reader`."""
        if self.position + size > self._size:
            raise UnreadableError(self._archive.flaw or "truncated tar archive")
        self.position += size


class StreamReader:
    """See `Reader`."""

    def __init__(self, archive: Blob) -> None:
        self._stream = ChunkStream(archive.chunks())
        self.position = 0

    def take(self, size: int) -> bytes:
        """See `Reader`."""
        data = b""
        try:
            while len(data) < size and (more := self._stream.read(size - len(data))):
                data += more
        except UnreadableError:
            if not data:  # else it comes again with the next call
                raise
        self.position += len(data)
        return data

    def skip(self, size: int) -> None:
        """See `Reader`."""
        while size:
            passed = len(self.take(min(size, CHUNK)))
            if not passed:
                raise UnreadableError("truncated tar archive")
            size -= passed

    def close(self) -> None:
        """Give up the archive."""
        self._stream.close()


def walk(reader: Reader) -> Iterator[TarEntry]:
    """The entries of the archive. At each yield the reader stands at its data, and may be moved on in them.

    Raises `UnreadableError` where the chain of headers breaks.
    """
    extended: dict[str, bytes] = {}
    while True:
        start = reader.position
        block = reader.take(BLOCK)
        if not block or not block.strip(b"\0"):
            return
        if len(block) < BLOCK:
            reader.take(BLOCK)  # where the archive has a reason of its own to end here, it tells it now
            raise UnreadableError("truncated tar archive")
        header = _header(block, start)
        flag, size = header.type, header.size
        if flag in (b"L", b"K", b"x", b"X", b"g"):
            if size > _EXTENDED_LIMIT:
                raise UnreadableError(f"a tar header is too long (at byte {start:,})")
            data = reader.take(size)
            if len(data) < size:
                raise UnreadableError("truncated tar archive")
            reader.skip(-size % BLOCK)
            if flag == b"L":
                extended["path"] = data.split(b"\0", 1)[0]
            elif flag in (b"x", b"X"):
                extended |= _records(data)
            continue
        entry = _entry(header, extended, reader) if flag != b"S" else _old_sparse(header, extended, block, reader)
        extended = {}
        data_start = reader.position
        yield replace(entry, start=data_start)
        if entry.kind not in _NO_DATA:  # what an unknown type holds is data, as in a regular file
            reader.skip(data_start + entry.size - reader.position)
            reader.take(-entry.size % BLOCK)


def tar_members(archive: Blob, name: str, spool: Spool, budget: Budget, outer: Meter | None) -> Iterator[Listed]:
    """The members in the archive's order, and the archive itself as unreadable where it breaks off.

    Of an archive that does not lie on disk, members that may be of use are copied there while it streams by.
    """
    disk = archive.on_disk()
    reader: DiskReader | StreamReader = StreamReader(archive) if disk is None else DiskReader(disk)
    try:
        for entry in walk(reader):
            if entry.kind == b"5" or entry.kind in _LABELS:
                continue
            budget.count_member()
            path = member_path(entry.name)
            full = f"{name}/{path}"
            if reason := _passed_over(entry, path):
                yield Skipped(full, reason)
                continue
            if disk is not None:
                data: Blob | None = disk.span(entry.start, entry.size)
            else:
                data = _copied(reader, entry, spool)
            if data is None:
                yield Skipped(full, "binary")
            elif entry.pieces is not None:
                yield Entry(full, SparseBlob(data, entry.pieces, entry.whole, Meter(budget, outer)), place=full)
            else:
                yield Entry(full, data, place=full)
    except UnreadableError as error:
        yield Unreadable(name, str(error))
    finally:
        if isinstance(reader, StreamReader):
            reader.close()


def _passed_over(entry: TarEntry, path: str) -> str | None:
    if entry.kind in _LINKS or entry.kind in _SPECIAL:
        return _LINKS.get(entry.kind) or _SPECIAL[entry.kind]
    return "hidden" if is_hidden(path) else None


def _copied(reader: Reader, entry: TarEntry, spool: Spool) -> DiskBlob | None:
    """The member's data on disk, or None for one that is binary at the first glance."""
    head = reader.take(min(entry.size, SAMPLE))
    if kind(head) is None and foreign(head) is None and is_binary(head):
        return None

    def data() -> Iterator[bytes]:
        yield head
        left = entry.size - len(head)
        while left:
            chunk = reader.take(min(left, CHUNK))
            if not chunk:
                raise UnreadableError("truncated tar archive")
            left -= len(chunk)
            yield chunk

    return spool.keep(data())


def _header(block: bytes, start: int) -> TarInfo:
    from tarfile import HeaderError, TarInfo

    try:
        header = TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (HeaderError, ValueError, OverflowError) as error:
        raise UnreadableError(f"damaged tar archive (at byte {start:,})") from error
    if not 0 <= header.size < 1 << 63:
        raise UnreadableError(f"damaged tar archive (at byte {start:,})")
    return header


def _entry(header: TarInfo, extended: Mapping[str, bytes], reader: Reader) -> TarEntry:
    size = _number(extended["size"]) if "size" in extended else header.size
    name = extended.get("GNU.sparse.name") or extended.get("path")
    entry = TarEntry(header.name if name is None else name.decode("utf-8", "surrogateescape"), header.type, size)
    if extended.get("GNU.sparse.major") == b"1":
        before = reader.position
        pieces = _map_in_data(reader, size)
        return _sparse(entry, pieces, _number(extended["GNU.sparse.realsize"]), size - (reader.position - before))
    if "GNU.sparse.map" in extended:
        numbers = [_number(word) for word in extended["GNU.sparse.map"].split(b",")]
        whole = _number(extended.get("GNU.sparse.size", b""))
        return _sparse(entry, list(zip(numbers[::2], numbers[1::2], strict=False)), whole, size)
    return entry


def _old_sparse(header: TarInfo, extended: Mapping[str, bytes], block: bytes, reader: Reader) -> TarEntry:
    """GNU's own form: pairs of numbers in the header and in blocks behind it."""
    entry = replace(_entry(header, extended, reader), kind=b"0")
    pieces = _pairs(block[386:482])
    more = block[482]
    while more:
        extension = reader.take(BLOCK)
        if len(extension) < BLOCK or len(pieces) > _PIECES_LIMIT:
            raise UnreadableError("damaged tar archive: a sparse member")
        pieces += _pairs(extension[:504])
        more = extension[504]
    return _sparse(entry, pieces, _field(block[483:495]), entry.size)


def _pairs(data: bytes) -> list[tuple[int, int]]:
    pairs = [(_field(data[at : at + 12]), _field(data[at + 12 : at + 24])) for at in range(0, len(data) - 23, 24)]
    return [pair for pair in pairs if pair != (0, 0)]


def _map_in_data(reader: Reader, size: int) -> list[tuple[int, int]]:
    """The form of POSIX archives: the member's data begin with the numbers, one a line, filled up to a block."""
    text = bytearray()
    lines, wanted = 0, None
    while wanted is None or lines < wanted:
        block = reader.take(BLOCK)
        text += block
        lines += block.count(b"\n")
        if len(block) < BLOCK or len(text) > min(size, _EXTENDED_LIMIT) or not lines:
            raise UnreadableError("damaged tar archive: a sparse member")
        if wanted is None:
            wanted = 1 + 2 * _number(bytes(text[: text.index(b"\n")]))
    numbers = [_number(bytes(word)) for word in text.split(b"\n")[1:wanted]]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _sparse(entry: TarEntry, pieces: list[tuple[int, int]], whole: int, size: int) -> TarEntry:
    position = 0
    for offset, length in pieces:
        if offset < position or offset + length > whole:
            raise UnreadableError("damaged tar archive: a sparse member")
        position = offset + length
    if size < 0 or sum(length for _, length in pieces) > size:
        raise UnreadableError("damaged tar archive: a sparse member")
    return replace(entry, size=size, pieces=tuple(pieces), whole=whole)


def _field(field: bytes) -> int:
    """A number of a header: octal digits, or binary when it is too large for them."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not digits:
        return 0
    try:
        return int(digits, 8)
    except ValueError as error:
        raise UnreadableError("damaged tar archive: a sparse member") from error


def _number(word: bytes) -> int:
    if not word.isdigit() or len(word) > 18:
        raise UnreadableError("damaged tar archive: an extended header")
    return int(word)


def _records(data: bytes) -> dict[str, bytes]:
    """The `length key=value` records of an extended header."""
    records: dict[str, bytes] = {}
    position = 0
    while position < len(data):
        blank = data.find(b" ", position, position + 20)
        if blank < 0 or not data[position:blank].isdigit():
            break
        end = position + int(data[position:blank])
        key, equals, value = data[blank + 1 : end - 1].partition(b"=")
        if end <= blank or end > len(data) or not equals:
            break
        records[key.decode("utf-8", "replace")] = value
        position = end
    return records
