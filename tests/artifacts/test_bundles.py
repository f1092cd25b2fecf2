"""Bundles with the marks of a CI run: which test, which attempt, counted once."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from bundles import bundle_of, saved, told
from made_bundles import (
    COMMAND,
    SAMPLES,
    begin,
    columns,
    end,
    failed,
    file_run,
    job,
    junit,
    method,
    retried,
    sample,
    sample_run,
    stamped,
    text,
    zipped,
)

from memcheck_cli.artifacts.places import STEP_LOG
from memcheck_cli.forensics.analysis import Scope

FILE = "test/registered/spec/test_eagle.py"
LOST, HEALTHY, QUIET, SWA = (sample(name) for name in ("lost-page", "healthy", "quiet", "swa-lost-page"))
RING, TWO, IDLE = (sample(name) for name in ("ring-dump", "two-ranks", "idle-warning"))
RETRIED = job(retried(FILE, LOST, HEALTHY), green=True)


def one_job(folder: Path, lines: list[str], name: str = "0_unit.txt") -> Path:
    return saved(folder, "logs.zip", zipped({name: text(stamped(lines))}))


def test_a_green_retry_over_a_leak(tmp_path: Path) -> None:
    bundle = bundle_of(one_job(tmp_path, RETRIED))
    assert told(bundle.tests) == [
        ("unit", "TestPool.test_decode", 1, "broken", "failed", True, [-16]),
        ("unit", "TestPool.test_decode", 2, "balanced", "passed", False, []),
    ]
    first = bundle.tests[0]
    assert first.job_ended == "passed"
    assert first.file is not None and first.file.endswith("/" + FILE)
    assert [server.command for server in first.servers] == [COMMAND.removeprefix("command=")]
    assert bundle.verdict == "broken" and bundle.exit_code == 1


def test_lines_and_runs_are_those_of_the_whole_log(tmp_path: Path) -> None:
    lines = job([*file_run("test_a.py", HEALTHY, index=0, last=1), *file_run(FILE, LOST, index=1, last=1)], green=False)
    bundle = bundle_of(one_job(tmp_path, lines))
    (seen,) = bundle.tests[0].breaks
    broken = lines[seen.found.row.line - 1]
    assert "total=4096, available=128, evictable=2832" in broken
    assert seen.run == 2 and bundle.tests[0].servers[0].run == 2
    assert seen.found.asserted is not None and lines[seen.found.asserted - 1].startswith("AssertionError: Full Pool")


def test_two_jobs_with_the_same_break_are_one_group(tmp_path: Path) -> None:
    broken = job([*file_run(FILE, LOST), *failed(FILE)], green=False)
    other = job([*file_run("test/test_swa.py", SWA), *failed("test/test_swa.py")], green=False)
    members = {
        f"{number}_unit ({number}).txt": text(stamped(lines)) for number, lines in enumerate([broken, broken, other])
    }
    bundle = bundle_of(saved(tmp_path, "logs.zip", zipped(members)))
    assert [(group.fingerprint.pool, group.jobs) for group in bundle.groups] == [
        ("full", ["unit (0)", "unit (1)"]),
        ("swa", ["unit (2)"]),
    ]
    full = bundle.groups[0].fingerprint
    assert (full.kind, full.page_multiple, full.moved) == ("leak", True, ("-uncached",))
    assert {test.ended for test in bundle.tests} == {"failed"} == {test.job_ended for test in bundle.tests}


def test_an_unchecked_test_has_its_reason(tmp_path: Path) -> None:
    flags = [line.replace("'tp_size': 1", "'tp_size': 1, 'pp_size': 2") for line in QUIET]
    lines = job(
        [
            *file_run("test_a.py", QUIET, name="test_off", index=0, last=2),
            *file_run("test_b.py", flags, name="test_pp", index=1, last=2),
            *begin("test_c.py", 2, 2),
            method("TestUnit", "test_no_server"),
            *end("test_c.py", 2, 2),
        ],
        green=True,
    )
    bundle = bundle_of(one_job(tmp_path, lines))
    assert [test.verdict for test in bundle.tests] == ["unchecked"] * 3
    off, pipeline, unit = (test.reason or "" for test in bundle.tests)
    assert "off, or ran at level 1" in off
    assert pipeline.startswith("pp_size=2")
    assert "neither a server" in unit
    assert bundle.verdict == "undecided" and bundle.exit_code == 3


def test_unchecked_tests_beside_a_checked_one_do_not_change_the_verdict(tmp_path: Path) -> None:
    lines = job(
        [*file_run("test_a.py", QUIET, index=0, last=1), *file_run("test_b.py", HEALTHY, index=1, last=1)], green=True
    )
    bundle = bundle_of(one_job(tmp_path, lines))
    assert [test.verdict for test in bundle.tests] == ["unchecked", "balanced"]
    assert bundle.verdict == "balanced" and bundle.exit_code == 0


def test_step_logs_that_repeat_the_job_log_count_once(tmp_path: Path) -> None:
    lines = stamped(RETRIED)
    members = {
        "0_unit (1).txt": text(lines),
        "unit (1)/1_Set up job.txt": text(stamped(["Current runner version"])),
        "unit (1)/2_Run tests.txt": text(lines),
        "unit (1)/system.txt": text(stamped(["Requested labels: h100"])),
    }
    bundle = bundle_of(saved(tmp_path, "logs.zip", zipped(members)))
    assert [(test.job, test.step, test.attempt) for test in bundle.tests] == [
        ("unit (1)", "Run tests", 1),
        ("unit (1)", "Run tests", 2),
    ]
    assert sum(len(test.breaks) for test in bundle.tests) == 1
    repeats = {source.name.rpartition("/")[2]: source.repeats for source in bundle.sources}
    assert (repeats["0_unit (1).txt"] or "").endswith("2_Run tests.txt")
    assert repeats["2_Run tests.txt"] is None


def test_a_step_log_that_was_cut_gives_way_to_the_job_log(tmp_path: Path) -> None:
    lines = stamped(RETRIED)
    members = {"0_unit.txt": text(lines), "unit/2_Run tests.txt": text(lines[:100])}
    bundle = bundle_of(saved(tmp_path, "logs.zip", zipped(members)))
    assert [(test.attempt, test.step, test.verdict) for test in bundle.tests] == [
        (1, "Run tests", "broken"),
        (2, None, "balanced"),
    ]


def test_steps_with_the_same_lines_are_two(tmp_path: Path) -> None:
    members = {
        "0_j.txt": text(stamped([*SWA, *SWA])),
        "j/1_Set up job.txt": text(stamped(["x"])),
        "j/2_one.txt": text(stamped(SWA)),
        "j/3_two.txt": text(stamped(SWA, 500)),
    }
    bundle = bundle_of(saved(tmp_path, "logs.zip", zipped(members)))
    assert [(test.step, test.verdict) for test in bundle.tests] == [("one", "broken"), ("two", "broken")]


def test_jobs_with_the_same_lines_are_two_also_without_stamps(tmp_path: Path) -> None:
    members = {"job-a/server.log": text(LOST), "job-b/server.log": text(LOST)}
    bundle = bundle_of(saved(tmp_path, "logs.zip", zipped(members)))
    assert [test.job for test in bundle.tests] == ["job-a", "job-b"]
    assert len(bundle.groups) == 1


def test_gh_run_view(tmp_path: Path) -> None:
    second = job([*file_run("test_b.py", SWA, cls="TestB", name="test_b"), *failed("test_b.py")], green=False)
    lines = [
        *columns("unit (1)", "Run tests", stamped(RETRIED)),
        *columns("unit / (2, h100)", "UNKNOWN STEP", stamped(second)),
    ]
    bundle = bundle_of(saved(tmp_path, "run.txt", text(lines)))
    assert told(bundle.tests) == [
        ("unit (1)", "TestPool.test_decode", 1, "broken", "failed", True, [-16]),
        ("unit / (2, h100)", "TestB.test_b", 1, "broken", "failed", False, [-64]),
        ("unit (1)", "TestPool.test_decode", 2, "balanced", "passed", False, []),
    ]
    assert [test.step for test in bundle.tests] == ["Run tests", None, "Run tests"]
    assert "swa" in lines[bundle.tests[1].breaks[0].found.row.line - 1]


def test_gh_run_view_beside_the_zip_of_the_same_run_counts_once(tmp_path: Path) -> None:
    name = "call / unit (1)"
    one = saved(tmp_path, "run.txt", text(columns(name, "UNKNOWN STEP", stamped(RETRIED))))
    two = saved(tmp_path, "logs.zip", zipped({"0_call _ unit (1).txt": text(stamped(RETRIED))}))
    for paths in ((one, two), (two, one)):
        bundle = bundle_of(*paths)
        assert [test.attempt for test in bundle.tests] == [1, 2]


def test_nested_zips_and_an_uploaded_server_log(tmp_path: Path) -> None:
    broken = job([*file_run(FILE, LOST), *failed(FILE)], green=False)
    data = zipped(
        {
            "logs_1.zip": zipped({"0_unit (1).txt": text(stamped(broken))}),
            "server-logs.zip": zipped({"a/server.log": text(LOST)}),
            "other.zip": zipped({"inner.zip": zipped({"server.log": text(SWA)})}),
        }
    )
    bundle = bundle_of(saved(tmp_path, "bundle.zip", data))
    assert [(test.job, test.verdict) for test in bundle.tests] == [("unit (1)", "broken"), ("other", "broken")]
    repeats = {source.job: source.repeats for source in bundle.sources}
    assert (repeats["server-logs"] or "").endswith("0_unit (1).txt")


def test_a_directory_of_artifacts(tmp_path: Path) -> None:
    saved(tmp_path, "unit-a/logs/server.log", text(LOST))
    saved(tmp_path, "unit-b/server.log", text(HEALTHY))
    saved(tmp_path, "unit-b/notes.txt", b"nothing of interest\n")
    bundle = bundle_of(tmp_path)
    assert [(test.job, test.verdict, test.ended) for test in bundle.tests] == [
        ("unit-a", "broken", None),
        ("unit-b", "balanced", None),
    ]


def test_a_plain_log(tmp_path: Path) -> None:
    bundle = bundle_of(saved(tmp_path, "server.log", text(TWO)))
    assert told(bundle.tests) == [(None, "", None, "broken", None, False, [-1])]
    assert bundle.tests[0].breaks[0].found.stream.rank == "TP1"


PYTEST_HEAD = ["===== test session starts =====", "collected 2 items", ""]
FAILURES = [
    "=================== FAILURES ===================",
    "_____________ TestPool.test_leak _____________",
    "E   AssertionError: the server died",
    "--------------- Captured stderr call ---------------",
]
PYTEST_END = [
    "=========== short test summary info ===========",
    "FAILED test/test_pool.py::TestPool::test_leak - AssertionError: the server died",
    "=========== 1 failed, 1 passed in 3.21s ===========",
]


def test_captured_output_that_pytest_prints_again_counts_once(tmp_path: Path) -> None:
    live = [*PYTEST_HEAD, method("TestPool", "test_leak"), *LOST]
    lines = [*live, *FAILURES, method("TestPool", "test_leak"), *LOST, *PYTEST_END]
    bundle = bundle_of(one_job(tmp_path, lines))
    assert told(bundle.tests) == [("unit", "TestPool.test_leak", None, "broken", "failed", False, [-16])]
    assert bundle.tests[0].breaks[0].found.row.line <= len(live)
    assert bundle.tests[0].breaks[0].found.series_breaks == 1
    assert bundle.tests[0].checker_lines == sum("Mem Check" in line or "etected!" in line for line in LOST)


def test_output_that_pytest_only_captured(tmp_path: Path) -> None:
    lines = [*PYTEST_HEAD, *FAILURES, *LOST, "_____________ TestUnit.test_sum _____________", "E   x", *PYTEST_END]
    bundle = bundle_of(one_job(tmp_path, lines))
    assert told(bundle.tests) == [
        ("unit", "TestPool.test_leak", None, "broken", "failed", False, [-16]),
        ("unit", "TestUnit.test_sum", None, "unchecked", "failed", False, []),
    ]
    assert bundle.tests[0].file == "test/test_pool.py"


def test_classes_of_one_file_and_their_servers(tmp_path: Path) -> None:
    lines = job(
        [
            *begin(FILE),
            COMMAND,
            *HEALTHY[:8],
            method("TestA", "test_one"),
            *HEALTHY[8:40],
            method("TestA", "test_two"),
            *HEALTHY[40:],
            COMMAND.replace("21000", "22000"),
            *LOST[:12],
            method("TestB", "test_one"),
            *LOST[12:],
            "=" * 70,
            "ERROR: test_one (__main__.TestB.test_one)",
            *end(FILE),
            *failed(FILE),
        ],
        green=False,
    )
    bundle = bundle_of(one_job(tmp_path, lines))
    assert told(bundle.tests) == [
        ("unit", "TestB.test_one", 1, "broken", "failed", False, [-16]),
        ("unit", "TestA.test_one", 1, "balanced", "passed", False, []),
        ("unit", "TestA.test_two", 1, "balanced", "passed", False, []),
    ]
    ports = [[(server.command or "")[-5:] for server in test.servers] for test in bundle.tests]
    assert ports == [["22000"], ["21000"], ["21000"]]


def test_what_a_server_says_before_the_first_method_belongs_to_it(tmp_path: Path) -> None:
    lines = [*begin(FILE), COMMAND, *IDLE, method("TestIdle", "test_a"), *end(FILE)]
    (test,) = bundle_of(one_job(tmp_path, lines)).tests
    assert (test.cls, test.method, test.verdict) == ("TestIdle", "test_a", "broken")


def test_a_quiet_method_before_a_ring_dump_was_checked(tmp_path: Path) -> None:
    quiet = [line for line in RING[6:] if "Mem Check" not in line and "batch" in line][:5]
    lines = job(
        [
            *begin(FILE),
            COMMAND,
            *RING[:6],
            method("TestRing", "test_a"),
            *quiet,
            method("TestRing", "test_b"),
            *RING[6:],
            "ERROR: test_b (__main__.TestRing)",
            *end(FILE),
            *failed(FILE),
        ],
        green=False,
    )
    broken, silent = bundle_of(one_job(tmp_path, lines)).tests
    assert (broken.method, broken.verdict, broken.breaks[0].found.stream.mode) == ("test_b", "broken", "ring-dump")
    assert (silent.method, silent.verdict) == ("test_a", "checked, silent")
    assert "dumped its ring" in (silent.reason or "")


@pytest.mark.parametrize("value", ["1", "0", "2"])
def test_the_level_that_a_log_gives(tmp_path: Path, value: str) -> None:
    lines = [
        "##[group]Run tests",
        "env:",
        f"  SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY: {value}",
        "##[endgroup]",
        *file_run(FILE, QUIET),
        "Post job cleanup.",
    ]
    (test,) = bundle_of(one_job(tmp_path, lines)).tests
    assert (test.verdict == "checked, silent") is (value == "1")
    assert f"the value {value} (line 3)" in (test.reason or "")


def test_a_silent_test_that_failed_is_not_said_to_be_checked(tmp_path: Path) -> None:
    lines = ["env:", "  SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY: 1", *file_run(FILE, QUIET), *failed(FILE)]
    (test,) = bundle_of(one_job(tmp_path, lines)).tests
    assert test.verdict == "unchecked" and "did not pass" in (test.reason or "")


def test_a_pass_on_retry_without_any_other_mark_of_that_attempt(tmp_path: Path) -> None:
    lines = [*file_run(FILE, LOST), f"✓ PASSED on retry (attempt 2): {FILE}", "Post job cleanup."]
    first, second = bundle_of(one_job(tmp_path, lines)).tests
    assert (first.attempt, first.ended, first.hidden_by_retry) == (1, "failed", True)
    assert (second.attempt, second.ended, second.verdict) == (2, "passed", "unchecked")


def test_a_retry_that_fails_hides_nothing(tmp_path: Path) -> None:
    lines = [
        *file_run(FILE, LOST),
        f"[CI Retry] {FILE} failed with AssertionError (assuming retriable)",
        f"[CI Retry] Attempt 2/2 for {FILE}",
        *file_run(FILE, SWA),
        *failed(FILE),
    ]
    first, second = bundle_of(one_job(tmp_path, lines)).tests
    assert (first.ended, second.ended) == ("failed", "failed")
    assert (first.hidden_by_retry, second.hidden_by_retry) == (False, False)
    assert [seen.found.pool for test in (first, second) for seen in test.breaks] == ["full", "swa"]


def test_a_method_that_passes_in_a_retry_that_fails_hides_nothing(tmp_path: Path) -> None:
    second = [
        *begin(FILE),
        COMMAND,
        *HEALTHY[:8],
        method("TestPool", "test_decode"),
        *HEALTHY[8:],
        method("TestPool", "test_other"),
        "FAIL: test_other (__main__.TestPool.test_other)",
        *end(FILE),
    ]
    lines = [*file_run(FILE, LOST), f"[CI Retry] Attempt 2/2 for {FILE}", *second, *failed(FILE)]
    first, again, other = bundle_of(one_job(tmp_path, lines)).tests
    assert (first.ended, again.ended, other.ended) == ("failed", "passed", "failed")
    assert not first.hidden_by_retry


def test_a_retry_of_another_file_hides_nothing(tmp_path: Path) -> None:
    lines = [
        *file_run("test_a.py", LOST, last=1),
        *failed("test_a.py"),
        *retried("test_b.py", SWA, HEALTHY, name="test_b"),
    ]
    tests = {(test.file or "")[-9:] + str(test.attempt): test for test in bundle_of(one_job(tmp_path, lines)).tests}
    assert not tests["test_a.py1"].hidden_by_retry and tests["test_b.py1"].hidden_by_retry


def test_leaks_hidden_by_a_retry_stand_first_and_green_ones_next(tmp_path: Path) -> None:
    red = job([*file_run("test_a.py", LOST), *failed("test_a.py")], green=False)
    green = job(file_run("test_b.py", IDLE), green=True)
    members = {
        "0_red.txt": red,
        "1_green.txt": green,
        "2_hidden.txt": RETRIED,
        "3_fine.txt": job(file_run("test_c.py", HEALTHY), green=True),
    }
    data = zipped({name: text(stamped(lines)) for name, lines in members.items()})
    bundle = bundle_of(saved(tmp_path, "logs.zip", data))
    assert [test.job for test in bundle.tests] == ["hidden", "green", "red", "hidden", "fine"]


def test_a_timeout_is_a_failure(tmp_path: Path) -> None:
    lines = [*begin(FILE), COMMAND, *HEALTHY, f"✗ TIMEOUT: {FILE} after 1200 seconds", "Post job cleanup."]
    (test,) = bundle_of(one_job(tmp_path, lines)).tests
    assert (test.verdict, test.ended, test.job_ended) == ("balanced", "failed", "failed")


def test_the_test_runners_word_of_failure_counts_where_the_suite_says_nothing(tmp_path: Path) -> None:
    failing = [
        *begin(FILE, 0, 1),
        COMMAND,
        method("TestA", "test_a"),
        *HEALTHY,
        "FAIL: test_a (__main__.TestA.test_a)",
        "FAILED (failures=1)",
        *end(FILE, 0, 1),
    ]
    other = "test/registered/test_other.py"
    lines = [*failing, *file_run(other, HEALTHY, index=1, last=1)]
    assert [test.ended for test in bundle_of(one_job(tmp_path, lines)).tests] == ["failed", "passed"]


def test_a_log_that_breaks_off_does_not_tell_the_end(tmp_path: Path) -> None:
    lines = [*begin(FILE), COMMAND, method("TestA", "test_a"), *HEALTHY]
    (test,) = bundle_of(one_job(tmp_path, lines)).tests
    assert (test.verdict, test.ended, test.job_ended) == ("balanced", None, None)


def test_junit_cases_are_joined_with_the_break_that_explains_them(tmp_path: Path) -> None:
    assertion = next(line for line in LOST if line.startswith("AssertionError"))
    cases = [
        ("registered.spec.test_eagle.TestPool", "test_decode", "ConnectionError: the server is gone"),
        ("registered.spec.test_eagle.TestPool", "test_other", "ConnectionError: the server is gone"),
        ("test_far.TestFar", "test_x", f"E   {assertion}"),
        ("test_far.TestFar", "test_y", "AssertionError: 1 != 2"),
        ("test_far.TestFar", "test_z", None),
    ]
    broken = job([*file_run(FILE, LOST), *failed(FILE)], green=False)
    other = job([*file_run("test_swa.py", SWA, cls="TestSwa"), *failed("test_swa.py")], green=False)
    saved(tmp_path, "logs/0_unit.txt", text(stamped(broken)))
    saved(tmp_path, "logs/1_swa.txt", text(stamped(other)))
    saved(tmp_path, "results/junit.xml", junit(cases))
    bundle = bundle_of(tmp_path)
    assert bundle.junit_cases == 5
    explained = [(case.method, case.how, case.seen.found.pool if case.seen else None) for case in bundle.cases]
    assert explained == [
        ("test_decode", "same test", "full"),
        ("test_other", "same class", "full"),
        ("test_x", "same numbers", "full"),
        ("test_y", None, None),
    ]


def test_the_only_break_of_a_job_explains_its_failing_case(tmp_path: Path) -> None:
    saved(tmp_path, "unit/server.log", text(LOST))
    saved(tmp_path, "unit/junit.xml", junit([("test_a.TestA", "test_a", "ConnectionError")]))
    saved(tmp_path, "other/server.log", text(SWA))
    (case,) = bundle_of(tmp_path).cases
    assert (case.how, case.seen.found.pool if case.seen else None) == ("only break of the job", "full")


def test_a_break_of_another_job_explains_no_case(tmp_path: Path) -> None:
    saved(tmp_path, "unit/server.log", text(LOST))
    saved(tmp_path, "other/server.log", text(HEALTHY))
    saved(tmp_path, "junit/junit.xml", junit([("test_a.TestA", "test_a", "ConnectionError")]))
    (case,) = bundle_of(tmp_path).cases
    assert (case.how, case.seen) == (None, None)


def test_junit_tells_how_a_test_ended(tmp_path: Path) -> None:
    saved(tmp_path, "unit/test.log", text([COMMAND, *IDLE, method("TestA", "test_a"), method("TestA", "test_b")]))
    saved(tmp_path, "unit/junit.xml", junit([("m.TestA", "test_a", None), ("m.TestA", "test_b", "boom")]))
    bundle = bundle_of(tmp_path)
    assert [(test.method, test.ended) for test in bundle.tests] == [("test_a", "passed"), ("test_b", "failed")]


def test_logs_inside_junit_count_where_nothing_else_has_them(tmp_path: Path) -> None:
    data = junit([("m.TestA", "test_a", None)]).replace(b"</testcase>", b"<system-err>@</system-err></testcase>")
    data = data.replace(b"@", "\n".join(LOST).replace("&", "&amp;").replace("<", "&lt;").encode())
    alone = saved(tmp_path / "alone", "junit.xml", data)
    (test,) = bundle_of(alone).tests
    assert (test.cls, test.method, test.verdict, test.ended) == ("TestA", "test_a", "broken", "passed")
    both = tmp_path / "both"
    saved(both, "junit.xml", data)
    saved(both, "server.log", text(LOST))
    (test,) = bundle_of(both).tests
    assert test.source.endswith("server.log")


def test_a_scope_narrows_the_verdict(tmp_path: Path) -> None:
    path = one_job(tmp_path, RETRIED)
    assert bundle_of(path, scope=Scope(pools=("swa",))).verdict == "undecided"
    assert bundle_of(path, scope=Scope(pools=("full",))).verdict == "broken"


def test_an_unreadable_member_is_told_and_the_rest_counts(tmp_path: Path) -> None:
    data = zipped({"0_unit.txt": text(stamped(RETRIED)), "inner.zip": zipped({"a.log": text(LOST)})[:200]})
    bundle = bundle_of(saved(tmp_path, "logs.zip", data))
    assert bundle.verdict == "broken"
    assert any(source.error is not None for source in bundle.sources if "inner" in source.name)


def test_nothing_readable_is_exit_code_4(tmp_path: Path) -> None:
    assert bundle_of(tmp_path / "missing.zip").exit_code == 4
    assert bundle_of(saved(tmp_path, "cut.zip", zipped({"a.log": text(LOST)})[:100])).exit_code == 4


def test_step_logs_alone_name_their_job(tmp_path: Path) -> None:
    saved(tmp_path, "unit (1)/1_Set up job.txt", text(stamped(["x"])))
    saved(tmp_path, "unit (1)/5_Run tests.txt", text(stamped(RETRIED)))
    bundle = bundle_of(tmp_path)
    assert {(test.job, test.step) for test in bundle.tests} == {("unit (1)", "Run tests")}
    assert {source.kind for source in bundle.sources} == {STEP_LOG}


def test_dots_of_the_runner_stand_before_marks_and_server_lines(tmp_path: Path) -> None:
    lines = [
        *begin(FILE),
        COMMAND,
        *HEALTHY[:6],
        method("TestA", "test_one"),
        *HEALTHY[6:],
        "." + method("TestA", "test_two"),
        "." + COMMAND.replace("21000", "22000"),
        "." + LOST[0],
        *LOST[1:10],
        method("TestB", "test_one"),
        *LOST[10:20],
        "." + LOST[20],
        *LOST[21:],
        *end(FILE),
    ]
    data = {"0_unit.txt": text(stamped(lines)), "servers/server.log": text(LOST)}
    bundle = bundle_of(saved(tmp_path, "run.zip", zipped(data)))
    assert [(test.method, test.verdict) for test in bundle.tests] == [
        ("test_one", "broken"),
        ("test_one", "balanced"),
        ("test_two", "unchecked"),
    ]
    assert [server.line for server in bundle.tests[0].servers] == [
        lines.index("." + COMMAND.replace("21000", "22000")) + 1
    ]


def test_pytest_names_the_test_that_runs(tmp_path: Path) -> None:
    lines = [
        *PYTEST_HEAD,
        "test/test_pool.py::TestPool::test_first " + LOST[0],
        *LOST[1:],
        "FAILED",
        "test/test_pool.py::TestPool::test_second " + method("TestPool", "test_second"),
        *HEALTHY,
        "PASSED",
        "=========== short test summary info ===========",
        "FAILED test/test_pool.py::TestPool::test_first - boom",
    ]
    bundle = bundle_of(one_job(tmp_path, lines))
    assert told(bundle.tests) == [
        ("unit", "TestPool.test_first", None, "broken", "failed", False, [-16]),
        ("unit", "TestPool.test_second", None, "balanced", None, False, []),
    ]
    assert {test.file for test in bundle.tests} == {"test/test_pool.py"}


def test_the_sample_run_is_made_of_the_samples() -> None:
    path = SAMPLES / "ci-run.zip"
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == sample_run()
    bundle = bundle_of(path)
    assert [(test.cls, test.hidden_by_retry) for test in bundle.tests if test.breaks] == [
        ("TestEaglePage16", True),
        ("TestAbort", False),
        ("TestSwa", False),
    ]
    assert [len(group.jobs) for group in bundle.groups] == [2, 1]
    assert [case.how for case in bundle.cases] == ["same test", "same test", None]
