"""The JUnit file that is written, read back by junitparser."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from made_bundles import COMMAND, columns, failed, file_run, job, junit, retried, sample, stamped, text, zipped

from memcheck_cli.artifacts import Bundle, Known, accept, read_bundle
from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.render.junit import write_junit
from memcheck_cli.sources import Source, find_sources

HOSTILE = 'a]]>&<b "\x1b[31m\x08\ufffe'


def bundle_of(folder: Path, name: str, data: bytes) -> Bundle:
    path = folder / name
    path.write_bytes(data)
    found = [one for one in find_sources([str(path)]) if isinstance(one, Source)]
    return read_bundle(found, [str(path)], Settings(), Scope(), today=date(2026, 12, 1))


def written(bundle: Bundle) -> str:
    output = io.StringIO()
    write_junit(bundle, output)
    return output.getvalue()


def cases_of(bundle: Bundle) -> dict[str, Any]:
    return {case.name: case for suite in JUnitXml.fromstring(written(bundle).encode()) for case in suite}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    both = sample("swa-lost-page")
    one = job(
        [
            *retried("test_a.py", sample("lost-page"), sample("healthy"), name="test_retried"),
            *file_run("test_q.py", sample("quiet"), name="test_quiet", index=1, last=1),
        ],
        green=True,
    )
    two = job([*file_run("test_b.py", both, name="test_swa"), *failed("test_b.py")], green=False)
    return bundle_of(tmp_path, "run.zip", zipped({"0_one.txt": text(stamped(one)), "1_two.txt": text(stamped(two))}))


def test_one_case_per_job_test_attempt_and_pool(bundle: Bundle) -> None:
    document = JUnitXml.fromstring(written(bundle).encode())
    assert [(suite.name, suite.tests, suite.failures, suite.skipped) for suite in document] == [
        ("one", 3, 1, 1),
        ("two", 1, 1, 0),
    ]
    assert (document.tests, document.failures, document.errors) == (4, 2, 0)
    found = {name: [type(result) for result in case.result] for name, case in cases_of(bundle).items()}
    assert found == {
        "test_retried (attempt 1) [full]": [Failure],
        "test_retried (attempt 2)": [],
        "test_quiet": [Skipped],
        "test_swa [swa]": [Failure],
    }


def test_a_failure_says_what_broke_where_and_how_to_accept_it(bundle: Bundle) -> None:
    (failure,) = cases_of(bundle)["test_retried (attempt 1) [full]"].result
    assert failure.message == "full: leak of 16 tokens, 1 page of 16"
    assert failure.type == bundle.groups[0].fingerprint.id
    assert "hidden" in failure.text and COMMAND.removeprefix("command=") in failure.text
    assert f"0_one.txt:{bundle.tests[0].breaks[0].found.row.line}" in failure.text


def test_accepted_breaks_are_skipped_with_the_reason(bundle: Bundle) -> None:
    accept(bundle, [Known(group.fingerprint.id, "upstream issue", None) for group in bundle.groups])
    results = [result for case in cases_of(bundle).values() for result in case.result]
    assert {type(result) for result in results} == {Skipped}
    assert sum("upstream issue" in result.message for result in results) == 2


def test_undecided_is_an_error(tmp_path: Path) -> None:
    line = (
        "[2026-06-11 08:15:01] [Mem Check (BUSY)] available_size=7, evictable_size=2, protected_size=1, uncached_size=0"
    )
    undecided = bundle_of(tmp_path, "server.log", text([line]))
    (case,) = cases_of(undecided).values()
    assert [type(result) for result in case.result] == [Error]


def test_text_from_logs_is_harmless(tmp_path: Path) -> None:
    lines = job(file_run("test_x.py", sample("lost-page")), green=True)
    lines = [line.replace("--port 21000", f"--port {HOSTILE}") for line in lines]
    data = text(columns(f"job {HOSTILE}", "s", stamped(lines)))
    answer = written(bundle_of(tmp_path, "run.txt", data))
    assert "\x1b" not in answer and "\x08" not in answer and "\ufffe" not in answer
    (suite,) = JUnitXml.fromstring(answer.encode())
    assert suite.name.startswith('job a]]>&<b "')


def test_the_shape_is_that_of_the_public_schema(bundle: Bundle) -> None:
    """Attributes and children as Jenkins' junit-10.xsd allows them."""
    root = ElementTree.fromstring(written(bundle))
    assert set(root.attrib) <= {"name", "time", "tests", "failures", "errors"}
    for suite in root:
        assert suite.tag == "testsuite"
        assert {"name", "tests", "failures", "errors"} <= set(suite.attrib)
        assert set(suite.attrib) <= {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"}
        for case in suite:
            assert case.tag == "testcase"
            assert {"name", "classname"} <= set(case.attrib) <= {"name", "classname", "time"}
            assert [child.tag for child in case] in ([], ["failure"], ["error"], ["skipped"])
            for child in case:
                assert set(child.attrib) <= {"message", "type"}


def test_what_is_written_is_read_as_junit_again(bundle: Bundle, tmp_path: Path) -> None:
    again = bundle_of(tmp_path, "again.xml", written(bundle).encode())
    assert again.junit_cases == 4
    assert not any(test.breaks for test in again.tests)
    assert bundle_of(tmp_path, "x.xml", junit([("a.B", "c", None)])).junit_cases == 1
