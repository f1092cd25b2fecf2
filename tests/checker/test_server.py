"""A scheduler's busy check over time: what is printed, and how it ends, at every level of every release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck_cli.checker.printing import TOPK_WARNING, PoolCheck
from memcheck_cli.checker.releases import RELEASES
from memcheck_cli.checker.server import LOOPS, RING_MESSAGES, Server, parse_level

BUSY_RELEASES = RELEASES[RELEASES.index("0.5.4") :]
B1_RELEASES = RELEASES[RELEASES.index("0.5.6") : RELEASES.index("0.5.11")]
B3_RELEASES = RELEASES[RELEASES.index("0.5.11") :]
RING_RELEASES = RELEASES[RELEASES.index("0.5.13") :]
HEAD = "[Mem Check (BUSY)] "
REAL = [json.loads(line) for line in (Path(__file__).parent / "data" / "checks.jsonl").read_text().splitlines()]


def pool(name: str = "full", total: int = 100, available: int = 60, uncached: int = 40, **fields: object) -> PoolCheck:
    terms = {"available": available, "evictable": 0, "protected": 0, "session_held": 0, "uncached": uncached}
    return PoolCheck(name, total, terms, **fields)  # type: ignore[arg-type]


def text(name: str = "full", total: int = 100, available: int = 60, uncached: int = 40) -> str:
    return (
        f"[{name}] total={total}, available={available}, evictable=0, protected=0, session_held=0, uncached={uncached}"
    )


LEAK = pool(available=59)
OLD_LINE = HEAD + "available_size=60, evictable_size=0, protected_size=0, uncached_size=40"


@pytest.mark.parametrize("real", REAL, ids=[real["log"] for real in REAL])
def test_real_checks_have_the_recorded_verdict_and_text(real: dict[str, object]) -> None:
    server = Server(
        str(real["release"]), 2, asserts=bool(real["asserts"]), cache="hybrid" if real["hybrid"] else "radix"
    )
    printed: list[str] = []
    raised = None
    for rows in real["rows"]:  # type: ignore[attr-defined]
        names = ("available", "evictable", "protected", "session_held", "uncached")
        pools = [PoolCheck(row[0], row[1], dict(zip(names, row[2:7], strict=True))) for row in rows]
        answer = server.check(pools)
        assert [answer.verdicts[row[0]].leak for row in rows] == [row[7] == 1 for row in rows]
        assert answer.failed == any(row[7] for row in rows)
        printed += answer.printed
        raised = answer.raised
    expected = real["last_printed"]
    if expected:
        assert printed[-len(expected) :] == expected  # type: ignore[arg-type]
    exception = str(real["exception"])
    if "Pool Mem Leak" in exception:
        assert raised == exception
    else:
        assert raised is None


def test_real_old_assertion() -> None:
    terms = {"available": 129, "evictable": 2123, "protected": 1740, "uncached": 103}
    answer = Server("0.5.8", 2).check([PoolCheck("full", 4096, terms)])
    assert answer.printed == (HEAD + "available_size=129, evictable_size=2123, protected_size=1740, uncached_size=103",)
    assert answer.raised == "AssertionError: Mem Leak Detected! total_tokens=4095 vs self.max_total_num_tokens=4096"


@pytest.mark.parametrize("release", RELEASES)
def test_level_0_never_checks(release: str) -> None:
    answer = Server(release, 0).check([LEAK])
    assert (answer.checked, answer.printed, answer.raised) == (False, (), None)


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_no_last_batch_is_silent(release: str) -> None:
    answer = Server(release, 2).check([LEAK], last_batch=False)
    assert (answer.checked, answer.printed, answer.raised) == (False, (), None)


@pytest.mark.parametrize("release", BUSY_RELEASES)
@pytest.mark.parametrize("level", [-1, 1, 2, 7])
def test_what_each_release_prints(release: str, level: int) -> None:
    server = Server(release, level)
    good, bad = server.check([pool()]), server.check([LEAK])
    assert good.raised is None and not good.failed
    assert bad.failed and bad.raised is not None and not server.alive
    if release in B3_RELEASES:
        lines = (HEAD + text(), HEAD + text(available=59))
        assert bad.raised == f"AssertionError: Full Pool Mem Leak Detected! {text(available=59)}"
    else:
        lines = (OLD_LINE, OLD_LINE.replace("=60", "=59")) if release in B1_RELEASES else ((), ())  # type: ignore[assignment]
        assert bad.raised == "AssertionError: Mem Leak Detected! total_tokens=99 vs self.max_total_num_tokens=100"
    if level >= 2 and lines[0]:
        assert (*good.printed, *bad.printed) == lines
        assert len(server.ring) == 0
    elif level == 1 and release in RING_RELEASES:
        assert (good.printed, bad.printed) == ((), lines)
    else:
        assert (good.printed, bad.printed) == ((), ())


def test_full_is_asserted_before_swa_and_both_are_printed() -> None:
    answer = Server("0.5.23", 2, cache="hybrid").check([LEAK, pool("swa", available=61)])
    assert len(answer.printed) == 2
    assert answer.raised == f"AssertionError: Full Pool Mem Leak Detected! {text(available=59)}"
    alone = Server("0.5.23", 2, cache="hybrid").check([pool(), pool("swa", available=61)])
    assert alone.raised == f"AssertionError: SWA Pool Mem Leak Detected! {text('swa', available=61)}"
    assert alone.verdicts["swa"].kind == "overcount"


@pytest.mark.parametrize("release", B1_RELEASES[-3:])
def test_0_5_10_sums_session_held_without_printing_it(release: str) -> None:
    terms = {"available": 60, "evictable": 0, "protected": 0, "session_held": 10, "uncached": 30}
    answer = Server(release, 2).check([PoolCheck("full", 100, terms)])
    assert not answer.failed
    assert answer.printed == (OLD_LINE.replace("uncached_size=40", "uncached_size=30"),)
    assert Server("0.5.9", 2).check([PoolCheck("full", 100, terms)]).failed


@pytest.mark.parametrize("release", ["0.5.6", "0.5.10.post1"])
@pytest.mark.parametrize("cache", ["hybrid", "mamba"])
def test_old_releases_die_on_hybrid_pools_without_a_line(release: str, cache: str) -> None:
    answer = Server(release, 2, cache=cache).check([pool()])
    assert (answer.printed, answer.raised, answer.failed) == ((), "NotImplementedError", False)


@pytest.mark.parametrize("release", BUSY_RELEASES)
def test_topk_above_one_warns_once_and_never_checks_in_some_releases(release: str) -> None:
    server = Server(release, 2, topk=4)
    first, second = server.check([LEAK]), server.check([LEAK])
    if RELEASES.index("0.5.7") <= RELEASES.index(release) <= RELEASES.index("0.5.12.post1"):
        assert (first.checked, first.printed, second.printed) == (False, (TOPK_WARNING,), ())
    else:
        assert first.failed


@pytest.mark.parametrize("loop", LOOPS)
def test_loops(loop: str) -> None:
    checking = [name for name in BUSY_RELEASES if Server(name, 2, loop=loop).check([pool()]).checked]
    since = {"overlap": "0.5.4", "normal": "0.5.6", "mlx-overlap": "0.5.11"}.get(loop)
    assert checking == ([] if since is None else list(RELEASES[RELEASES.index(since) :]))


def test_log_level_hides_lines_and_dump_but_not_the_assertion() -> None:
    for level in (1, 2):
        answer = Server("0.5.23", level, log_level="warning").check([LEAK])
        assert (answer.printed, answer.raised is not None) == ((), True)


def test_the_level_is_read_at_every_check_and_the_ring_outlives_it() -> None:
    server = Server("0.5.23", 1)
    server.check([pool()])
    server.level = 2
    assert server.check([pool(available=50, uncached=50)]).printed
    server.level = 1
    answer = server.check([LEAK])
    assert answer.printed == (HEAD + text(), HEAD + text(available=59))


@pytest.mark.parametrize(
    ("value", "level", "warns"), [(None, 0, False), ("2", 2, False), ("-1", -1, False), ("yes", 0, True), ("", 0, True)]
)
def test_parse_level(value: str | None, level: int, warns: bool) -> None:
    got, warning = parse_level(value)
    assert (got, warning is not None) == (level, warns)
    if warning:
        assert warning.endswith(f'"{value}" is not a valid integer value, using default "0"')


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 60), st.booleans(), st.integers(0, 3))
def test_the_ring_counts_messages_and_is_never_cleared(capacity: int, before: int, hybrid: bool, more: int) -> None:
    server = Server("0.5.23", 1, asserts=False, cache="hybrid" if hybrid else "radix", ring_messages=capacity)
    told: list[str] = []

    def check(number: int, leak: bool) -> tuple[str, ...]:
        full = pool(total=1000, available=1000 - number - leak, uncached=number)
        pools = [full, pool("swa", total=1000, available=1000 - number, uncached=number)] if hybrid else [full]
        told.extend(HEAD + text(p.pool, 1000, p.terms["available"], number) for p in pools)
        return server.check(pools).printed

    for number in range(before):
        assert check(number, False) == ()
    for number in range(before, before + more + 1):
        assert list(check(number, True)) == told[-capacity:]
    assert RING_MESSAGES == 1000


def test_an_all_swa_model_prints_an_empty_full_line_that_counts_in_the_ring() -> None:
    server = Server("0.5.18", 1, cache="hybrid", ring_messages=3)
    server.check([pool("swa")])
    answer = server.check([pool("swa", available=59)])
    assert answer.printed == (HEAD + text("swa"), HEAD, HEAD + text("swa", available=59))


SLACK = pool(available=64, dcp_slack_allowed=True)


@pytest.mark.parametrize(("release", "forgives"), [("0.5.14", False), ("0.5.15", True), ("0.5.23", True)])
def test_dcp_slack(release: str, forgives: bool) -> None:
    answer = Server(release, 1).check([SLACK])
    assert (answer.failed, answer.verdicts["full"].tolerated) == (not forgives, forgives)
    assert answer.printed == (() if forgives or release == "0.5.12" else (HEAD + text(available=64),))
    shown = Server(release, 2).check([SLACK]).printed[0]
    assert shown.endswith(", dcp_physical_page_slack_allowed=True") == forgives
    balanced = Server(release, 2).check([pool(dcp_slack_allowed=True)])
    assert balanced.printed == (HEAD + text(),)


@pytest.mark.parametrize(("release", "reports"), [("0.5.20", False), ("0.5.21", True)])
def test_sharded_pools(release: str, reports: bool) -> None:
    sharded = pool(class_free_pages=(3, 4), unaligned={"available": 60}, page_size=16)
    answer = Server(release, 2).check([sharded])
    suffix = ", class_free_pages=[3, 4], unaligned_sharded_counts={'available': 60}, page_size=16" if reports else ""
    assert answer.printed == (HEAD + text() + suffix,)
    assert answer.failed == reports
    if reports:
        assert answer.raised == f"AssertionError: Full Pool Mem Leak Detected! {text()}{suffix}"
        assert answer.verdicts["full"].kind == "reported"


@pytest.mark.parametrize(("release", "skips"), [("0.5.19", False), ("0.5.20", True)])
def test_the_swa_ring_is_printed_and_never_compared(release: str, skips: bool) -> None:
    ring = PoolCheck("swa", 512, {"available": 400, "evictable": 0}, ring=True)
    answer = Server(release, 2, cache="hybrid").check([pool(), ring])
    assert answer.failed != skips
    if skips:
        line = "[swa] unified ring (leak-check skipped): available=400, evictable=0, total=512"
        assert answer.printed[1] == HEAD + line


def test_unreleased_builds_print_both_pools_in_one_line() -> None:
    answer = Server("dev", 2, cache="hybrid").check([pool(), pool("swa", available=59)])
    names = ("available", "evictable", "protected", "uncached", "session_held")

    def part(name: str, numbers: tuple[int, ...]) -> str:
        shown = " + ".join(f"{name}_{term}={number}" for term, number in zip(names, numbers, strict=True))
        return f"{name}: ({shown}) = {sum(numbers)}"

    both = f"[Mem Check (BUSY/SWA)] {part('full', (60, 0, 0, 40, 0))} | {part('swa', (59, 0, 0, 40, 0))}"
    assert answer.printed == (both,)
    assert answer.raised == (
        "AssertionError: SWA Pool Mem Leak Detected! swa_total=99 vs self.swa_tokens_per_layer=100, swa_available=59, "
        "swa_evictable=0, swa_protected=0, swa_uncached=40, swa_session_held=0"
    )
    assert Server("dev", 2).check([pool()]).printed == (OLD_LINE,)


def test_the_page_check_follows_the_assertions() -> None:
    checked = Server("0.5.23", 2, page_invariants=True)
    answer = checked.check([pool()], duplicate_pages={0: 1})
    assert answer.raised == "ValueError: KV double free: sub-pool 0 has 1 duplicate pages."
    used = Server("0.5.15", 1, page_invariants=True).check([pool()], used_free_pages=range(3, 13))
    assert used.raised == (
        "ValueError: KV page use-after-free: 10 owner page refs are in the free pool, "
        "sample pages=[3, 4, 5, 6, 7, 8, 9, 10]."
    )
    assert Server("0.5.14", 2, page_invariants=True).check([pool()], duplicate_pages={0: 1}).raised is None
    assert Server("0.5.23", 2).check([pool()], duplicate_pages={0: 1}).raised is None
    first = Server("0.5.23", 2, page_invariants=True).check([LEAK], duplicate_pages={0: 1})
    assert first.raised is not None and first.raised.startswith("AssertionError")


def test_page_warnings_are_sampled_one_in_a_thousand() -> None:
    server = Server("0.5.23", 1, page_invariants=True, strict=False)
    warned = [server.check([pool()], duplicate_pages={1: 2}).printed for _ in range(1001)]
    assert [number for number, printed in enumerate(warned) if printed] == [0, 1000]
    assert warned[0] == ("KV double free: sub-pool 1 has 2 duplicate pages.",)


def test_an_unknown_total_gives_no_verdict() -> None:
    answer = Server("0.5.8", 2).check([PoolCheck("full", None, {"available": 60, "uncached": 40})])
    assert (answer.verdicts, answer.failed, answer.printed) == ({}, False, (OLD_LINE,))
