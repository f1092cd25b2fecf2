"""Which report a pool text on a line of its own belongs to, and when a report has ended."""

from __future__ import annotations

from made_logs import busy, ledger_of, pool_text, prefix

from memcheck_cli.ledger.idle_reports import MOST_SKIPPED

FULL, SWA = pool_text("full", 1000, 1000), pool_text("swa", 500, 400, 99)


def head(rank: str) -> str:
    return f"{prefix(rank)}pool memory leak detected! {FULL}"


def rows(lines: list[str]) -> dict[str, list[int]]:
    """Lines of the SWA texts by rank."""
    found = {}
    for stream in ledger_of(lines).in_order():
        series = stream.idle.get("swa")
        found[stream.rank] = [] if series is None else [s.first.line for s in series.segments for _ in range(s.count)]
    return found


def test_two_ranks_that_write_line_by_line_have_a_pool_each() -> None:
    assert rows([head("TP0"), head("TP1"), SWA, SWA]) == {"TP0": [4], "TP1": [3]}


def test_a_rank_that_goes_on_leaves_the_others_open() -> None:
    assert rows([head("TP0"), head("TP1"), busy("full", 1000, 1000, rank="TP1"), SWA]) == {"TP0": [4], "TP1": []}


def test_the_same_rank_begins_anew_and_no_report_prints_a_pool_twice() -> None:
    assert rows([head("TP0"), head("TP0"), SWA, SWA])["TP0"] == [3]


def test_other_text_ends_all_of_them() -> None:
    assert rows([head("TP0"), head("TP1"), "Loading: 5%", SWA]) == {"TP0": [], "TP1": []}


def test_a_blank_line_does_not_end_one_but_what_follows_it() -> None:
    assert rows([head("TP0"), "", SWA]) == {"TP0": [3]}
    assert rows([head("TP0"), "", f"{prefix('TP1')}hello", SWA]) == {"TP0": []}


def test_it_does_not_stay_open_for_ever() -> None:
    others = [f"{prefix('TP1')}hello"] * MOST_SKIPPED
    assert rows([head("TP0"), *others, SWA]) == {"TP0": [MOST_SKIPPED + 2]}
    assert rows([head("TP0"), *others, others[0], SWA]) == {"TP0": []}
