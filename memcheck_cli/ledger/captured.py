"""Output that a test runner captured and prints again behind a failure."""

from __future__ import annotations

from collections.abc import Callable

from memcheck_cli.log.records import Line

Latest = Callable[[str | None, str, int], str | None]


class Captured:
    """Such a section repeats the past: a stream's lines in it are repetitions up to the last time that was read of that
    stream before the section. True within one.

    latest: the latest time of a process's rank, of what stands before a line.
    """

    def __init__(self, latest: Latest) -> None:
        self._latest = latest
        self._until: dict[tuple[str | None, str], str | None] = {}
        self._since = 0  # the first line of it
        self._repeating = False  # what the last prefixed captured line was

    def __bool__(self) -> bool:
        return bool(self._until)

    def repeats(self, line: Line) -> bool:
        """Whether a line was already printed while the test ran."""
        if not line.captured:
            self._until.clear()
            self._repeating = False
            return False
        key = (line.process, line.rank)
        if not self._until:
            self._since = line.number
        if line.prefixed and line.time is not None:
            if key not in self._until:
                self._until[key] = self._latest(line.process, line.rank, self._since)
            until = self._until[key]
            self._repeating = until is not None and line.time <= until
        else:
            self._until.setdefault(("", ""), None)
        return self._repeating
