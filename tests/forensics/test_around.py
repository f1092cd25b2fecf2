"""Events and batches around a break are placed as the release and the kind of log allow."""

from __future__ import annotations

import pytest
from explained import args, assertion, banner, busy, crash, decode, explained, full, idle, prefill, prefix

from memcheck_cli.forensics.around import same_group
from memcheck_cli.forensics.evidence import Evidence

RETRACT = prefix() + "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62"
GOOD = busy("full", 4096, 3000, 0, 1000, 0, 96)
BAD = busy("full", 4096, 2990, 0, 1000, 0, 96)
OLD_PREFILL = (
    prefix() + "Prefill batch, #new-seq: 1, #new-token: 40, #cached-token: 0, token usage: 0.03, #running-req: 0, "
    "#queue-req: 0, "
)


def evidence(*lines: str, event: int = 1) -> Evidence:
    explanation = explained(lines).explanation
    assert explanation is not None
    return explanation.evidence[event]


def old_log(batch: str) -> list[str]:
    """A log of 0.5.6 to 0.5.10 that breaks behind a batch line."""
    text = "[Mem Check (BUSY)] available_size={}, evictable_size=0, protected_size=0, uncached_size=96"
    lines = [banner(), prefix() + text.format(4000), batch, prefix() + text.format(3990)]
    return lines + crash("Mem Leak Detected! total_tokens=4086 vs self.max_total_num_tokens=4096")


def test_between_and_before() -> None:
    first, second = evidence(args(), prefill(), RETRACT, *[GOOD] * 5, RETRACT, BAD).surroundings.troubles
    assert (first.event.line, first.after_witness, first.checks, first.near) == (3, False, 5, False)
    assert (second.event.line, second.after_witness, second.checks, second.near) == (9, True, 0, True)


def test_what_stands_behind_the_break_does_not_count() -> None:
    assert evidence(args(), prefill(), GOOD, BAD, RETRACT).surroundings.troubles == ()


@pytest.mark.parametrize(
    ("start", "batch", "check"),
    [
        (args(), prefill(), 2),  # with its result, one check late
        (args(disable_overlap_schedule=True), prefill(), 4),  # with its result, before the same check
        (args(), decode(3), 2),
        (args(disable_overlap_schedule=True), decode(3), 4),
    ],
)
def test_the_check_a_batch_line_belongs_to(start: str, batch: str, check: int) -> None:
    around = evidence(start, GOOD, batch, BAD).surroundings
    assert [(one.event.line, one.belongs_to) for one in around.batches] == [(3, check)]


def test_up_to_0_5_8_a_prefill_line_stands_before_its_check() -> None:
    (one,) = evidence(*old_log(OLD_PREFILL)).surroundings.batches
    assert (one.event.line, one.belongs_to) == (3, 4)


def test_where_the_release_is_open_a_prefill_line_is_not_placed() -> None:
    batch = prefix() + "Prefill batch, #new-seq: 1, #new-token: 40, #cached-token: 0, #queue-req: 0"
    (one,) = evidence(*old_log(batch)).surroundings.batches
    assert one.belongs_to is None
    assert "not known" in one.why


def test_counts_that_match() -> None:
    bad = busy("full", 4096, 2800, 0, 1000, 0, 96)
    (match,) = evidence(args(), GOOD, prefill(200), bad).surroundings.matches
    assert (match.value, match.line) == (200, 3)
    paged = args(page_size=16), GOOD, prefill(185), busy("full", 4096, 2808, 0, 1000, 0, 96)
    assert [one.value for one in evidence(*paged).surroundings.matches] == [185]


def test_one_page_matches_nothing() -> None:
    lines = args(page_size=64), GOOD, prefill(60), busy("full", 4096, 2936, 0, 1000, 0, 96)
    assert evidence(*lines).surroundings.matches == ()


def test_slots_that_match_the_running_requests() -> None:
    pool = prefix() + "req_to_token_pool memory leak detected!available_size=57, session_held=0, total_size=64"
    around = evidence(args(disaggregation_mode="null"), decode(7), pool).surroundings
    assert [(one.value, one.line) for one in around.matches] == [(7, 2)]


def test_a_dump_places_nothing_among_its_checks() -> None:
    dump = [GOOD, GOOD, BAD, *assertion("full", 4096, 2990, 0, 1000, 0, 96)]
    around = evidence(args(), prefill(), RETRACT, decode(3), *dump).surroundings
    assert around.dump_line == 5
    assert [(one.event.line, one.after_witness) for one in around.troubles] == [(3, False)]
    assert [one.belongs_to for one in around.batches] == [None, None]


def test_the_report_itself_is_no_event() -> None:
    other = crash("pool memory leak detected! " + full(4096, 3980), error="ValueError")
    around = evidence(args(), prefill(), *idle(full(4096, 4000))).surroundings
    assert around.troubles == ()
    lines = [args(tp_size=2), prefill(rank="TP0"), *idle(full(4096, 4000), rank="TP0"), *other]
    assert evidence(*lines).surroundings.troubles == ()


def test_an_exception_before_is_an_event() -> None:
    lines = [args(), prefill(), *crash("CUDA out of memory", error="RuntimeError"), prefill(), *idle(full(4096, 4000))]
    assert [one.event.kind for one in evidence(*lines).surroundings.troubles] == ["exception", "out-of-memory"]


@pytest.mark.parametrize(
    ("rank", "other", "same"),
    [
        ("TP1", "TP0", True),
        ("DP0 TP1", "DP0 TP0", True),
        ("DP1 TP1", "DP0 TP0", False),
        ("PP1 TP1", "PP0 TP1", False),
        ("PP1 ATTN_CP0 TP0", "PP1 TP3 EP3", True),
        ("DP1 TP1", "-", True),
    ],
)
def test_whose_lines_speak_for_a_rank(rank: str, other: str, same: bool) -> None:
    assert same_group(rank, other) is same


def test_batch_lines_of_the_first_rank_count_for_its_peers() -> None:
    rows = [busy("full", 4096, 3000, 0, 1000, 0, 96, rank="TP1"), prefill(rank="TP0"), prefill(rank="DP1 TP0")]
    around = evidence(args(tp_size=2), *rows, busy("full", 4096, 2990, 0, 1000, 0, 96, rank="TP1")).surroundings
    assert [one.event.rank for one in around.batches] == ["TP0"]
