"""What stands before a break is read again in short ways, with the same result as line by line."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import busy
from skimming import Log, source_of

from memcheck_cli.ledger.again import KEPT, Again, Passed
from memcheck_cli.ledger.book import Ledger, Opening
from memcheck_cli.ledger.reading import read_source
from memcheck_cli.ledger.rows import NO_MARKS, Row
from memcheck_cli.ledger.stream import Stream
from memcheck_cli.ledger.window import Around, ReadEvent, Window
from memcheck_cli.log.reader import LineReader

NOISE = [
    "[2026-06-11 08:00:01 TP0] Decode batch, #running-req: 12, #full token: 40, full token usage: 0.04, #queue-req: 0",
    "[2026-06-11 08:00:01.250 DP1 TP0] Prefill batch. #new-seq: 1, #new-token: 8, #cached-token: 0, ",
    "[2026-06-11 08:00:01 TP0] Decode batch [77], #running-req: 12, #token: 40, token usage: 0.04, #queue-re",
    "[2026-06-11 08:00:01 TP0] Decode batch. #running-req: 12",
    "[2026-06-11 08:00:01 TP0] Decode batch, #running-req: 3, #token: 4, token usage: 0.00, cuda graph: True^M",
    "[2026-06-11 08:00:01 TP0] Decode batch, #running-req: 3, #token: 4, token usage: 0.00, etected! #queue-req: 0",
    '[2026-06-11 08:00:01] INFO:     10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK and so on and on',
    "[2026-06-11 08:00:01 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 8",
    "[2026-06-11 08:00:01 TP0] Cache flushed successfully!",
    "api-1  | [2026-06-11 08:00:01 TP0] Decode batch, #running-req: 3, #token: 4, token usage: 0.0, #queue-req: 0",
    "  indented, and nothing",
]


def opening(offset: int, line: int, rank: str) -> Opening:
    row = Row(line, offset, 1, None, 10, (1, 2, 3, 4, 5), None, NO_MARKS, "B3")
    return Opening(Stream(1, None, rank), "busy", "full", row)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_the_same_window(seed: int, pieces: int):
    rng = random.Random(seed)
    lines = Log(rng).lines(pieces)
    for _ in range(rng.randrange(60)):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(NOISE))
    text = ("\n".join(lines) + "\n").encode()
    passed = Passed(source_of(text))
    passed.keep(0, text)
    ledger = Ledger("made.log")
    again = Again(ledger, passed)
    slow = Window()
    for line, message in LineReader().feed(text):
        slow.add(line, message)
    for rank in ("TP0", "DP0 TP0", "-"):
        ledger.openings.append(opening(len(text), len(lines) + 1, rank))
        slow.keep([opening(len(text), len(lines) + 1, rank)])
    again.keep()

    def plain(kept: list[Around]) -> list[object]:
        return [
            (one.line, one.checks, [[getattr(event, name) for name in ReadEvent._fields] for event in one.events])
            for one in kept
        ]

    assert {key: plain(kept) for key, kept in again.window.kept.items()} == {
        key: plain(kept) for key, kept in slow.kept.items()
    }


@pytest.mark.parametrize("blocks", [[5], [1, 2, 3], [KEPT // 2, KEPT // 2, KEPT // 2, 1000, KEPT // 4]])
def test_the_last_bytes_of_a_stream_are_kept(blocks: list[int]):
    passed = Passed(source_of(b""))
    text, offset = b"", 0
    rng = random.Random(1)
    for size in blocks:
        block = rng.randbytes(size)
        passed.keep(offset, block)
        text += block
        offset += size
    for _ in range(20):
        start = offset - rng.randint(1, min(offset, KEPT))
        stop = rng.randrange(start + 1, offset + 10)
        assert passed.fetch(start, stop) == (text[start:stop], start)
    assert passed.fetch(offset + 5, offset + 9)[0] == b""


def test_a_break_far_behind_its_stretch():
    """Records of a stream are summed up before what stands before them is forgotten."""
    noise = (NOISE[4] + " " + "x" * 3000 + "\n").encode() * 60
    parts = []
    for n in range(200):
        for rank in ("TP0", "TP1"):
            lost = 16 if n == 20 else 0
            line = busy("full", 1000, 900, 0, 0, 0, 100 - lost, rank=rank, clock=f"08:{n // 60:02}:{n % 60:02}")
            parts.append(line.encode() + b"\n")
        parts.append(NOISE[5].encode() + b"\n" + noise)
    text = b"".join(parts)
    assert len(text) > 2 * KEPT
    exact, fast = read_source(source_of(text), exact=True), read_source(source_of(text), kernel_from=8)
    assert str(fast.around) == str(exact.around)
    assert any(one.events for kept in fast.around.values() for one in kept)


class Looked:
    """Stands for the match of a record of a rank; counts how often any is looked at."""

    times = 0

    def __init__(self, rank: str) -> None:
        self._rank = rank

    def __getitem__(self, group: int) -> bytes:
        Looked.times += 1
        return b" " + self._rank.encode()

    def groups(self) -> tuple[bytes, ...]:
        Looked.times += 1
        return (b"", self[2], b"full", b"10", b"1", b"2", b"3", b"4", b"5", b"")


def test_what_stands_before_a_break_is_found_without_looking_at_other_ranks():
    """Where a thousand ranks break in turn, each would otherwise look at the records of all."""
    window = Window()
    records = [(100 * n, n + 1, Looked(f"TP{n % 1000}")) for n in range(4000)]
    window.add_bare(records, [])  # type: ignore[arg-type]
    before = Looked.times
    window.keep([opening(400_000, 4001, "TP7")])
    assert Looked.times - before <= 8
    ((around,),) = window.kept.values()
    assert [seen.line for seen in around.checks] == [8, 1008, 2008, 3008]
