"""Page sizes that fit every number, and the sets that the checker printed."""

from __future__ import annotations

from explained import args, explained, full, idle, mamba, prefill
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.forensics.sizes import COMMON, fitting_sizes


@given(st.lists(st.integers(-(10**9), 10**9) | st.none(), max_size=8))
def test_sizes_divide_every_number(numbers: list[int | None]) -> None:
    sizes = fitting_sizes(numbers)
    seen = [number for number in numbers if number]
    assert set(sizes) == ({s for s in COMMON if all(n % s == 0 for n in seen)} if seen else set())


def test_a_famous_number() -> None:
    assert fitting_sizes([5120, 131072, 136192]) == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    assert fitting_sizes([5120, 64]) == (1, 2, 4, 8, 16, 32, 64)


def evidence(lines: list[str], event: int = 1):
    return explained(lines).explanation.evidence[event]


def test_none_is_claimed_where_the_log_tells() -> None:
    found = evidence([args(page_size=32), prefill(), *idle(full(4096, 4032))])
    assert (found.found.page_size, found.found.pages) == (32, -2)
    found = evidence([prefill(), *idle(full(4096, 4032))])
    assert found.found.page_size is None
    assert found.sizes == (1, 2, 4, 8, 16, 32, 64)


def test_slots_have_no_pages() -> None:
    assert evidence([args(), prefill(), *idle(full(4096, 4096), mamba(30, 29))]).sizes == ()


def report(ids: str, rank: str = "") -> list[str]:
    pool = mamba(30, 28 if "," in ids else 29, extra=f", leaked_mamba_pages={{{ids}}}")
    return idle(full(4096, 4096), pool, rank=rank, warn=True)


def test_sets_in_every_report_and_what_is_new() -> None:
    (one,) = evidence([args(), prefill(), *report("26"), *report("26, 7")]).sets
    assert (one.name, one.size, one.reports, one.same_in_reports, one.new) == ("leaked_mamba_pages", 2, 2, False, (7,))
    assert one.same_on_ranks is None


def test_sets_on_every_rank() -> None:
    lines = [args(tp_size=2), prefill(rank="TP0"), *report("26", "TP0"), *report("26", "TP1")]
    (one,) = evidence(lines).sets
    assert (one.ranks, one.same_on_ranks, one.same_in_reports) == (2, True, None)
    (one,) = evidence([*lines[:-2], *report("11", "TP1")]).sets
    assert one.same_on_ranks is False
