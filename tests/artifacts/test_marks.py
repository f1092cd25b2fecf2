"""Marks between a server's lines, as test suites, test runners and GitHub print them."""

from __future__ import annotations

import pytest
from growth import assert_linear_in
from hypothesis import given
from hypothesis import strategies as st
from made_bundles import COMMAND

from memcheck_cli.artifacts.marks import MARKERS, TEXT, bare, read_mark, text_of

MARKS = {
    "Begin (3/17):": ("ci-begin", {"index": 3, "last": 17}),
    "python3 /r/test/srt/test_a.py": ("ci-file", {"file": "/r/test/srt/test_a.py"}),
    "[CI Test Method] TestA.test_b": ("ci-method", {"class": "TestA", "method": "test_b"}),
    "[CI Retry] Attempt 2/3 for test_a.py": ("ci-retry", {"attempt": 2, "attempts": 3, "file": "test_a.py"}),
    "✓ PASSED on retry (attempt 2): test_a.py": ("ci-passed-on-retry", {"attempt": 2, "file": "test_a.py"}),
    "✗ FAILED: test_a.py returned exit code 1": ("ci-failed", {"file": "test_a.py", "exit_code": 1}),
    "FAIL: test_b (__main__.TestA.test_b)": ("outcome", {"class": "TestA", "method": "test_b", "passed": False}),
    "ERROR: test_b (__main__.TestA)": ("outcome", {"class": "TestA", "method": "test_b", "passed": False}),
    "ERROR: setUpClass (pkg.mod.TestA)": ("outcome", {"class": "TestA", "method": "setUpClass", "passed": False}),
    "a/test_a.py::TestA::test_b[x-1] PASSED [ 50%]": (
        "outcome",
        {"file": "a/test_a.py", "class": "TestA", "method": "test_b", "passed": True},
    ),
    "FAILED a/test_a.py::test_b - boom": (
        "outcome",
        {"file": "a/test_a.py", "class": None, "method": "test_b", "passed": False},
    ),
    "_______ TestA.test_b[x] _______": ("section", {"class": "TestA", "method": "test_b"}),
    "____ ERROR at setup of TestA.test_b ____": ("section", {"class": "TestA", "method": "test_b"}),
    "##[error]Process completed with exit code 255.": ("job", {"passed": False}),
    "##[error]The operation was canceled.": ("job", {"passed": False}),
    "Cleaning up orphan processes": ("job", {"passed": True}),
    "Success. Time elapsed: 12.50s": ("suite", {"passed": True}),
    "  SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY: 1": ("level", {"value": 1}),
    "export SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY=2": ("level", {"value": 2}),
}


@pytest.mark.parametrize("line", MARKS)
def test_marks(line: str) -> None:
    kind, values = MARKS[line]
    mark = read_mark(line)
    assert mark is not None
    assert (mark.kind, {name: mark.values[name] for name in values}) == (kind, values)
    assert any(marker in line.encode() for marker in MARKERS)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Begin",
        "##[error]Some annotation of a linter",
        "##[error]Process completed with exit code 0.",
        "python3 -m pip install x",
        "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE=1",
        "_____ coverage: platform linux _____",
        "a server said FAIL: test",
    ],
)
def test_what_is_no_mark(line: str) -> None:
    assert read_mark(line) is None


def test_a_command_carries_flags_and_itself() -> None:
    mark = read_mark(COMMAND)
    assert mark is not None and mark.kind == "command"
    assert mark.values["page_size"] == 16
    assert mark.values[TEXT] == COMMAND.removeprefix("command=")


@pytest.mark.parametrize("line", list(MARKS))
def test_wrapping_is_taken_off(line: str) -> None:
    stamp = "2026-11-30T01:02:03.1234567Z "
    for wrapped in (
        line,
        stamp + line,
        f"job (1)\tstep\t{stamp}{line}",
        f"job\tUNKNOWN STEP\t\ufeff{stamp}{line}",
        f"{stamp}\x1b[36;1m{line}\x1b[0m\r",
    ):
        assert text_of(wrapped.encode() + b"\n") == line
        assert bare(wrapped.encode() + b"\n") in (line.encode(), f"\x1b[36;1m{line}\x1b[0m".encode())


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    mark = read_mark(text)
    assert mark is None or mark.kind
    assert "\n" not in text_of(text.encode("utf-8", "replace") + b"\n").rstrip("\n") or "\n" in text


@pytest.mark.parametrize(
    "line",
    [
        "_" * 20000,
        "_ " * 9000,
        "FAIL: " + "a" * 20000,
        "ERROR: a (" + "a." * 9000,
        "a.py::" * 4000,
        "python3 " + "/" * 20000,
        "##[error]The action " + "x" * 20000,
        "x" * 399 + ".py::A::b[" + "[" * 20000,
    ],
)
def test_time_is_linear(line: str) -> None:
    assert_linear_in(line[:16384], read_mark)
