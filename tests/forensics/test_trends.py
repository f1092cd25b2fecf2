"""Drift is found in long runs, and not in healthy load that comes and goes."""

from __future__ import annotations

from random import Random

import pytest
from explained import args, busy, decode, explained, hits, prefill

from memcheck_cli.forensics.trends import SAMPLE, Point, _Sample

TOTAL = 100_000


def served(seed: int, *, iterations: int = 4000, locks: float = 0.0, over: float = 0.0, held: float = 0.0) -> list[str]:
    """A server under random load. locks: share of finished requests whose lock stays; over, held: tokens by which
    uncached and session_held grow per iteration."""
    random = Random(seed)
    lines = [args()]
    running: list[list[int]] = []
    tree = stuck = 0
    for at in range(iterations):
        if random.random() < 0.07:
            running.append([random.randint(50, 800), 0, random.randint(20, 200)])
            lines.append(prefill(running[-1][0], running=len(running) - 1))
        for one in [one for one in running if one[1] >= one[2]]:
            running.remove(one)
            tree += one[0] + one[1]
            if random.random() < locks:
                tree, stuck = tree - one[0], stuck + one[0]
        for one in running:
            one[1] += 1
        protected = sum(one[0] for one in running) + stuck
        uncached = sum(one[1] for one in running) + int(over * at)
        session = int(held * at)
        tree = min(tree, TOTAL - 1000 - protected - uncached - session)
        if at % 40 == 39:
            lines.append(decode(len(running), protected + uncached))
        if running:
            free = TOTAL - tree - protected - uncached - session
            lines.append(busy("full", TOTAL, free, tree, protected, session, uncached))
    return lines


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_healthy_load_drifts_nowhere(seed: int) -> None:
    analysis = explained(served(seed), trends=True)
    assert (analysis.verdict, analysis.findings, hits(analysis)) == ("balanced", [], [])


@pytest.mark.parametrize(
    ("drift", "kind", "pool"),
    [
        ({"locks": 0.06}, "protected-never-falls", "full"),
        ({"over": 1.0}, "uncached-grows", "full"),
        ({"held": 1.0}, "session-held-grows", "full"),
    ],
)
def test_drift_is_found(drift: dict[str, float], kind: str, pool: str) -> None:
    lines = served(1, **drift)
    analysis = explained(lines, trends=True)
    (finding,) = analysis.findings
    assert (finding.kind, finding.pool, analysis.verdict) == (kind, pool, "balanced")
    assert finding.more["low"] > 0
    assert all(1 <= line <= len(lines) for line in finding.more["lines"])
    (hit,) = analysis.explanation.hits
    assert (hit.signature.kind, hit.event) == (kind, None)


def test_a_slope_is_given_with_its_interval() -> None:
    (finding,) = explained(served(1, held=1.0), trends=True).findings
    assert finding.more["low"] <= 1.0 <= finding.more["high"]
    assert finding.more["per_iteration"] == pytest.approx(1.0, rel=0.02)
    assert "99% between" in finding.reason


def test_growth_that_comes_with_requests_is_none() -> None:
    lines = [args()]
    for at in range(1500):
        running = 2 + at // 100
        if at % 5 == 0:
            lines.append(prefill(100, running=running))
        lines.append(busy("full", TOTAL, TOTAL - 100 * running, 0, 0, 0, 100 * running))
    assert explained(lines, trends=True).findings == []


@pytest.mark.parametrize("count", [3, 100, 400])
def test_short_logs_allow_no_statement(count: int) -> None:
    lines = [args()]
    for at in range(count):
        lines += [prefill(100, running=3), busy("full", TOTAL, TOTAL - 100 * at, 0, 0, 0, 100 * at)]
    assert explained(lines, trends=True).findings == []


def test_what_few_requests_do_is_no_drift() -> None:
    lines = [args(), prefill(100, running=3)]
    lines += [busy("full", TOTAL, TOTAL - at, 0, 0, 0, at) for at in range(1500)]
    assert explained(lines, trends=True).findings == []


def test_the_sample_is_bounded_and_even() -> None:
    sample = _Sample()
    for at in range(20_000):
        sample.add(Point(at, at, (), None, 0))
    assert len(sample.points) == SAMPLE
    assert 8_500 < sum(point.x for point in sample.points) / SAMPLE < 11_500
