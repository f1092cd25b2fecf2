"""Exceptions of schedulers and the tracebacks behind them, by process."""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.log.records import Line

LINES = 400
"""Lines after an exception's head that are read one by one, to find the function a bare error came from."""


class _Crash(NamedTuple):
    """The last `Scheduler hit an exception` of a process."""

    rank: str
    time: str | None
    line: int


class Tracebacks:
    """True while one is being read: then every line matters."""

    def __init__(self) -> None:
        self._crashes: dict[str | None, _Crash] = {}
        self._open: dict[str | None, tuple[int, str | None]] = {}  # lines left, last function named

    def __bool__(self) -> bool:
        return bool(self._open)

    def begin(self, line: Line) -> None:
        """The head of an exception."""
        self._crashes[line.process] = _Crash(line.rank, line.time, line.number)
        self._open[line.process] = (LINES, None)

    def follow(self, line: Line) -> None:
        """The next line: a traceback ends at a prefixed line or at one at the left margin."""
        state = self._open.get(line.process)
        if state is None:
            return
        left, function = state
        if line.prefixed or left <= 0 or (line.text and not line.text[0].isspace()):
            del self._open[line.process]
            return
        _, found, name = line.text.rpartition(", in ")
        self._open[line.process] = (left - 1, name.strip() if found else function)

    def function(self, process: str | None) -> str | None:
        """The innermost function that the open traceback of a process has named so far."""
        state = self._open.get(process)
        return state[1] if state else None

    def end(self, process: str | None) -> bool:
        """The traceback of a process ends here; answers whether one was open."""
        return self._open.pop(process, None) is not None

    def origin(self, line: Line, crashed: str = "") -> tuple[str, str | None]:
        """Rank and time of a line; an unprefixed error line has those of its process's last exception.

        crashed: the rank that the text itself names; the prefix has the last word.
        """
        if crashed:
            return (line.rank if line.prefixed and line.rank != "-" else crashed), line.time
        if line.prefixed or line.rank != "-":
            return line.rank, line.time
        crash = self._crashes.get(line.process)
        return (crash.rank, crash.time) if crash else (line.rank, line.time)
