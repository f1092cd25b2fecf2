"""Lines behind a test runner's progress, which ends no line of its own."""

from __future__ import annotations

import pytest

from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy, Context, Torn
from memcheck_cli.log.wrappers.pytest_output import split_progress

LINE = (
    "[2026-11-30 08:15:01 TP1] [Mem Check (BUSY)] [full] total=40, available=40, evictable=0, protected=0, "
    "session_held=0, uncached=0"
)
HEADS = [".", "...F.s", "test/test_a.py::TestA::test_b[x-1] ", "test_b (__main__.TestA.test_b) ... ", "a.py::test_c ."]


def read(text: str) -> tuple[str, object]:
    ((line, message),) = LineReader().feed(text.encode() + b"\n")
    return line.rank, message


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("stamp", ["", "2026-11-30T01:02:03.1234567Z "])
def test_the_line_behind_it_is_read(head: str, stamp: str) -> None:
    rank, message = read(stamp + head + LINE)
    assert rank == "TP1" and isinstance(message, Busy)
    _, message = read(f"{stamp}{head}command=python3 -m sglang.launch_server --page-size 16")
    assert isinstance(message, Context) and message.kind == "command"
    _, message = read(f"{stamp}{head}[CI Test Method] TestA.test_b")
    assert isinstance(message, Context) and message.kind == "ci-method"
    assert split_progress(head + LINE) == (head, LINE)


@pytest.mark.parametrize("head", ["he said a::b ", "x ", "a.py: ", "a b.py::c ", "f (x) ... y "])
def test_what_is_no_progress(head: str) -> None:
    assert split_progress(head + LINE) == ("", head + LINE)
    assert isinstance(read(head + LINE)[1], Torn)


@pytest.mark.parametrize("text", ["", ".", "....", "a.py::A::b PASSED", LINE])
def test_progress_alone(text: str) -> None:
    assert split_progress(text) == ("", text)
