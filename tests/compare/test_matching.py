"""Which stream is compared with which, in layouts, runs, processes and directories of all kinds."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from made_sides import changed, compared, log_of, side_at, steps

from memcheck_cli.compare import Comparison, Options, compare, scope_of
from memcheck_cli.compare.ranks import order_of, role_of
from memcheck_cli.errors import UsageError


def ranks_log(*ranks: str, seed: int = 1, count: int = 40) -> list[str]:
    """One log of several ranks, each with a workload of its own."""
    logs = [log_of(steps(count, seed=seed + number), rank=rank) for number, rank in enumerate(ranks)]
    return [line for check in zip(*logs, strict=True) for line in check]


def pairs(comparison: Comparison) -> list[tuple[str, str, str]]:
    return [(match.a.rank, match.b.rank, match.by) for match in comparison.matching.matches]


@pytest.mark.parametrize(
    ("one", "two"), [("-", "TP0"), ("DP0 TP0", "TP0"), ("TP1", "PP0 TP1 EP1"), ("-", "PP0 ATTN_CP0 TP0 EP0")]
)
def test_ranks_of_one_role(one: str, two: str) -> None:
    assert role_of(one) == role_of(two)


@pytest.mark.parametrize(("one", "two"), [("TP0", "TP1"), ("DP1 TP1", "TP1"), ("PP1", "TP1"), ("DP1 TP0", "DP0 TP0")])
def test_ranks_of_other_roles(one: str, two: str) -> None:
    assert role_of(one) != role_of(two)


def test_ranks_are_ordered_by_number() -> None:
    assert sorted(["TP10", "TP2", "-", "DP1 TP0"], key=order_of) == ["-", "DP1 TP0", "TP2", "TP10"]


def test_ranks_go_together_wherever_they_stand() -> None:
    one = ranks_log("TP0", "TP1")
    other = [line for pair in zip(one[1::2], one[::2], strict=True) for line in pair]
    comparison = compared(one, other)
    assert pairs(comparison) == [("TP0", "TP0", "rank"), ("TP1", "TP1", "rank")]
    assert comparison.same is True


def test_another_layout_is_matched_by_role_and_the_rest_is_named() -> None:
    comparison = compared(ranks_log("TP0", "TP1", "TP2"), ranks_log("DP0 TP0", "DP0 TP1", "DP1 TP0"))
    assert pairs(comparison) == [("TP0", "DP0 TP0", "role"), ("TP1", "DP0 TP1", "role")]
    assert [lane.rank for lane in comparison.matching.only_a] == ["TP2"]
    assert [lane.rank for lane in comparison.matching.only_b] == ["DP1 TP0"]
    assert comparison.setting.ranks.differs is True
    assert comparison.same is False


def test_a_stream_without_rank_is_rank_zero() -> None:
    comparison = compared(log_of(steps(40)), ranks_log("TP0", "TP1"))
    assert pairs(comparison) == [("-", "TP0", "role")]
    assert comparison.main is not None and comparison.main.same


def test_the_hand_beats_rank_and_role() -> None:
    comparison = compared(ranks_log("TP0", "TP1"), ranks_log("TP0", "TP1"), Options(by_hand=[("TP0", "TP1")]))
    assert pairs(comparison) == [("TP0", "TP1", "map")]
    assert [lane.rank for lane in comparison.matching.only_a] == ["TP1"]


def test_a_rank_that_is_not_there_cannot_be_mapped() -> None:
    with pytest.raises(UsageError, match=r"'TP7'.*it has: TP0, TP1"):
        compared(ranks_log("TP0", "TP1"), ranks_log("TP0"), Options(by_hand=[("TP7", "TP0")]))


def test_runs_go_together_in_their_order() -> None:
    def runs(second: list[str]) -> list[str]:
        start = ["[2026-06-11 08:00:00] server_args=ServerArgs(model_path='m', page_size=1)"]
        return start + log_of(steps(40)) + start + second

    good = steps(40, seed=3)
    comparison = compared(runs(log_of(good)), runs(log_of(changed(good, 30, 4, 1))))
    assert [(one.match.a.stream.run, one.match.b.stream.run) for one in comparison.compared] == [(1, 1), (2, 2)]
    assert comparison.compared[0].same
    assert comparison.first_difference is not None
    assert comparison.first_difference.match.a.stream.run == 2
    assert comparison.first_difference.at == (30, 30)


def test_the_only_run_of_a_side_stands_beside_the_run_that_breaks() -> None:
    start = ["[2026-06-11 08:00:00] server_args=ServerArgs(model_path='m', page_size=1)"]
    good = steps(40, seed=3)
    bad = start + log_of(changed(good, 30, 0, -1))
    clean = start + log_of(steps(50, seed=4))
    for other, broken in ((clean + bad, 2), (bad + clean, 1), (clean + bad + start + log_of(steps(9)), 2)):
        comparison = compared(start + log_of(good), other)
        assert [(one.match.a.stream.run, one.match.b.stream.run) for one in comparison.compared] == [(1, broken)]
        assert comparison.first_difference is not None and comparison.first_difference.at == (30, 30)
        turned = compared(other, start + log_of(good))
        assert [(one.match.a.stream.run, one.match.b.stream.run) for one in turned.compared] == [(broken, 1)]
    neither = compared(start + log_of(good), clean + start + log_of(good))
    assert [lane.stream.run for lane in neither.matching.only_b] == [2]


def test_processes_of_one_rank_go_together_in_their_order() -> None:
    one, two = (log_of(steps(40, seed=seed), rank="TP0") for seed in (1, 2))

    def logs(first: str, second: str) -> list[str]:
        found = [(f"({first}) {x}", f"({second}) {y}") for x, y in zip(one, two, strict=True)]
        return [line for pair in found for line in pair]

    assert compared(logs("Engine pid=1", "Engine pid=2"), logs("Engine pid=2", "Engine pid=3")).same is True
    # With the same names on both sides the name decides.
    swapped = [line for x, y in zip(two, one, strict=True) for line in (f"(E pid=2) {x}", f"(E pid=1) {y}")]
    assert compared(logs("E pid=1", "E pid=2"), swapped).same is True


def test_sources_of_one_name_go_together(tmp_path: Path) -> None:
    for side, names in (("old", ("a.log", "b.log", "c.log")), ("new", ("a.log.gz", "c.log"))):
        (tmp_path / side).mkdir()
        for name in names:
            text = "\n".join(log_of(steps(40, seed=ord(name[0])))).encode() + b"\n"
            (tmp_path / side / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    comparison = compare(side_at(tmp_path / "old"), side_at(tmp_path / "new"))
    matched = [(Path(one.match.a.source).name, Path(one.match.b.source).name) for one in comparison.compared]
    assert matched == [("a.log", "a.log.gz"), ("c.log", "c.log")]
    assert all(one.same for one in comparison.compared)
    assert [Path(lane.source).name for lane in comparison.matching.only_a] == ["b.log"]
    assert comparison.same is False


def test_a_side_of_several_files_is_compared_with_one_file(tmp_path: Path) -> None:
    both = ranks_log("TP0", "TP1")
    (tmp_path / "nodes").mkdir()
    for node, rank in enumerate(("TP0", "TP1")):
        (tmp_path / "nodes" / f"node{node}.log").write_text("".join(f"{line}\n" for line in both if f"{rank}]" in line))
    (tmp_path / "all.log").write_text("".join(f"{line}\n" for line in both))
    comparison = compare(side_at(tmp_path / "nodes"), side_at(tmp_path / "all.log"))
    assert pairs(comparison) == [("TP0", "TP0", "rank"), ("TP1", "TP1", "rank")]
    assert comparison.same is True


def test_ranks_asked_for_mean_the_same_role_and_what_is_mapped() -> None:
    present = {"DP0 TP0", "DP1 TP0", "TP1"}
    assert scope_of(["TP1"], present, []) == {"TP1"}
    assert scope_of(["TP0"], present, []) == {"DP0 TP0"}
    assert scope_of(["TP9"], present, []) == {"TP9"}
    assert scope_of(["TP0"], present, [("TP0", "DP1 TP0")]) == {"DP1 TP0"}
    assert scope_of([], present, []) == frozenset()
