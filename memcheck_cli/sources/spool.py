"""One temporary file for everything that must be read at any place but cannot be where it is: archives in archives,
archives from a pipe, members of a compressed tar."""

from __future__ import annotations

import os
from collections.abc import Iterable
from io import FileIO
from tempfile import TemporaryFile

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.blobs import DiskBlob, OpenBacking
from memcheck_cli.sources.budget import size_text
from memcheck_cli.sources.streams import os_reason


class Spool:
    """A file without a name, so nothing of it is left however the process ends. limit: bytes it may hold.

    It is one file for all, because a program may hold many sources at a time but only so many open files; its space is
    used anew when nothing kept in it is held any more.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._file: FileIO | None = None
        self._end = 0
        self._live = 0
        self._process = os.getpid()

    def keep(self, chunks: Iterable[bytes]) -> DiskBlob:
        """A copy of the chunks on disk. Where they raise `UnreadableError`, what came before is kept and the reason is
        the copy's `flaw`. Raises `UnreadableError` where there is no room for them."""
        flaw = None
        try:
            number = self._opened()
            if not self._live and self._process == os.getpid():
                os.ftruncate(number, 0)
                self._end = 0
            holder = _Holder(self)
            start = self._end
            source = iter(chunks)
            while True:
                try:
                    chunk = next(source, None)
                except UnreadableError as error:
                    flaw = str(error)
                    break
                if chunk is None:
                    break
                if self._end + len(chunk) > self._limit:
                    raise UnreadableError(f"unpacking it takes more than {size_text(self._limit)} on disk (limit)")
                self._write(number, chunk)
        except OSError as error:
            raise UnreadableError(f"it cannot be unpacked into a temporary file: {os_reason(error)}") from error
        return DiskBlob(OpenBacking(number, holder), start, self._end - start, flaw)

    def _opened(self) -> int:
        if self._file is None:
            self._file = TemporaryFile(prefix="memcheck-", buffering=0)  # noqa: SIM115  # closed with its last blob
        return self._file.fileno()

    def _write(self, number: int, chunk: bytes) -> None:
        rest = memoryview(chunk)
        while rest:
            written = os.pwrite(number, rest, self._end)
            self._end += written
            rest = rest[written:]


class _Holder:
    """Lives as long as something of the spool is in use, and keeps the file open."""

    __slots__ = ("_spool",)

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        spool._live += 1

    def __del__(self) -> None:
        self._spool._live -= 1
