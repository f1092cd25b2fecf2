"""The verdict over several sources, and in which words it is told."""

from __future__ import annotations

import io

import pytest
from explained import args, prefill
from made_logs import busy, ledger_of, prefix
from skimming import source_of

from memcheck_cli.forensics.analysis import Analysis, Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.ledger.reading import SourceReading, read_source
from memcheck_cli.render.terminal import print_analysis

GOOD = [busy("full", 1000, 900, 0, 0, 0, 100)]
BAD = [busy("full", 1000, 900, 0, 0, 0, 90)]
SILENT = [args(), prefill()]
REPORTED = [prefix() + "req_to_token_pool memory leak detected!available_size=32, session_held=0, total_size=32"]
NO_TOTAL = [
    prefix() + "[Mem Check (BUSY)] available_size=900, evictable_size=0, protected_size=0, uncached_size=100",
]
MAIN_PROCESS = [args(), prefix() + "The server is fired up and ready to roll!"]
NAME = "server.log.gz"
README = ["# Logs of the run", "", "see server.log"]


def over(*logs: list[str], scope: Scope | None = None) -> Analysis:
    readings = []
    for number, lines in enumerate(logs):
        ledger = ledger_of(lines, f"{number}.log")
        readings.append(SourceReading(f"{number}.log", records=ledger.records, ledger=ledger))
    return analyze_readings(readings, Settings(), scope or Scope())


@pytest.mark.parametrize("undecided", [SILENT, REPORTED, NO_TOTAL])
def test_broken_wins_over_undecided_over_balanced(undecided: list[str]) -> None:
    assert over(GOOD, undecided, BAD).verdict == "broken"
    answer = over(GOOD, undecided)
    assert (answer.verdict, answer.exit_code) == ("undecided", 3)
    assert over(GOOD, GOOD).verdict == "balanced"


def test_an_undecided_source_is_named() -> None:
    assert over(GOOD, SILENT).reason.startswith("1.log: no line of the pool checker")


@pytest.mark.parametrize("other", [README, MAIN_PROCESS, []])
def test_a_source_without_a_scheduler_decides_nothing(other: list[str]) -> None:
    assert over(GOOD, other).verdict == "balanced"
    assert over(other).verdict == "undecided"


def test_ranks_asked_for_may_stand_in_one_source() -> None:
    other = [busy("full", 1000, 900, 0, 0, 0, 100, rank="TP9")]
    assert over(GOOD, other, scope=Scope(ranks=("TP9",))).verdict == "balanced"


def test_the_callers_word_holds_for_every_source() -> None:
    assert over(GOOD, SILENT, scope=Scope(checked_level=1)).verdict == "balanced"


def test_nothing_found_says_why() -> None:
    died = [
        prefix() + "Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/sglang/srt/mem_cache/base_prefix_cache.py", line 7, in evictable_size',
        "NotImplementedError",
    ]
    assert over([args(), *died]).reason.startswith("no check was printed: the checker itself failed")
    piped = [args().replace("page_size", "pp_size=2, page_size"), prefill()]
    assert "pp_size=2: no release runs the busy check" in over(piped).reason


def test_a_source_that_was_not_read_to_its_end_is_no_health_of_the_rest() -> None:
    def cut(lines: list[str]) -> Analysis:
        reading = SourceReading(NAME, len(lines), error="truncated gzip data", ledger=ledger_of(lines, NAME))
        return analyze_readings([reading], Settings(), Scope())

    answer = cut(GOOD)
    assert (answer.verdict, answer.exit_code) == ("balanced", 0)
    assert answer.reason.endswith("balances; server.log.gz was not read to its end: truncated gzip data")
    assert "read to its end" in cut(SILENT).reason
    assert "read to its end" not in cut(BAD).reason


HEADS = ["[2026-03-01 10:00:00] INFO scheduler.py:268: ", 'ts=2026-03-01 level=info msg="']


def read(*logs: list[str]) -> Analysis:
    readings = []
    for number, lines in enumerate(logs):
        fast, exact = (
            read_source(source_of(("\n".join(lines) + "\n").encode()), exact=exact, head=0) for exact in (False, True)
        )
        fast.name = exact.name = f"{number}.log"
        assert (fast.strange, fast.strange_line) == (exact.strange, exact.strange_line)
        readings.append(fast)
    return analyze_readings(readings, Settings(), Scope())


@pytest.mark.parametrize("head", HEADS)
def test_records_behind_an_unknown_head_are_told(head: str) -> None:
    strange = ["something else", *(head + line.partition("] ")[2] for line in GOOD * 3)]
    told = "3 lines hold a record of the checker behind a head that is not known, line 2"
    answer = read(strange)
    assert (answer.verdict, answer.reason) == ("undecided", f"{told} first")
    output = io.StringIO()
    print_analysis(answer, output, False)
    assert "To have them read" in output.getvalue()
    assert "To have the server check" not in output.getvalue()
    beside = read(GOOD, strange)
    assert (beside.verdict, beside.reason) == ("undecided", f"1.log: {told} first")
    within = read(GOOD + strange)
    assert (within.verdict, within.reason.partition("; ")[2]) == ("balanced", f"{told[:-1]}3 first")


def test_a_word_about_the_checker_is_no_record() -> None:
    answer = read(["is [Mem Check (BUSY)] printed by the scheduler?"])
    assert answer.reason == "no line of the pool checker was found: silence is not health"
