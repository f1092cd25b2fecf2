"""Ring dumps told from streams, and a ring that is dumped again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import assertion, busy, ledger_of, prefix

from memcheck_cli.ledger.dumps import second_of

PREFILL = prefix("TP0") + "Prefill batch, #new-seq: 1, #new-token: 8, #cached-token: 0, token usage: 0.00"


def check(number: int, broken: bool = False, pools: int = 1, clock: str = "08:15:01") -> list[str]:
    lines = [
        busy("full", 1000, 900 - number, 0, 0, 0, 100 + number - (0 if not broken or pools == 2 else 1), clock=clock)
    ]
    if pools == 2:
        lines.append(busy("swa", 500, 400 - number, 0, 0, 0, 100 + number - (1 if broken else 0), clock=clock))
    return lines


def dump_of(checks: list[list[str]], capacity: int = 1000) -> list[str]:
    messages = [line for lines in checks for line in lines]
    return messages[-capacity:]


def only_stream(lines: list[str]):
    (stream,) = ledger_of(lines).streams.values()
    return stream


def test_burst_with_its_assertion_is_a_dump():
    lines = [PREFILL, *check(1), *check(2), *check(3, broken=True), *assertion("full", 1000, 897, 0, 0, 0, 102)]
    stream = only_stream(lines)
    assert stream.mode == "ring-dump"
    assert stream.checks == 3


def test_batch_line_inside_makes_a_stream():
    lines = [*check(1), PREFILL, *check(2), *check(3, broken=True), *assertion("full", 1000, 897, 0, 0, 0, 102)]
    assert only_stream(lines).mode == "stream"


def test_batch_line_of_another_rank_inside_makes_a_stream():
    other = PREFILL.replace("TP0", "TP5")
    lines = [*check(1), other, *check(2), *check(3, broken=True), *assertion("full", 1000, 897, 0, 0, 0, 102)]
    assert only_stream(lines).mode == "stream"


def test_three_seconds_make_a_stream():
    lines = [*check(1), *check(2, clock="08:15:03"), *check(3, broken=True, clock="08:15:03")]
    lines += assertion("full", 1000, 897, 0, 0, 0, 102, clock="08:15:03")
    assert only_stream(lines).mode == "stream"


def test_two_adjoining_seconds_over_midnight_make_a_dump():
    early = busy("full", 1000, 900, 0, 0, 0, 100).replace("2026-06-11 08:15:01", "2026-06-30 23:59:59")
    late = busy("full", 1000, 900, 0, 0, 0, 99).replace("2026-06-11 08:15:01", "2026-07-01 00:00:00")
    lines = [early, late, *assertion("full", 1000, 900, 0, 0, 0, 99)]
    assert only_stream(lines).mode == "ring-dump"


def test_burst_without_its_assertion_is_a_stream():
    assert only_stream([*check(1), *check(2, broken=True)]).mode == "stream"


def test_more_than_the_ring_holds_is_a_stream():
    lines = [line for number in range(1001) for line in check(number % 90)]
    lines += [*check(91, broken=True), *assertion("full", 1000, 809, 0, 0, 0, 190)]
    assert only_stream(lines).mode == "stream"


def test_old_form_is_never_a_dump():
    old = prefix() + "[Mem Check (BUSY)] available_size=90, evictable_size=0, protected_size=0, uncached_size={}"
    lines = [old.format(10), old.format(9)]
    lines += [prefix() + "Scheduler hit an exception: Traceback (most recent call last):"]
    lines += ["AssertionError: Mem Leak Detected! total_tokens=99 vs self.max_total_num_tokens=100"]
    assert only_stream(lines).mode == "stream"


@pytest.mark.parametrize("pools", [1, 2])
def test_dumped_again_counts_only_new_checks(pools: int):
    checks = [check(n, pools=pools) for n in range(20)] + [check(20, True, pools)]
    lines = dump_of(checks)
    for n in range(21, 25):
        checks.append(check(n, True, pools))
        lines += dump_of(checks)
    stream = only_stream(lines)
    assert (stream.mode, stream.checks) == ("ring-dump", 25)
    broken = stream.busy["swa" if pools == 2 else "full"]
    assert broken.unbalanced == 5
    assert broken.segments[-1].first.line == 21 * pools


def test_batch_lines_between_two_dumps():
    checks = [check(n) for n in range(5)] + [check(5, True)]
    lines = [PREFILL, *dump_of(checks), PREFILL, PREFILL]
    checks.append(check(6))
    checks.append(check(7, True))
    lines += [*dump_of(checks), PREFILL]
    stream = only_stream(lines)
    assert (stream.mode, stream.checks) == ("ring-dump", 8)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 2]), st.integers(1, 700), st.integers(1, 6))
def test_wrapped_ring_dumped_again(seed: int, pools: int, before: int, dumps: int):
    """Whatever was in the ring, the stream holds each check once (numbers that repeat allow fewer, never more)."""
    rng = random.Random(seed)
    checks = [check(rng.randrange(80), pools=pools) for _ in range(before)]
    lines: list[str] = []
    for _ in range(dumps):
        checks += [check(rng.randrange(80), pools=pools) for _ in range(rng.randrange(3))]
        checks.append(check(rng.randrange(80), True, pools))
        lines += dump_of(checks)
    first_dump = min(before * pools + 3 * pools, 1000) // pools
    stream = only_stream(lines)
    assert stream.mode == ("ring-dump" if dumps > 1 else "stream")
    assert stream.checks <= len(checks)
    assert stream.checks >= min(first_dump, before) + dumps - 3
    if before <= 400:
        assert stream.checks == len(checks)


def test_level_2_after_a_break_goes_on_as_a_stream():
    lines = [*check(1), *check(2, broken=True), *check(3, broken=True), *check(4, broken=True), *check(5)]
    stream = only_stream(lines)
    assert (stream.mode, stream.checks) == ("stream", 5)


def test_half_a_repetition_is_none():
    checks = [check(n) for n in range(9)] + [check(9, True)]
    lines = dump_of(checks)
    lines += lines[:4]
    stream = only_stream(lines)
    assert (stream.mode, stream.checks) == ("stream", 14)


def test_broken_checks_that_are_all_alike_are_not_merged():
    assert only_stream(check(1, broken=True) * 3).checks == 3


def test_gap_that_an_extra_term_closes_ends_no_dump():
    line = busy("full", 1000, 900, 0, 0, 0, 70, extra=", withheld=30")
    other = busy("full", 1000, 890, 0, 0, 0, 70, extra=", withheld=40")
    assert only_stream([line, line, other]).checks == 3


def test_equal_numbers_alone_merge_nothing():
    lines = [*check(1)] * 30
    assert only_stream(lines).checks == 30


def test_second_of():
    assert second_of(None) is None
    assert second_of("not a time") is None
    assert second_of("2026-03-01T00:00:00") - second_of("2026-02-28T23:59:59") == 1
    assert second_of("2024-03-01T00:00:00") - second_of("2024-02-28T23:59:59") == 86401
    assert second_of("2027-01-01T00:00:00.123") - second_of("2026-12-31T23:59:59.999") == 1
    assert second_of("08:15:05") == 29705
