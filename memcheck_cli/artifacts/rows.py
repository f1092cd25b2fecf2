"""From an attempt to its tests: which method a break, a checker line and a server belong to.

A test class starts its server before its first method is named, so what a server says from its start to that mark
belongs to the class behind it; what it says after a mark belongs to that method.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from memcheck_cli.artifacts.attempts import FAILED, PASSED, Attempt, Method
from memcheck_cli.artifacts.model import BALANCED, BROKEN, UNCHECKED, UNDECIDED, Server, Test
from memcheck_cli.artifacts.reading import AttemptRead, RunTold
from memcheck_cli.log.release_hints import why_unchecked

Key = tuple[str | None, str | None]
NOBODY: Key = (None, None)


def rows_of(read: AttemptRead) -> list[Test]:
    """The tests of one attempt, in the order in which they ran; none where neither a test nor a server ran in it."""
    attempt = read.attempt
    if not (attempt.holds_something or read.breaks or read.records or read.undetermined or read.runs):
        return []
    owners = _Owners(attempt)
    tests = {method.key: _test(read, method.key, method.line) for method in reversed(attempt.methods)}
    tests = {method.key: tests[method.key] for method in attempt.methods if method.key != NOBODY}

    def test_of(key: Key) -> Test:
        if key not in tests:
            tests[key] = _test(read, key, attempt.first_line)
        return tests[key]

    for seen in read.breaks:
        test_of(owners.at(seen.found.row.line)).breaks.append(seen)
    for item in read.undetermined:
        test_of(owners.at(item.line if item.line is not None else attempt.first_line)).undetermined.append(item)
    for (method, start), count in attempt.lines_of.items():
        test_of(owners.of(method, start)).checker_lines += count
    if not tests:
        test_of(NOBODY)
    _servers(read, owners, tests)
    for key, test in tests.items():
        test.ended, test.file_ended = _ended(attempt, key), attempt.result
        _judge(read, test, alone=len(tests) == 1)
    return sorted(tests.values(), key=lambda test: test.line)


def _test(read: AttemptRead, key: Key, line: int) -> Test:
    attempt = read.attempt
    cls, method = key
    file = attempt.file
    if file is None and method is not None:
        file = attempt.files.get((cls, method))
    number = attempt.attempt if attempt.attempt is not None else (1 if attempt.file is not None else None)
    test = Test(read.source, line, attempt.job, attempt.step, file, cls, method, number, attempt.attempts)
    test.level, test.level_line = attempt.level, attempt.level_line
    return test


class _Owners:
    """Says which method a place of an attempt belongs to."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.methods = attempt.methods
        self.starts = attempt.starts
        self._method_lines = [method.line for method in self.methods]
        self._start_lines = [start.line for start in self.starts]

    def at(self, line: int) -> Key:
        """The method that a line belongs to."""
        return self.of(bisect_left(self._method_lines, line) - 1, bisect_right(self._start_lines, line) - 1)

    def next_method(self, method: int) -> tuple[int, Method] | None:
        """The first mark of a method behind a mark."""
        for index in range(method + 1, len(self.methods)):
            if self.methods[index].key != NOBODY:
                return index, self.methods[index]
        return None

    def of(self, method: int, start: int) -> Key:
        """The method that what stands behind a mark and behind a start belongs to, both counted from 0."""
        current = self.methods[method] if method >= 0 else None
        following = self.next_method(method)
        if following is not None:
            index, after = following
            last_start = bisect_left(self._start_lines, after.line) - 1
            if current is None:
                return after.key if last_start == start else NOBODY
            started_here = start >= 0 and self.starts[start].line > current.line
            spoke_on = current.key == NOBODY or (index, start) in self.attempt.lines_of
            if started_here and last_start == start and after.cls != current.cls and spoke_on:
                return after.key
        return current.key if current is not None else NOBODY

    def classes_of(self, start: int) -> set[str | None]:
        """The classes that may have started a server: the one whose method runs, and the one whose set-up it may be."""
        line = self._start_lines[start]
        method = bisect_left(self._method_lines, line) - 1
        classes: set[str | None] = {self.methods[method].cls} if method >= 0 else set()
        following = self.next_method(method)
        if following is not None:
            index, after = following
            if (index, start) in self.attempt.lines_of:
                return {after.cls}  # it still checks while that class runs
            classes.add(after.cls)
        return classes


def _servers(read: AttemptRead, owners: _Owners, tests: dict[Key, Test]) -> None:
    """Say which servers each test used, as far as the order of the lines tells."""
    attempt = read.attempt
    if not attempt.starts:
        for run in read.runs:
            for test in _users(tests, owners.at(run.line)[0]):
                test.servers.append(Server(run.number, run.line, None, run.reasons, run.dumped))
        return
    run_of: dict[int, RunTold] = {}
    lines = [one.line for one in attempt.starts]
    for run in read.runs:
        run_of.setdefault(max(0, bisect_right(lines, run.line) - 1), run)
    of_class: dict[str | None, list[Test]] = {}
    for key, test in tests.items():
        if key != NOBODY:
            of_class.setdefault(key[0], []).append(test)
    nobody = tests.get(NOBODY)
    for number, started in enumerate(attempt.starts):
        told = run_of.get(number)
        reasons = told.reasons if told is not None else tuple(why_unchecked(started.flags, None, None))
        dumped = told is not None and told.dumped
        server = Server(told.number if told else None, started.line, started.command, reasons, dumped)
        users = [test for cls in owners.classes_of(number) for test in of_class.get(cls, ())]
        if not users and nobody is not None:
            users = [nobody]
        for test in users:
            test.servers.append(server)


def _users(tests: dict[Key, Test], cls: str | None) -> list[Test]:
    """The tests of a class; all of them where none is told."""
    return [test for key, test in tests.items() if cls is None or key[0] == cls]


def _ended(attempt: Attempt, key: Key) -> str | None:
    """How one test of an attempt ended, as far as suite and runner tell."""
    if attempt.result == PASSED or key == NOBODY:
        return attempt.result
    cls, method = key
    result = attempt.results.get((cls, method or ""))
    if result is not None:
        return PASSED if result else FAILED
    if attempt.result == FAILED and any(not passed for passed in attempt.results.values()):
        return PASSED  # the runner names those that failed, and this one is not among them
    return attempt.result


def _judge(read: AttemptRead, test: Test, alone: bool) -> None:
    """The verdict on a test. alone: the attempt has no other."""
    reported = [item for item in test.undetermined if item.reported]
    if test.breaks:
        test.verdict = BROKEN
    elif reported:
        test.verdict = UNDECIDED
        test.reason = f"the server reported a leak that its printed numbers do not show: {reported[0].reason}"
    elif alone and read.records:
        test.verdict, test.reason = read.verdict, read.reason
    elif test.checker_lines and read.records:
        decided = read.verdict in (BALANCED, BROKEN) or not test.undetermined
        test.verdict = BALANCED if decided else UNDECIDED
        test.reason = None if decided else read.reason
    elif test.checker_lines or test.undetermined:
        test.verdict = UNDECIDED
        test.reason = test.undetermined[0].reason if test.undetermined else "its checker lines cannot be read whole"
    else:
        test.verdict = UNCHECKED
