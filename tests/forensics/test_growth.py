"""How a break goes on: no rate from two values, time left only where it can be told."""

from __future__ import annotations

import pytest
from explained import args, busy, explained, full, idle, prefill, prefix

from memcheck_cli.forensics.growth import CONSTANT, GONE, GROWING, LINEAR, SINGLE, VARYING, Growth, spelled


def course(*deltas: int, start: tuple[str, ...] = ()) -> Growth:
    """Of busy checks of a server without asserts."""
    lines = [args(), prefill(), busy("full", 4096, 4000, 0, 0, 0, 96), *start]
    lines += [busy("full", 4096, 4000 + delta, 0, 0, 0, 96) for delta in deltas]
    return explained(lines).explanation.evidence[1].growth


@pytest.mark.parametrize(
    ("deltas", "kind"),
    [
        ((-1,), SINGLE),
        ((-1, -1, -1), CONSTANT),
        ((-1, -2, -3), LINEAR),
        ((-5, -7, -9, -11), LINEAR),
        ((-5, -7), GROWING),
        ((-1, -3, -9), GROWING),
        ((-3, -1, -9), VARYING),
        ((-3, 4), VARYING),
        ((-3, -3, 0), GONE),
        ((2, 4, 6), LINEAR),
    ],
)
def test_kinds(deltas: tuple[int, ...], kind: str) -> None:
    growth = course(*deltas)
    assert growth.kind == kind
    assert growth.lines and all(str(line) in growth.text for line in growth.lines)


def test_two_values_claim_no_rate() -> None:
    growth = course(-5, -7)
    assert growth.per_iteration is growth.left is growth.seconds_left is None
    assert "two values tell no rate" in growth.text


def test_rate_per_iteration_and_what_is_left() -> None:
    growth = course(-1, -3, -5)
    assert growth.per_iteration == -2
    assert (growth.left, growth.iterations_left) == (3995, 1997)


def test_an_overcount_is_never_used_up() -> None:
    assert course(2, 4, 6).iterations_left is None


def test_time_left_of_idle_reports() -> None:
    reports = [line for n in (1, 2, 3) for line in idle(full(4096, 4096 - 96 * n), clock=f"0{6 + n}:15:00", warn=True)]
    growth = explained([args(), prefill(), *reports]).explanation.evidence[1].growth
    assert (growth.kind, growth.step, growth.left) == (LINEAR, -96, 3808)
    assert growth.seconds_left == 3808 * 7200 // 192
    assert "40 hours" in growth.text


def test_a_flush_explains_a_balance() -> None:
    flush = prefix() + "Cache flushed successfully!"
    lines = [args(), prefill(), busy("full", 4096, 4000, 0, 0, 0, 90), flush, busy("full", 4096, 4000, 0, 0, 0, 96)]
    analysis = explained(lines)
    growth = analysis.explanation.evidence[1].growth
    assert growth.kind == GONE and "flushed between (line 4)" in growth.text
    (finding,) = [item for item in analysis.findings if item.kind == "balanced-again"]
    assert finding.more["flush_line"] == 4


def test_rate_per_prefilled_sequence() -> None:
    lines = [args()]
    for n in range(1, 5):
        lines += [prefill(seqs=2), *idle(full(4096, 4096 - 10 * n), warn=True)]
    growth = explained(lines, trends=True).explanation.evidence[1].growth
    assert growth.per_sequence == -5
    assert "-5 per prefilled sequence" in growth.text
    assert explained(lines).explanation.evidence[1].growth.per_sequence is None


def test_spelled() -> None:
    assert [spelled([3]), spelled([3, 7]), spelled([3, 7, 9])] == ["3", "3 and 7", "3, 7 and 9"]
