"""The fast reader gives the exact reader's answers, whatever the log and wherever blocks end."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_logs import assertion, busy, crash, pool_text, prefix
from wrapping import WRAPPERS

from memcheck_cli.forensics.analysis import Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.ledger.reading import SourceReading, read_source
from memcheck_cli.render.analysis_json import document
from memcheck_cli.sources import Source

SAMPLES = Path(__file__).parents[2] / "samples"


def source_of(text: bytes) -> Source:
    return Source("made.log", lambda _: io.BytesIO(text))  # type: ignore[arg-type,return-value]


def answer(reading: SourceReading) -> dict[str, object]:
    told = document(analyze_readings([reading], Settings(), Scope()))
    told["hints"] = {run: str(hints.best()) for run, hints in reading.hints.items()}
    told["flushes"] = reading.flushes
    told["around"] = [(str(key), str(kept)) for key, kept in sorted(reading.around.items(), key=str)]
    return json.loads(json.dumps(told, default=str))


def assert_same(text: bytes, block: int, kernel_from: int, head: int = 0) -> None:
    exact = answer(read_source(source_of(text), exact=True))
    fast = answer(read_source(source_of(text), block=block, kernel_from=kernel_from, head=head))
    assert fast == exact


class Log:
    """A made-up log of everything, in which each rank's numbers go on from line to line."""

    RANKS = ("TP0", "TP1", "DP0 TP0", "")

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.second = 0
        self.ranks = rng.sample(self.RANKS, rng.randint(1, 3))
        self.hybrid = rng.random() < 0.5
        self.total = rng.choice([1000, 123_456_789, 4_000_000_000_000])
        self.milliseconds = rng.random() < 0.2
        self.leaked = 0

    def clock(self) -> str:
        if self.rng.random() < 0.1:
            self.second += self.rng.choice([1, 1, 2, 30])
        text = f"{8 + self.second // 3600:02}:{self.second // 60 % 60:02}:{self.second % 60:02}"
        return text + (f".{self.rng.randrange(1000):03}" if self.milliseconds else "")

    def check(self) -> list[str]:
        rng, rank, clock = self.rng, self.rng.choice(self.ranks), self.clock()
        if rng.random() < 0.03:
            self.leaked += rng.choice([-16, 1, 16])
        extra = rng.choice(["", "", "", ", withheld=7", ", withheld=7, double_owned=3", ", note=census"])
        used = rng.randrange(500)
        line = busy("full", self.total, self.total - used, 0, used // 2, 0, used - used // 2 - self.leaked)
        lines = [line.replace(prefix(), prefix(rank, clock)) + extra]
        if self.hybrid:
            swa = busy("swa", 500, 500 - used % 100, 0, 0, 0, used % 100, rank=rank, clock=clock)
            lines.append(swa)
        return lines

    def piece(self) -> list[str]:
        rng, rank, clock = self.rng, self.rng.choice(self.ranks), self.clock()
        head = prefix(rank, clock)
        kind = rng.randrange(22)
        if kind < 9:
            return [line for _ in range(rng.randint(1, 12)) for line in self.check()]
        used = rng.randrange(50)
        full = (self.total, self.total - used, 0, 0, 0, used - 1)
        made: dict[int, list[str]] = {
            9: [head + "Decode batch, #running-req: 1, #token: 10, token usage: 0.01, #queue-req: 0"],
            10: [head + "Prefill batch, #new-seq: 1, #new-token: 8, #cached-token: 0, token usage: 0.00"],
            11: [f'{prefix("", clock)}INFO:     127.0.0.1:5 - "POST /generate HTTP/1.1" 200 OK'],
            12: assertion("full", *full, rank=rank, clock=clock),
            13: [head + "pool memory leak detected! " + pool_text("full", *full), pool_text("swa", 500, 400, 99)],
            14: crash("pool memory leak detected! " + pool_text("full", *full), rank, clock, "ValueError"),
            15: [prefix("", clock) + "server_args=ServerArgs(model_path='m', tp_size=2, page_size=16)"],
            16: [head + "max_total_num_tokens=1000, chunked_prefill_size=8192, context_len=32768"],
            17: [self.check()[0][: rng.randrange(1, 90)] + rng.choice(["", self.check()[0]])],
            18: [head + "KV double free: sub-pool 0 has 2 duplicate pages.", head + "Cache flushed successfully!"],
            19: [
                f"{head}[Mem Check (BUSY)] ",
                f"{head}[Mem Check (BUSY)] available_size=9, evictable_size=1, protected_size=0, uncached_size=5",
            ],
            20: [pool_text("swa", 500, 400, 99), "", "text with = and ! and M", "Error: something else"],
            21: ["===== FAILURES =====", "----- Captured stderr call -----", *self.check(), "===== 1 failed ====="],
        }
        return made[kind]

    def lines(self, pieces: int) -> list[str]:
        made = [line for _ in range(pieces) for line in self.piece()]
        return made


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(5, 90),
    st.sampled_from([64, 100, 333, 1024, 4096, 1 << 20]),
    st.sampled_from([0, 3, 40, 10_000]),
    st.sampled_from(["\n", "\n", "\r\n"]),
)
def test_bare_logs(seed: int, pieces: int, block: int, kernel_from: int, line_end: str):
    lines = Log(random.Random(seed)).lines(pieces)
    text = line_end.join(lines) + ("" if seed % 5 == 0 else line_end)
    assert_same(text.encode(), block, kernel_from)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(5, 60),
    st.sampled_from([100, 1024, 4096, 1 << 20]),
    st.sampled_from([0, 3, 40]),
    st.sampled_from(sorted(WRAPPERS)),
    st.sampled_from(["none", *sorted(WRAPPERS)]),
)
def test_wrapped_logs(seed: int, pieces: int, block: int, kernel_from: int, wrapper: str, second: str):
    """A file in one wrapper that changes to another midway."""
    # A record without a line end is a whole line in the one and a part of a line in the other.
    assume({wrapper, second} != {"docker-json-no-line-ends", "docker-json-parts"})
    lines = Log(random.Random(seed)).lines(pieces)
    if "ansi" in (wrapper, second):
        # That wrapper colours within words, also within the one by which captured output is found. Nobody does that.
        lines = [line for line in lines if "- Captured std" not in line]
    half = len(lines) // 2
    wrapped = WRAPPERS[wrapper](lines[:half])
    wrapped += lines[half:] if second == "none" else WRAPPERS[second](lines[half:])
    # What a terminal or an editor broke anywhere is found only where every line is read, as it is in the beginning.
    head = 1 << 16 if "pasted" in wrapper + second else 0
    assert_same(("\n".join(wrapped) + "\n").encode("utf-8", "surrogateescape"), block, kernel_from, head)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(
                [
                    b"[2026-06-11 08:15:01 TP0] [Mem Check (BUSY)] [full] total=10, available=5, evictable=0, "
                    b"protected=0, session_held=0, uncached=5\n",
                    b"[Mem Check",
                    b"etected!",
                    b"server_args=",
                    b"\n",
                    b"\r",
                    b"\x00",
                    b"\xff",
                ]
            ),
        ),
        max_size=60,
    ),
    st.sampled_from([64, 4096]),
    st.sampled_from([0, 5]),
)
def test_any_bytes(parts: list[bytes], block: int, kernel_from: int):
    assert_same(b"".join(parts), block, kernel_from)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.log")), ids=lambda path: path.stem)
@pytest.mark.parametrize("block", [64, 4096, 1 << 20])
@pytest.mark.parametrize("kernel_from", [0, 10, 10_000])
def test_samples(path: Path, block: int, kernel_from: int):
    assert_same(path.read_bytes(), block, kernel_from)


def test_long_lines_are_cut_and_counted():
    good = busy("full", 100, 90, 0, 0, 0, 9).encode() + b"\n"
    text = good + b"x" * (17 << 20) + b" [Mem Check (BUSY)]\n" + good
    fast = answer(read_source(source_of(text)))
    assert fast["sources"] == [{"name": "made.log", "lines": 3, "records": 2, "rejected": 0, "error": None}]
    assert fast["breaks"] == answer(read_source(source_of(text), exact=True))["breaks"]


def test_many_records_in_one_stretch():
    """More records than columns hold at once, a break in the middle and peers that part there."""
    lines = []
    for n in range(40_000):
        for rank in ("TP0", "TP1"):
            lost = 16 if rank == "TP1" and n >= 25_000 else 0
            lines.append(
                busy("full", 10**9, 10**9 - n, 0, 0, 0, n - lost, rank=rank, clock=f"08:{n // 60 % 60:02}:{n % 60:02}")
            )
    text = ("\n".join(lines) + "\n").encode()
    assert_same(text, 1 << 20, 100)
    told = answer(read_source(source_of(text), kernel_from=100))
    (found,) = told["breaks"]
    assert (found["iteration"], found["line"], found["series_breaks"]) == (25_001, 50_002, 15_000)
    assert [item["kind"] for item in told["findings"]].count("peer-divergence") == 1
