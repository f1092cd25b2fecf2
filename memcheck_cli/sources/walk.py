"""Paths that a user gave, to the files they mean."""

# pathlib would take away the spelling that the user gave (./logs), and takes long to import.
# ruff: noqa: PTH114, PTH116, PTH118, PTH119, PTH207, PTH208

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from functools import partial
from io import FileIO
from typing import BinaryIO

from memcheck_cli.sources.blobs import DiskBlob, OpenBacking, PathBacking, PipeBlob
from memcheck_cli.sources.entries import Entry, Listed
from memcheck_cli.sources.interface import Skipped, Unreadable
from memcheck_cli.sources.names import is_hidden, shown
from memcheck_cli.sources.streams import os_reason

STDIN = "-"
_STDIN_PATHS = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def entries_of_paths(paths: Sequence[str], stdin: BinaryIO | None) -> Iterator[Listed]:
    """What the paths mean, in their order; directories in the order of names. A file or directory that comes a second
    time, by whatever name, is skipped."""
    walker = _Walker(stdin)
    for path in paths:
        yield from walker.given(path)


class _Walker:
    """seen: by device and inode (or object), the name under which something came first."""

    def __init__(self, stdin: BinaryIO | None) -> None:
        self._stdin = stdin
        self._seen: dict[tuple[int, int], str] = {}

    def given(self, path: str) -> Iterator[Listed]:
        """One path of the user's, whatever it is."""
        name = shown(path)
        if path == STDIN:
            yield self._standard_input(name)
            return
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            yield from self._pattern(path, os_reason(error) if isinstance(error, OSError) else str(error))
            return
        mode = status.st_mode
        if path in _STDIN_PATHS and self._stdin is not None:
            yield self._standard_input(name)
        elif stat.S_ISDIR(mode):
            yield from self._tree(path)
        elif stat.S_ISREG(mode):
            yield self._file(path, status, direct=True)
        elif stat.S_ISSOCK(mode):
            yield Unreadable(name, "a socket")
        else:
            pipe = PipeBlob(partial(FileIO, path))
            yield self._repeated((status.st_dev, status.st_ino), name) or Entry(name, pipe, direct=True)

    def _pattern(self, path: str, reason: str) -> Iterator[Listed]:
        """A path that does not exist, as a pattern if it is one."""
        from glob import glob, has_magic

        if "\0" in path or not has_magic(path):
            yield Unreadable(shown(path), reason)
            return
        matches = sorted(glob(path, recursive=True))
        if not matches:
            yield Unreadable(shown(path), "no file matches the pattern")
        for match in matches:
            yield from self._tree(match)

    def _tree(self, top: str) -> Iterator[Listed]:
        """A directory with everything below it, or a file that a pattern has found."""
        stack = [top]
        while stack:
            path = stack.pop()
            listed = self._found(path, top)
            if listed is None:
                try:
                    names = os.listdir(path)
                except OSError as error:
                    listed = Unreadable(shown(path), os_reason(error))
                else:
                    stack.extend(os.path.join(path, name) for name in sorted(names, reverse=True))
                    if not names:
                        listed = Skipped(shown(path), "an empty directory")
            if listed is not None:
                yield listed

    def _found(self, path: str, top: str) -> Listed | None:
        """Something below `top` that nobody named, or `top` itself; None for a directory to be listed."""
        name = shown(path)
        if path != top and is_hidden(os.path.basename(path)):
            return Skipped(name, "hidden")
        try:
            status = os.stat(path)
        except OSError as error:
            return Unreadable(name, os_reason(error))
        if not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode):
            return Skipped(name, "a pipe, socket or device")
        if path != top and os.path.islink(path):
            if stat.S_ISDIR(status.st_mode):  # it could lead anywhere, and in circles
                return Skipped(name, "a link to a directory")
            target = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
            if not is_hidden(target):  # neither above `top` (`..`) nor passed over below it
                return Skipped(name, f"a link to {shown(target)}")
        if stat.S_ISREG(status.st_mode):
            return self._file(path, status, direct=False)
        return self._repeated((status.st_dev, status.st_ino), name)

    def _file(self, path: str, status: os.stat_result, *, direct: bool) -> Listed:
        name = shown(path)
        return self._repeated((status.st_dev, status.st_ino), name) or Entry(
            name, DiskBlob(PathBacking(path)), os.path.normpath(path), path=path, size=status.st_size, direct=direct
        )

    def _standard_input(self, name: str) -> Listed:
        stdin = self._stdin
        if stdin is None:
            return Unreadable(name, "there is no standard input")
        try:
            number = stdin.fileno()
            status = os.fstat(number)
            position = stdin.tell() if stat.S_ISREG(status.st_mode) else 0
        except (OSError, ValueError):  # an object that is no file of the system
            return self._repeated((-1, id(stdin)), name) or Entry(name, PipeBlob(lambda: stdin), direct=True)
        if stat.S_ISDIR(status.st_mode):
            return Unreadable(name, "is a directory")
        if repeated := self._repeated((status.st_dev, status.st_ino), name):
            return repeated
        if stat.S_ISREG(status.st_mode):  # a file behind `<`, from where it stands
            return Entry(name, DiskBlob(OpenBacking(number, stdin), position), direct=True)
        return Entry(name, PipeBlob(lambda: stdin), direct=True)

    def _repeated(self, key: tuple[int, int], name: str) -> Skipped | None:
        """None the first time."""
        if key in self._seen:
            return Skipped(name, f"the same as {self._seen[key]}")
        self._seen[key] = name
        return None
