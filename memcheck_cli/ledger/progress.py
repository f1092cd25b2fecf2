"""What a reader tells of its progress, and how it is stopped before the end."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from memcheck_cli.counting import counted

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from memcheck_cli.ledger.book import Ledger


class Progress:
    """Told of every piece of a source. This one does nothing.

    stopped: the reader is to stop behind the piece it is at; what was read counts. waiting: the reader waits for bytes:
    then, and only then, a signal handler may raise KeyboardInterrupt, which stops it at once.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.waiting = False

    def passed(self, position: int, ledger: Ledger) -> None:
        """A source was read up to a byte offset."""


class Waiting(io.RawIOBase):
    """A stream that tells a `Progress` when it is being waited for."""

    def __init__(self, stream: io.RawIOBase, progress: Progress) -> None:
        super().__init__()
        self._stream = stream
        self._progress = progress

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """See `io.RawIOBase`."""
        self._progress.waiting = True
        try:
            return self._stream.readinto(buffer) or 0
        finally:
            self._progress.waiting = False

    def close(self) -> None:
        """See `io.RawIOBase`."""
        if not self.closed:
            self._stream.close()
        super().close()


def interrupted(position: int) -> str:
    """Why reading ended, as the error of a source."""
    return f"interrupted after {counted(position, 'byte')}"
