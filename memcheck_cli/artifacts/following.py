"""Follows the marks of a log: which attempt of which test file a line belongs to, and what is told of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memcheck_cli.artifacts.attempts import Attempt, Method, Start
from memcheck_cli.artifacts.jobs import JobLog
from memcheck_cli.artifacts.marks import CHECKER, LEVEL, TEXT, Mark, identity, read_mark, read_running, text_of
from memcheck_cli.log.wrappers.pytest_output import captured_after

MOST_ATTEMPTS = 20_000
"""Attempts that one source is cut into; what comes behind them stays with the last."""

MOST_MARKS = 200_000
"""Marks that are kept of one source."""

MOST_METHODS = 5_000
MOST_STARTS = 1_000
"""Methods and starts of servers that are kept of one attempt."""

_NODE = b".py::"
_CHECKER = re.compile(b"|".join(re.escape(marker) for marker in CHECKER))
_STRUCTURE = frozenset({"ci-begin", "ci-file", "ci-retry", "ci-end", "ci-ended"})
_TELLING = frozenset({*_STRUCTURE, "ci-method", "command", "server-args", "banner"})


class Follower:
    """Is told of every change of job or step (`enter`) and of every line that may be a mark or the checker's (`take`);
    both answer the attempt that begins there, if one does, and the caller then says so (`go_on_with`).

    current: the attempt that lines belong to now. line: number of the line that is looked at, kept by the caller. jobs:
    what the log tells of each job.
    """

    def __init__(self, job: str | None, step: str | None) -> None:
        self.jobs: dict[str | None, JobLog] = {}
        self.line = 1
        self.current = Attempt(job, step, 1)
        self._job_log(job).attempts.append(self.current)
        self._attempts = 1
        self._marks = 0
        self._captured = False

    def go_on_with(self, attempt: Attempt) -> None:
        """Lines belong to this attempt from now on."""
        self.current = attempt
        self._job_log(attempt.job).attempts.append(attempt)

    def finish(self, whole: bool) -> None:
        """No more lines. whole: the log was read to its end."""
        for log in self.jobs.values():
            log.settle(whole)

    def _job_log(self, job: str | None) -> JobLog:
        return self.jobs.setdefault(job, JobLog())

    @property
    def _job(self) -> JobLog:
        return self._job_log(self.current.job)

    def enter(self, job: str, step: str | None) -> Attempt | None:
        """Another job or step begins."""
        step = None if step == "UNKNOWN STEP" else step
        current = self.current
        if self.line == 1:
            del self.jobs[current.job]
            self._job_log(job).attempts.append(current)
            current.job, current.step = job, step
            return None
        self._captured = False
        return self._new(job, step)

    def _new(self, job: str | None, step: str | None, opened: str = "text") -> Attempt | None:
        if self._attempts >= MOST_ATTEMPTS:
            return None
        self._attempts += 1
        attempt = Attempt(job, step, self.line, opened)
        level = self._job_log(job).level
        if level is not None:
            attempt.level, attempt.level_line = level
        return attempt

    # Marks

    def take(self, raw: bytes) -> Attempt | None:
        """A line that may be a mark or one of the checker's."""
        current = self.current
        if self._marks >= MOST_MARKS and not _CHECKER.search(raw):
            return None
        if _NODE in raw and not self._captured and self._marks < MOST_MARKS:
            running = read_running(text_of(raw))
            if running is not None:
                self._marks += 1
                current.lines.add(identity(raw))
                self._note(running)
        if _CHECKER.search(raw):
            if current.lines.add(identity(raw)) or not self._captured:
                current.count()
                if current.starts:
                    current.starts[-1].held = True
            return None
        text = text_of(raw)
        if text[:1] in ("-", "=", "_"):
            was = self._captured
            self._captured = captured_after(text, was)
            if was and not self._captured:
                self._runs(Method(self.line, None, None))
        mark = read_mark(text)
        if mark is None:
            return None
        self._marks += 1
        if self._captured and (mark.kind in _STRUCTURE or (mark.kind in _TELLING and not self._is_new(raw))):
            return None
        if mark.kind in _STRUCTURE or mark.kind == "ci-passed-on-retry":
            opened = self._structure(mark)
            (opened or self.current).lines.add(identity(raw))
            return opened
        if mark.kind in _TELLING:
            current.lines.add(identity(raw))
        self._note(mark)
        return None

    def _is_new(self, raw: bytes) -> bool:
        return self.current.lines.add(identity(raw))

    def _structure(self, mark: Mark) -> Attempt | None:
        current, values = self.current, mark.values
        file = values.get("file")
        if mark.kind in ("ci-end", "ci-ended"):
            current.ended = True
            if isinstance(file, str) and (current.file is None or current.is_of(file)):
                self._job.file_named(current, file)
            return None
        if mark.kind == "ci-begin":
            index = (_integer(values["index"]), _integer(values["last"]))
            if current.fresh and current.opened == "retry" and current.index is None:
                opened, attempt = None, current
            else:
                opened = self._new(current.job, current.step, "begin")
                attempt = opened or current
            attempt.index, attempt.awaits_file = index, True
            return opened
        if not isinstance(file, str):
            return None
        if mark.kind == "ci-file":
            return self._file(file)
        if mark.kind == "ci-passed-on-retry":
            return self._passed_on_retry(file, max(1, _integer(values["attempt"])))
        return self._retry(file, max(1, _integer(values["attempt"])), _integer(values["attempts"]))

    def _file(self, file: str) -> Attempt | None:
        current = self.current
        if current.awaits_file or (current.fresh and current.is_of(file)):
            current.awaits_file = False
            self._number(current, file)
            return None
        if current.index is not None and not current.ended:
            return None  # the test itself prints a command
        opened = self._new(current.job, current.step, "file")
        if opened is not None:
            self._number(opened, file)
        return opened

    def _retry(self, file: str, attempt: int, attempts: int) -> Attempt | None:
        current = self.current
        opened = None
        target = current
        if not (
            current.fresh and current.opened in ("begin", "file") and (current.file is None or current.is_of(file))
        ):
            opened = self._new(current.job, current.step, "retry")
            target = opened or current
        for earlier in self._job.of_file(file):
            if earlier is not target and (earlier.attempt or 1) < attempt:
                earlier.decide(False)
                earlier.attempts = attempts
        self._job.file_named(target, file)
        target.attempt, target.attempts = attempt, attempts
        return opened

    def _passed_on_retry(self, file: str, number: int) -> Attempt | None:
        """An attempt passed. Where the log shows nothing else of it, an empty one stands for it."""
        for known in self._job.of_file(file):
            if known.attempt == number:
                known.decide(True)
                return None
        opened = self._retry(file, number, number)
        if opened is not None:
            opened.decide(True)
        return opened

    def _number(self, attempt: Attempt, file: str) -> None:
        """An attempt is of this file: which one, where no mark says so, is one more than the last at the same place."""
        if attempt.attempt is None:
            attempt.attempt = 1
            for earlier in self._job.of_file(file):
                if earlier is not attempt and earlier.index == attempt.index:
                    attempt.attempt = (earlier.attempt or 1) + 1
                    earlier.decide(False)
                    break
        self._job.file_named(attempt, file)

    def _note(self, mark: Mark) -> None:
        kind, values, current = mark.kind, mark.values, self.current
        if kind == "ci-method" or kind == "section":
            method = Method(self.line, _text(values["class"]), _text(values["method"]))
            file = values.get("file")
            if isinstance(file, str) and method.method is not None:
                current.files[method.cls, method.method] = file
            if kind == "section" or not (self._captured and self._job.last_that_ran(method.key) is current):
                self._runs(method)
            if kind == "section" and method.method is not None:
                current.results[method.cls, method.method] = False
        elif kind in ("command", "server-args"):
            self._start(mark)
        elif kind == "banner":
            if current.starts:
                current.starts[-1].held = True
        elif kind == "level":
            self._level(_integer(values["value"]))
        elif kind == "ci-failed":
            self._failed(values)
        elif kind == "outcome":
            self._outcome(values)
        elif kind == "suite":
            self._suite(values["passed"] is True)
        elif kind == "job":
            if values["passed"]:
                self._job.passed = True
            else:
                self._job.failed = True

    def _runs(self, method: Method) -> None:
        current = self.current
        if len(current.methods) < MOST_METHODS:
            current.methods.append(method)
            if method.method is not None:
                self._job.runs(current, method)

    def _start(self, mark: Mark) -> None:
        current = self.current
        flags = {name: value for name, value in mark.values.items() if name != TEXT}
        level = flags.pop(LEVEL, None)
        if isinstance(level, int):
            current.level, current.level_line = level, self.line
        last = current.starts[-1] if current.starts else None
        if mark.kind == "server-args" and last is not None and not last.held:
            return  # the server whose command was printed, or another node of it
        command = mark.values.get(TEXT)
        if len(current.starts) < MOST_STARTS:
            current.starts.append(Start(self.line, command if isinstance(command, str) else None, flags))

    def _level(self, level: int) -> None:
        current = self.current
        current.level, current.level_line = level, self.line
        if current.opened == "text":
            self._job.level = (level, self.line)

    def _failed(self, values: Mapping[str, object]) -> None:
        """The suite says that the last attempt of a file failed."""
        file = values.get("file")
        last = next(self._job.of_file(file), None) if isinstance(file, str) else None
        if last is not None:
            last.decide(False)
        elif self.current.file is None:
            self.current.decide(False)

    def _outcome(self, values: Mapping[str, object]) -> None:
        """A test runner says how a method ended: of the last attempt that ran it."""
        cls, method, file = values.get("class"), values["method"], values.get("file")
        key = (cls if isinstance(cls, str) else None, str(method))
        target = self._job.last_that_ran(key) or self.current
        target.results[key] = values["passed"] is True and target.results.get(key, True)
        if isinstance(file, str):
            target.files[key] = file

    def _suite(self, passed: bool) -> None:
        """The suite is over: of a good one, every file whose end was seen has passed in its last attempt."""
        if passed:
            for attempt in self._job.attempts:
                if attempt.ended and attempt.result is None:
                    attempt.decide(True)


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
