"""What is a break, what is none, and what cannot be told."""

from __future__ import annotations

import pytest
from made_logs import analysis_of, assertion, busy, crash, pool_text, prefix

from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings

ARGS = prefix() + "server_args=ServerArgs(model_path='m', tp_size=1, page_size=16, {})"
BANNER = prefix() + "max_total_num_tokens=1000, chunked_prefill_size=8192, max_running_requests=64, context_len=32768"
SERVED_ON = prefix() + "Decode batch, #running-req: 1, #token: 10, token usage: 0.01, #queue-req: 0"


def old(available: int, uncached: int, rank: str = "") -> str:
    """The busy line without a total (0.5.6 to 0.5.10)."""
    numbers = f"available_size={available}, evictable_size=0, protected_size=0, uncached_size={uncached}"
    return f"{prefix(rank)}[Mem Check (BUSY)] {numbers}"


def old_assertion(accounted: int, total: int = 1000) -> list[str]:
    return crash(f"Mem Leak Detected! total_tokens={accounted} vs self.max_total_num_tokens={total}")


def idle(*pools: str, rank: str = "", clock: str = "08:15:02", error: bool = False) -> list[str]:
    text = "pool memory leak detected! " + "\n".join(pools)
    if error:
        return "\n".join(crash(text, rank, clock, "ValueError")).split("\n")
    return (prefix(rank, clock) + text).split("\n")


def kinds(items) -> list[str | None]:
    return [item.kind for item in items]


# Breaks and their witness


def test_first_break_with_its_witness():
    found = analysis_of([busy("full", 100, 90, 0, 0, 0, 10), busy("full", 100, 80, 5, 0, 0, 10)]).first_break
    assert found is not None
    assert (found.kind, found.delta, found.accounted, found.iteration, found.from_end) == ("leak", -5, 95, 2, 0)
    assert found.witness is not None and found.witness.iteration == 1
    assert found.moved == {"available": -10, "evictable": 5, "protected": 0, "session_held": 0, "uncached": 0}
    assert found.gap == 0


def test_series_is_told_once_with_its_length():
    lines = [busy("full", 100, 90, 0, 0, 0, 10), *[busy("full", 100, 90 - n, 0, 0, 0, 9) for n in range(4)]]
    (found,) = analysis_of(lines).breaks
    assert (found.series_breaks, found.last_delta, found.from_end) == (4, -4, -3)


def test_overcount_in_pages():
    (found,) = analysis_of([ARGS.format(""), busy("full", 100, 120, 0, 0, 0, 12)]).breaks
    assert (found.kind, found.delta, found.page_size, found.pages) == ("overcount", 32, 16, 2)
    assert found.witness is None and found.moved is None


def test_pages_only_where_they_divide():
    (found,) = analysis_of([ARGS.format(""), busy("full", 100, 90, 0, 0, 0, 9)]).breaks
    assert (found.page_size, found.pages) == (16, None)


def test_page_size_of_the_caller_beats_the_log():
    (found,) = analysis_of([ARGS.format(""), busy("full", 100, 90, 0, 0, 0, 8)], Settings(page_size=2)).breaks
    assert (found.page_size, found.pages) == (2, -1)


def test_all_pools_that_break_are_named():
    lines = [
        busy("full", 100, 90, 0, 0, 0, 10),
        busy("swa", 50, 40, 0, 0, 0, 10),
        busy("full", 100, 90, 0, 0, 0, 9),
        busy("swa", 50, 40, 0, 0, 0, 8),
        *assertion("full", 100, 90, 0, 0, 0, 9),
    ]
    assert [(b.pool, b.delta, b.iteration) for b in analysis_of(lines).breaks] == [("full", -1, 2), ("swa", -2, 2)]


def test_gap_counts_iterations_without_a_record_of_the_pool():
    lines = [
        *[busy("full", 100, 90, 0, 0, 0, 10), busy("swa", 50, 40, 0, 0, 0, 10)],
        *[busy("full", 100, 90, 0, 0, 0, 10)] * 3,
        *[busy("full", 100, 90, 0, 0, 0, 10), busy("swa", 50, 40, 0, 0, 0, 9)],
    ]
    (found,) = analysis_of(lines).breaks
    assert (found.pool, found.iteration, found.gap) == ("swa", 5, 3)


def test_one_event_seen_by_several_ranks():
    lines = [busy("full", 100, 90, 0, 0, 0, 9, rank=f"TP{n}") for n in range(3)]
    lines.append(busy("full", 100, 90, 0, 0, 0, 9, rank="TP3", clock="08:15:07"))
    assert [b.event for b in analysis_of(lines).breaks] == [1, 1, 1, 2]


def test_tolerated_imbalance_is_a_finding():
    answer = analysis_of([busy("full", 100, 90, 0, 0, 0, 9, extra=", dcp_physical_page_slack_allowed=True")])
    assert (answer.verdict, kinds(answer.findings)) == ("balanced", ["tolerated-imbalance"])


def test_reported_although_it_balances():
    extra = ", unaligned_sharded_counts={'available': 90}, page_size=16"
    (found,) = analysis_of([busy("full", 100, 90, 0, 0, 0, 10, extra=extra)]).breaks
    assert (found.kind, found.delta) == ("reported", 0)
    assert found.row.extra is not None and found.row.extra["unaligned_sharded_counts"] == {"available": 90}


def test_impossible_terms_and_changed_totals_are_findings():
    lines = [busy("full", 100, 110, -20, 0, 0, 10), busy("full", 90, 90, 0, 0, 0, 0)]
    answer = analysis_of(lines)
    assert answer.verdict == "balanced"
    assert sorted(str(k) for k in kinds(answer.findings)) == ["negative-term", "term-above-total", "total-changed"]


# Assertions


def test_assertion_alone_makes_the_break():
    lines = [
        BANNER,
        SERVED_ON,
        *crash(f"Full Pool Mem Leak Detected! {pool_text('full', 1000, 900, 0, 0, 0, 60)}", "TP1"),
    ]
    (found,) = analysis_of(lines).breaks
    assert (found.stream.rank, found.iteration, found.line_of_row if hasattr(found, "line_of_row") else None) == (
        "TP1",
        None,
        None,
    )
    assert (found.delta, found.row.time, found.row.line) == (-40, "2026-06-11T08:15:01", 6)


def test_assertion_that_repeats_a_record_adds_nothing():
    lines = [busy("full", 100, 90, 0, 0, 0, 9, rank="TP0"), *assertion("full", 100, 90, 0, 0, 0, 9, rank="TP0")]
    lines += ["E   AssertionError: Full Pool Mem Leak Detected! " + pool_text("full", 100, 90, 0, 0, 0, 9)]
    (found,) = analysis_of(lines).breaks
    assert (found.row.line, found.asserted) == (1, 5)


def test_old_assertion_without_any_record():
    (found,) = analysis_of([BANNER, *old_assertion(990)]).breaks
    assert (found.pool, found.total, found.accounted, found.delta, found.row.named_terms()) == (
        "full",
        1000,
        990,
        -10,
        {},
    )


# The form without a total


def test_total_from_the_banner():
    (found,) = analysis_of([BANNER, old(900, 100), old(900, 110)]).breaks
    assert (found.kind, found.total, found.delta, found.iteration) == ("overcount", 1000, 10, 2)
    assert found.witness is not None and found.witness.line == 2


def test_total_from_the_assertion_beats_the_banner():
    (found,) = analysis_of([BANNER, old(900, 110), old(900, 100), *old_assertion(1000, 1010)]).breaks
    assert (found.total, found.delta, found.iteration) == (1010, -10, 2)


def test_total_from_the_caller():
    answer = analysis_of([old(900, 100), old(900, 110)], Settings(totals={"full": 1000}))
    assert [b.delta for b in answer.breaks] == [10]


def test_without_any_total_undecided():
    answer = analysis_of([old(900, 100), old(900, 110)])
    assert (answer.verdict, answer.exit_code) == ("undecided", 3)
    assert "--total full=N" in answer.undetermined[0].reason


def test_banner_of_another_rank_counts_for_all():
    lines = [BANNER.replace("] ", " TP0] ", 1), old(900, 100, "TP1"), old(901, 100, "TP1")]
    (found,) = analysis_of(lines).breaks
    assert (found.stream.rank, found.delta) == ("TP1", 1)


def test_unprinted_session_term_is_no_break_when_the_server_goes_on():
    answer = analysis_of([BANNER, old(900, 100), old(800, 100), old(900, 100)])
    assert (answer.verdict, kinds(answer.findings)) == ("balanced", ["unprinted-term"])


def test_unprinted_session_term_as_the_last_record_is_undetermined():
    answer = analysis_of([BANNER, old(900, 100), old(800, 100)])
    assert answer.breaks == [] and len(answer.undetermined) == 1


def test_deficit_with_its_assertion_is_a_break():
    (found,) = analysis_of([BANNER, old(900, 100), old(800, 100), *old_assertion(900)]).breaks
    assert (found.delta, found.iteration, found.asserted) == (-100, 2, 7)


def test_deficit_with_sessions_off_is_a_break():
    args = ARGS.format("enable_streaming_session=False")
    (found,) = analysis_of([args, BANNER, old(800, 100), old(900, 100)]).breaks
    assert found.delta == -100


# Extra terms


def withheld(*terms: int, held: int) -> str:
    return busy("full", 100, *terms, extra=f", withheld={held}")


def test_one_extra_term_explains_every_gap():
    answer = analysis_of([withheld(60, 0, 0, 0, 10, held=30), withheld(50, 0, 0, 0, 10, held=40)])
    assert (answer.verdict, kinds(answer.findings)) == ("balanced", ["gap-explained-by-extra-terms"])
    assert answer.findings[0].more["terms"] == {"withheld": 1}


def test_a_single_record_proves_nothing():
    answer = analysis_of([withheld(60, 0, 0, 0, 10, held=30)])
    assert (answer.verdict, answer.breaks, len(answer.undetermined)) == ("undecided", [], 1)


def test_a_term_that_unbalances_a_balanced_record_explains_nothing():
    answer = analysis_of([withheld(90, 0, 0, 0, 10, held=5), *[withheld(60, 0, 0, 0, 10, held=30)] * 2])
    assert answer.verdict == "broken"


def test_signed_combination():
    extra = ", withheld=30, double_owned=10, double_owned_src=census"
    lines = [busy("full", 100, 70, 0, 0, 0, 10, extra=extra)] * 2
    answer = analysis_of(lines)
    assert answer.findings[0].more["terms"] == {"withheld": 1, "double_owned": -1}


def test_counters_that_count_no_slots_explain_nothing():
    answer = analysis_of([busy("full", 100, 60, 0, 0, 0, 10, extra=", free_and_cached=30")] * 2)
    assert answer.verdict == "broken"


# Idle reports


def test_idle_break_in_the_line_without_prefix():
    lines = [
        busy("full", 100, 90, 0, 0, 0, 10, rank="TP0"),
        busy("swa", 50, 40, 0, 0, 0, 10, rank="TP0"),
        *idle(pool_text("full", 100, 90, 10), pool_text("swa", 50, 40, 8), rank="TP0", error=True),
    ]
    (found,) = analysis_of(lines).breaks
    assert (found.check, found.pool, found.iteration, found.after_iteration, found.row.line) == (
        "idle",
        "swa",
        None,
        1,
        7,
    )
    assert (found.delta, found.stream.rank) == (-2, "TP0")
    assert found.moved == {"available": 0, "evictable": 8, "protected": 0, "session_held": 0, "uncached": -10}


def test_line_of_another_rank_does_not_end_the_report():
    report = idle(pool_text("full", 100, 90, 10), pool_text("swa", 50, 40, 8), rank="TP0")
    lines = [report[0], busy("full", 100, 90, 0, 0, 0, 10, rank="TP1"), report[1]]
    assert [b.pool for b in analysis_of(lines).breaks] == ["swa"]


def test_pool_line_behind_something_else_is_a_watchdog_text():
    report = idle(pool_text("full", 100, 90, 9), pool_text("swa", 50, 40, 8))
    lines = [report[0], "py-spy was here", report[1]]
    assert [b.pool for b in analysis_of(lines).breaks] == ["full"]


def test_idle_report_that_balances_is_undetermined():
    answer = analysis_of(idle(pool_text("full", 100, 90, 10)))
    assert (answer.verdict, answer.exit_code, len(answer.undetermined)) == ("undecided", 3, 1)


def test_protected_at_idle_is_told_once():
    answer = analysis_of([*idle(pool_text("full", 100, 90, 5, 4)), *idle(pool_text("full", 100, 90, 5, 4))])
    assert kinds(answer.findings) == ["protected-at-idle"]


def request_pool(available: int, total: int, held: int | None = 0) -> list[str]:
    session = "" if held is None else f", session_held={held}"
    text = f"req_to_token_pool memory leak detected!available_size={available}{session}, total_size={total}"
    return crash(text, error="ValueError")


def test_request_slots():
    (found,) = analysis_of([ARGS.format(""), *request_pool(31, 32)]).breaks
    assert (found.pool, found.check, found.delta, found.page_size, found.pages) == ("req", "idle", -1, None, None)


@pytest.mark.parametrize(
    ("mode", "available", "undetermined"),
    [("'decode'", 31, True), ("'null'", 31, False), ("'null'", 33, False), (None, 33, True), (None, 31, False)],
)
def test_request_slots_of_a_decode_server(mode: str | None, available: int, undetermined: bool):
    args = ARGS.format(f"disaggregation_mode={mode}" if mode else "")
    answer = analysis_of([args, *request_pool(available, 32)])
    assert bool(answer.undetermined) == undetermined
    assert bool(answer.breaks) != undetermined
    assert answer.verdict == ("undecided" if undetermined else "broken")


# Page reports, damage, silence


def test_page_report_stands_beside_balanced_sums():
    lines = [
        busy("full", 100, 90, 0, 0, 0, 10),
        *crash("KV double free: sub-pool 1 has 3 duplicate pages.", error="ValueError"),
    ]
    (found,) = analysis_of(lines).breaks
    assert (found.check, found.kind, found.pool, found.pages, found.delta, found.iteration) == (
        "pages",
        "double-free",
        "swa",
        3,
        None,
        1,
    )


def test_two_kinds_of_page_reports_are_two_series():
    text = prefix() + "KV page use-after-free: 4 owner page refs are in the free pool, sample pages=[1, 2]."
    lines = [text, text, prefix() + "KV double free: sub-pool 0 has 1 duplicate pages."]
    assert [(b.kind, b.series_breaks, b.pool) for b in analysis_of(lines).breaks] == [
        ("use-after-free", 2, None),
        ("double-free", 1, "full"),
    ]


def test_last_line_without_an_end_may_be_cut():
    cut = busy("full", 100, 80, 0, 0, 0, 2)
    answer = analysis_of(busy("full", 100, 90, 0, 0, 0, 10) + "\n" + cut)
    assert answer.breaks == [] and len(answer.undetermined) == 1
    assert analysis_of(cut + "\n").verdict == "broken"
    assert analysis_of(busy("full", 100, 80, 0, 0, 0, 3)).verdict == "broken"


def test_torn_record_closes_the_check_and_is_counted():
    lines = [busy("full", 100, 90, 0, 0, 0, 10), busy("full", 100, 90)[:60], busy("swa", 50, 40, 0, 0, 0, 10)]
    answer = analysis_of(lines)
    assert answer.sources[0].rejected == 1
    assert [stream.checks for _, stream in answer.streams] == [2]


def test_silence_is_not_health():
    answer = analysis_of([BANNER, SERVED_ON])
    assert (answer.verdict, answer.exit_code) == ("undecided", 3)
    assert analysis_of([BANNER], scope=Scope(checked_level=1)).verdict == "balanced"


def test_scope_narrows_the_verdict():
    lines = [busy("full", 100, 90, 0, 0, 0, 9, rank="TP0"), busy("full", 100, 90, 0, 0, 0, 10, rank="TP1")]
    assert analysis_of(lines, scope=Scope(ranks={"TP1"})).verdict == "balanced"
    assert analysis_of(lines, scope=Scope(ranks={"TP0"})).verdict == "broken"
    assert analysis_of(lines, scope=Scope(pools={"swa"})).verdict == "undecided"


def test_skipped_ring_is_unchecked():
    ring = prefix() + "[Mem Check (BUSY)] [swa] unified ring (leak-check skipped): available=5, evictable=0, total=9"
    answer = analysis_of([busy("full", 100, 90, 0, 0, 0, 10), ring])
    assert (answer.verdict, [i.pool for i in answer.unchecked]) == ("balanced", ["swa"])
    assert [stream.checks for _, stream in answer.streams] == [1]


def test_numbers_that_may_go_on_in_the_next_line_never_break():
    """A terminal's width can cut every line within its last number."""
    cut = [busy("full", 100, 90 - number, 0, number, 0, 1) for number in range(4)]
    lines = [line for one in cut for line in (one, "0")]
    answer = analysis_of(lines)
    assert (answer.verdict, answer.breaks) == ("undecided", [])
    assert [(item.line, item.reason.split(":")[0]) for item in answer.undetermined] == [
        (1, "this line, and 3 more, may end within a number")
    ]
    broken = busy("full", 100, 80, 0, 0, 0, 4)
    answer = analysis_of([*lines, broken, *lines])
    assert [(found.row.line, found.delta, found.series_breaks, found.last_delta) for found in answer.breaks] == [
        (9, -16, 1, -16)
    ]


def test_captured_output_is_new_where_nothing_was_printed_before():
    section = "----- Captured stderr call -----"
    start = f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=2)"
    lines = [start, busy("full", 100, 90, 0, 0, 0, 10, rank="TP0"), busy("full", 100, 80, 0, 0, 0, 10, rank="TP0")]
    (found,) = analysis_of(["===== FAILURES =====", section, *lines, "===== 1 failed ====="]).breaks
    assert (found.iteration, found.row.line) == (2, 5)
    (found,) = analysis_of([*lines, "===== FAILURES =====", section, *lines]).breaks
    assert (found.iteration, found.row.line, found.series_breaks) == (2, 3, 1)


def test_a_copied_report_that_names_its_rank_repeats_that_rank():
    report = "pool memory leak detected! " + pool_text("full", 100, 90)
    answer = analysis_of([f"E   {prefix(rank)}{report}" for rank in ("TP0", "TP1", "TP0")])
    assert [(found.stream.rank, found.series_breaks) for found in answer.breaks] == [("TP0", 1), ("TP1", 1)]


def test_quoted_checks_were_read_before():
    """A reply quotes the end of the log, and goes on with what is new."""
    checks = [busy("full", 100, 90 - n, 0, 0, 0, 10 + n, clock=f"08:15:0{n}") for n in range(4)]
    broken = busy("full", 100, 80, 0, 0, 0, 10, clock="08:15:05")
    (found,) = analysis_of([*checks, broken, "", *(f"> {line}" for line in (*checks[2:], broken))]).breaks
    assert (found.iteration, found.from_end, found.series_breaks) == (5, 0, 1)
    (found,) = analysis_of([*checks, *(f"> {line}" for line in (*checks[2:], broken))]).breaks
    assert (found.iteration, found.row.line) == (5, 7)
    (found,) = analysis_of([f"> {line}" for line in (*checks, broken)]).breaks
    assert (found.iteration, found.series_breaks) == (5, 1)
