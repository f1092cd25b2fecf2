"""Tensor-parallel peers that part."""

from __future__ import annotations

from made_logs import busy, ledger_of


def lines_of(ranks: dict[str, list[int]]) -> list[str]:
    longest = max(map(len, ranks.values()))
    return [
        busy("full", 1000, 1000 - values[i], 0, 0, 0, values[i], rank=rank)
        for i in range(longest)
        for rank, values in ranks.items()
        if i < len(values)
    ]


def groups(ranks: dict[str, list[int]]):
    return ledger_of(lines_of(ranks)).peers.groups


def test_lock_step_has_no_divergence():
    (group,) = groups({"TP0": [1, 2, 3], "TP1": [1, 2, 3]}).values()
    assert group.parted is None and group.lost_lines is None


def test_first_check_that_differs():
    (group,) = groups({"TP0": [1, 2, 3, 4], "TP1": [1, 2, 9, 9]}).values()
    assert group.parted is not None
    assert (group.parted.iteration, group.parted.members) == (3, ((None, "TP0"), (None, "TP1")))


def test_data_parallel_ranks_are_no_peers():
    found = groups({"DP0 TP0": [1, 2], "DP1 TP1": [7, 8], "DP0 TP2": [1, 2]})
    assert len(found) == 2
    assert all(group.parted is None for group in found.values())


def test_expert_parallel_token_follows_tp():
    (group,) = groups({"TP0 EP0": [1, 2], "TP1 EP1": [1, 5]}).values()
    assert group.parted is not None and group.parted.iteration == 2


def test_moe_data_parallel_token_follows_tp():
    (group,) = groups({"MOE_DP0 TP0": [1, 2], "MOE_DP1 TP1": [1, 5]}).values()
    assert group.parted is not None and group.parted.iteration == 2


def test_lost_line_is_no_divergence():
    values = list(range(60))
    (group,) = groups({"TP0": values, "TP1": values[:20] + values[21:]}).values()
    assert group.parted is None
    assert group.lost_lines is not None


def test_two_engines_with_the_same_ranks_are_not_compared():
    one = [f"(Engine pid=1) {line}" for line in lines_of({"TP0": [1, 2, 3], "TP1": [1, 2, 3]})]
    two = [f"(Engine pid=2) {line}" for line in lines_of({"TP0": [5, 6, 7], "TP1": [5, 6, 7]})]
    mixed = [line for pair in zip(one, two, strict=True) for line in pair]
    ledger = ledger_of(mixed)
    assert {key[1] for key in ledger.peers.groups} == {"Engine pid=1", "Engine pid=2"}
    assert all(group.parted is None for group in ledger.peers.groups.values())


def test_nodes_are_compared_across_processes():
    one = [f"node0-1  | {line}" for line in lines_of({"TP0": [1, 2, 3]})]
    two = [f"node1-1  | {line}" for line in lines_of({"TP1": [1, 2, 4]})]
    (group,) = ledger_of(one + two).peers.groups.values()
    assert group.parted is not None and group.parted.iteration == 3
