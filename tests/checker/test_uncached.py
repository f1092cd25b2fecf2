"""The uncached sizes, by release: one made-up state for every row of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.checker.releases import RELEASES
from memcheck_cli.checker.state import Batch, PoolStats, Request, State
from memcheck_cli.checker.uncached import (
    RULES,
    NotChecked,
    NotRecorded,
    Raises,
    Sizes,
    ceil_align,
    owner_assertion,
    rule_of,
    uncached_sizes,
)

BUSY_RELEASES = RELEASES[RELEASES.index("0.5.6") :]


def request(name: str, allocated: int, protected: int = 0, **fields: object) -> Request:
    given_fields: dict[str, object] = {"req_pool_idx": 1, **fields}
    return Request(
        name, kv_allocated_len=allocated, kv_committed_len=allocated, cache_protected_len=protected, **given_fields
    )  # type: ignore[arg-type]


def batch(name: str, mode: str | None, *requests: Request) -> Batch:
    return Batch(name, mode, not requests, requests)


def state(last: Batch | None, running: Batch | None, **fields: object) -> State:
    values: dict[str, object] = {"page_size": 1, "hybrid_swa": False, "sessions": (), **fields}
    return State(last_batch=last, running_batch=running, pools={"full": PoolStats(100, 0, 0, 0)}, **values)  # type: ignore[arg-type]


def sizes(one: State, release: str) -> Sizes:
    answer = uncached_sizes(one, release)
    assert isinstance(answer, Sizes), answer
    return answer


def test_every_busy_release_has_exactly_one_rule() -> None:
    for name in RELEASES:
        rows = [row for row in RULES if name in row.releases]
        assert len(rows) == (1 if RELEASES.index(name) >= RELEASES.index("0.5.4") else 0), name
    assert rule_of("0.5.3") is None
    assert isinstance(uncached_sizes(state(None, None), "0.5.3"), NotChecked)


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_no_last_batch_no_check(release: str) -> None:
    assert isinstance(uncached_sizes(state(None, batch("b", "DECODE", request("r", 5))), release), NotChecked)


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_topk_above_one_returns_early_in_some_releases(release: str) -> None:
    one = state(batch("a", "DECODE", request("r", 5)), None, speculative_topk=4)
    early = isinstance(uncached_sizes(one, release), NotChecked)
    first, last = RELEASES.index("0.5.7"), RELEASES.index("0.5.12.post1")
    assert early == (first <= RELEASES.index(release) <= last)


EXTEND_BESIDE_DECODE = state(batch("a", "EXTEND", request("new", 30, 10)), batch("b", "DECODE", request("old", 7, 2)))
DECODE_BESIDE_RUNNING = state(batch("a", "IDLE"), batch("b", "DECODE", request("old", 7, 2)))


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_running_counts_beside_a_prefill_in_all_releases(release: str) -> None:
    answer = sizes(EXTEND_BESIDE_DECODE, release)
    assert answer.full == 25
    assert answer.batches[:2] == (("a", 20), ("b", 5))


@pytest.mark.parametrize(
    ("release", "full"), [("0.5.6", 0), ("0.5.10", 0), ("0.5.11", 5), ("0.5.13", 5), ("0.5.23", 5)]
)
def test_running_beside_an_idle_batch_counts_since_0_5_11(release: str, full: int) -> None:
    assert sizes(DECODE_BESIDE_RUNNING, release).full == full


@pytest.mark.parametrize(("release", "full"), [("0.5.8", 40), ("0.5.11", 20), ("0.5.13", 20), ("0.5.20", 20)])
def test_no_identity_test_counts_one_batch_twice(release: str, full: int) -> None:
    one = batch("a", "EXTEND", request("r", 30, 10))
    answer = sizes(state(one, one), release)
    assert answer.full == full
    assert [name for name, _ in answer.counted] == ["r"] * (full // 20)


@pytest.mark.parametrize(("release", "full"), [("0.5.8", 7), ("0.5.19", 14), ("0.5.20", 7), ("0.5.22", 7)])
def test_a_request_in_two_batches(release: str, full: int) -> None:
    shared = request("r", 7)
    one = state(batch("a", "DECODE", shared), batch("b", "DECODE", shared, request("s", 0)))
    assert sizes(one, release).full == full


def test_comparing_two_batches_of_the_same_requests_may_raise() -> None:
    shared = request("r", 7)
    one = state(batch("a", "DECODE", shared), batch("b", "DECODE", shared))
    answer = uncached_sizes(one, "0.5.12")
    assert isinstance(answer, Raises)
    assert answer.possible
    assert sorted(other.full for other in answer.otherwise) == [7, 14]
    assert sizes(one, "0.5.13").full == 14
    # The forward mode is compared before any tensor, so batches that differ in it are told apart.
    assert sizes(state(batch("a", "EXTEND", shared), batch("b", "DECODE", shared)), "0.5.12").full == 14


@pytest.mark.parametrize(("release", "full"), [("0.5.12", 5), ("0.5.19", 5), ("0.5.20", 45), ("0.5.23", 45)])
def test_the_parked_chunk_counts_since_0_5_20(release: str, full: int) -> None:
    one = state(batch("a", "DECODE", request("r", 5)), None, chunked_req=request("parked", 40))
    assert sizes(one, release).full == full


def test_a_parked_chunk_that_is_also_in_the_batch_counts_once() -> None:
    chunk = request("c", 40)
    assert sizes(state(batch("a", "EXTEND", chunk), None, chunked_req=chunk), "0.5.20").full == 40


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_freed_requests_are_left_out(release: str) -> None:
    gone = request("r", 30, freed=True, overallocated_freed=True)
    assert sizes(state(batch("a", "DECODE", gone, request("s", 4)), None), release).full == 4


@pytest.mark.parametrize(("release", "full"), [("0.5.6", 30), ("0.5.10", 30), ("0.5.11", 0), ("0.5.23", 0)])
def test_slotless_requests_are_left_out_since_0_5_11(release: str, full: int) -> None:
    assert sizes(state(batch("a", "DECODE", request("r", 30, req_pool_idx=None)), None), release).full == full


@pytest.mark.parametrize(("release", "dies"), [("0.5.6", True), ("0.5.15.post1", True), ("0.5.16", False)])
def test_two_flags_that_disagree_are_a_bare_assertion(release: str, dies: bool) -> None:
    one = state(batch("a", "DECODE", request("r", 30, freed=False, overallocated_freed=True)), None)
    answer = uncached_sizes(one, release)
    assert isinstance(answer, Raises if dies else Sizes)
    if isinstance(answer, Raises):
        assert answer.what == "AssertionError"


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_protected_that_is_no_page_is_a_bare_assertion(release: str) -> None:
    one = state(batch("a", "DECODE", request("r", 30, 10)), None, page_size=16)
    answer = uncached_sizes(one, release)
    assert isinstance(answer, Raises)
    assert (answer.what, answer.possible) == ("AssertionError", False)


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_pages_are_rounded_up(release: str) -> None:
    one = state(batch("a", "DECODE", request("r", 33, 16)), None, page_size=16)
    assert sizes(one, release).full == 32


@given(st.integers(0, 10**6), st.integers(1, 512))
def test_ceil_align(length: int, page_size: int) -> None:
    aligned = ceil_align(length, page_size)
    assert aligned % page_size == 0
    assert 0 <= aligned - length < page_size


@pytest.mark.parametrize(
    ("release", "floor", "swa"),
    [("0.5.11", 0, 40), ("0.5.21", 30, 40), ("0.5.22", 0, 40), ("0.5.22", 30, 50), ("0.5.23", 70, 80)],
)
def test_swa_formulas(release: str, floor: int, swa: int) -> None:
    one = request("r", 100, 20, swa_evicted_seqlen=60, swa_evict_floor=floor)
    answer = sizes(state(batch("a", "DECODE", one), None, hybrid_swa=True), release)
    assert (answer.full, answer.swa) == (80, swa)


def test_swa_is_zero_off_hybrid_models_and_absent_in_old_releases() -> None:
    one = state(batch("a", "DECODE", request("r", 100, 20)), None, swa_transient=0)
    assert sizes(one, "0.5.23").swa == 0
    assert sizes(one, "0.5.9").swa is None


@pytest.mark.parametrize(("release", "swa"), [("0.5.19", 80), ("0.5.20", 144), ("0.5.23", 144)])
def test_loads_in_flight_add_to_the_swa_sum(release: str, swa: int) -> None:
    one = state(batch("a", "DECODE", request("r", 100, 20)), None, hybrid_swa=True, swa_transient=64)
    assert sizes(one, release).swa == swa


@pytest.mark.parametrize("release", ["0.5.4", "0.5.6", "0.5.9", "0.5.10.post1"])
def test_old_releases_die_on_hybrid_models(release: str) -> None:
    answer = uncached_sizes(replace(EXTEND_BESIDE_DECODE, hybrid_swa=True), release)
    assert isinstance(answer, Raises)
    assert answer.what == "NotImplementedError"


@pytest.mark.parametrize(
    ("release", "full", "held"), [("0.5.9", 25, 0), ("0.5.10", 25, 38), ("0.5.12", 25, 18), ("0.5.22", 5, 38)]
)
def test_a_turn_of_a_session_moves_between_uncached_and_held(release: str, full: int, held: int) -> None:
    turn = request("turn", 20, 0, req_pool_idx=4, session_owned=True, session_id="s1")
    plain = request("plain", 5, req_pool_idx=5)
    rows = (request("row1", 20, req_pool_idx=4), request("row2", 18, req_pool_idx=9))
    answer = sizes(state(batch("a", "DECODE", turn, plain), None, sessions=rows), release)
    assert (answer.full, answer.session_held[0]) == (full, held)


@pytest.mark.parametrize(("release", "full"), [("0.5.18", 10), ("0.5.19", 13), ("0.5.23", 13)])
def test_beam_groups_add_tokens_since_0_5_19(release: str, full: int) -> None:
    assert sizes(state(batch("a", "DECODE", request("r", 10, beam_extra=3)), None), release).full == full


def test_the_first_checker_counted_by_lengths() -> None:
    decoding = request("d", 0, seq_len=50, prefix_len=20, finished=False)
    done = request("e", 0, seq_len=50, prefix_len=20, finished=True)
    prefilling = request("p", 0, fill_len=70, prefix_len=30)
    assert sizes(state(batch("a", "DECODE", decoding, done), None), "0.5.4").full == 31
    both = state(batch("a", "EXTEND", prefilling), batch("b", "DECODE", decoding, done))
    assert sizes(both, "0.5.5.post3").full == 40 + 29
    not_decoding = state(batch("a", "EXTEND", prefilling), batch("b", "EXTEND", decoding))
    assert sizes(not_decoding, "0.5.4").full == 40
    assert isinstance(uncached_sizes(EXTEND_BESIDE_DECODE, "0.5.4"), NotRecorded)


def test_the_unreleased_builds_before_0_5_11() -> None:
    assert sizes(DECODE_BESIDE_RUNNING, "dev").full == 0
    assert sizes(replace(DECODE_BESIDE_RUNNING, hybrid_swa=True), "dev").full == 5


def test_what_was_not_recorded_is_named() -> None:
    one = state(batch("a", "DECODE", request("r", 5)), None, sessions=None, chunked_recorded=False)
    assert sizes(one, "0.5.23").assumed == ("chunked_req", "sessions")
    assert sizes(one, "0.5.9").assumed == ()


@pytest.mark.parametrize(
    ("committed", "allocated", "width", "dies"), [(3, 5, 8, False), (6, 5, None, True), (3, 9, 8, True)]
)
def test_the_page_check_asserts_its_owners(committed: int, allocated: int, width: int | None, dies: bool) -> None:
    one = replace(request("r", allocated), kv_committed_len=committed)
    assert (owner_assertion(one, width) is not None) == dies
