"""What is learnt of one line, and which lines teach nothing."""

from __future__ import annotations

import pytest

from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy, Line
from memcheck_cli.log.templates import Learnt, take_apart

TAG = b"[Mem Check"
TERMS = "total=1000, available=900, evictable=60, protected=30, session_held=0, uncached=10"
PLAIN = f"[2026-03-01 10:00:07 TP0] [Mem Check (BUSY)] [full] {TERMS}"


def read(text: str) -> tuple[bytes, Line, Busy]:
    ((line, message),) = LineReader().line(text.encode(), len(text) + 1, True)
    assert isinstance(message, Busy)
    return text.encode() + b"\n", line, message


def learn(text: str) -> Learnt | None:
    return take_apart(*read(text), TAG)


def test_a_plain_line() -> None:
    learnt = learn(PLAIN)
    assert learnt is not None
    assert learnt.head.text == b"[2026-03-01 00:00:00 TP0] [Mem Check (BUSY)] [full] total="
    assert [index for index, keep in enumerate(learnt.head.mask) if not keep] == [12, 13, 15, 16, 18, 19]
    assert (learnt.anchor, learnt.clock, learnt.day) == (26, 12, 20513)
    assert learnt.columns == (0, 1, 2, 3, 4, 5)
    assert learnt.gaps[0] == b", available="
    assert learnt.tail.text == b"\n"
    assert (learnt.reading.process, learnt.reading.rank, learnt.reading.pool) == (None, "TP0", "full")
    assert (learnt.reading.clock, learnt.reading.dated, learnt.reading.fraction) == (True, True, False)


def test_further_terms_keep_their_names() -> None:
    learnt = learn(PLAIN + ", withheld=3, double_owned=-1")
    assert learnt is not None
    assert learnt.reading.extra == ("withheld", "double_owned")
    assert learnt.columns == (0, 1, 2, 3, 4, 5, 6, 7)


def test_a_number_that_decides_more_than_a_sum_is_taken_literally() -> None:
    learnt = learn(PLAIN + ", free_list_duplicates=2, withheld=3")
    assert learnt is not None
    assert learnt.gaps[-1] == b", free_list_duplicates=2, withheld="
    assert learnt.reading.marks == {"reported"}
    assert dict(learnt.reading.fixed) == {"free_list_duplicates": 2}


def test_the_old_form_has_fewer_terms() -> None:
    learnt = learn(
        "[2026-03-01 10:00:07] [Mem Check (BUSY)] available_size=5, evictable_size=4, protected_size=3, uncached_size=2"
    )
    assert learnt is not None
    assert learnt.reading.printed == ("available", "evictable", "protected", "uncached")
    assert learnt.columns == (1, 2, 3, 5)
    assert learnt.reading.rank == "-"


def test_a_wrapped_line() -> None:
    text = PLAIN.replace("[2026", "2026-03-01T10:00:09.1234567Z [2026", 1)
    learnt = learn(text)
    assert learnt is not None
    assert learnt.head.text.startswith(b"2026-03-01T00:00:00.0000000Z [2026-03-01 00:00:00 TP0]")
    assert learnt.clock == 29 + 12


@pytest.mark.parametrize(
    "text",
    [
        PLAIN + ", class_free_pages=[1, 2]",
        PLAIN + " [repeated 3x across cluster]",
        PLAIN.replace("10:00:07", "10:00:07.12"),
        PLAIN.replace("[full]", "[" + "x" * 30 + "]").replace("[2026", "(" + "y" * 220 + " pid=1) [2026"),
        PLAIN.replace("total=1000", "total=12345678901234567"),
        "(job 10:00:00 pid=3) " + PLAIN,
    ],
)
def test_lines_that_teach_nothing(text: str) -> None:
    assert learn(text) is None


def test_only_whole_single_lines_teach() -> None:
    raw, line, message = read(PLAIN)
    assert take_apart(raw[:-1], line, message, TAG) is None
    assert take_apart(raw, line._replace(whole=False), message, TAG) is None
    assert take_apart(raw, line._replace(copies=2), message, TAG) is None
    assert take_apart(raw + raw, line, message, TAG) is None
    assert take_apart(raw, line._replace(time="2026-03-01T10:00:08"), message, TAG) is None
