"""The equations, by release."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.checker.invariant import EQUATIONS, accounted, equation, verdict
from memcheck_cli.checker.releases import RELEASES
from memcheck_cli.checker.terms import TERMS

FIVE = {"available": 10, "evictable": 20, "protected": 30, "session_held": 5, "uncached": 35}


@pytest.mark.parametrize(
    ("release", "summed", "printed", "total_printed", "form"),
    [
        ("0.5.4", 4, 0, False, "B0"),
        ("0.5.5.post3", 4, 0, False, "B0"),
        ("0.5.6", 4, 4, False, "B1"),
        ("0.5.9", 4, 4, False, "B1"),
        ("0.5.10rc0", 5, 4, False, "B1"),
        ("0.5.10.post1", 5, 4, False, "B1"),
        ("0.5.11", 5, 5, True, "B3"),
        ("0.5.20", 5, 5, True, "B3"),
        ("0.5.23", 5, 5, True, "B3"),
    ],
)
def test_busy_equations(release: str, summed: int, printed: int, total_printed: bool, form: str) -> None:
    row = equation(release)
    assert row is not None
    assert (len(row.summed), len(row.printed), row.total_printed, row.form) == (summed, printed, total_printed, form)


def test_only_0_5_10_sums_what_it_does_not_print() -> None:
    unprinted = {name for name in RELEASES if (row := equation(name)) and row.form == "B1" and row.unprinted}
    assert unprinted == {"0.5.10rc0", "0.5.10", "0.5.10.post1"}


def test_no_busy_check_before_0_5_4() -> None:
    assert equation("0.5.3.post3") is None
    assert all(equation(name) is not None for name in RELEASES[RELEASES.index("0.5.4") :])


def test_every_release_has_an_idle_equation() -> None:
    assert all(equation(name, "idle", "radix") is not None for name in RELEASES)


@pytest.mark.parametrize(
    ("release", "cache", "form", "summed"),
    [
        ("0.4.2", "radix", "A", ("available",)),
        ("0.4.3", "radix", "B", ("available",)),
        ("0.4.4", "radix", "C", ("available",)),
        ("0.4.8", "radix", "D", ("available",)),
        ("0.4.9.post2", "radix", "F", ("available",)),
        ("0.5.2rc2", "radix", "G", ("available", "evictable")),
        ("0.5.9", "radix", "G", ("available", "evictable", "protected")),
        ("0.5.9", "hybrid", "G", ("available", "evictable")),
        ("0.5.9", "mamba", "G", ("available", "evictable", "protected")),
        ("0.5.10", "hybrid", "H", ("available", "evictable", "protected", "session_held")),
        ("0.5.18", "mamba", "I", TERMS),
    ],
)
def test_idle_equations(release: str, cache: str, form: str, summed: tuple[str, ...]) -> None:
    row = equation(release, "idle", cache)
    assert row is not None
    assert (row.form, row.summed) == (form, summed)


def test_each_release_has_at_most_one_equation_of_a_kind() -> None:
    for name in RELEASES:
        for check in ("busy", "idle"):
            for cache in ("radix", "hybrid", "mamba"):
                rows = [r for r in EQUATIONS if r.check == check and r.cache in ("any", cache) and name in r.releases]
                assert len(rows) <= 1, (name, check, cache)


def test_kinds() -> None:
    assert verdict(FIVE, 100).kind is None
    leak, over = verdict(FIVE, 101), verdict(FIVE, 99)
    assert (leak.delta, leak.kind, leak.leak) == (-1, "leak", True)
    assert (over.delta, over.kind, over.leak) == (1, "overcount", True)


def test_tolerated_and_reported() -> None:
    forgiven = verdict(FIVE, 90, tolerated=True)
    assert (forgiven.leak, forgiven.kind, forgiven.tolerated, forgiven.delta) == (False, None, True, 10)
    assert not verdict(FIVE, 100, tolerated=True).tolerated
    reported = verdict(FIVE, 100, reported=True)
    assert (reported.leak, reported.kind, reported.delta) == (True, "reported", 0)
    both = verdict(FIVE, 90, tolerated=True, reported=True)
    assert (both.leak, both.kind) == (True, "overcount")


@given(st.dictionaries(st.sampled_from([*TERMS, "withheld"]), st.integers(-(10**6), 10**6)), st.integers(0, 10**6))
def test_unknown_terms_never_enter_the_sum(terms: dict[str, int], total: int) -> None:
    known = sum(value for name, value in terms.items() if name != "withheld")
    assert accounted(terms) == known
    assert verdict(terms, total).leak == (known != total)
    assert verdict(terms, total, extra=total - known).leak is False
