"""Silent tests, judged by the sources that `memcheck audit` reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundles import bundle_of, saved
from made_bundles import COMMAND, begin, end, failed, job, method, sample, stamped, text, zipped

from memcheck_cli.artifacts.silence import Audited
from memcheck_cli.audit import audit

QUIET, HEALTHY = sample("quiet"), sample("healthy")
SOURCES = """
import os
import unittest
from sglang.srt.environ import envs
from sglang.test.test_utils import CustomTestCase, popen_launch_server


class Base(CustomTestCase):
    level = None

    @classmethod
    def setUpClass(cls):
        with envs.SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY.override({level}):
            cls.process = popen_launch_server("model", "url", timeout=60)


class TestOne(Base):
    def test_a(self):
        pass
"""


def audited(folder: Path, level: str, name: str = "test_one.py") -> Audited:
    path = saved(folder / "sources", name, SOURCES.format(level=level).encode())
    return Audited(audit([str(path.parent)]).classes)


def run_of(
    folder: Path, lines: list[str], *, cls: str = "TestOne", green: bool = True, file: str = "test_one.py"
) -> Path:
    inner = [*begin(file), COMMAND, *lines[:4], method(cls, "test_a"), *lines[4:], *end(file)]
    inner = job([*inner, *([] if green else failed(file))], green=green)
    return saved(folder, "run.zip", zipped({"0_unit.txt": text(stamped(inner))}))


@pytest.mark.parametrize(
    ("level", "verdict", "reason"),
    [
        ("1", "checked, silent", "TestOne runs at level 1"),
        ("-1", "checked, silent", "TestOne runs at level -1"),
        ("0", "unchecked", "the check is off"),
        ("2", "unchecked", "no line of it is here"),
        ("int(input())", "unchecked", "cannot be told"),
    ],
)
def test_a_silent_green_test(tmp_path: Path, level: str, verdict: str, reason: str) -> None:
    bundle = bundle_of(run_of(tmp_path, QUIET), audited=audited(tmp_path, level))
    (test,) = bundle.tests
    assert (test.verdict, reason in (test.reason or "")) == (verdict, True), test.reason
    assert bundle.exit_code == (0 if verdict == "checked, silent" else 3)


def test_a_silent_test_that_is_not_green_stays_unchecked(tmp_path: Path) -> None:
    (test,) = bundle_of(run_of(tmp_path, QUIET, green=False), audited=audited(tmp_path, "1")).tests
    assert test.verdict == "unchecked" and "did not pass" in (test.reason or "")


def test_a_test_that_spoke_is_judged_by_what_it_said(tmp_path: Path) -> None:
    (test,) = bundle_of(run_of(tmp_path, HEALTHY), audited=audited(tmp_path, "1")).tests
    assert test.verdict == "balanced"


def test_a_server_that_cannot_run_the_check_was_not_checked(tmp_path: Path) -> None:
    lines = [line.replace("'tp_size': 1", "'tp_size': 1, 'pp_size': 4") for line in QUIET]
    (test,) = bundle_of(run_of(tmp_path, lines), audited=audited(tmp_path, "1")).tests
    assert test.verdict == "unchecked" and (test.reason or "").startswith("pp_size=4")


def test_a_class_that_the_sources_do_not_have(tmp_path: Path) -> None:
    (test,) = bundle_of(run_of(tmp_path, QUIET, cls="TestTwo"), audited=audited(tmp_path, "1")).tests
    assert test.verdict == "unchecked"


def test_the_file_tells_classes_of_one_name_apart(tmp_path: Path) -> None:
    saved(tmp_path / "sources", "test_two.py", SOURCES.format(level="0").encode())
    both = audited(tmp_path, "1")
    first = bundle_of(run_of(tmp_path / "a", QUIET), audited=both).tests[0]
    second = bundle_of(run_of(tmp_path / "b", QUIET, file="test_two.py"), audited=both).tests[0]
    third = bundle_of(run_of(tmp_path / "c", QUIET, file="test_three.py"), audited=both).tests[0]
    assert [first.verdict, second.verdict, third.verdict] == ["checked, silent", "unchecked", "unchecked"]
    assert "different levels" in (third.reason or "")


def test_without_a_class_the_file_decides(tmp_path: Path) -> None:
    lines = job([*begin("test_one.py"), COMMAND, *QUIET, *end("test_one.py")], green=True)
    path = saved(tmp_path, "run.zip", zipped({"0_unit.txt": text(stamped(lines))}))
    (test,) = bundle_of(path, audited=audited(tmp_path, "1")).tests
    assert test.verdict == "checked, silent"
