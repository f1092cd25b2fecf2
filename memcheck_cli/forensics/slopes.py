"""Robust slopes: the median of the slopes between all pairs of points, with an interval around it.

Theil's estimator with Sen's interval, which Kendall's rank statistic gives. Points of a log follow each other closely
and are no independent draws, so they are first put together to medians of blocks. Pure Python: few blocks are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import NamedTuple

MOST_BLOCKS = 48
LEAST_BLOCKS = 12
LEAST_IN_BLOCK = 4
Z = 2.576
"""Half width of the interval in standard deviations: 99% of it lies inside."""


class Slope(NamedTuple):
    """Change of y per unit of x: estimate and the ends of its interval. span: of x, from the first to the last block.
    start, end: medians of y in the first and last quarter. blocks: points it rests on."""

    per_unit: float
    low: float
    high: float
    span: float
    start: float
    end: float
    blocks: int

    @property
    def rise(self) -> float:
        """Change of y over the whole span, by the estimate."""
        return self.per_unit * self.span


def blocks_of(points: Sequence[tuple[float, float]], most: int = MOST_BLOCKS) -> list[tuple[float, float]]:
    """Points in the order of x as medians of at most so many blocks of equal size; empty where a claim cannot be made.

    most: how many of them are independent, as far as is known.
    """
    count = min(most, MOST_BLOCKS, len(points) // LEAST_IN_BLOCK)
    if count < LEAST_BLOCKS:
        return []
    ordered = sorted(points)
    edges = [len(ordered) * index // count for index in range(count + 1)]
    blocks = [ordered[low:high] for low, high in pairwise(edges)]
    return [(median(x for x, _ in block), median(y for _, y in block)) for block in blocks]


def slope_of(points: Sequence[tuple[float, float]], most: int = MOST_BLOCKS) -> Slope | None:
    """The robust slope of y over x, or None where the points are too few or stand on one x. most: as in blocks_of."""
    blocks = blocks_of(points, most)
    n = len(blocks)
    if not n or blocks[0][0] == blocks[-1][0]:
        return None
    slopes = sorted(
        (blocks[j][1] - blocks[i][1]) / (blocks[j][0] - blocks[i][0])
        for i in range(n)
        for j in range(i + 1, n)
        if blocks[j][0] != blocks[i][0]
    )
    half = Z * sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, int((len(slopes) - half) // 2))
    high = min(len(slopes) - 1, int((len(slopes) + half) // 2) + 1)
    quarter = max(1, n // 4)
    return Slope(
        median(slopes),
        slopes[low],
        slopes[high],
        blocks[-1][0] - blocks[0][0],
        median(y for _, y in blocks[:quarter]),
        median(y for _, y in blocks[-quarter:]),
        n,
    )
