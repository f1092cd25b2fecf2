"""What a file is, told by its first bytes and never by its name."""

from __future__ import annotations

COMPRESSED = frozenset({"gzip", "bzip2", "xz", "zstd"})
ARCHIVES = frozenset({"zip", "tar"})

_FOREIGN = (
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x04\x22\x4d\x18", "LZ4"),
    (b"LZIP\x01", "lzip"),
    (b"\x89LZO\x00\x0d\x0a\x1a\x0a", "lzop"),
    (b"\xff\x06\x00\x00sNaPpY", "Snappy"),
    (b"\x1f\x9d", "compress (.Z)"),
)


def kind(head: bytes) -> str | None:
    """`gzip`, `bzip2`, `xz`, `zstd`, `zip` or `tar`; None for anything else. `head` should hold 512 bytes or all."""
    if head[:3] == b"\x1f\x8b\x08" and len(head) > 3 and not head[3] & 0xE0:
        return "gzip"
    if head[:3] == b"BZh" and head[4:10] in (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"):
        return "bzip2"
    if head[:6] == b"\xfd7zXZ\x00":
        return "xz"
    if head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50):
        return "zstd"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06") or head[:8] in (b"PK\x07\x08PK\x03\x04", b"PK00PK\x03\x04"):
        return "zip"
    return "tar" if _is_tar(head) else None


def foreign(head: bytes) -> str | None:
    """The name of a container that is known but cannot be read, else None."""
    return next((name for magic, name in _FOREIGN if head.startswith(magic)), None)


def _is_tar(head: bytes) -> bool:
    """The first block is a tar header: its checksum is right. Old tars have no other mark."""
    if len(head) < 512 or not head[0]:
        return False
    field = head[148:156].strip(b" \0")
    if not field or len(field) > 7 or field.strip(b"01234567"):
        return False
    return int(field, 8) == sum(head[:512]) - sum(head[148:156]) + 8 * 0x20
