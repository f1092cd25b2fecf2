"""The server's prefix in all the forms that reports show."""

from __future__ import annotations

import pytest
from growth import assert_linear_in
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.log.prefixes import Prefix, split_prefix

STANDARD = [
    ("[2026-06-11 08:15:05 DP1 TP1 EP1] x", "2026-06-11T08:15:05", "DP1 TP1 EP1"),
    ("[2026-06-11 08:15:05.123 TP0] x", "2026-06-11T08:15:05.123", "TP0"),
    ("[2026-06-11 08:15:05,123 TP0] x", "2026-06-11T08:15:05.123", "TP0"),
    ("[2026-06-11 08:15:05.040] x", "2026-06-11T08:15:05.040", "-"),
    ("[2026-06-11 08:15:05] x", "2026-06-11T08:15:05", "-"),
    ("[2026-06-11 08:15:05 PP1 ATTN_CP0 TP0] x", "2026-06-11T08:15:05", "PP1 ATTN_CP0 TP0"),
    ("[2026-06-11 08:15:05 DP0 PP1 ATTN_CP2 MOE_DP3 TP14 EP15] x", "2026-06-11T08:15:05", None),
    ("[2026-06-11 08:15:05 TP1 DP0] x", "2026-06-11T08:15:05", "TP1 DP0"),
    ("[03:04:05 TP0] x", "03:04:05", "TP0"),
    ("[07:22:13 PP0] x", "07:22:13", "PP0"),
    ("[TP0] x", None, "TP0"),
    ("[DP1 TP0] x", None, "DP1 TP0"),
]

CUT = [
    ("TP0] x", None, "TP0"),
    ("DP1 TP0] x", None, "DP1 TP0"),
    (" TP0] x", None, "TP0"),
    ("2026-06-11 08:15:05 TP0] x", "2026-06-11T08:15:05", "TP0"),
    ("026-06-11 08:15:05 TP0] x", "08:15:05", "TP0"),
    ("-06-11 08:15:05 TP0] x", "08:15:05", "TP0"),
    ("1 08:15:05.250 DP1 TP0] x", "08:15:05.250", "DP1 TP0"),
    ("08:15:05 TP0] x", "08:15:05", "TP0"),
    ("8:15:05 TP0] x", None, "TP0"),
    (":05 TP0] x", None, "TP0"),
    ("5.123 TP0] x", None, "TP0"),
    ("-06-11 08:15:05] x", "08:15:05", "-"),
    ("08:15:05.5] x", "08:15:05.5", "-"),
]

CONFIGURED = [
    ("2026-01-02 03:04:05 ERROR 300 [scheduler.py:34] x", "2026-01-02T03:04:05"),
    ("2026-01-02 03:04:05,123 - sglang - INFO - x", "2026-01-02T03:04:05.123"),
    ("2026-01-02 03:04:05,123 - sglang.srt.managers.scheduler - WARNING - x", "2026-01-02T03:04:05.123"),
    ("2026-01-02 03:04:05,123 - INFO - x", "2026-01-02T03:04:05.123"),
    ("2026-01-02 03:04:05.123 | INFO     | sglang.srt:run:34 - x", "2026-01-02T03:04:05.123"),
    ("[2026-01-02 03:04:05,123][sglang][INFO] - x", "2026-01-02T03:04:05.123"),
    ("2026-01-02 03:04:05,123 INFO sglang.srt: x", "2026-01-02T03:04:05.123"),
    ("2026-01-02 03:04:05,123 [INFO] sglang.srt: x", "2026-01-02T03:04:05.123"),
    ("2026-01-02T03:04:05Z INFO scheduler.py:34 x", "2026-01-02T03:04:05"),
    ("INFO 01-02 03:04:05 [scheduler.py:34] x", "03:04:05"),
    ("INFO:sglang.srt.managers.scheduler:x", None),
]

NO_PREFIX = [
    "",
    "x",
    "    self.on_idle()",
    "[full] total=1",
    "[H100] x",
    "12] x",
    "P0] x",
    "P1 TP0] x",
    "[2026-06-11 08:15:05 TP0]x",
    "[2026-06-11 08:15:05 tp0] x",
    "loss at 08:15:05] x",
    'INFO:     10.0.0.9:50112 - "POST /generate HTTP/1.1" 200 OK',
    "2026-01-02 03:04:05 what a user wrote",
    "I0102 03:04:05.501163 1115 transfer_engine.cpp:38] [Metrics] x",
    "ValueError: pool memory leak detected! [full] total=1",
    "[\u0662026-06-11 08:15:05 TP0] x",
]


@pytest.mark.parametrize(("text", "when", "rank"), STANDARD)
def test_standard_forms(text: str, when: str | None, rank: str | None) -> None:
    if rank is None:
        rank = "DP0 PP1 ATTN_CP2 MOE_DP3 TP14 EP15"
    assert split_prefix(text) == Prefix(when, rank, True, "x")


@pytest.mark.parametrize(("text", "when", "rank"), CUT)
def test_a_cut_prefix_gives_what_is_certain_and_no_more(text: str, when: str | None, rank: str) -> None:
    assert split_prefix(text) == Prefix(when, rank, True, "x")


@pytest.mark.parametrize(("text", "when"), CONFIGURED)
def test_logging_configurations_without_the_bracket(text: str, when: str | None) -> None:
    assert split_prefix(text) == Prefix(when, "-", True, "x")


@pytest.mark.parametrize("text", NO_PREFIX)
def test_other_text_has_no_prefix(text: str) -> None:
    assert split_prefix(text) == Prefix(None, "-", False, text)


def test_a_pool_label_is_no_logger_name() -> None:
    assert split_prefix("2026-01-02 03:04:05 INFO [full] total=5").text == "[full] total=5"
    assert split_prefix("2026-01-02 03:04:05,5 [Mem Check (BUSY)] [full]").text == "[Mem Check (BUSY)] [full]"


def test_the_brackets_own_time_wins_over_a_loggers() -> None:
    text = "2026-01-02 03:04:05,123 - relay - INFO - [2026-01-02 03:04:04 TP1] x"
    assert split_prefix(text) == Prefix("2026-01-02T03:04:04", "TP1", True, "x")
    text = "2026-01-02 03:04:05 ERROR 300 [scheduler.py:34] [TP0] x"
    assert split_prefix(text) == Prefix("2026-01-02T03:04:05", "TP0", True, "x")


def test_an_impossible_time_is_no_time() -> None:
    assert split_prefix("[9999-99-99 99:99:99 TP0] x") == Prefix(None, "TP0", True, "x")
    assert split_prefix("[2026-06-11 24:00:00 TP0] x").time is None


def test_an_empty_message_keeps_its_prefix() -> None:
    assert split_prefix("[2026-06-11 08:15:05 TP0] ") == Prefix("2026-06-11T08:15:05", "TP0", True, "")
    assert split_prefix("[2026-06-11 08:15:05 TP0]") == Prefix("2026-06-11T08:15:05", "TP0", True, "")


def test_a_blank_of_the_message_stays() -> None:
    assert split_prefix("[2026-06-11 08:15:05 TP0]  x").text == " x"


@given(st.integers(0, 50))
def test_cutting_the_front_never_invents(cut: int) -> None:
    """Whatever is cut off the front, a time or a rank that is given was printed."""
    line = "[2026-06-11 08:15:05.123 DP1 TP13] [Mem Check (BUSY)] [full] total=1"
    prefix = split_prefix(line[cut:])
    assert prefix.time in (None, "2026-06-11T08:15:05.123", "08:15:05.123")
    assert prefix.rank in ("-", "DP1 TP13", "TP13")
    assert line.endswith(prefix.text)
    if cut <= 1:
        assert prefix.time == "2026-06-11T08:15:05.123"
    if cut <= 12:
        assert prefix.time is not None
    if cut <= len("[2026-06-11 08:15:05.123 "):
        assert prefix.rank == "DP1 TP13"


@given(st.text(alphabet="[]0123456789-:., TPDEINFOR|{}\"'ax=()\n\x1b\u0663", max_size=80))
def test_any_text_gives_a_tail_of_itself(text: str) -> None:
    prefix = split_prefix(text)
    assert text.endswith(prefix.text)
    assert prefix.prefixed or (prefix.time is None and prefix.rank == "-" and prefix.text == text)


@pytest.mark.parametrize("unit", ["[", "0", "] ", "TP0 ", "A", "a.", "INFO ", "2026-01-02 03:04:05 ", "-", ": ", "  "])
def test_long_lines_take_linear_time(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    assert_linear_in(text, split_prefix)
    assert_linear_in(f"[2026-06-11 08:15:05 {text}", split_prefix)
