"""What to do now depends on the check that fired and on the release."""

from __future__ import annotations

import pytest
from explained import args, busy, crash, explained, full, idle, prefill

from memcheck_cli.checker.releases import RELEASES
from memcheck_cli.forensics.advice import BUSY_RULES, IDLE_RULES, IDLE_SWITCH, rules_for

BROKEN = [args(), prefill(), busy("full", 4096, 4000, 0, 0, 0, 96), busy("full", 4096, 3990, 0, 0, 0, 96)]


def topic(lines: list[str], name: str) -> str:
    explanation = explained(lines).explanation
    assert explanation is not None
    return " ".join(one.text for one in explanation.advice if one.topic == name)


def test_every_release_has_one_rule_of_the_idle_check() -> None:
    for release in RELEASES:
        assert len([rule for rule in IDLE_RULES if release in rule.releases]) == 1, release
        assert len([rule for rule in BUSY_RULES if release in rule.releases]) <= 1


@pytest.mark.parametrize(
    ("low", "high", "count"),
    [(None, None, 6), ("0.5.6", "0.5.6", 1), ("0.5.6.post2", None, 1), (None, "0.5.2", 2), ("0.5.5", "0.5.7", 5)],
)
def test_rules_that_can_hold(low: str | None, high: str | None, count: int) -> None:
    assert len(rules_for(IDLE_RULES, low, high)) == count


def test_the_busy_assertion_cannot_be_turned_into_a_warning() -> None:
    text = topic(BROKEN, "keep-alive")
    assert "no warning mode" in text and f"{IDLE_SWITCH} has no effect" in text


def test_the_idle_check_can() -> None:
    lines = [args(), prefill(), *idle(full(4096, 4000))]
    assert f"{IDLE_SWITCH}=0 makes it a warning" in topic(lines, "keep-alive")


def test_a_server_that_warns_already() -> None:
    lines = [args(), prefill(), *(idle(full(4096, 4000), warn=True) * 3)]
    assert "only warns already (3 reports)" in topic(lines, "keep-alive")
    once = [args(), prefill(), *idle(full(4096, 4000), warn=True)]
    assert "only warns already (1 report)" in topic(once, "keep-alive")
    excerpt = [args(), prefill(), *idle(full(4096, 4000))[3:]]  # the traceback's last line alone
    assert "only warns already" not in topic(excerpt, "keep-alive")


def test_the_page_check_follows_the_idle_switch() -> None:
    lines = [
        args(),
        prefill(),
        BROKEN[2],
        *crash("KV double free: sub-pool 0 has 1 duplicate pages.", error="ValueError"),
    ]
    assert f"{IDLE_SWITCH}=0" in topic(lines, "keep-alive")
    assert "two requests" in topic(lines, "risk")


def test_a_leak_costs_capacity_and_an_overcount_output() -> None:
    assert topic(BROKEN, "risk").startswith("capacity, 10 tokens less")
    twice = [*BROKEN[:3], busy("full", 4096, 4010, 0, 0, 0, 96)]
    assert topic(twice, "risk").startswith("wrong output")


def test_a_false_alarm_costs_nothing() -> None:
    twice = [*BROKEN[:3], busy("full", 4096, 3990, 0, 0, 0, 212)]
    assert "known false alarm" in topic(twice, "risk")


def test_what_to_record() -> None:
    assert "server_args" in topic(BROKEN[1:], "record")
    assert "server_args" not in topic(BROKEN, "record")
    lines = [prefill(), *idle(full(4096, 4000))]
    assert "DURING_BUSY=2" in topic([args(), *lines], "record")
    assert "pp_size=2" in topic([args(pp_size=2), *lines], "record")


def test_every_advice_has_its_lines() -> None:
    for one in explained(BROKEN).explanation.advice:
        assert one.lines and all(line >= 1 for line in one.lines)


def test_nothing_to_do_on_a_healthy_log() -> None:
    assert explained(BROKEN[:3]).explanation is None
