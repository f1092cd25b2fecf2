"""Robust slopes: right on lines, unmoved by outliers, silent on too few points."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.forensics.slopes import LEAST_BLOCKS, LEAST_IN_BLOCK, MOST_BLOCKS, blocks_of, slope_of


@given(st.floats(-50, 50), st.floats(-1000, 1000))
def test_a_line_has_its_slope(slope: float, start: float) -> None:
    found = slope_of([(x, start + slope * x) for x in range(400)])
    assert found is not None
    assert found.per_unit == pytest.approx(slope, abs=1e-6)
    assert found.low <= found.per_unit + 1e-6 and found.per_unit <= found.high + 1e-6


def test_a_tenth_of_wild_values_moves_it_little() -> None:
    random = Random(3)
    points = [(x, 2.0 * x + random.gauss(0, 5)) for x in range(500)]
    wild = [(x, y + 10_000 if x % 10 == 0 else y) for x, y in points]
    assert slope_of(wild).per_unit == pytest.approx(2.0, rel=0.05)  # type: ignore[union-attr]


@pytest.mark.parametrize("count", [0, 1, 2, 3, LEAST_BLOCKS * LEAST_IN_BLOCK - 1])
def test_too_few_points_claim_nothing(count: int) -> None:
    assert slope_of([(x, 5.0 * x) for x in range(count)]) is None


def test_points_that_depend_on_each_other_claim_nothing() -> None:
    points = [(x, 5.0 * x) for x in range(1000)]
    assert slope_of(points, most=LEAST_BLOCKS - 1) is None
    assert slope_of(points, most=LEAST_BLOCKS) is not None


def test_one_place_has_no_slope() -> None:
    assert slope_of([(7, float(y)) for y in range(500)]) is None


def test_noise_is_mostly_inside_its_interval() -> None:
    random = Random(11)
    outside = 0
    for _ in range(200):
        found = slope_of([(x, random.gauss(0, 1)) for x in range(300)])
        assert found is not None
        outside += not found.low <= 0 <= found.high
    assert outside <= 8


def test_blocks_are_bounded_and_in_order() -> None:
    random = Random(5)
    points = [(random.random(), random.random()) for _ in range(5000)]
    blocks = blocks_of(points)
    assert len(blocks) == MOST_BLOCKS
    assert blocks == sorted(blocks)
