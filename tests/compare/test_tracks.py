"""Tracks take records one by one or as columns, and are the same then."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.compare.tracks import ABSENT, BIGGEST, Column, Track
from memcheck_cli.ledger.columns import Taken
from memcheck_cli.ledger.rows import NO_MARKS, Row
from memcheck_cli.log.kernel import NO_TIME
from memcheck_cli.log.records import TERMS

NUMBERS = st.integers(-(10**18), 10**18) | st.integers(-(2**31) + 1, 2**31 - 1) | st.integers(-9, 9)


@given(st.lists(st.lists(NUMBERS, min_size=1) | st.integers(1, 5)))
def test_a_column_is_the_same_however_it_is_filled(steps: list[list[int] | int]):
    one, two = Column(2), Column(2)
    expected = [ABSENT, ABSENT]
    for step in steps:
        if isinstance(step, int):
            one.extend([None] * step)
            two.lack(step)
            expected += [ABSENT] * step
        else:
            one.extend(step)
            two.take(np.array(step, np.int64))
            expected += step
    assert one.numbers().tolist() == two.numbers().tolist() == expected
    assert one.numbers().dtype == two.numbers().dtype


def test_a_column_bounds_what_it_keeps():
    column = Column()
    column.take(np.array([2**63 - 1, -(2**63)]))
    assert column.numbers().tolist() == [BIGGEST, -BIGGEST]


def row(iteration: int, time: str | None, lost: int, held: int | None) -> Row:
    extra = None if held is None else {"held_back": held}
    return Row(iteration * 2, 0, iteration, time, 1000, (900, 100 - lost, 0, None, 0), extra, NO_MARKS, "B3")


def test_a_track_takes_columns_as_it_takes_rows():
    seconds = [f"2026-06-11T08:15:{n:02}" for n in range(8)]
    times = [*seconds[:3], None, *seconds[4:]]
    rows = [row(n + 1, time, n % 2, None if n < 3 else n) for n, time in enumerate(times)]
    one, two = Track("busy", "full", 4), Track("busy", "full", 4)
    for each in rows:
        one.add(each)
    for part in (rows[:3], rows[3:]):
        numbers = np.array([each.terms[:3] + each.terms[4:] for each in part]).T
        two.extend(
            Taken(
                np.array([each.iteration for each in part]),
                np.array([each.line for each in part]),
                np.array(
                    [NO_TIME if each.time is None else np.datetime64(each.time, "ms").astype(int) for each in part]
                ),
                np.array([each.total for each in part]),
                dict(zip([name for name in TERMS if name != "session_held"], numbers, strict=True)),
                {"held_back": np.array([each.extra["held_back"] for each in part])} if part[0].extra else {},
            )
        )
    assert len(one) == len(two) == 8
    one.settle()
    two.settle()
    assert one.start == two.start
    for name in ("iteration", "line", "second", "total"):
        assert getattr(one, name).numbers().tolist() == getattr(two, name).numbers().tolist(), name
    assert {k: v.tolist() for k, v in one.columns().items()} == {k: v.tolist() for k, v in two.columns().items()}
    assert two.extra["held_back"].numbers().tolist() == [ABSENT] * 3 + [3, 4, 5, 6, 7]


def test_the_first_of_what_was_taken():
    numbers = np.arange(5)
    taken = Taken(numbers, numbers, numbers, None, {"available": numbers}, {"held_back": numbers})
    first = taken.first(2)
    assert first.total is None
    assert [first.iteration.tolist(), first.terms["available"].tolist(), first.extra["held_back"].tolist()] == [
        [0, 1]
    ] * 3
