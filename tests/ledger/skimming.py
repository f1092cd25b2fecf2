"""Made-up logs of everything, and the answers of a reader in a form that two readers can be compared by."""

from __future__ import annotations

import io
import json
import random

from made_logs import assertion, busy, crash, pool_text, prefix

from memcheck_cli.forensics.analysis import Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.ledger.reading import SourceReading
from memcheck_cli.render.analysis_json import document
from memcheck_cli.sources import Source


def source_of(text: bytes) -> Source:
    return Source("made.log", lambda _: io.BytesIO(text))  # type: ignore[arg-type,return-value]


def answer(reading: SourceReading) -> dict[str, object]:
    told = document(analyze_readings([reading], Settings(), Scope()))
    told["hints"] = {run: str(hints.best()) for run, hints in reading.hints.items()}
    told["flushes"] = reading.flushes
    told["around"] = [(str(key), str(kept)) for key, kept in sorted(reading.around.items(), key=str)]
    return json.loads(json.dumps(told, default=str))


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
        kind = rng.randrange(23)
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
            22: self.torn_report(head, rank, clock),
        }
        return made[kind]

    def torn_report(self, head: str, rank: str, clock: str) -> list[str]:
        rng, full = self.rng, pool_text("full", 1000, 900, 0, 0, 0, self.rng.choice([90, 100]))
        lines = rng.choice(
            [
                [f"{head}pool memory leak detected! {full}"],
                crash(f"pool memory leak detected! {full}", rank, clock, "ValueError"),
                crash(f"Full Pool Mem Leak Detected! {full}", rank, clock),
                crash(
                    "req_to_token_pool memory leak detected!available_size=3, total_size=4", rank, clock, "ValueError"
                ),
                [f"{head}KV double free: sub-pool 0 has 2 duplicate pages."],
            ]
        )
        if not lines[-1]:
            lines.pop()
        lines[-1] = lines[-1][: -rng.randrange(1, 40)]
        return lines + rng.choice([[], [""], ["", pool_text("swa", 500, 400, 99)], [pool_text("swa", 500, 400, 99)]])

    def lines(self, pieces: int) -> list[str]:
        made = [line for _ in range(pieces) for line in self.piece()]
        return made


class OldLog(Log):
    """The same of a release before 0.5.11: no totals, and sessions that only the assertions count."""

    RANKS = ("TP0", "TP1", "")

    def check(self) -> list[str]:
        rng = self.rng
        used, held = rng.randrange(50), rng.choice([0, 0, 0, 5])
        return [
            f"{prefix(rng.choice(self.ranks), self.clock())}[Mem Check (BUSY)] available_size={900 - used - held}, "
            f"evictable_size={used}, protected_size=0, uncached_size=100"
        ]

    def piece(self) -> list[str]:
        rng, head = self.rng, prefix(self.rng.choice(self.ranks), self.clock())
        kind = rng.randrange(12)
        if kind < 7:
            return [line for _ in range(rng.randint(1, 40)) for line in self.check()]
        made: dict[int, list[str]] = {
            7: [
                head + "Scheduler hit an exception: Traceback (most recent call last):",
                f"AssertionError: Mem Leak Detected! total_tokens={990 + rng.randrange(25)} "
                "vs self.max_total_num_tokens=1000",
            ],
            8: [head + "Use sliding window memory pool. full_layer_tokens=1000, swa_layer_tokens=500"],
            9: [
                f"{head}[Mem Check (BUSY/SWA)] full: (full_available=900 + full_evictable=0 + full_protected=0 + "
                "full_uncached=100 + full_session_held=0) = 1000 | swa: (swa_available=390 + swa_evictable=0 + "
                "swa_protected=0 + swa_uncached=100 + swa_session_held=0) = 490"
            ],
            10: [head + "max_total_num_tokens=1000, chunked_prefill_size=8192, context_len=32768"],
            11: [self.check()[0][: rng.randrange(1, 90)]],
        }
        return made[kind]
