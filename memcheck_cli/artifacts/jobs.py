"""What one source tells of one job: its attempts, which methods ran in which, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from memcheck_cli.artifacts.attempts import Attempt, Method, short_file

LOOK_BACK = 100
"""Attempts of a file that are looked at when the suite says how one ended."""


class JobLog:
    """What one source tells of one job: its attempts in order, and how it ended."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.failed = False
        self.passed = False
        self.level: tuple[int, int] | None = None  # the busy level that later steps run at, and its line
        self._of_file: dict[str | None, list[Attempt]] = {}
        self._ran: dict[tuple[str | None, str | None], Attempt] = {}

    def file_named(self, attempt: Attempt, file: str) -> None:
        """An attempt is of this file."""
        attempt.name_file(file)
        known = self._of_file.setdefault(short_file(file), [])
        if not known or known[-1] is not attempt:
            known.append(attempt)

    def of_file(self, file: str) -> Iterator[Attempt]:
        """The latest attempts of a file, the last one first."""
        latest = self._of_file.get(short_file(file), [])
        return (attempt for attempt in latest[: -LOOK_BACK - 1 : -1] if attempt.is_of(file))

    def runs(self, attempt: Attempt, method: Method) -> None:
        """A method begins."""
        self._ran[method.key] = attempt

    def last_that_ran(self, key: tuple[str | None, str | None]) -> Attempt | None:
        """The last attempt in which a method ran."""
        return self._ran.get(key)

    def settle(self, whole: bool) -> None:
        """No more lines: files that ended without a word of failure have passed, and one file has one spelling. Of the
        last attempt that cannot be said where the job failed or the log is cut: the word may be missing."""
        sure = self.attempts[:-1] if self.failed or not whole else self.attempts
        for attempt in self.attempts:
            if attempt.ended and attempt.result is None and not all(attempt.results.values()):
                attempt.decide(False)  # the test runner's word
        for attempt in sure:
            if attempt.ended and attempt.result is None:
                attempt.decide(True)
        for attempts in self._of_file.values():
            spellings = sorted({attempt.file or "" for attempt in attempts}, key=len, reverse=True)[:LOOK_BACK]
            for attempt in attempts:
                attempt.file = next((one for one in spellings if attempt.is_of(one)), attempt.file)
