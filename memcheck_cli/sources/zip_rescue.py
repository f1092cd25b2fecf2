"""Members of a zip whose end is missing, as after an interrupted download."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct, error

from memcheck_cli.sources.blobs import CHUNK, DiskBlob
from memcheck_cli.sources.zip import LOCAL_HEADER, LOCAL_HEADER_SIZE, ZipMember

_HEADER = Struct("<4sHHHHHIIIHH")
_DESCRIPTOR = b"PK\x07\x08"
_SIZES_FOLLOW = 8
_UTF8 = 0x800
_LARGE = 0xFFFFFFFF


def rescued_members(archive: DiskBlob, size: int) -> Iterator[ZipMember]:
    """The members in order, by the header before each, up to where the chain breaks. The last may be incomplete."""
    position = 0
    while True:
        block = archive.read_at(position, LOCAL_HEADER_SIZE)
        if len(block) < LOCAL_HEADER_SIZE or not block.startswith(LOCAL_HEADER):
            return
        _, _, flags, method, _, _, crc, packed, expanded, name_size, extra_size = _HEADER.unpack(block)
        names = archive.read_at(position + LOCAL_HEADER_SIZE, name_size + extra_size)
        if len(names) < name_size + extra_size:
            return
        name = names[:name_size].split(b"\0", 1)[0].decode("utf-8" if flags & _UTF8 else "cp437", "replace")
        if packed == _LARGE or expanded == _LARGE:
            expanded, packed = _large_sizes(names[name_size:], expanded, packed)
        data = position + LOCAL_HEADER_SIZE + name_size + extra_size
        if flags & _SIZES_FOLLOW and not packed:
            found = _descriptor(archive, data, size)
            if found is None:  # the data are cut off: how long they should be is nowhere told
                yield ZipMember(name, position, flags, method, max(0, size - data), None, None)
                return
            crc, packed, expanded, following = found
        else:
            following = data + packed
        yield ZipMember(name, position, flags, method, packed, expanded, crc)
        position = following


def _large_sizes(extra: bytes, expanded: int, packed: int) -> tuple[int, int]:
    position = 0
    while position + 4 <= len(extra):
        kind = int.from_bytes(extra[position : position + 2], "little")
        length = int.from_bytes(extra[position + 2 : position + 4], "little")
        if kind == 1 and length >= 16:
            return (
                int.from_bytes(extra[position + 4 : position + 12], "little"),
                int.from_bytes(extra[position + 12 : position + 20], "little"),
            )
        position += 4 + length
    return expanded, packed


def _descriptor(archive: DiskBlob, start: int, size: int) -> tuple[int, int, int, int] | None:
    """Checksum, packed size, expanded size, and what follows, of the descriptor behind data that begin at `start`:
    the first whose packed size is its own distance."""
    position = start
    while position < size:
        block = archive.read_at(position, CHUNK + 24)
        at = block.find(_DESCRIPTOR)
        while 0 <= at < CHUNK:
            distance = position + at - start
            for form in ("<III", "<IQQ"):
                fields = Struct(form)
                try:
                    crc, packed, expanded = fields.unpack_from(block, at + 4)
                except error:
                    continue
                if packed == distance:
                    return crc, packed, expanded, position + at + 4 + fields.size
            at = block.find(_DESCRIPTOR, at + 1)
        position += CHUNK
    return None
