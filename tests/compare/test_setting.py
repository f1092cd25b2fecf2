"""What two sides ran with, their breaks beside each other, and the distributions of live workloads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_logs import assertion, busy, prefix
from made_sides import TOTAL, changed, compared, log_of, side_of, steps

from memcheck_cli.compare import Comparison, compare
from memcheck_cli.compare.distributions import cliffs_delta
from memcheck_cli.forensics.breaks import Settings


def started(flags: str, lines: list[str]) -> list[str]:
    return [f"[2026-06-11 08:00:00] server_args=ServerArgs({flags})", *lines]


def told(comparison: Comparison) -> dict[str, tuple[tuple[object, ...], tuple[object, ...]]]:
    return {one.name: (one.a, one.b) for one in comparison.setting.differing}


def test_launch_flags_that_differ_are_named() -> None:
    one = started("model_path='m', page_size=16, disable_radix_cache=False, chunked_prefill_size=256", log_of(steps(9)))
    two = started("model_path='m', page_size=16, disable_radix_cache=True, chunked_prefill_size=512", log_of(steps(9)))
    comparison = compared(one, two)
    assert told(comparison) == {"disable_radix_cache": ((False,), (True,)), "chunked_prefill_size": ((256,), (512,))}
    assert comparison.setting.flags_told == (4, 4)


def test_a_side_without_flags_is_said_not_to_tell_them() -> None:
    comparison = compared(started("model_path='m', page_size=16", log_of(steps(9))), log_of(steps(9)))
    assert told(comparison) == {}
    assert "launch flags: B prints none" in comparison.setting.not_comparable
    assert comparison.setting.flags_only == (("model_path", "page_size"), ())
    assert comparison.setting.page_size.differs is None


def test_all_runs_of_a_side_tell_their_flags() -> None:
    one = started("page_size=1", log_of(steps(9))) + started("page_size=16", log_of(steps(9)))
    assert told(compared(one, started("page_size=1", log_of(steps(9)))))["page_size"] == ((1, 16), (1,))


def test_releases_that_exclude_each_other_differ() -> None:
    old = [
        f"{prefix()}[Mem Check (BUSY)] available_size={available}, evictable_size={evictable}, "
        f"protected_size={protected}, uncached_size={uncached}"
        for available, evictable, protected, _, uncached in steps(9)
    ]
    comparison = compared(old, log_of(steps(9)))
    assert comparison.setting.release.differs is True
    assert "full: session_held, which B alone prints" in comparison.setting.not_comparable
    assert compared(old, old).setting.release.differs is None  # one range each, and the same


def test_pools_that_one_side_lacks_are_named() -> None:
    full = log_of(steps(40))
    both = [line for pair in zip(full, log_of(steps(40, seed=4), pool="swa"), strict=True) for line in pair]
    comparison = compared(both, full)
    assert "swa: B has no record of it" in comparison.setting.not_comparable
    assert comparison.same is False
    assert comparison.first_difference is None
    assert comparison.setting.pools.differs is True


# Breaks


def broken(at: int, term: int, by: int, flags: str = "") -> list[str]:
    lines = log_of(changed(steps(60), at, term, by))
    return started(flags, lines) if flags else lines


@pytest.mark.parametrize(
    ("one", "two", "relation", "position"),
    [
        (broken(30, 0, -1), broken(30, 0, -1), "same", True),
        (broken(30, 0, -1), broken(50, 4, -1), "same", False),
        (broken(30, 0, -1), broken(30, 0, -2), "alike", True),
        (broken(30, 0, -1), broken(30, 0, 1), "another", True),
        (broken(30, 0, -16, "page_size=16"), broken(40, 0, -64, "page_size=64"), "same", False),
        (broken(30, 0, -16, "page_size=16"), broken(40, 0, -64, "page_size=16"), "alike", False),
    ],
)
def test_two_breaks(one: list[str], two: list[str], relation: str, position: bool) -> None:
    comparison = compared(one, two)
    assert (comparison.outcome, comparison.exit_code) == ("both-broken", 1)
    assert comparison.breaks is not None
    assert comparison.breaks.relation == relation
    assert comparison.breaks.position.same is position


def test_the_page_size_of_the_caller_counts() -> None:
    sides = [side_of(broken(30, 0, by), settings=Settings(page_size=size)) for by, size in ((-32, 16), (-128, 64))]
    comparison = compare(*sides)
    assert comparison.breaks is not None
    assert comparison.breaks.relation == "same"


def test_breaks_of_every_series_stand_beside_each_other() -> None:
    full = busy("full", TOTAL, TOTAL)
    one = [full, busy("swa", TOTAL, TOTAL - 64), *assertion("swa", TOTAL, TOTAL - 64)]
    two = [busy("full", TOTAL, TOTAL - 1), busy("swa", TOTAL, TOTAL - 64), *assertion("full", TOTAL, TOTAL - 1)]
    comparison = compared(one, two)
    found = [(pair.a and pair.a.pool, pair.b and pair.b.pool, pair.relation) for pair in comparison.series]
    assert found == [(None, "full", None), ("swa", "swa", "same")]
    assert comparison.breaks is not None
    assert comparison.breaks.relation == "another"


# Distributions


def wave(count: int, level: int, seed: int = 1, drift: float = 0.0) -> list[tuple[int, int, int, int, int]]:
    """A live workload: `available` around a level in percent, by chance, with a drift in percent over all of it."""
    random = np.random.default_rng(seed)
    shares = level + random.normal(0, 2, count) + np.linspace(0, drift, count)
    return [(int(TOTAL * s / 100), 500, 0, 0, TOTAL - 500 - int(TOTAL * s / 100)) for s in shares.clip(1, 98)]


def live(a: list[tuple[int, int, int, int, int]], b: list[tuple[int, int, int, int, int]]) -> Comparison:
    comparison = compared(log_of(a), log_of(b))
    assert comparison.main is not None
    assert comparison.main.workload.kind == "live"
    return comparison


def test_a_clear_difference_is_claimed_for_the_side_that_is_higher() -> None:
    comparison = live(wave(400, 50), wave(400, 30, seed=2))
    assert comparison.main is not None
    found = {one.term: one for one in comparison.main.distributions}
    assert found["available"].higher == "a"
    assert found["uncached"].higher == "b"
    assert found["available"].cliff == pytest.approx(-1, abs=0.01)
    assert found["available"].shift == pytest.approx(-0.2, abs=0.01)
    assert found["available"].effect == "large"
    assert found["evictable"].higher is None


def test_like_runs_are_not_told_apart() -> None:
    comparison = live(wave(400, 50), wave(400, 50, seed=2))
    assert comparison.main is not None
    assert all(one.claim and one.higher is None for one in comparison.main.distributions)


def test_what_wanders_by_itself_is_no_difference() -> None:
    def drifting(seed: int, start: int) -> list[tuple[int, int, int, int, int]]:
        legs = [wave(100, start + leg, seed=seed + number) for number, leg in enumerate((0, 30, -20, 20))]
        return [check for leg in legs for check in leg]

    comparison = live(drifting(1, 40), drifting(11, 55))
    assert comparison.main is not None
    (found,) = (one for one in comparison.main.distributions if one.term == "available")
    assert abs(found.shift) > 0.1
    assert found.higher is None


def test_a_drift_is_told() -> None:
    comparison = live(wave(400, 60, drift=-30), wave(400, 60, seed=2))
    assert comparison.main is not None
    (found,) = (one for one in comparison.main.distributions if one.term == "available")
    assert (found.a.drifts, found.b.drifts) == (True, False)
    assert found.a.slope == pytest.approx(-0.3 / 0.4, rel=0.1)


def test_only_what_both_sides_have_is_compared() -> None:
    filling = wave(150, 90) + wave(150, 20, seed=3)
    comparison = live(filling, wave(150, 90, seed=2))
    assert comparison.main is not None
    (found,) = (one for one in comparison.main.distributions if one.term == "available")
    assert (found.a.checks, found.b.checks) == (150, 150)
    assert found.higher is None


def test_nothing_is_claimed_of_few_checks() -> None:
    comparison = live(wave(70, 50), wave(70, 20, seed=2))
    assert comparison.main is not None
    assert {one.why for one in comparison.main.distributions} == {"only 70 checks in A; 100 on either side are needed"}
    assert all(one.higher is None and one.a.slope is None for one in comparison.main.distributions)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=30), st.lists(st.integers(-9, 9), min_size=1, max_size=30))
def test_cliffs_delta_counts_pairs(a: list[int], b: list[int]) -> None:
    pairs = [(x < y) - (x > y) for x in a for y in b]
    assert cliffs_delta(np.array(a), np.array(b)) == sum(pairs) / len(pairs)
    assert cliffs_delta(np.array(b), np.array(a)) == -sum(pairs) / len(pairs)


def test_paces_are_told_where_the_time_is_long_enough() -> None:
    good = wave(400, 50)
    comparison = compared(log_of(good, per_second=10), log_of(changed(good, 300, 0, -1), per_second=5))
    assert comparison.main is not None
    a, b = comparison.main.pace
    assert (a.per_second, a.break_check) == (pytest.approx(10, rel=0.05), None)
    assert (b.per_second, b.break_check, b.break_seconds) == (pytest.approx(5, rel=0.05), 300, 59)
    short = compared(log_of(good[:60]), log_of(good[:60])).main
    assert short is not None
    assert short.pace[0].per_second is None
    assert "10 s are needed" in str(short.pace[0].why)
