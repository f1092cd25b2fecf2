"""Bookkeeping moves explain all that two terms exchange, and the rest has one sign."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.forensics.moves import KINDS, LOOK_BACK, pair_up, wrong_alone, wrong_by_peer, wrong_by_step
from memcheck_cli.log.records import TERMS


def changes(
    available: int = 0, evictable: int = 0, protected: int = 0, held: int = 0, uncached: int = 0
) -> dict[str, int]:
    return dict(zip(TERMS, (available, evictable, protected, held, uncached), strict=True))


def moved(**terms: int) -> list[tuple[str, int]]:
    return [(move.name, move.amount) for move in pair_up(changes(**terms))[0]]


@given(st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=5))
def test_moves_and_rest_sum_to_the_changes(values: list[int]) -> None:
    given_changes = dict(zip(TERMS, values, strict=True))
    moves, rest = pair_up(given_changes)
    total = dict.fromkeys(TERMS, 0)
    for move in moves:
        assert move.amount > 0
        total[move.source] -= move.amount
        total[move.target] += move.amount
    assert {name: total[name] + rest.get(name, 0) for name in TERMS} == given_changes
    assert sum(rest.values()) == sum(values)
    assert len({change > 0 for change in rest.values()}) <= 1


def test_every_pair_of_terms_has_a_move() -> None:
    assert {(source, target) for source, target, _ in KINDS} == {(a, b) for a in TERMS for b in TERMS if a != b}


def test_a_decode_step_allocates() -> None:
    assert moved(available=-6, uncached=6) == [("allocated", 6)]


def test_a_prefill_result_is_cached() -> None:
    assert moved(available=-8, protected=203, uncached=-195) == [("cached", 195), ("allocated and cached", 8)]


def test_a_finished_request_unlocks_caches_and_frees() -> None:
    assert moved(available=16, evictable=752, protected=-704, uncached=-80) == [
        ("unlocked", 704),
        ("cached and unlocked", 48),
        ("freed", 16),
    ]
    _, rest = pair_up(changes(available=16, evictable=752, protected=-704, uncached=-80))
    assert rest == {"uncached": -16}


def test_eviction_for_an_allocation() -> None:
    assert moved(available=118, evictable=-321, uncached=203) == [("evicted", 118), ("evicted and allocated", 203)]


def test_a_session_lends_and_takes_back() -> None:
    assert moved(held=-300, uncached=300) == [("taken back from a session", 300)]
    assert moved(held=300, protected=-300) == [("lent to a session", 300)]


def test_the_step_before_tells_the_term() -> None:
    steps = [(10, 11, changes(available=-6, uncached=6)), (9, 10, changes(available=-7, uncached=7))]
    found = wrong_by_step(changes(available=-7, uncached=6), -1, steps)
    assert found is not None
    assert (found.term, found.lines) == ("available", (10, 11))
    assert wrong_by_step(changes(available=-7, uncached=6), -1, steps[1:]).term == "uncached"  # type: ignore[union-attr]


def test_a_step_that_differs_otherwise_tells_nothing() -> None:
    assert wrong_by_step(changes(available=-9, uncached=5), -1, [(1, 2, changes(available=-6, uncached=6))]) is None
    old = [(n, n + 1, changes(available=-1)) for n in range(LOOK_BACK)] + [(90, 91, changes(available=-6, uncached=6))]
    assert wrong_by_step(changes(available=-7, uncached=6), -1, old) is None


def test_a_term_that_moves_alone() -> None:
    assert wrong_alone(changes(available=-64), -64, (3, 4)).term == "available"  # type: ignore[union-attr]
    assert wrong_alone(changes(available=-64), -32, (3, 4)) is None
    assert wrong_alone(changes(uncached=-64), -64, (3, 4)).term == "uncached"  # type: ignore[union-attr]
    # An allocation in which a page came back that was free already looks the same.
    assert wrong_alone(changes(uncached=64), 64, (3, 4)) is None
    assert wrong_alone(changes(available=-64, uncached=64), 0, (3, 4)) is None


def test_a_peer_tells_the_term() -> None:
    parted = {"pool": "full", "lines": [35, 36], "ranks": ["TP1", "TP0"], "terms": {"available": [114, 115]}}
    found = wrong_by_peer("full", 35, -1, [parted])
    assert found is not None
    assert (found.term, found.lines) == ("available", (35, 36))
    assert "TP0 printed available=115" in found.text
    assert wrong_by_peer("swa", 35, -1, [parted]) is None
    assert wrong_by_peer("full", 35, -2, [parted]) is None
    assert wrong_by_peer("full", 99, -1, [parted]) is None
