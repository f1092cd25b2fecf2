"""What a directory or an archive lists: things to look into, each by its name."""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.sources.blobs import Blob
from memcheck_cli.sources.interface import Skipped, Unreadable


class Entry(NamedTuple):
    """name: as it is shown. place: the path whose directory and last component say what it is rotated with, None where
    nothing can be said (a pipe). path, size: of a regular file on disk. direct: the user named it, so it is read
    whatever it looks like."""

    name: str
    blob: Blob
    place: str | None = None
    path: str | None = None
    size: int | None = None
    direct: bool = False


Listed = Entry | Skipped | Unreadable
