"""Findings that are no breaks, reports without numbers, pools and ranks that were not checked."""

from __future__ import annotations

from explained import args, busy, crash, explained, full, idle, prefill, prefix, swa

from memcheck_cli.forensics.analysis import Analysis

GOOD = [busy("full", 4096, 3000, 0, 1000, 0, 96), busy("swa", 2048, 2048)]


def kinds(analysis: Analysis) -> list[str | None]:
    return [item.kind for item in analysis.findings]


def test_a_report_without_numbers_leaves_it_undecided() -> None:
    dead = crash("Please use `envs.YOUR_FLAG.get()` instead of `envs.YOUR_FLAG`", error="RuntimeError")
    analysis = explained([args(), prefill(), *GOOD, *dead])
    assert analysis.verdict == "undecided"
    (item,) = analysis.undetermined
    assert (item.reported, item.line, item.pool) == (True, 8, None)


def test_pool_bytes_leave_it_undecided() -> None:
    line = prefix() + "pool-bytes memory leak detected! [joint] stale available_size memo: cached=5, actual=6"
    analysis = explained([args(), prefill(), *GOOD, line])
    assert (analysis.verdict, [item.reported for item in analysis.undetermined]) == ("undecided", [True])


def test_a_crash_of_the_checker_is_no_leak() -> None:
    trace = [
        prefix() + "Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/sglang/srt/mem_cache/base_prefix_cache.py", line 7, in evictable_size',
        "NotImplementedError",
    ]
    analysis = explained([args(), prefill(), *GOOD, *trace])
    assert (analysis.verdict, kinds(analysis)) == ("balanced", ["checker-crash"])
    assert "no leak" in analysis.findings[0].reason


def test_a_check_that_does_not_run_is_unchecked() -> None:
    warning = (
        "/srv/sglang/srt/managers/scheduler_runtime_checker_mixin.py:88: UserWarning: Runtime memory check (busy) is "
        "not supported when speculation topk > 1."
    )
    analysis = explained([args(), prefill(), warning])
    assert analysis.verdict == "undecided"
    assert [item.line for item in analysis.unchecked] == [3]


def test_flags_that_stand_against_a_check_are_told() -> None:
    analysis = explained([args(pp_size=2), prefill(rank="PP0"), *idle(full(4096, 4000), rank="PP0")])
    reasons = " ".join(item.reason for item in analysis.unchecked)
    assert "pp_size=2" in reasons and "PP1" in reasons
    assert explained([args(pp_size=2), prefill(), *GOOD]).unchecked[0].reason.startswith("pp_size is 2, and no line")


def test_several_pools_in_one_check() -> None:
    bad = [busy("full", 4096, 2990, 0, 1000, 0, 96), busy("swa", 2048, 2040)]
    (finding,) = explained([args(), prefill(), *GOOD, *bad]).findings
    assert (finding.kind, finding.more["pools"], finding.more["lines"]) == (
        "several-pools-break",
        ["full", "swa"],
        [5, 6],
    )
    report = idle(full(4096, 4000), swa(2048, 2040))
    assert kinds(explained([args(), prefill(), *report])) == ["several-pools-break"]
    later = [*bad[:1], busy("swa", 2048, 2048), busy("full", 4096, 2990, 0, 1000, 0, 96), bad[1]]
    assert kinds(explained([args(), prefill(), *GOOD, *later])) == []


def test_balanced_again_without_a_reason() -> None:
    bad = busy("full", 4096, 2990, 0, 1000, 0, 96)
    analysis = explained([args(), prefill(), *GOOD, bad, GOOD[1], *GOOD])
    (finding,) = analysis.findings
    assert (finding.kind, finding.more["broken_line"], finding.more["balanced_line"]) == ("balanced-again", 5, 7)


def test_a_pool_that_falls_silent() -> None:
    (finding,) = explained([args(), prefill(), *GOOD * 3, *[GOOD[0]] * 3]).findings
    assert (finding.kind, finding.pool, finding.line, finding.more["checks_without"]) == ("pool-silent", "swa", 8, 3)
    assert explained([args(), prefill(), *GOOD * 3, *[GOOD[0]] * 2]).findings == []


def test_missing_and_silent_ranks() -> None:
    checks = [busy("full", 4096, 4000, 0, 0, 0, 96, rank=f"TP{rank}") for rank in (0, 1)]
    start = [args(tp_size=4), prefill(rank="TP0")]
    (missing,) = explained([*start, *checks]).unchecked
    assert missing.more["missing"] == ["TP2", "TP3"]
    assert missing.line == 1
    dead = crash("lost", rank="TP2", error="RuntimeError")
    silent, missing = sorted(explained([*start, *checks, *dead]).unchecked, key=lambda item: item.rank is None)
    assert (silent.rank, silent.line) == ("TP2", 5)
    assert missing.more["missing"] == ["TP3"]
    full_house = [busy("full", 4096, 4000, 0, 0, 0, 96, rank=f"TP{rank}") for rank in range(4)]
    assert explained([*start, *full_house]).unchecked == []


def test_unchecked_does_not_change_the_verdict() -> None:
    analysis = explained([args(tp_size=4), prefill(rank="TP0"), busy("full", 4096, 4096, rank="TP0")])
    assert analysis.verdict == "balanced"
    assert analysis.unchecked
