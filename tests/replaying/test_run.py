"""Replay: verdicts beside the server's own, other rules, what-ifs, and what a server would have printed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from explained import banner, full, idle
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import analysis_of, assertion, busy, crash, prefix

from memcheck_cli.errors import UsageError
from memcheck_cli.recording import read_checks
from memcheck_cli.replaying.as_test import RecordingWindow, Window, log_test, recording_test
from memcheck_cli.replaying.changes import Change, total_of, with_term, without
from memcheck_cli.replaying.judgements import LogReplay
from memcheck_cli.replaying.logs import LogReplayer
from memcheck_cli.replaying.recordings import RecordingReplay, Replayer
from memcheck_cli.replaying.run import Options, Replay, replay
from memcheck_cli.sources import Source

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS.parent / "samples"
PREFILL = "Prefill batch, #new-seq: 1, #new-token: 8, #cached-token: 0, token usage: 0.00"
DEFAULTS = Options()


def replayed(data: bytes | str | list[str], options: Options = DEFAULTS) -> tuple[Replay, bytes]:
    if isinstance(data, list):
        data = "".join(line + "\n" for line in data)
    raw = data.encode() if isinstance(data, str) else data
    out = io.BytesIO()
    return replay([Source("made.log", lambda _: io.BytesIO(raw))], options, out.write), out.getvalue()  # type: ignore[arg-type,return-value]


def log(data: bytes | str | list[str], options: Options = DEFAULTS) -> LogReplay:
    done, _ = replayed(data, options)
    (result,) = done.results
    assert isinstance(result, LogReplay)
    return result


def emitted(data: bytes | str | list[str], level: int, ring: int = 1000, rules: str | None = None) -> bytes:
    return replayed(data, Options(rules=rules, emit=level, ring_messages=ring))[1]


def busy_lines(data: bytes) -> bytes:
    return b"".join(line for line in data.splitlines(keepends=True) if b"[Mem Check (BUSY" in line)


# Verdicts beside the server's


@pytest.mark.parametrize(
    ("name", "records", "agree", "unknown", "breaks"),
    [
        ("lost-page.log", None, None, 0, 1),
        ("swa-lost-page.log", None, None, 0, 1),
        ("ring-dump.log", None, None, 0, 1),
        ("healthy.log", None, None, 1, 0),
        ("idle-warning.log", 3, 3, 0, 3),
        ("quiet.log", 0, 0, 0, 0),
    ],
)
def test_the_rules_agree_with_real_servers(
    name: str, records: int | None, agree: int | None, unknown: int, breaks: int
) -> None:
    result = log((SAMPLES / name).read_bytes())
    assert result.disagreements == 0
    assert (result.unknown, result.breaks) == (unknown, breaks)
    assert result.agree == result.records - unknown
    assert records in (None, result.records) and agree in (None, result.agree)


def test_last_check_without_anything_behind_it_is_unknown() -> None:
    result = log([busy("full", 100, 60, 0, 0, 0, 40), busy("full", 100, 50, 0, 0, 0, 50)])
    assert (result.records, result.agree, result.unknown) == (2, 1, 1)


def test_a_broken_record_that_the_server_let_pass_is_a_disagreement() -> None:
    lines = [busy("full", 100, 60, 0, 0, 0, 40), busy("full", 100, 59, 0, 0, 0, 40), busy("full", 100, 60, 0, 0, 0, 40)]
    result = log([prefix() + PREFILL, *lines])
    assert (result.agree, result.disagreements, result.unknown) == (1, 1, 1)
    ((judgement, reason),) = result.disagree
    assert (judgement.place.line, judgement.place.iteration, judgement.server) == (3, 2, "passed")
    assert judgement.ours is not None and judgement.ours.delta == -1
    assert "leak of -1 by the rules of" in reason


def test_a_balanced_record_that_the_server_failed_is_a_disagreement() -> None:
    lines = [busy("full", 100, 60, 0, 0, 0, 40, extra=", withheld=8"), *assertion("full", 100, 60, 0, 0, 0, 40)]
    result = log([prefix() + PREFILL, *lines])
    ((judgement, reason),) = result.disagree
    assert judgement.server == "failed"
    assert reason.startswith("balanced by the rules of")


def test_an_assertion_speaks_for_its_pool_and_for_full_before_swa() -> None:
    both = [busy("full", 100, 59, 0, 0, 0, 40), busy("swa", 50, 9, 0, 0, 0, 40)]
    result = log([prefix() + PREFILL, *both, *assertion("full", 100, 59, 0, 0, 0, 40)])
    assert (result.agree, result.unknown, result.breaks) == (1, 1, 2)
    only_swa = [busy("full", 100, 60, 0, 0, 0, 40), busy("swa", 50, 9, 0, 0, 0, 40)]
    result = log([prefix() + PREFILL, *only_swa, *assertion("swa", 50, 9, 0, 0, 0, 40)])
    assert (result.agree, result.unknown, result.breaks) == (2, 0, 1)


def test_each_rank_is_followed_alone() -> None:
    lines = [
        prefix("TP0") + PREFILL,
        busy("full", 100, 60, 0, 0, 0, 40, rank="TP0"),
        busy("full", 100, 60, 0, 0, 0, 40, rank="TP1"),
        busy("full", 100, 50, 0, 0, 0, 50, rank="TP0"),
        busy("full", 100, 49, 0, 0, 0, 50, rank="TP1"),
        *assertion("full", 100, 49, 0, 0, 0, 50, rank="TP1"),
    ]
    result = log(lines)
    assert (result.agree, result.unknown, result.breaks) == (3, 1, 1)
    assert log(lines, Options(ranks=("TP1",))).records == 2


def test_idle_reports() -> None:
    report = crash("pool memory leak detected! [full] total=100, available=60, evictable=40, protected=0, "
                   "session_held=0, uncached=0", error="ValueError")  # fmt: skip
    report[-1:] = ["[swa] total=50, available=40, evictable=0, protected=0, session_held=0, uncached=0", ""]
    result = log(report)
    assert (result.records, result.agree, result.unknown, result.breaks) == (2, 1, 1, 1)
    assert result.first_break is not None
    assert (result.first_break.place.check, result.first_break.place.pool) == ("idle", "swa")
    balanced = [line.replace("available=40,", "available=50,") for line in report]
    result = log(balanced)
    assert (result.agree, result.disagreements) == (0, 2)


def test_request_pools() -> None:
    text = "req_to_token_pool memory leak detected!available_size=31, session_held=0, total_size=32"
    assert log(crash(text, error="ValueError")).agree == 1
    above = text.replace("=31", "=40")
    assert log(crash(above, error="ValueError")).unknown == 1


def test_an_assertion_without_a_record_is_one() -> None:
    result = log(crash("Mem Leak Detected! total_tokens=4095 vs self.max_total_num_tokens=4096"))
    assert (result.records, result.agree, result.breaks) == (1, 1, 1)
    result = log(assertion("swa", 50, 9, 0, 0, 0, 40))
    assert (result.records, result.agree, result.breaks) == (1, 1, 1)


def test_a_ring_that_is_dumped_again_is_counted_once_and_its_leaks_were_failed() -> None:
    good = [busy("full", 100, 60 - n, 0, 0, 0, 40 + n) for n in range(5)]
    bad = [busy("full", 100, 54 - n, 0, 0, 0, 45 + n) for n in range(3)]
    dumps = [*good, bad[0], *good, *bad[:2], *good, *bad]
    result = log(dumps)
    assert (result.records, result.agree, result.breaks) == (8, 8, 3)


OLD = "[Mem Check (BUSY)] available_size=60, evictable_size=0, protected_size=0, uncached_size="
OLD_ASSERTION = "Mem Leak Detected! total_tokens=99 vs self.max_total_num_tokens=100"


def test_old_forms_find_their_total() -> None:
    lines = [prefix() + OLD + "40", prefix() + OLD + "41"]
    assert log(lines).unknown == 2
    assert log(lines).decided == 0
    told = log([*lines, *crash("Mem Leak Detected! total_tokens=101 vs self.max_total_num_tokens=100")])
    assert (told.agree, told.breaks) == (2, 1)
    assert log(lines, Options(changes=[total_of("full", 100)])).breaks == 1


def test_0_5_10_sums_a_term_that_it_does_not_print() -> None:
    banner = prefix() + "max_total_num_tokens=100, chunked_prefill_size=8192, max_prefill_tokens=16384, "
    banner += "max_running_requests=16, context_len=4096, available_gpu_mem=4.00 GB"
    lines = [banner, prefix() + OLD + "38", prefix() + OLD + "40"]
    assert (log(lines).breaks, log(lines).unknown) == (0, 2)
    assert log(lines, Options(rules="0.5.9")).breaks == 1
    assert log(lines, Options(rules="0.5.10")).breaks == 0
    over = [banner, prefix() + OLD + "42", prefix() + OLD + "40"]
    assert log(over).breaks == 1


def test_tolerated_and_reported_records() -> None:
    slack = busy("full", 100, 64, 0, 0, 0, 40, extra=", dcp_physical_page_slack_allowed=True")
    after = busy("full", 100, 60, 0, 0, 0, 40)
    assert log([slack, after]).breaks == 0
    assert log([slack, after], Options(rules="0.5.14")).breaks == 1
    odd = busy("full", 100, 60, 0, 0, 0, 40, extra=", unaligned_sharded_counts={'available': 60}, page_size=16")
    assert log([odd, after]).breaks == 1
    assert log([odd, after], Options(rules="0.5.20")).breaks == 0


def test_the_swa_ring_is_never_a_break() -> None:
    ring = prefix() + "[Mem Check (BUSY)] [swa] unified ring (leak-check skipped): available=9, evictable=0, total=None"
    lines = [busy("full", 100, 60, 0, 0, 0, 40), ring, busy("full", 100, 60, 0, 0, 0, 40)]
    result = log(lines)
    assert (result.records, result.agree, result.breaks) == (3, 2, 0)


# Other rules and what-ifs

HELD = [busy("full", 100, 60, 0, 0, 10, 30), busy("full", 100, 60, 0, 0, 0, 40), busy("full", 100, 60, 0, 0, 5, 35)]


def test_told_rules_and_against() -> None:
    result = log(HELD, Options(rules="0.5.13", against="0.5.9"))
    assert result.breaks == 0
    assert result.against is not None
    assert result.against.stops_ours is None
    assert result.against.stops is not None and result.against.stops[0].iteration == 1
    assert result.against.differ == 2
    other_way = log(HELD, Options(rules="0.5.9"))
    assert (other_way.breaks, other_way.disagreements) == (2, 1)
    assert "leave out a term that is printed" in other_way.disagree[0][1]


def test_rules_that_never_check_or_die() -> None:
    hybrid = [busy("full", 100, 60, 0, 0, 0, 40), busy("swa", 50, 10, 0, 0, 0, 40)] * 2
    dies = log(hybrid, Options(rules="0.5.9"))
    assert (dies.decided, dies.unknown) == (0, 4)
    assert any("NotImplementedError" in reason for reason in dies.unknown_reasons)
    assert log(HELD, Options(rules="0.5.3")).decided == 0
    against = log(hybrid, Options(against="0.5.9")).against
    assert against is not None and against.stops is not None
    assert "NotImplementedError" in against.stops[1]


def test_what_if() -> None:
    (alone,) = log(HELD, Options(changes=[without("session_held")])).what_if
    assert (alone.breaks, alone.before, alone.new, alone.explains) == (2, 0, 2, False)
    withheld = [
        busy("full", 100, 60, 0, 0, 0, 40),
        busy("full", 100, 52, 0, 0, 0, 40, extra=", withheld=8"),
        busy("full", 100, 55, 0, 0, 0, 40, extra=", withheld=5"),
    ]
    (closes,) = log(withheld, Options(changes=[with_term("withheld")])).what_if
    assert (closes.before, closes.breaks, closes.explains) == (2, 0, True)
    (wrong_sign,) = log(withheld, Options(changes=[with_term("-withheld")])).what_if
    assert (wrong_sign.breaks, wrong_sign.explains) == (2, False)
    double, each, both = log(
        withheld, Options(changes=[total_of("full", 92), with_term("withheld")])
    ).what_if  # fmt: skip
    assert (double.breaks, each.breaks, both.breaks) == (2, 0, 3)
    assert both.label == "total full=92, with withheld"


def test_what_if_decides_the_verdict() -> None:
    lost = [busy("full", 100, 59, 0, 0, 0, 40)] * 2
    assert replayed(lost)[0].exit_code == 1
    assert replayed(lost, Options(changes=[total_of("full", 99)]))[0].exit_code == 0
    assert replayed(["nothing"])[0].exit_code == 3


@pytest.mark.parametrize("term", ["withheld", "total", ""])
def test_only_summed_terms_can_be_left_out(term: str) -> None:
    with pytest.raises(UsageError):
        without(term)


def test_known_signs() -> None:
    assert with_term("double_owned") == Change("with", "double_owned", -1)
    assert with_term("+double_owned").value == 1
    with pytest.raises(UsageError):
        with_term("a b")


# What a server would have printed


@pytest.mark.parametrize(
    "name", ["lost-page.log", "swa-lost-page.log", "healthy.log", "two-ranks.log", "old-release.log"]
)
def test_emit_2_gives_real_lines_back(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    assert emitted(data, 2) == busy_lines(data)
    assert len(busy_lines(data)) > 1000


numbers = st.integers(0, 10**7)


@st.composite
def level2_logs(draw: st.DrawFn, breaks: bool) -> list[str]:
    """A level-2 log of the current form: any ranks, wrapped or not, any interleaving, ending in a break if asked."""
    ranks = draw(st.sampled_from([[""], ["TP0", "TP1"], ["DP0 TP0", "DP1 TP1", "DP2 TP2"]]))
    hybrid, checks = draw(st.booleans()), draw(st.integers(1, 12))
    wrapper = draw(st.sampled_from(["", "sglang-1  | ", "0: "]))
    broken_rank = draw(st.sampled_from(ranks))
    broken_pools = draw(st.sampled_from([("full",), ("swa",), ("full", "swa")] if hybrid else [("full",)]))
    delta = draw(st.sampled_from([-64, -1, 1, 256]))
    queues: list[list[list[str]]] = []
    crashes: list[str] = []
    for rank in ranks:
        queue: list[list[str]] = []
        for number in range(checks):
            last = breaks and rank == broken_rank and number == checks - 1
            pools, failed = [], []
            for pool in ("full", "swa") if hybrid else ("full",):
                terms = [draw(numbers) for _ in range(5)]
                off = delta if last and pool in broken_pools else 0
                terms[0] += abs(delta)
                total = sum(terms) - off
                extra = draw(st.sampled_from(["", "", ", class_free_pages=[3, 4]", ", withheld=7"]))
                pools.append(busy(pool, total, *terms, rank=rank, extra=extra if pool == "full" and not breaks else ""))
                if off:
                    failed.append(assertion(pool, total, *terms, rank=rank))
            queue.append(pools)
            if failed:
                crashes = failed[0]
        queues.append(queue)
    lines = [wrapper + prefix(ranks[0]) + PREFILL]
    while any(queues):
        queue = draw(st.sampled_from([queue for queue in queues if queue]))
        pools = queue[0]
        lines.append(wrapper + pools.pop(0))
        if not pools:
            queue.pop(0)
            if draw(st.integers(0, 4)) == 0:
                lines.append(wrapper + prefix(ranks[0]) + PREFILL)
    return lines + [wrapper + line for line in crashes]


@settings(max_examples=60, deadline=None)
@given(level2_logs(breaks=False), st.booleans())
def test_emit_2_gives_the_busy_lines_back_byte_for_byte(lines: list[str], carriage: bool) -> None:
    data = "".join(line + ("\r\n" if carriage else "\n") for line in lines).encode()
    assert emitted(data, 2) == busy_lines(data)


@settings(max_examples=60, deadline=None)
@given(level2_logs(breaks=True), st.sampled_from([1, 2, 3, 10, 1000]))
def test_emit_1_breaks_where_the_log_does(lines: list[str], ring: int) -> None:
    before = analysis_of(lines).first_break
    assert before is not None
    pools = 2 if any("[swa]" in line for line in lines) else 1
    after = analysis_of(emitted(lines, 1, max(ring, pools)).decode()).first_break
    assert after is not None
    for name in ("pool", "kind", "total", "accounted", "delta", "from_end"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.row.named_terms() == before.row.named_terms()
    assert after.stream.rank == before.stream.rank
    assert after.stream.process == before.stream.process


@settings(max_examples=30, deadline=None)
@given(level2_logs(breaks=False))
def test_emit_1_of_a_healthy_log_is_nothing(lines: list[str]) -> None:
    assert emitted(lines, 1) == b""


@pytest.mark.parametrize("name", ["lost-page.log", "swa-lost-page.log", "two-ranks.log", "ring-dump.log"])
def test_emit_1_of_real_logs(name: str) -> None:
    data = (SAMPLES / name).read_text()
    before, after = analysis_of(data).first_break, analysis_of(emitted(data, 1).decode()).first_break
    assert before is not None and after is not None
    assert (after.pool, after.kind, after.total, after.delta, after.from_end, after.row.named_terms()) == (
        before.pool,
        before.kind,
        before.total,
        before.delta,
        before.from_end,
        before.row.named_terms(),
    )


def test_emit_1_keeps_the_last_thousand_messages() -> None:
    lines = [busy("full", 10_000, 9_000 - n, 0, 0, 0, 1_000 + n) for n in range(1_500)]
    lines += [busy("full", 10_000, 7_000, 0, 0, 0, 2_999), *assertion("full", 10_000, 7_000, 0, 0, 0, 2_999)]
    out = emitted([prefix() + PREFILL, *lines], 1).decode().splitlines()
    assert out[:1000] == lines[501:1501]
    assert out[1000].endswith("Scheduler hit an exception: Traceback (most recent call last):")
    assert out[1001].startswith("AssertionError: Full Pool Mem Leak Detected! [full] total=10000, available=7000")


def test_emit_1_of_a_server_without_asserts_dumps_again() -> None:
    good = [busy("full", 100, 60 - n, 0, 0, 0, 40 + n) for n in range(4)]
    bad = [busy("full", 100, 54 - n, 0, 0, 0, 45 + n) for n in range(3)]
    lines = [prefix() + PREFILL, *good, prefix() + PREFILL, *bad]
    out = emitted(lines, 1).decode()
    assert out.splitlines()[: 5 + 6] == [*good, bad[0], *good, *bad[:2]]
    before, after = analysis_of(lines).first_break, analysis_of(out).first_break
    assert before is not None and after is not None
    assert (after.from_end, after.delta, after.stream.mode) == (before.from_end, before.delta, "ring-dump")


def test_emit_1_by_releases_without_a_ring_is_the_assertion() -> None:
    lines = [prefix() + PREFILL, busy("full", 100, 59, 0, 0, 0, 40), *assertion("full", 100, 59, 0, 0, 0, 40)]
    out = emitted(lines, 1, rules="0.5.12").decode().splitlines()
    assert out == assertion("full", 100, 59, 0, 0, 0, 40)[:1] + assertion("full", 100, 59, 0, 0, 0, 40)[3:]


def test_emit_by_old_rules() -> None:
    lines = [busy("full", 100, 60, 0, 0, 0, 40), busy("full", 100, 61, 0, 0, 0, 40)]
    assert emitted(lines, 2, rules="0.5.9").decode() == f"{prefix()}{OLD}40\n{prefix()}{OLD.replace('=60', '=61')}40\n"
    hybrid = [lines[0], busy("swa", 50, 10, 0, 0, 0, 40)]
    assert emitted(hybrid, 2, rules="0.5.9") == b""
    both = emitted(hybrid, 2, rules="dev").decode()
    assert both.startswith(f"{prefix()}[Mem Check (BUSY/SWA)] full: (full_available=60 + ") and both.count("\n") == 1


def test_emit_1_ends_where_the_rules_end_the_process() -> None:
    lines = [prefix() + PREFILL, *(busy("full", 100, 60 - n, 0, 0, n, 40) for n in range(5))]
    (raised,) = [line for line in emitted(lines, 1, rules="0.5.9").decode().splitlines() if "AssertionError" in line]
    assert raised == "AssertionError: Mem Leak Detected! total_tokens=99 vs self.max_total_num_tokens=100"
    hybrid = [line for n in range(5) for line in (lines[1 + n], busy("swa", 50, 10, 0, 0, 0, 40))]
    assert emitted(hybrid, 1, rules="0.5.9").count(b"NotImplementedError") == 1


def test_emit_1_goes_on_behind_an_end_that_the_log_shows() -> None:
    broken = [busy("full", 100, 59, 0, 0, 0, 40), *assertion("full", 100, 59, 0, 0, 0, 40)]
    out = emitted([busy("full", 100, 60, 0, 0, 0, 40), *broken, busy("full", 100, 50, 0, 0, 0, 50), *broken], 1)
    assert out.count(b"AssertionError") == 2
    behind = out.decode().split("AssertionError")[1]
    assert behind.count("available=60") == 0 and behind.count("available=50") == 1


def test_emit_1_of_sums_with_an_unprinted_term() -> None:
    banner = "max_total_num_tokens=100, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2"
    lines = [f"{prefix()}{banner}, context_len=4096, available_gpu_mem=1.00 GB"]
    lines += [f"{prefix()}{OLD}3{n}" for n in "098"]
    assert log(lines).breaks == 0
    assert emitted(lines, 1) == b""
    failed = crash("Mem Leak Detected! total_tokens=98 vs self.max_total_num_tokens=100")
    assert emitted([*lines, *failed], 1).count(b"total_tokens=98") == 1
    off = f"{prefix()}server_args=ServerArgs(model_path='m', enable_streaming_session=False)"
    assert b"total_tokens=90" in emitted([off, *lines], 1)


def case(name: str, *changes: Change) -> LogReplay:
    data = (TESTS / "cases" / f"{name}.log").read_bytes()
    return log(data, Options(changes=changes))


def test_what_if_of_an_idle_report_goes_by_its_own_equation() -> None:
    # releases before 0.5.4 have no busy check, and so no equation of one
    (question,) = case("form-d-has-both-parts", without("protected")).what_if
    assert (question.breaks, question.new, question.cured) == (2, 0, 0)
    assert question.first is not None and question.first[1].delta == -7
    # protected is printed and not summed: leaving it out changes nothing
    (question,) = case("form-g-hybrid-protected-not-in-the-equation", without("protected")).what_if
    assert (question.breaks, question.before, question.new) == (1, 1, 0)
    (question,) = case("form-g-hybrid-protected-not-in-the-equation", with_term("protected")).what_if
    assert (question.breaks, question.cured, question.new) == (1, 1, 1)


def test_what_if_of_an_assertion_alone_goes_by_its_sum() -> None:
    (question,) = case("b0-assertion-without-a-record", total_of("full", 984)).what_if
    assert question.explains
    (question,) = case("b0-assertion-without-a-record", total_of("full", 1000)).what_if
    assert question.first is not None and question.first[1].delta == -16


def test_a_total_from_the_pool_sizes_at_start_up() -> None:
    data = (TESTS / "cases" / "b2-swa-total-from-the-pool-sizes.log").read_bytes()
    result = log(data)
    assert (result.records, result.agree, result.unknown, result.breaks) == (4, 4, 0, 1)
    assert not [one for one in replayed(data, Options(emit=1))[0].not_emitted if "--total full" in one]


@pytest.mark.parametrize(
    ("name", "accounted"),
    [
        ("b1-assertion-counts-sessions-behind-a-balanced-line", 1010),
        ("b1-assertion-counts-sessions-behind-a-deficit", 995),
    ],
)
def test_emit_1_of_sessions_that_only_the_assertion_counts(name: str, accounted: int) -> None:
    out = emitted((TESTS / "cases" / f"{name}.log").read_bytes(), 1).decode()
    assert out.count("AssertionError") == out.count(f"total_tokens={accounted} vs") == 1


def test_a_last_line_without_its_end() -> None:
    whole, cut = busy("full", 100, 60, 0, 0, 0, 40), busy("full", 100, 4, 0, 0, 0, 9)
    assert emitted(f"{whole}\n{cut}", 2).decode() == f"{whole}\n{cut}"
    result = log(f"{whole}\n{cut}")
    assert (result.agree, result.unknown, result.breaks) == (1, 1, 0)
    assert "the log ends in this line, which may be cut in its last number" in result.unknown_reasons
    assert emitted(f"{whole}\n{cut}", 1) == b""
    assert log(f"{whole}\n{cut}\n").breaks == log(f"{whole}\n{cut}9").breaks == 1
    assert emitted(f"{whole}\n{cut}99", 1).startswith(f"{whole}\n{cut}99\n".encode())


@pytest.mark.parametrize("empty", ["[Mem Check (BUSY)] ", "[Mem Check (BUSY)]"])
def test_emit_2_of_an_all_swa_model(empty: str) -> None:
    lines = [prefix() + empty, busy("swa", 50, 10, 0, 0, 0, 40), prefix() + empty, busy("swa", 50, 9, 0, 0, 0, 41)]
    full = [prefix() + "[Mem Check (BUSY)] " if "[swa]" not in line else line for line in lines]
    assert emitted(lines, 2).decode().splitlines() == full


def test_emit_1_prints_page_reports() -> None:
    lines = [
        busy("full", 100, 60, 0, 0, 0, 40),
        *crash("KV double free: sub-pool 0 has 1 duplicate pages.", error="ValueError"),
    ]
    out = emitted(lines, 1).decode().splitlines()
    assert out[-2:] == ["ValueError: KV double free: sub-pool 0 has 1 duplicate pages.", ""]
    result = log(lines)
    assert (result.agree, result.unsummed) == (1, 1)


PAGES = crash("KV double free: sub-pool 1 has 1 duplicate pages.", rank="TP0", error="ValueError")


def test_what_no_rules_can_recompute_leaves_it_undecided() -> None:
    lines = [busy(pool, 100, 60, 0, 0, 0, 40, rank=rank) for pool in ("full", "swa") for rank in ("TP0", "TP1")]
    assert replayed(lines)[0].verdict == "balanced"
    done, _ = replayed([*lines, *PAGES])
    assert (done.verdict, done.exit_code, done.unsummed) == ("undecided", 3, 1)
    told = [{"ranks": ("TP1",)}, {"pools": ("full",)}, {"rules": "0.5.14"}, {"rules": "dev"}]
    assert [replayed([*lines, *PAGES], Options(**one))[0].verdict for one in told] == ["balanced"] * 4
    assert replayed([*lines, *PAGES], Options(rules="0.5.15"))[0].verdict == "undecided"
    torn = crash("pool memory leak detected! [full] total=100, avail", rank="TP0", error="ValueError")
    assert replayed([*lines, *torn])[0].verdict == "undecided"
    broken = busy("full", 100, 61, 0, 0, 0, 40, rank="TP1")
    assert replayed([*lines, *PAGES, broken])[0].verdict == "broken"


def untold(lines: list[str], level: int, **options: Any) -> list[str]:
    return [one.removeprefix("made.log: ") for one in replayed(lines, Options(emit=level, **options))[0].not_emitted]


def test_what_emitted_lines_do_not_tell_is_said() -> None:
    good = busy("full", 100, 60, 0, 0, 0, 40, rank="TP0")
    report = crash("KV double free: sub-pool 0 has 1 duplicate pages.", rank="TP0", error="ValueError")
    reports = idle(full(100, 59, 0, 0, 0, 40), rank="TP1")
    assert untold([good], 1) == untold([good], 2) == []
    for level in (1, 2):
        told = untold([good, *reports], level)
        assert told == ["1 idle report is not printed again: --emit prints what the busy check does"]
        assert untold([good, *reports], level, ranks=("TP0",)) == []
        assert untold(assertion("full", 100, 59, 0, 0, 0, 40), level) == [
            "1 assertion without a record cannot be printed again"
        ]
    assert untold([good, *report], 2) == [
        "1 report of the page check is not printed again: --emit 2 prints the busy lines alone"
    ]
    assert untold([good, *report], 1) == [
        "1 report of the page check stands without the checks before, as at level 1: which check came before is not "
        "told"
    ]


@pytest.mark.parametrize(
    ("level", "since", "why"),
    [
        (1, "0.5.13", "of 1 break by the rules of 0.5.10.post1 the assertion alone is printed: these releases keep no "
         "ring at level 1"),
        (2, "0.5.11", "these lines print no total, and what told it is not printed again"),
    ],
)  # fmt: skip
def test_old_releases_are_emitted_whole_by_newer_rules(level: int, since: str, why: str) -> None:
    record = f"{prefix()}{OLD.replace('=60', '=59')}40"
    lines = [banner(100), record, *crash(OLD_ASSERTION)]
    assert untold(lines, level) == [f"{why} (--rules {since} or newer prints {'one' if level == 1 else 'it'})"]
    assert untold(lines, level, rules=since) == []
    before, after = analysis_of(lines).first_break, analysis_of(emitted(lines, level, rules=since).decode()).first_break
    assert before is not None and after is not None
    assert (after.pool, after.kind, after.total, after.delta, after.from_end) == (
        before.pool, before.kind, before.total, before.delta, before.from_end
    )  # fmt: skip
    new = [busy("full", 100, 59, 0, 0, 0, 40), *assertion("full", 100, 59, 0, 0, 0, 40)]
    assert len(untold(new, level, rules="0.5.9")) == 1
    assert untold([record], level, rules=since) == [
        "nothing before its records tells the total of the pool full: name it with --total full=N"
    ]
    assert untold([record], level, rules=since, changes=[total_of("full", 100)]) == []


def test_two_ranks_that_leak_at_once_dump_one_after_the_other() -> None:
    ranks = ("TP0", "TP1")
    lines = [prefix("TP0") + PREFILL]
    lines += [busy("full", 100, 60 - n, 0, 0, 0, 40 + n, rank=rank) for n in range(3) for rank in ranks]
    lines += [busy("full", 100, 50, 0, 0, 0, 49, rank=rank) for rank in ranks]
    lines += [line for rank in ranks for line in assertion("full", 100, 50, 0, 0, 0, 49, rank=rank)]
    before, after = analysis_of(lines), analysis_of(emitted(lines, 1).decode())
    assert [(b.stream.rank, b.from_end, b.event) for b in after.breaks] == [
        (b.stream.rank, b.from_end, b.event) for b in before.breaks
    ]
    assert [stream.mode for _, stream in after.streams] == ["ring-dump", "ring-dump"]


def test_no_bytes_escape() -> None:
    data = b"\xff\x00[Mem Check (BUSY)] [full] total=\xff\n" * 3 + b"[Mem Check (BUSY)]" + b"{" * 1000
    for level in (None, 1, 2):
        assert replayed(data, Options(emit=level))[0].exit_code == 3


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([
    "[Mem Check (BUSY)] [full] total=1", "ValueError: pool memory leak detected! ", "\n", "[2026-06-11 08:15:01] ",
    "[swa] total=5, available=5, evictable=0, protected=0, session_held=0, uncached=0", "{", "\x1b[0m", "\u0661",
    "[Mem Check (BUSY)] [full] total=5, available=5, evictable=0, protected=0, session_held=0, uncached=0",
    "AssertionError: Full Pool Mem Leak Detected! [full] total=5", '"pools": ',
]), max_size=12))  # fmt: skip
def test_any_text_is_replayed(pieces: list[str]) -> None:
    for options in (Options(), Options(emit=1), Options(emit=2), Options(as_test=True, against="0.5.9")):
        replayed("".join(pieces), options)


# Recordings


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]


def recording(checks: list[dict[str, Any]], options: Options = DEFAULTS) -> RecordingReplay:
    done, _ = replayed("".join(json.dumps(check) + "\n" for check in checks), options)
    (result,) = done.results
    assert isinstance(result, RecordingReplay)
    return result


@pytest.mark.parametrize("name", ["recorded-swa64.record.jsonl", "recorded-0.5.12.record.jsonl"])
def test_real_recordings_agree(name: str) -> None:
    result = recording(recorded(name))
    assert result.error is None
    assert (result.agree, result.disagreements, result.unknown, result.breaks) == (result.records, 0, 0, 0)


def test_a_batch_counted_twice_shows_under_one_rule_only() -> None:
    checks = recorded("recorded-0.5.12.record.jsonl")[:1]
    checks[0]["running_batch"] = dict(checks[0]["last_batch"], same_object_as_last=True)
    right, wrong = recording(checks), recording(checks, Options(rules="0.5.8"))
    assert (right.agree, right.breaks) == (1, 0)
    assert (wrong.agree, wrong.disagreements, wrong.breaks) == (0, 1, 1)
    assert "counted twice" in wrong.disagree[0].reason
    assert wrong.disagree[0].ours["full"] == 2 * (wrong.disagree[0].theirs["full"] or 0)


def test_a_request_left_out_shows_under_one_rule_only() -> None:
    (check,) = recorded("recorded-swa64.record.jsonl")[:1]
    parked = dict(check["chunked_req"], id="parked", kv_allocated_len=128, kv_committed_len=128)
    check["chunked_req"] = parked
    for pool in check["pools"].values():
        pool["available"] -= 128
    check["full_uncached"] += 128
    check["swa_uncached"] += 128
    assert recording([check]).agree == 1
    left_out = recording([check], Options(rules="0.5.19", against="0.5.20"))
    assert (left_out.disagreements, left_out.breaks) == (1, 2)
    assert left_out.first_break is not None and left_out.first_break[1].delta == -128
    assert left_out.against is not None and left_out.against.differ == 1
    assert left_out.against.stops is None and left_out.against.stops_ours is not None


def test_rules_that_die_are_unknown_with_the_reason() -> None:
    checks = recorded("recorded-swa64.record.jsonl")
    result = recording(checks, Options(rules="0.5.8"))
    assert (result.unknown, result.decided) == (len(checks), 0)
    assert result.raises == {"NotImplementedError": len(checks)}
    assert replayed((SAMPLES / "recorded-swa64.record.jsonl").read_bytes(), Options(rules="0.5.8"))[0].exit_code == 3


def test_a_comparison_that_may_raise_agrees_where_the_answer_was_recorded() -> None:
    (check,) = recorded("recorded-0.5.12.record.jsonl")[:1]
    check["running_batch"] = dict(check["last_batch"], id="other", same_object_as_last=False)
    result = recording([check])
    assert (result.agree, sum(result.raises.values())) == (1, 1)
    check["full_uncached"] = 3
    assert recording([check]).unknown == 1


def test_checks_that_cannot_be_judged_are_counted_by_reason() -> None:
    checks = recorded("recorded-0.5.12.record.jsonl")[:3]
    checks[0]["last_batch"] = None
    checks[1]["speculative_topk"] = checks[2]["speculative_topk"] = 4
    reasons = recording(checks).unknown_reasons
    assert [(count, reason.split(":")[0]) for reason, count in reasons.items()] == [
        (1, "no last batch"),
        (2, "these releases do not check with a speculation top-k above 1"),
    ]


def test_rules_part_only_where_both_can_be_told() -> None:
    checks = recorded("recorded-0.5.12.record.jsonl")[:2]
    against = recording(checks, Options(against="0.5.4")).against
    assert against is not None
    assert (against.differ, against.first, against.untold) == (0, None, {"0.5.4": 2})


def test_a_comparison_that_may_raise_parts_from_one_that_does_not() -> None:
    (check,) = recorded("recorded-0.5.12.record.jsonl")[:1]
    check["sglang"] = "0.5.13"
    check["running_batch"] = dict(check["last_batch"], id="other", same_object_as_last=False)
    against = recording([check], Options(against="0.5.12")).against
    assert against is not None and against.first is not None
    assert "0.5.12 may die with RuntimeError" in against.first.reason
    assert against.stops is None


def test_batches_are_compared_where_they_were_recorded() -> None:
    (check,) = recorded("recorded-0.5.12.record.jsonl")[:1]
    check["sglang"] = "0.5.8"
    check["batch_uncached"] = [[check["last_batch"]["id"], check["full_uncached"]]]
    assert recording([check]).agree == 1
    check["batch_uncached"].append(["ghost", 0])
    assert "SGLang asked about" in recording([check]).disagree[0].reason
    assert recording([check], Options(rules="0.5.12")).agree == 1


def test_session_rows_move_between_the_terms_by_release() -> None:
    (check,) = recorded("recorded-swa64.record.jsonl")[:1]
    row = dict(check["chunked_req"], id="row", req_pool_idx=8, session_owned=True, session_id="s")
    turn = dict(row, id="turn")
    check["last_batch"]["reqs"] = [turn]
    check["chunked_req"] = None
    check["sessions"] = [row]
    for name, pool in check["pools"].items():
        pool["session_held"] = check[f"{name}_uncached"]
        check[f"{name}_uncached"] = 0
    assert recording([check]).breaks == 0
    # Up to 0.5.21 the request counts and the row in use does not: the sums still hold, the sizes differ.
    older = recording([check], Options(rules="0.5.20"))
    assert (older.breaks, older.disagreements) == (0, 1)


def test_what_if_on_a_recording() -> None:
    checks = recorded("recorded-0.5.12.record.jsonl")
    (question,) = recording(checks, Options(changes=[without("protected")])).what_if
    assert question.breaks > 5 and question.before == 0
    assert recording(checks, Options(changes=[total_of("full", 1)])).what_if[0].breaks == len(checks)


def test_a_damaged_recording_ends_in_one_error() -> None:
    good = (SAMPLES / "recorded-0.5.12.record.jsonl").read_bytes().splitlines(keepends=True)
    done, _ = replayed(good[0] + b"{}\n")
    assert done.results[0].records == 1
    (unread,) = done.unreadable
    assert "2: " in unread.reason and "\n" not in unread.reason


def test_emit_needs_a_log() -> None:
    with pytest.raises(UsageError, match="server log"):
        replayed((SAMPLES / "recorded-0.5.12.record.jsonl").read_bytes(), Options(emit=2))


# Tests that are written


def run_module(source: str) -> dict[str, Any]:
    module: dict[str, Any] = {}
    exec(compile(source, "written.py", "exec"), module)
    return module


def test_the_test_of_a_log_is_self_contained_and_passes() -> None:
    done, _ = replayed((SAMPLES / "swa-lost-page.log").read_bytes(), Options(as_test=True))
    assert done.test is not None
    assert "import memcheck" not in done.test
    module = run_module(done.test)
    for record in module["RECORDS"]:
        module["test_sum"](*record)
    module["test_first_break"]()
    module["accounted"] = lambda terms: 0
    with pytest.raises(AssertionError):
        module["test_first_break"]()


@pytest.mark.parametrize("rules", ["0.5.8", "0.5.12", "0.5.19", "0.5.20", "0.5.23"])
def test_the_test_of_a_recording_passes_and_says_what_was_wrong(rules: str) -> None:
    checks = recorded("recorded-0.5.12.record.jsonl")
    for check in checks[6:]:
        check["full_uncached"] += 1
    done, _ = replayed("".join(json.dumps(check) + "\n" for check in checks), Options(rules=rules, as_test=True))
    assert done.test is not None
    module = run_module(done.test)
    assert [check["check"] for check in module["CHECKS"]] == [1, 2, 3, 4, 5, 6, 7, 8, 28]
    for check in module["CHECKS"]:
        module["test_uncached"](check)
        module["test_pools"](check)


@pytest.mark.parametrize("counted", [1, 2])
def test_the_test_of_a_comparison_that_came_through(counted: int) -> None:
    (check,) = recorded("recorded-0.5.12.record.jsonl")[:1]
    check["running_batch"] = dict(check["last_batch"], id="other", same_object_as_last=False)
    check["full_uncached"] *= counted
    check["pools"]["full"]["available"] -= 1
    done, _ = replayed(json.dumps(check) + "\n", Options(as_test=True))
    assert done.test is not None
    module = run_module(done.test)
    (written,) = module["CHECKS"]
    assert written["by_this_rule"][0] == check["full_uncached"]
    module["test_uncached"](written)
    module["test_pools"](written)


def test_the_test_of_rules_that_sum_fewer_terms() -> None:
    (check,) = recorded("recorded-0.5.12.record.jsonl")[:1]
    check["pools"]["full"]["session_held"] = 7
    check["pools"]["full"]["available"] -= 7
    done, _ = replayed(json.dumps(check) + "\n", Options(rules="0.5.9", as_test=True))
    assert done.test is not None
    module = run_module(done.test)
    (written,) = module["CHECKS"]
    assert written["off_by"] == {"full": -7}
    module["test_pools"](written)


def test_the_test_of_a_hybrid_recording_passes() -> None:
    checks = recorded("recorded-swa64.record.jsonl")
    checks[3]["swa_uncached"] += 64
    done, _ = replayed("".join(json.dumps(check) + "\n" for check in checks), Options(as_test=True))
    assert done.test is not None
    module = run_module(done.test)
    for check in module["CHECKS"]:
        module["test_uncached"](check)
        module["test_pools"](check)


def test_nothing_to_write() -> None:
    assert replayed((SAMPLES / "healthy.log").read_bytes(), Options(as_test=True))[0].test is None
    assert log_test(Window(), "x", ("available",)) is None
    assert recording_test(RecordingWindow(), "x") is None


def test_hostile_names_stay_inside_the_docstring() -> None:
    window = Window()
    replayer = LogReplayer("x", judged=window.judged)
    from memcheck_cli.log.reader import LineReader

    reader = LineReader()
    for line, message in reader.feed((busy("full", 100, 59, 0, 0, 0, 40) + "\n").encode()):
        replayer.fold(line, message)
    replayer.finish()
    source = log_test(window, 'a"""\nimport os\n\\', ("available", "uncached"))
    assert source is not None
    module = run_module(source)
    assert "os" not in module
    module["test_first_break"]()


def test_rules_by_length_cannot_be_written_down() -> None:
    window = RecordingWindow()
    window.at, window.rules = 1, "0.5.4"
    with pytest.raises(UsageError):
        recording_test(window, "x")


def test_replayers_can_be_used_without_the_command() -> None:
    with (SAMPLES / "recorded-0.5.12.record.jsonl").open("rb") as stream:
        result = Replayer("x", "0.5.12").add_all(read_checks(stream, "x"))
    assert result.agree == result.records
