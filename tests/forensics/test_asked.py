"""Ranks and pools that were asked for and are not there: it is said, and those that are there are named."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from explained import args, prefill
from made_logs import analysis_of, assertion, busy, prefix

from memcheck_cli.forensics.analysis import Analysis, Scope
from memcheck_cli.forensics.asked import SHOWN, missing
from memcheck_cli.render.terminal import print_analysis

RANKS = ("TP0", "TP1")
LOG = [
    line for rank in RANKS for line in (busy("full", 100, 90, 0, 0, 0, 10, rank=rank), busy("swa", 50, 50, rank=rank))
]
NO_TOTAL = "[Mem Check (BUSY)] available_size=7, evictable_size=2, protected_size=1, uncached_size=0"


def asked(lines: list[str], ranks: Sequence[str] = (), pools: Sequence[str] = ()) -> Analysis:
    return analysis_of(lines, scope=Scope(frozenset(ranks), frozenset(pools)))


@pytest.mark.parametrize(
    ("ranks", "pools", "reason"),
    [
        (["TP9"], [], "no check of TP9 was found, only of TP0 and TP1"),
        (["TP8", "TP9"], [], "no check of TP8 was found, only of TP0 and TP1; no check of TP9 was found, only of TP0 "
         "and TP1"),
        ([], ["mamba"], "no check of the pool mamba was found, only of full and swa"),
        (["TP0"], ["mamba"], "no check of the pool mamba was found, only of full and swa"),
        (["TP2"], [], "TP2 prints other lines; no check of it was found, only of TP0 and TP1"),
    ],
)  # fmt: skip
def test_the_verdict_names_what_is_missing(ranks: list[str], pools: list[str], reason: str) -> None:
    analysis = asked([*LOG, args(rank="TP2")], ranks, pools)
    assert (analysis.verdict, analysis.reason, analysis.checked_elsewhere) == ("undecided", reason, True)
    output = io.StringIO()
    print_analysis(analysis, output)
    told = " ".join(output.getvalue().split())
    assert reason in told
    assert "To have the server check" not in told


def test_a_pool_that_only_another_rank_prints() -> None:
    lines = [*LOG, busy("full", 100, 90, 0, 0, 0, 10, rank="TP2")]
    assert asked(lines, ["TP2"], ["swa"]).reason == "no check of the pool swa by TP2 was found, only of full"


def test_a_log_that_names_no_rank() -> None:
    lines = [busy("full", 100, 90, 0, 0, 0, 10)]
    assert asked(lines, ["TP0"]).reason == "no check of TP0 was found: the log names no rank"


def test_what_is_missing_beside_what_is_there() -> None:
    analysis = asked(LOG, ["TP0", "TP9"])
    assert (analysis.verdict, analysis.reason) == ("balanced", "all 2 records that could be decided balance")
    (item,) = analysis.unchecked
    assert (item.source, item.rank, item.pool, item.line) == ("made.log", "TP9", None, None)
    assert item.reason == "no check of TP9 was found, only of TP0 and TP1"
    assert not asked(LOG, ["TP0", "TP1"], ["full", "swa"]).unchecked


def test_a_log_without_checks_is_told_how_to_get_some() -> None:
    analysis = asked([args(), prefill()], ["TP0"])
    assert (analysis.checked_elsewhere, analysis.unchecked) == (False, [])
    output = io.StringIO()
    print_analysis(analysis, output)
    assert "To have the server check" in output.getvalue()


def test_what_could_be_decided_is_that_of_the_ranks_and_pools_asked_for() -> None:
    lines = [*LOG, f"{prefix('TP2')}{NO_TOTAL}", f"{prefix('TP2')}{NO_TOTAL}"]
    assert asked(lines).verdict == "balanced"
    of_one = asked(lines, ["TP2"])
    assert of_one.verdict == "undecided"
    assert of_one.reason.startswith("none of the 2 records found could be decided: this form prints no total")


def test_assertions_and_page_reports_of_another_pool_are_not_counted() -> None:
    lines = [*assertion("full", 100, 89, 0, 0, 0, 10), f"{prefix()}KV double free: sub-pool 0 has 3 duplicate pages."]
    assert asked(lines).verdict == "broken"
    assert asked(lines, pools=["swa"]).reason == "no check of the pool swa was found, only of full"


def test_many_names_are_counted() -> None:
    checked = {f"TP{number}": ["full"] for number in range(SHOWN + 3)}
    (one,) = missing(["DP0"], [], checked)
    assert one.reason.endswith("TP15 and 3 more")
