"""Where two runs part: the first check that differs, places where one has more checks, what shows one workload."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import assertion, busy, crash, pool_text, prefix
from made_sides import TOTAL, changed, compared, log_of, mirrored, side_of, steps, validator, without_texts

from memcheck_cli.compare import Options, compare
from memcheck_cli.compare.tracks import Kept
from memcheck_cli.render.diff_json import document


def test_a_lost_page_is_named_with_check_term_and_amount() -> None:
    good = steps(80)
    comparison = compared(log_of(good), log_of(changed(good, 64, 0, -1)))
    assert comparison.outcome == "introduced"
    assert comparison.exit_code == 1
    assert comparison.same is False
    found = comparison.first_difference
    assert found is not None
    assert (found.check, found.at, found.lines) == ("busy", (64, 64), (64, 64))
    assert (found.named.pool, found.named.name, found.named.by) == ("full", "available", -1)
    assert len(found.differing) == 1
    assert comparison.main is not None
    assert comparison.main.workload.kind == "deterministic"
    assert comparison.main.workload.leading == 63


def test_the_term_that_explains_the_balance_is_named_before_larger_ones() -> None:
    good = steps(80)
    bad = changed(changed(changed(good, 50, 1, 500), 50, 2, -500), 50, 4, 16)
    found = compared(log_of(good), log_of(bad)).first_difference
    assert found is not None
    assert [(one.name, one.by) for one in found.differing] == [
        ("uncached", 16),
        ("evictable", 500),
        ("protected", -500),
    ]


def test_what_follows_on_the_parting_is_told() -> None:
    good = steps(60)
    bad = log_of(changed(good, 41, 0, -7), crash=False)
    main = compared(log_of(good), bad).main
    assert main is not None and main.after is not None
    assert main.after._asdict() == {"checks": 20, "equal": 0, "alone": 20, "last_by": -7, "steady": True}
    once = compared(log_of(good), log_of(changed(good, 41, 0, -7, onwards=False), crash=False)).main
    assert once is not None and once.after is not None
    assert (once.after.equal, once.after.alone) == (19, 1)


def test_a_fix_is_a_fix() -> None:
    good = steps(80)
    comparison = compared(log_of(changed(good, 64, 0, -1)), log_of(good))
    assert (comparison.outcome, comparison.exit_code) == ("fixed", 0)
    assert comparison.first_difference is not None
    assert comparison.first_difference.named.by == 1


@pytest.mark.parametrize("broken", [False, True])
def test_a_log_is_equal_to_itself(broken: bool) -> None:
    checks = steps(40)
    lines = log_of(changed(checks, 30, 0, -1) if broken else checks)
    comparison = compared(lines, lines)
    assert comparison.same is True
    assert comparison.first_difference is None
    assert comparison.outcome == ("both-broken" if broken else "both-balanced")
    assert comparison.breaks is None or comparison.breaks.relation == "same"


WRAPPERS = (
    lambda line: f"sglang-1  | {line}",
    lambda line: f"\x1b[36m(SGLangEngine pid=4102)\x1b[0m {line}",
    lambda line: f"[pod/sglang-0/main] {line}",
    lambda line: f"2026-06-11T08:15:05.1234567Z {line}",
)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_a_wrapper_makes_no_difference(wrap: object) -> None:
    checks = steps(40)
    one, two = log_of(changed(checks, 30, 0, -1), rank="TP0"), log_of(checks, rank="TP1")
    lines = [line for pair in zip(one, two[: len(one)], strict=True) for line in pair]
    comparison = compared(lines, [wrap(line) for line in lines])  # type: ignore[operator]
    assert comparison.same is True
    assert comparison.first_difference is None
    assert [match.by for match in comparison.matching.matches] == ["rank", "rank"]
    assert comparison.outcome == "both-broken"


def test_one_number_less_is_not_the_same() -> None:
    lines = log_of(steps(40))
    comparison = compared(lines, lines[:-1])
    assert comparison.same is False
    assert comparison.first_difference is None
    assert comparison.main is not None
    assert comparison.main.walk.ended == (40, 40)
    assert comparison.main.workload.reason == "all 39 checks that both sides have are equal"


def test_extra_terms_are_compared_by_name() -> None:
    checks = steps(40)
    one = [busy("full", TOTAL, *check, extra=f", withheld={number}") for number, check in enumerate(checks)]
    two = [
        busy("full", TOTAL, *check, extra=f", withheld={number + (number == 35)}")
        for number, check in enumerate(checks)
    ]
    found = compared(one, two).first_difference
    assert found is not None
    assert (found.at, found.named.name, found.named.by) == ((36, 36), "withheld", 1)
    assert compared(one, one).same is True


def test_the_swa_pool_is_compared_too() -> None:
    checks = steps(40)
    full = log_of(checks)
    swa = log_of(steps(40, seed=2), pool="swa")
    bad = log_of(changed(steps(40, seed=2), 33, 3, 64), pool="swa")
    one = [line for pair in zip(full, swa, strict=True) for line in pair]
    two = [line for pair in zip(full, bad[:33], strict=False) for line in pair] + bad[33:]
    found = compared(one, two).first_difference
    assert found is not None
    assert (found.at, found.named.pool, found.named.name, found.named.by) == ((33, 33), "swa", "session_held", 64)
    assert found.lines == (66, 66)


# Streams out of step


@given(st.integers(40, 60), st.integers(0, 39), st.integers(1, 3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_lost_lines_are_bridged_and_told(count: int, at: int, lost: int, on_a: bool) -> None:
    lines = log_of(steps(count + 12))
    cut = lines[:at] + lines[at + lost :]
    comparison = compared(*((cut, lines) if on_a else (lines, cut)))
    assert comparison.first_difference is None
    assert comparison.same is False
    assert comparison.main is not None
    (found,) = comparison.main.walk.lost
    assert (found.a, found.b, found.checks) == (at + 1, at + 1, lost)
    assert found.side == ("b" if on_a else "a")


def test_a_parting_behind_lost_lines_is_found_at_its_own_check() -> None:
    good = steps(80)
    lines = log_of(good)
    bad = log_of(changed(good, 64, 0, -1))
    found = compared(lines, bad[:20] + bad[22:]).first_difference
    assert found is not None
    assert found.at == (64, 62)
    assert found.lines == (64, 62)


def test_a_record_that_one_side_lacks_is_no_difference() -> None:
    full, swa = log_of(steps(40)), log_of(steps(40, seed=2), pool="swa")
    one = [line for pair in zip(full, swa, strict=True) for line in pair]
    two = list(one)
    two[21] = two[21][:60]  # a torn line
    comparison = compared(one, two)
    assert comparison.first_difference is None
    assert comparison.same is False
    assert comparison.main is not None
    assert (comparison.main.walk.gaps, comparison.main.walk.lost) == (1, ())


# Which kind of workload


def test_unrelated_runs_are_live_and_name_no_check() -> None:
    comparison = compared(log_of(steps(200)), log_of(steps(200, seed=9)))
    assert comparison.main is not None
    assert comparison.main.workload.kind == "live"
    assert comparison.first_difference is None
    assert comparison.main.distributions


def test_a_warm_up_request_does_not_make_a_workload_deterministic() -> None:
    warm = steps(9, seed=5)
    comparison = compared(log_of(warm + steps(200)[9:]), log_of(warm + steps(200, seed=9)[9:]))
    assert comparison.main is not None
    assert comparison.main.workload.kind == "live"
    assert comparison.main.workload.leading == 9
    assert comparison.first_difference is None


def test_the_caller_may_overrule_it() -> None:
    one, two = log_of(steps(200)), log_of(steps(200, seed=9))
    forced = compared(one, two, Options(workload="deterministic"))
    assert forced.first_difference is not None
    assert forced.first_difference.at == (1, 1)
    good = steps(80)
    live = compared(log_of(good), log_of(changed(good, 64, 0, -1)), Options(workload="live"))
    assert live.first_difference is None
    assert live.main is not None and live.main.distributions


def test_an_early_loss_is_found_by_what_still_agrees_behind_it() -> None:
    good = steps(100)
    comparison = compared(log_of(good), log_of(changed(good, 4, 0, -16), crash=False))
    assert comparison.main is not None
    assert comparison.main.workload.kind == "deterministic"
    assert comparison.first_difference is not None
    assert comparison.first_difference.at == (4, 4)


def test_too_few_checks_tell_no_workload() -> None:
    comparison = compared(log_of(steps(10)), log_of(steps(10, seed=9)))
    assert comparison.main is not None
    assert comparison.main.workload.kind == "undetermined"
    assert comparison.first_difference is None
    assert all(not one.claim and one.why for one in comparison.main.distributions)


def test_a_server_that_stands_still_shows_no_workload() -> None:
    still = [(TOTAL - 300, 100, 100, 0, 100)] * 100
    comparison = compared(log_of(still + steps(200)), log_of(still + steps(200, seed=9)))
    assert comparison.main is not None
    assert comparison.main.workload.kind == "live"


# Alignment


def dump_of(checks: list[tuple[int, int, int, int, int]]) -> list[str]:
    """A level-1 ring dump: all at once, the last check breaks."""
    lines = [busy("full", TOTAL, *check) for check in checks]
    return lines + assertion("full", TOTAL, *checks[-1])


def test_ring_dumps_are_aligned_at_the_break() -> None:
    checks = changed(steps(100), 100, 0, -1)
    one, two = dump_of(checks), dump_of(checks[40:])
    comparison = compared(one, two)
    assert comparison.main is not None
    assert (comparison.main.alignment.method, comparison.main.alignment.offset) == ("break", -40)
    assert comparison.main.workload.kind == "deterministic"
    assert comparison.first_difference is None
    assert comparison.breaks is not None
    assert comparison.breaks.relation == "same"
    assert comparison.breaks.position.same is None


def test_a_ring_dump_is_found_in_the_stream_of_a_good_run() -> None:
    good = steps(100)
    bad = changed(good, 90, 0, -1)[:90]
    comparison = compared(log_of(good), dump_of(bad[30:]))
    assert comparison.main is not None
    assert (comparison.main.alignment.method, comparison.main.alignment.offset) == ("content", -30)
    assert comparison.first_difference is not None
    assert comparison.first_difference.at == (90, 60)
    assert comparison.setting.modes.differs is True


@pytest.mark.parametrize(("method", "offset"), [("start", 0), ("end", -40), ("break", 0), ("time", None)])
def test_the_alignment_asked_for_is_taken(method: str, offset: int | None) -> None:
    checks = steps(100)
    comparison = compared(log_of(checks), log_of(checks[40:]), Options(align=method))
    assert comparison.main is not None
    assert comparison.main.alignment.offset == offset
    assert comparison.main.alignment.method == ("start" if method == "break" else method)  # nothing breaks


def test_by_default_a_log_that_lost_its_beginning_is_found_by_its_numbers() -> None:
    checks = steps(100)
    comparison = compared(log_of(checks), log_of(checks[40:]))
    assert comparison.main is not None
    assert (comparison.main.alignment.method, comparison.main.alignment.offset) == ("content", -40)
    assert comparison.main.workload.leading == 60


# Runs of another shape


def test_other_totals_are_compared_by_what_is_taken() -> None:
    good = steps(80)
    larger = [(check[0] + 5000, *check[1:]) for check in good]
    comparison = compared(log_of(good), log_of(changed(larger, 64, 0, -2), total=TOTAL + 5000))
    assert comparison.setting.totals[0].differs is True
    found = comparison.first_difference
    assert found is not None
    assert (found.at, found.named.name, found.named.by) == ((64, 64), "taken", 2)
    assert any("totals differ" in reason for reason in comparison.setting.not_comparable)


def test_idle_reports_are_compared_in_their_order() -> None:
    def report(available: int) -> str:
        return f"{prefix()}pool memory leak detected! {pool_text('full', 1000, available, 300)}"

    one = [report(699), report(698), report(697)]
    two = [report(699), report(698), report(690)]
    comparison = compared(one, two)
    assert comparison.outcome == "both-broken"
    found = comparison.first_difference
    assert found is not None
    assert (found.check, found.at, found.named.by) == ("idle", (3, 3), -7)
    assert compared(one, one).same is True


def test_more_than_is_kept_is_cut_and_said() -> None:
    good = steps(80)
    kept = Kept(checks=50)
    comparison = compare(
        side_of(log_of(good), "a", kept=kept), side_of(log_of(changed(good, 64, 0, -1)), "b", kept=kept)
    )
    validator().validate(document(comparison))
    assert comparison.outcome == "introduced"  # the verdict speaks of all
    assert comparison.first_difference is None
    assert comparison.same is False
    assert (comparison.a.forgotten, comparison.b.forgotten) == (30, 14)
    assert any("more than are kept" in reason for reason in comparison.setting.not_comparable)
    equal = compare(side_of(log_of(good), "a", kept=kept), side_of(log_of(good), "b", kept=kept))
    assert equal.same is None


# Undecided


def test_a_quiet_side_is_undecided_and_the_exit_code_speaks_of_b() -> None:
    good = steps(40)
    quiet = [f"{prefix()}The server is fired up and ready to roll!"]
    bad = log_of(changed(good, 30, 0, -1))
    for a, b, code in ((quiet, bad, 1), (bad, quiet, 3), (quiet, log_of(good), 3), (quiet, quiet, 3)):
        comparison = compared(a, b)
        assert (comparison.outcome, comparison.exit_code) == ("undecided", code)
    assert compared(quiet, quiet).same is None


# Swapping the sides


@st.composite
def logs(draw: st.DrawFn) -> list[str]:
    """Logs of one or two ranks and pools that may share a workload, with faults, torn lines and lost ones."""
    lines: list[str] = []
    for rank in draw(st.sampled_from([("",), ("TP0",), ("TP0", "TP1"), ("DP0 TP0", "DP1 TP1")])):
        checks = steps(draw(st.integers(0, 60)), seed=draw(st.integers(1, 2)))
        for at, term, by in draw(
            st.lists(st.tuples(st.integers(1, 60), st.integers(0, 4), st.integers(-3, 3)), max_size=2)
        ):
            checks = changed(checks, at, term, by, draw(st.booleans()))
        own = log_of(checks, rank=rank, crash=draw(st.booleans()))
        if own and draw(st.booleans()):
            del own[draw(st.integers(0, len(own) - 1))]
        if own and draw(st.booleans()):
            at = draw(st.integers(0, len(own) - 1))
            own[at] = own[at][: draw(st.integers(0, 60))]
        lines += own
    if draw(st.booleans()):
        lines += crash(f"pool memory leak detected! {pool_text('full', 1000, 690, 300)}", error="ValueError")
    return lines


@given(logs(), logs(), st.sampled_from(["auto", "start", "end", "break", "time", "content"]))
@settings(max_examples=80, deadline=None)
def test_swapping_the_sides_mirrors_the_answer(one: list[str], two: list[str], align: str) -> None:
    options = Options(align=align)
    forth, back = document(compared(one, two, options)), document(compared(two, one, options))
    assert mirrored(forth) == without_texts(back)
    assert compared(one, one, options).same in (True, None)
