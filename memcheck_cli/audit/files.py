"""Which Python files a path holds, read as bytes and never executed.

A tree is walked without following links to directories, so a loop of links ends. Hidden directories and caches are left
out. What cannot be read is handed on as `Skipped` with the reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from memcheck_cli.audit.model import Skipped
from memcheck_cli.errors import UnreadableError

MAX_BYTES = 4 * 1024 * 1024
"""Larger files are generated data; SGLang's largest test is far below a tenth of it."""

_LEFT_OUT = {"__pycache__", "node_modules", "site-packages"}


class SourceFile:
    """One file: where it is, the name it is shown by, and its bytes."""

    __slots__ = ("content", "path", "shown")

    def __init__(self, path: Path, shown: str, content: bytes) -> None:
        self.path = path
        self.shown = shown
        self.content = content


def printable(path: str) -> str:
    """A path as text that can be written in any encoding of Unicode (file names may be any bytes)."""
    return os.fsencode(os.path.normpath(path) if path else "''").decode("utf-8", "backslashreplace")


def find(paths: Iterable[str]) -> tuple[list[SourceFile], list[Skipped], list[Path]]:
    """The Python files of `paths` in order, what was skipped, and the directories imports may start from.

    Raises UnreadableError for a path that does not exist, and where nothing at all can be read.
    """
    found: list[SourceFile] = []
    skipped: list[Skipped] = []
    roots: list[Path] = []
    seen: set[tuple[int, int]] = set()
    for given in paths:
        try:
            info = Path(given).stat()
        except (OSError, ValueError) as error:
            raise UnreadableError(f"cannot read {printable(given)}: {_why(error)}") from None
        if stat.S_ISDIR(info.st_mode):
            roots.append(Path(os.path.realpath(given)))
            _walk(given, found, skipped, seen)
        else:
            roots.append(Path(os.path.realpath(given)).parent)
            _take(given, found, skipped, seen)
    if not found:
        if skipped:
            raise UnreadableError(f"nothing could be read: {skipped[0].file}: {skipped[0].reason}")
        raise UnreadableError("no Python file found")
    return found, skipped, roots


def _walk(top: str, found: list[SourceFile], skipped: list[Skipped], seen: set[tuple[int, int]]) -> None:
    def failed(error: OSError) -> None:
        skipped.append(Skipped(printable(str(error.filename)), _why(error)))

    for directory, directories, names in os.walk(top, onerror=failed):
        directories.sort()
        for name in directories:
            full = os.path.join(directory, name)  # noqa: PTH118 - bytes-clean names, and os.walk speaks str
            if Path(full).is_symlink() and not _left_out(name):
                skipped.append(Skipped(printable(full), "a link to a directory is not followed", relevant=False))
        directories[:] = [name for name in directories if not _left_out(name)]
        for name in sorted(names):
            if name.endswith(".py"):
                _take(os.path.join(directory, name), found, skipped, seen)  # noqa: PTH118


def _left_out(name: str) -> bool:
    return name.startswith(".") or name in _LEFT_OUT


def _take(path: str, found: list[SourceFile], skipped: list[Skipped], seen: set[tuple[int, int]]) -> None:
    shown = printable(path)
    try:
        info = Path(path).stat()
        if not stat.S_ISREG(info.st_mode):
            skipped.append(Skipped(shown, "not a regular file"))
            return
        if (info.st_dev, info.st_ino) in seen:
            return
        seen.add((info.st_dev, info.st_ino))
        if info.st_size > MAX_BYTES:
            skipped.append(Skipped(shown, f"larger than {MAX_BYTES // 1024 // 1024} MiB"))
            return
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        skipped.append(Skipped(shown, _why(error)))
        return
    found.append(SourceFile(Path(os.path.realpath(path)), shown, content))


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
