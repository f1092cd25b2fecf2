"""Records that are counted leave the ledger as those do that are taken one by one."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck_cli.ledger.bare_records import BareRecords, Printed
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.ledger.peers import ALONE
from memcheck_cli.ledger.stream import Stream

TOTAL = 1000


def printed(lines: list[tuple[str, str, int, tuple[int, ...]]]) -> list[Printed]:
    """Rank, pool, total and terms as the groups of `BUSY_LINE`, a hundred bytes each."""
    found = []
    for number, (rank, pool, total, terms) in enumerate(lines):
        tokens = b"" if rank == "-" else b" " + rank.encode()
        when = b"2026-03-01 10:%02d:%02d" % (number // 60 % 60, number % 60)
        found.append(
            (number * 100, (when, tokens, pool.encode(), b"%d" % total, *(b"%d" % term for term in terms), b""))
        )
    return found


def some_lines(random: random.Random, count: int) -> list[tuple[str, str, int, tuple[int, ...]]]:
    """Checks of some ranks, most of which balance. Now and then a total changes, a term is below zero, or a rank prints
    other numbers than its peers."""
    ranks = random.choice((["-"], ["TP0", "TP1"], ["DP0 TP0", "DP0 TP1", "DP1 TP0"]))
    pools = random.choice((["full"], ["full", "swa"], ["swa"], ["full", "swa", "mamba"]))
    lines = []
    while len(lines) < count:
        free = random.randrange(TOTAL)
        for rank in ranks:
            own = random.randrange(TOTAL) if random.random() < 0.05 else free
            for pool in pools:
                total = TOTAL if random.random() < 0.98 else TOTAL + 8
                held = random.choice((0, 0, 0, 7))
                lost = random.choice((0, 0, 0, 0, 0, 0, 0, 0, 0, 3))
                terms = (own, total - own - held - lost, 0, held, 0)
                if random.random() < 0.02:
                    terms = (total + 5, -5, 0, 0, 0)
                if random.random() < 0.97:
                    lines.append((rank, pool, total, terms))
    return lines


def one_by_one(records: list[Printed]) -> Ledger:
    ledger = Ledger("log", None, 0)
    for number, (offset, groups) in enumerate(records):
        when, tokens, pool, total, *terms, _ = (group.decode() for group in groups)
        ledger.record(
            tokens.strip() or "-", pool, number + 1, offset, when.replace(" ", "T"), int(total), tuple(map(int, terms))
        )
    return ledger


def in_chains(records: list[Printed], borders: list[int]) -> Ledger:
    ledger = Ledger("log", None, 0)
    bare = BareRecords(ledger)
    for start, stop in pairwise([0, *borders, len(records)]):
        while start < stop:
            taken = bare.take(records[start:stop], start + 1)
            assert taken
            start += taken
    return ledger


def finished(ledger: Ledger) -> Ledger:
    ledger.finish()
    return ledger


def seen(ledger: Ledger) -> object:
    """All that a ledger knows of its streams."""
    return (
        ledger.records,
        [(opening.stream.member, opening.pool, opening.row) for opening in ledger.openings],
        {key: stream_seen(stream) for key, stream in ledger.streams.items()},
        [(group.parted, group.lost_lines) for group in ledger.peers.groups.values()],
    )


def stream_seen(stream: Stream) -> object:
    series = {
        pool: (
            kept.records,
            kept.unbalanced,
            kept.oddities,
            [(s.balance, s.status, s.first, s.last, s.count, s.witness) for s in kept.segments],
        )
        for pool, kept in stream.busy.items()
    }
    return stream.checks, stream.opened, stream.last_busy, stream.last_balanced, stream.first_line, series


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 700), st.lists(st.integers(0, 700), max_size=12))
def test_counted_is_as_taken_one_by_one(seed: int, count: int, borders: list[int]):
    records = printed(some_lines(random.Random(seed), count))
    chains = in_chains(records, sorted(border for border in borders if border < len(records)))
    assert seen(finished(chains)) == seen(finished(one_by_one(records)))


def test_records_are_left_behind_one_that_opens_a_break():
    balanced, broken = ("TP0", "full", TOTAL, (900, 100, 0, 0, 0)), ("TP0", "full", TOTAL, (899, 100, 0, 0, 0))
    records = printed([balanced] * 300 + [broken] + [balanced] * 20)
    ledger = Ledger("log", None, 0)
    bare = BareRecords(ledger)
    taken = 0
    while not ledger.openings:
        taken += bare.take(records[taken:], taken + 1)
    assert taken == 301
    assert [(opening.pool, opening.row.line) for opening in ledger.openings] == [("full", 301)]
    assert bare.take(records[taken:], taken + 1) == 20


def test_most_records_are_counted(monkeypatch):
    singly = []
    record = Ledger.record
    monkeypatch.setattr(Ledger, "record", lambda self, *given: singly.append(given) or record(self, *given))
    records = printed([(f"TP{rank}", "full", TOTAL, (TOTAL, 0, 0, 0, 0)) for _ in range(1000) for rank in range(8)])
    ledger = in_chains(records, [])
    assert ledger.records == len(records)
    assert len(singly) < len(records) / 4


def test_a_peer_that_joins_between_two_records_of_a_chain_is_compared_with_what_follows():
    def check(rank: str, number: int, other: int = 0) -> tuple[str, str, int, tuple[int, ...]]:
        free = number % 50 + other
        return rank, "full", TOTAL, (free, TOTAL - free, 0, 0, 0)

    alone = ALONE + 1000  # so long that nothing is compared any more when the second rank comes
    lines = [check("TP0", number) for number in range(alone)]
    lines += [check("TP1", 0), *(check("TP0", number) for number in range(alone, alone + 300))]
    lines += [check("TP1", number, 50 if number == alone + 30 else 0) for number in range(1, alone + 300)]
    records = printed(lines)
    ledger = finished(in_chains(records, [alone - 10, alone + 200]))
    assert seen(ledger) == seen(finished(one_by_one(records)))
    parted = next(iter(ledger.peers.groups.values())).parted
    assert parted is not None
    assert parted.iteration == alone + 31
