"""How far a long reading came, on stderr, and what Ctrl-C does to it."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from memcheck_cli.ledger.progress import Progress

if TYPE_CHECKING:
    from memcheck_cli.ledger.book import Ledger
    from memcheck_cli.ledger.reading import SourceReading

AFTER = 0.5
"""Seconds before the first word: what is quick needs none."""

EVERY = 0.2

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class Display(Progress):
    """Writes one line to a terminal's stderr and keeps it up to date. As a context: Ctrl-C stops the reading, the
    second one ends the process.

    size: bytes of all that will be read, where that is known. stopped: Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.size: int | None = None
        self._begin = time.monotonic()
        self._next = self._begin + AFTER
        self._shown = False
        self._terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._before = 0  # bytes of the sources that are done
        self._breaks = 0  # in them
        self._position = 0
        self._handler: object = None

    def __enter__(self) -> Display:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            try:
                self._handler = signal.signal(signal.SIGINT, self._interrupt)
            except ValueError:  # not the main thread
                self._handler = None
        return self

    def __exit__(self, *error: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)  # type: ignore[arg-type]
        self._clear()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        again = self.stopped
        self.stopped = True
        if again or self.waiting:
            raise KeyboardInterrupt

    def passed(self, position: int, ledger: Ledger) -> None:
        """See `Progress`."""
        self._position = position
        if self._terminal and time.monotonic() >= self._next:
            self._show(self._before + position, self._breaks + _breaks(ledger))

    def done(self, reading: SourceReading, size: int | None) -> None:
        """A source was read to its end; size: its bytes where they are known."""
        self._before += self._position if size is None else size
        self._position = 0
        if self._terminal:
            if reading.ledger is not None:
                self._breaks += _breaks(reading.ledger)
            if time.monotonic() >= self._next:
                self._show(self._before, self._breaks)

    def _show(self, passed: int, breaks: int) -> None:
        now = time.monotonic()
        self._next = now + EVERY
        self._shown = True
        part = f" of {_bytes(self.size)}" if self.size is not None and self.size >= passed else ""
        rate = _bytes(passed / max(now - self._begin, 1e-6))
        text = f"memcheck: {_bytes(passed)}{part}, {rate}/s, {breaks} {'break' if breaks == 1 else 'breaks'} so far"
        try:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except OSError:
            width = 80
        sys.stderr.write(f"\r{text[: width - 1]}\x1b[K")
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _breaks(ledger: Ledger) -> int:
    """Series that do not balance, as far as the records themselves tell."""
    return sum(
        any(segment.balance and segment.status != "tolerated" for segment in series.segments)
        for stream in ledger.streams.values()
        for kind in (stream.busy, stream.idle)
        for series in kind.values()
        if not series.open_total
    )


def _bytes(number: float) -> str:
    """Bytes for a person: `412 MB`, `1.2 GB`."""
    for unit in ("B", "kB", "MB"):
        if number < 999.5:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
