"""How the time that something takes grows with its input: a ratio of CPU times, since machines differ."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 8
ROOM = 4
"""Linear time gives a ratio of TIMES, quadratic time TIMES * TIMES: there is room for noise below that."""

LEAST = 0.002
"""Seconds that the small input counts for at least: shorter ones are noise."""


def seconds(run: Callable[[], object], tries: int = 3) -> float:
    """The least CPU time of a few runs."""
    found = []
    for _ in range(tries):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def assert_linear(run: Callable[[int], object], size: int, tries: int = 3) -> None:
    """TIMES as large an input takes about TIMES as long. run: is given how large, `size` at most."""
    small = max(seconds(lambda: run(size // TIMES), tries), LEAST)
    assert seconds(lambda: run(size), tries) < small * TIMES * ROOM


def assert_linear_in(text: str, run: Callable[[str], object]) -> None:
    """The whole text takes about TIMES as long as its front."""
    assert_linear(lambda size: run(text[:size]), len(text))
