"""Joins the cases of JUnit files with the tests of the logs, and failing ones with the break that explains them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memcheck_cli.artifacts.attempts import FAILED, PASSED, short_file
from memcheck_cli.artifacts.junit_files import JUnitCase
from memcheck_cli.artifacts.model import BROKEN, Case, Seen, Test
from memcheck_cli.artifacts.places import job_key, same_job

_NUMBER = re.compile(r"(?<![\w.])-?[0-9]{1,18}(?![\w.])", re.ASCII)


def settle_ends(tests: Sequence[Test], job: str | None, cases: Sequence[JUnitCase]) -> None:
    """Tests whose end no mark tells ended as the JUnit file of their job says."""
    open_tests: dict[tuple[str | None, str | None], list[Test]] = {}
    for test in tests:
        if test.method is not None and test.ended is None:
            open_tests.setdefault((test.cls, test.method), []).append(test)
    for case in cases:
        if case.status == "skipped":
            continue
        named = _of_job(open_tests.get((case.cls, case.method), []), job)
        named = [test for test in named if _files_fit(test, case)]
        if named:
            last = max(named, key=lambda test: test.attempt or 0)
            last.ended = PASSED if case.status == "passed" else FAILED


def _of_job(tests: list[Test], job: str | None) -> list[Test]:
    """Those of the job; those of the only job there is where the names of jobs and artifacts differ."""
    own = [test for test in tests if same_job(test.job, job)]
    if own:
        return own
    return tests if len({test.job for test in tests}) == 1 else []


class Explainer:
    """Finds the break that explains a failing case among the tests of a bundle."""

    def __init__(self, tests: Sequence[Test]) -> None:
        self._broken = [test for test in tests if test.verdict == BROKEN]
        self._one_job = len({job_key(test.job) for test in tests}) == 1
        self._of_test: dict[tuple[str | None, str | None], list[Test]] = {}
        self._of_class: dict[str | None, list[Test]] = {}
        self._of_file: dict[str | None, list[Test]] = {}
        self._of_number: dict[int, list[tuple[int, frozenset[int], Test, Seen]]] = {}
        for place, test in enumerate(self._broken):
            self._of_test.setdefault((test.cls, test.method), []).append(test)
            self._of_class.setdefault(test.cls, []).append(test)
            self._of_file.setdefault(short_file(test.file), []).append(test)
            for seen in test.breaks:
                numbers = _numbers_of(seen)
                if len(numbers) > 1:
                    self._of_number.setdefault(max(numbers), []).append((place, numbers, test, seen))

    def explained(self, source: str, job: str | None, cases: Sequence[JUnitCase]) -> list[Case]:
        """The failing cases of a JUnit file, each with the break that explains it."""
        failing = []
        for case in cases:
            if case.status in ("failed", "error"):
                one = Case(source, job, case.suite, case.file, case.cls, case.method, case.status, case.message)
                found = self._explanation(job, case)
                if found is not None:
                    one.test, one.seen, one.how = found
                failing.append(one)
        return failing

    def _explanation(self, job: str | None, case: JUnitCase) -> tuple[Test, Seen, str] | None:
        own = _fitting(self._of_test.get((case.cls, case.method), []), job, case)
        if own is not None:
            return own, own.breaks[0], "same test"
        repeated = self._repeated(job, case.message)
        if repeated is not None:
            return (*repeated, "same numbers")
        if case.cls is not None:
            near = _fitting(self._of_class.get(case.cls, []), job, case)
            if near is not None:
                return near, near.breaks[0], "same class"
        if case.file is not None:
            near = _fitting(self._of_file.get(short_file(case.file), []), job, case)
            if near is not None:
                return near, near.breaks[0], "same file"
        of_job = [test for test in self._broken if self._one_job or same_job(test.job, job)]
        nameless = bool(of_job) and all(test.method is None for test in of_job)  # else the logs say which tests broke
        if nameless and len({seen.fingerprint for test in of_job for seen in test.breaks}) == 1:
            return of_job[0], of_job[0].breaks[0], "only break of the job"
        return None

    def _repeated(self, job: str | None, message: str) -> tuple[Test, Seen] | None:
        """The break whose numbers a failure's text repeats, best one of its own job."""
        printed = {abs(int(number)) for number in _NUMBER.findall(message)}
        found = [entry for number in printed for entry in self._of_number.get(number, ()) if entry[1] <= printed]
        here = [entry for entry in found if same_job(entry[2].job, job)]
        best = min(here or found, key=lambda entry: entry[0], default=None)
        return None if best is None else (best[2], best[3])


def _numbers_of(seen: Seen) -> frozenset[int]:
    """The numbers that the server prints with a break, without signs and zeros; none where it prints no sum."""
    found = seen.found
    if found.delta is None:
        return frozenset()
    return frozenset(abs(value) for value in (*found.row.named_terms().values(), found.total or 0) if value)


def _fitting(tests: list[Test], job: str | None, case: JUnitCase) -> Test | None:
    """The last of the tests that may be meant."""
    fitting = _of_job([test for test in tests if _files_fit(test, case)], job)
    return fitting[-1] if fitting else None


def _files_fit(test: Test, case: JUnitCase) -> bool:
    """Whether the files may be the same. Of a module's name nobody knows where its directory begins."""
    return test.file is None or case.file is None or short_file(test.file) == short_file(case.file)
