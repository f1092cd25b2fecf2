"""Joins the cases of JUnit files with the tests of the logs, and failing ones with the break that explains them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memcheck_cli.artifacts.attempts import FAILED, PASSED, short_file
from memcheck_cli.artifacts.junit_files import JUnitCase
from memcheck_cli.artifacts.model import BROKEN, Case, Seen, Test
from memcheck_cli.artifacts.places import same_job

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


def explained(tests: Sequence[Test], source: str, job: str | None, cases: Sequence[JUnitCase]) -> list[Case]:
    """The failing cases of a JUnit file, each with the break that explains it."""
    broken = [test for test in tests if test.verdict == BROKEN]
    failing = []
    for case in cases:
        if case.status not in ("failed", "error"):
            continue
        one = Case(source, job, case.suite, case.file, case.cls, case.method, case.status, case.message)
        found = _explanation(one, case, broken)
        if found is not None:
            one.test, one.seen, one.how = found
        failing.append(one)
    return failing


def _explanation(one: Case, case: JUnitCase, broken: Sequence[Test]) -> tuple[Test, Seen, str] | None:
    own = _of_job([test for test in broken if _same_test(test, case)], one.job)
    if own:
        return own[-1], own[-1].breaks[0], "same test"
    repeated = [(test, seen) for test in broken for seen in test.breaks if _repeats(case.message, seen)]
    if repeated:
        here = [pair for pair in repeated if same_job(pair[0].job, one.job)]
        test, seen = (here or repeated)[0]
        return test, seen, "same numbers"
    for how, same in (("same class", _same_class), ("same file", _same_file)):
        near = _of_job([test for test in broken if same(test, case)], one.job)
        if near:
            return near[-1], near[-1].breaks[0], how
    of_job = _of_job(list(broken), one.job)
    nameless = bool(of_job) and all(test.method is None for test in of_job)  # else the logs say which tests broke
    if nameless and len({seen.fingerprint for test in of_job for seen in test.breaks}) == 1:
        return of_job[0], of_job[0].breaks[0], "only break of the job"
    return None


def _same_test(test: Test, case: JUnitCase) -> bool:
    return test.method == case.method and test.cls == case.cls and _files_fit(test, case)


def _same_class(test: Test, case: JUnitCase) -> bool:
    return test.cls is not None and test.cls == case.cls and _files_fit(test, case)


def _same_file(test: Test, case: JUnitCase) -> bool:
    return test.file is not None and short_file(test.file) == short_file(case.file)


def _files_fit(test: Test, case: JUnitCase) -> bool:
    """Whether the files may be the same. Of a module's name nobody knows where its directory begins."""
    return test.file is None or case.file is None or short_file(test.file) == short_file(case.file)


def _repeats(message: str, seen: Seen) -> bool:
    """Whether a failure's text repeats the numbers of a break."""
    found = seen.found
    wanted = {abs(value) for value in [*found.row.named_terms().values(), found.total or 0] if value}
    if len(wanted) < 2 or found.delta is None:
        return False
    return wanted <= {abs(int(number)) for number in _NUMBER.findall(message)}
