"""Cuts the log of a job into attempts of test files, while it is read once from start to end.

Each attempt is handed on as a source of its own, so that servers of different attempts never share a ledger; on the
way its marks are read. Lines keep the numbers that they have in the whole log.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from memcheck_cli.artifacts.attempts import Attempt, Method, Start, short_file
from memcheck_cli.artifacts.marks import (
    CHECKER,
    COLUMNS,
    LEVEL,
    LONGEST,
    MARKERS,
    TEXT,
    Mark,
    identity,
    read_mark,
    read_running,
    text_of,
)
from memcheck_cli.log.markers import Markers
from memcheck_cli.log.wrappers.pytest_output import captured_after
from memcheck_cli.sources import Source

if TYPE_CHECKING:
    from io import RawIOBase

BLOCK = 1 << 20
LONGEST_LINE = 4 << 20
"""Bytes of a line; of a longer one nothing is looked at."""

MOST_ATTEMPTS = 20_000
"""Attempts that one source is cut into; what comes behind them stays with the last."""

MOST_MARKS = 200_000
"""Marks that are kept of one source."""

MOST_METHODS = 5_000
MOST_STARTS = 1_000
"""Methods and starts of servers that are kept of one attempt."""

LOOK_BACK = 100
"""Attempts of a file that are looked at when the suite says how one ended."""

_NODE = b".py::"
_CHECKER = re.compile(b"|".join(re.escape(marker) for marker in CHECKER))
_STRUCTURE = frozenset({"ci-begin", "ci-file", "ci-retry", "ci-end", "ci-ended"})
_TELLING = frozenset({*_STRUCTURE, "ci-method", "command", "server-args", "banner"})


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
        for attempt in sure:
            if attempt.ended and attempt.result is None:
                attempt.decide(True)
        for attempts in self._of_file.values():
            spellings = sorted({attempt.file or "" for attempt in attempts}, key=len, reverse=True)[:LOOK_BACK]
            for attempt in attempts:
                attempt.file = next((one for one in spellings if attempt.is_of(one)), attempt.file)


class Cutter:
    """Iterate for the attempts; each must be read to its end before the next is asked for.

    jobs: what it tells of each job. columns: it is the text of `gh run view --log`.
    """

    def __init__(self, source: Source, stream: RawIOBase, job: str | None, step: str | None) -> None:
        self.source = source
        self.columns = False
        self.jobs: dict[str | None, JobLog] = {}
        self._stream = stream
        self._current = Attempt(job, step, 1)
        self._job_log(job).attempts.append(self._current)
        self._markers = Markers(MARKERS)
        self._prefix: re.Pattern[bytes] | None = None
        self._cut_count = 1
        self._marks = 0
        self._line = 1  # number of the next line
        self._captured = False

    def __iter__(self) -> Iterator[tuple[Attempt, Source]]:
        events = self._events()
        attempt: Attempt | None = self._current
        while attempt is not None:
            feed = _Feed(events)
            yield attempt, Source(self.source.name, feed.opened)
            feed.drain()
            attempt = feed.following

    def _job_log(self, job: str | None) -> JobLog:
        return self.jobs.setdefault(job, JobLog())

    @property
    def _job(self) -> JobLog:
        return self._job_log(self._current.job)

    # The text, with a new attempt where one begins

    def _events(self) -> Iterator[bytes | Attempt]:
        rest = b""
        passing = False  # the rest of a line that is too long goes by
        first = True
        while block := self._stream.read(BLOCK):
            if passing:
                end = block.find(b"\n") + 1
                yield block[: end or len(block)]
                if not end:
                    continue
                self._line += 1
                passing = False
                block = block[end:]
            data = rest + block
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if end:
                if first:
                    first = False
                    self.columns = COLUMNS.match(data) is not None
                yield from self._lines(data[:end])
            if len(rest) > LONGEST_LINE:
                yield rest
                rest = b""
                passing = True
        if rest:
            yield from self._lines(rest)

    def _lines(self, data: bytes) -> Iterator[bytes | Attempt]:
        """Whole lines."""
        places: list[tuple[int, int, tuple[str, str] | None]] = [
            (start, end, None) for start, end in self._markers.find(data, 0, len(data))
        ]
        if self.columns:
            places += self._changes(data)
            places.sort(key=lambda place: (place[0], place[2] is None))
        done = counted = 0
        for start, end, column in places:
            self._line += data.count(b"\n", counted, start)
            counted = start
            if column is not None:
                opened = self._enter(*column)
            elif self._marks >= MOST_MARKS and not _CHECKER.search(data, start, end):
                continue
            else:
                opened = self._marked(data[start : min(end, start + LONGEST)])
            if opened is not None:
                if start > done:
                    yield data[done:start]
                    done = start
                self._current = opened
                self._job_log(opened.job).attempts.append(opened)
                yield opened
        self._line += data.count(b"\n", counted)
        yield data[done:]

    def _changes(self, data: bytes) -> list[tuple[int, int, tuple[str, str] | None]]:
        """Where another job or step begins in the columns of `gh run view --log`."""
        found: list[tuple[int, int, tuple[str, str] | None]] = []
        at = 0
        while at < len(data):
            if self._prefix is not None:
                other = self._prefix.search(data, at)
                if other is None:
                    break
                at = other.start()
            columns = COLUMNS.match(data, at)
            if columns is not None:
                head = data[at : columns.start(2)] + columns[2] + b"\t"
                self._prefix = re.compile(rb"^(?!" + re.escape(head) + rb")(?=[^\n])", re.MULTILINE)
                job, step = (columns[n].decode("utf-8", "replace").strip() for n in (1, 2))
                found.append((at, at, (job.removeprefix("\ufeff"), step)))
            at = data.find(b"\n", at) + 1 or len(data)
        return found

    def _enter(self, job: str, step: str | None) -> Attempt | None:
        """Another job or step begins."""
        step = None if step == "UNKNOWN STEP" else step
        current = self._current
        if self._line == 1:
            del self.jobs[current.job]
            self._job_log(job).attempts.append(current)
            current.job, current.step = job, step
            return None
        self._captured = False
        return self._new(job, step)

    def _new(self, job: str | None, step: str | None, opened: str = "text") -> Attempt | None:
        if self._cut_count >= MOST_ATTEMPTS:
            return None
        self._cut_count += 1
        attempt = Attempt(job, step, self._line, opened)
        level = self._job_log(job).level
        if level is not None:
            attempt.level, attempt.level_line = level
        return attempt

    # Marks

    def _marked(self, raw: bytes) -> Attempt | None:
        """A line that may be a mark or one of the checker's. Answers the attempt that it opens, if it opens one."""
        current = self._current
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
                self._runs(Method(self._line, None, None))
        mark = read_mark(text)
        if mark is None:
            return None
        self._marks += 1
        if self._captured and (mark.kind in _STRUCTURE or (mark.kind in _TELLING and not self._is_new(raw))):
            return None
        if mark.kind in _STRUCTURE or mark.kind == "ci-passed-on-retry":
            opened = self._structure(mark)
            (opened or self._current).lines.add(identity(raw))
            return opened
        if mark.kind in _TELLING:
            current.lines.add(identity(raw))
        self._note(mark)
        return None

    def _is_new(self, raw: bytes) -> bool:
        return self._current.lines.add(identity(raw))

    def _structure(self, mark: Mark) -> Attempt | None:
        current, values = self._current, mark.values
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
        current = self._current
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
        current = self._current
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
        kind, values, current = mark.kind, mark.values, self._current
        if kind == "ci-method" or kind == "section":
            method = Method(self._line, _text(values["class"]), _text(values["method"]))
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
        current = self._current
        if len(current.methods) < MOST_METHODS:
            current.methods.append(method)
            if method.method is not None:
                self._job.runs(current, method)

    def _start(self, mark: Mark) -> None:
        current = self._current
        flags = {name: value for name, value in mark.values.items() if name != TEXT}
        level = flags.pop(LEVEL, None)
        if isinstance(level, int):
            current.level, current.level_line = level, self._line
        last = current.starts[-1] if current.starts else None
        if mark.kind == "server-args" and last is not None and not last.held:
            return  # the server whose command was printed, or another node of it
        command = mark.values.get(TEXT)
        if len(current.starts) < MOST_STARTS:
            current.starts.append(Start(self._line, command if isinstance(command, str) else None, flags))

    def _level(self, level: int) -> None:
        current = self._current
        current.level, current.level_line = level, self._line
        if current.opened == "text":
            self._job.level = (level, self._line)

    def _failed(self, values: Mapping[str, object]) -> None:
        """The suite says that the last attempt of a file failed."""
        file = values.get("file")
        last = next(self._job.of_file(file), None) if isinstance(file, str) else None
        if last is not None:
            last.decide(False)
        elif self._current.file is None:
            self._current.decide(False)

    def _outcome(self, values: Mapping[str, object]) -> None:
        """A test runner says how a method ended: of the last attempt that ran it."""
        cls, method, file = values.get("class"), values["method"], values.get("file")
        key = (cls if isinstance(cls, str) else None, str(method))
        target = self._job.last_that_ran(key) or self._current
        target.results[key] = values["passed"] is True and target.results.get(key, True)
        if isinstance(file, str):
            target.files[key] = file

    def _suite(self, passed: bool) -> None:
        """The suite is over: of a good one, every file whose end was seen has passed in its last attempt."""
        if passed:
            for attempt in self._job.attempts:
                if attempt.ended and attempt.result is None:
                    attempt.decide(True)

    def finish(self, whole: bool) -> None:
        """No more lines. whole: the log was read to its end."""
        for log in self.jobs.values():
            log.settle(whole)


class _Feed(io.RawIOBase):
    """The text of one attempt."""

    def __init__(self, events: Iterator[bytes | Attempt]) -> None:
        super().__init__()
        self._events = events
        self._left = memoryview(b"")
        self._over = False
        self.following: Attempt | None = None

    def opened(self, _: Source) -> io.RawIOBase:
        """Itself: what opens the source."""
        return self

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        while not self._left:
            if self._over:
                return 0
            event = next(self._events, None)
            if event is None or isinstance(event, Attempt):
                self._over, self.following = True, event
                return 0
            self._left = memoryview(event)
        count = min(len(view), len(self._left))
        view[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def drain(self) -> None:
        """Pass over what was not read."""
        self._left = memoryview(b"")
        while not self._over:
            event = next(self._events, None)
            if event is None or isinstance(event, Attempt):
                self._over, self.following = True, event


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
