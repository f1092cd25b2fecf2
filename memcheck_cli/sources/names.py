"""Names as they are shown: whatever a file or an archive member is called, its name is one harmless line."""

from __future__ import annotations

LONGEST = 1000
"""Characters of a member's name that are kept; a tar header can hold a megabyte of them."""


def shown(name: str) -> str:
    """`name` with everything that does not print (control characters, bytes that are no UTF-8, direction marks)
    written as an escape."""
    if name.isprintable():
        return name
    return "".join(character if character.isprintable() else _escaped(ord(character)) for character in name)


def member_path(name: str) -> str:
    """The name of an archive member as a relative path: no root, no `.` or `..`, nothing unprintable. It is a label
    and is never opened."""
    kept = [part for part in name[: 4 * LONGEST].split("/") if part not in ("", ".", "..")]
    path = shown("/".join(kept))
    if len(path) > LONGEST:
        path = path[:LONGEST] + "…"
    return path or "?"


def is_hidden(path: str) -> bool:
    """A component of the path is hidden: a dot file, or what macOS adds to its archives."""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


def _escaped(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that the file system's encoding did not know
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
