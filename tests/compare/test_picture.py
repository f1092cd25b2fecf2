"""The picture: both sides over the aligned checks, and the place where they part."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_sides import changed, compared, log_of, steps

from memcheck_cli.compare import Options
from memcheck_cli.compare.picture import Picture, picture_of
from memcheck_cli.render.diff_picture import LABEL, picture_lines

WIDTH = 65


def picture(one: list[str], two: list[str], options: Options | None = None) -> Picture:
    comparison = compared(one, two, options)
    assert comparison.main is not None
    found = picture_of(comparison, comparison.main, WIDTH)
    assert found is not None
    return found


def drawn(found: Picture, encoding: str | None = "utf-8") -> list[str]:
    return [line.text for line in picture_lines(found, encoding, "tokens")]


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200))
@settings(max_examples=30, deadline=None)
def test_every_line_fits_and_the_mark_stands_at_the_parting(a: int, b: int, at: int) -> None:
    found = picture(
        log_of(steps(a)), log_of(changed(steps(b), at, 0, -3), crash=False), Options(workload="deterministic")
    )
    assert len(found.a.values) == len(found.b.values) <= WIDTH
    lines = drawn(found)
    assert all(len(line) <= 80 for line in lines)
    if at > min(a, b):
        assert found.mark is None
        return
    assert found.mark is not None and found.apart is not None
    assert found.apart[found.mark] == -3
    assert not any(found.apart[: found.mark])
    (marked,) = (line for line in lines if "they part here" in line)
    assert marked.index("▲") == LABEL + 1 + found.mark
    assert found.b.off[found.mark]


@pytest.mark.parametrize("mirror", [False, True])
def test_checks_that_one_side_lacks_leave_a_hole(mirror: bool) -> None:
    checks = steps(200)
    bad = changed(checks, 150, 0, -3)
    for at in (None, 150):
        whole, torn = (bad if at else checks), checks[:80] + checks[84:120] + checks[122:]
        sides = [log_of(whole, crash=False), log_of(torn)]
        comparison = compared(*(reversed(sides) if mirror else sides))
        assert [lost.checks for lost in comparison.main.walk.lost] == [4, 2]
        found = picture_of(comparison, comparison.main, 200)
        lacking, having = (found.a, found.b) if mirror else (found.b, found.a)
        holes = [column for column, value in enumerate(lacking.values) if value is None]
        assert holes == [80, 81, 82, 83, 120, 121]
        assert None not in having.values
        assert {found.apart[column] for column in holes} == {None}
        by = -3 if mirror else 3  # the whole side is 3 below the torn one
        apart = [by if at and column >= at - 1 else 0 for column in range(200) if column not in holes]
        assert [value for column, value in enumerate(found.apart) if column not in holes] == apart
        assert found.mark == (at - 1 if at else None)


def test_shares_and_scale() -> None:
    checks = [(50_000, 0, 0, 0, 50_000)] * 10 + [(100_000, 0, 0, 0, 0)] * 10
    found = picture(log_of(checks), log_of(checks))
    assert (found.term, found.shares, found.unit, found.first, found.span) == ("available", True, "check", (1, 1), 20)
    assert set(found.a.values[:30]) == {0.5}
    assert set(found.a.values[30:]) == {1.0}
    lines = drawn(found)
    assert lines[0] == "available of pool full, share of the total; 3 columns are 1 check"
    assert lines[1] == "A  100.0 % │" + " " * 30 + "█" * 30
    assert lines[3] == "A   50.0 % │".replace("A", " ") + "▁" * 30 + "█" * 30
    assert lines[-1].strip() == "B - A is 0 everywhere"


def test_it_is_drawn_in_ascii_where_the_output_shows_no_more() -> None:
    good = steps(60)
    found = picture(log_of(good), log_of(changed(good, 50, 0, -3)))
    lines = drawn(found, "ascii")
    assert all(line.isascii() for line in lines)
    assert any("they part here ^" in line or "^ they part here" in line for line in lines)
    assert len(lines) == len(drawn(found))


@pytest.mark.parametrize(("one", "two"), [(100, 5000), (5000, 100)])
def test_what_only_one_side_has_is_cut_and_told(one: int, two: int) -> None:
    checks = steps(5000)
    found = picture(log_of(checks[:one]), log_of(checks[:two]))
    assert found.span == 150
    assert (found.a if one > two else found.b).behind == 4850
    assert any("goes on for 4850 more checks" in line for line in drawn(found))


def test_streams_are_laid_over_each_other_where_their_numbers_agree() -> None:
    checks = steps(100)
    found = picture(log_of(checks), log_of(checks[40:]))
    assert found.first == (41 - 30, 1 - 30)
    assert found.a.before == 10
    assert found.b.values[0] is None


def test_time_gives_seconds() -> None:
    checks = steps(300)
    found = picture(log_of(checks, per_second=1), log_of(checks, per_second=2), Options(align="time"))
    assert (found.unit, found.first, found.apart, found.mark) == ("second", (0, 0), None, None)
    assert (found.a.behind, found.b.behind) == (300 - 225, 0)
