"""Writes server logs of any size for measuring: dense, mixed or sparse in checker lines, the same bytes every time.

    python tests/benchmarks/generate.py dense 1GB dense.log
    python tests/benchmarks/generate.py mixed 200MB mixed.log --ms --style dp --extra 2 --wrapper docker

* dense: nothing but busy lines, all ranks interleaved, `[full]` and `[swa]`.
* mixed: every twentieth line is a busy line, the others are batch and HTTP lines and a few tracebacks.
* sparse: no busy line until the very end, where one rank dumps its ring of 1000 messages and dies on the assertion.

A log begins with a `server_args` line and a banner. In dense and mixed logs the full pool of one rank is short of one
page from 70 % of the file on, everything before balances. A few tiles of text are made line by line; the file repeats
them with times that go on, which is why a gigabyte takes seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import numpy as np

START = datetime(2026, 3, 1, 10, 0, 0)
STAMP = "<time>"
OUTER = "<outer>"
PAGE = 64
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class Options:
    """What the lines look like. broken: the rank whose full pool loses a page. noise: other lines per busy line."""

    ranks: int = 8
    swa: bool = True
    style: str = "tp"
    ms: bool = False
    extra: int = 0
    big: bool = False
    wrapper: str = "none"
    crlf: bool = False
    broken: int = 5
    noise: int = 19
    seed: int = 1


def parse_size(text: str) -> int:
    """`200MB`, `1GiB`, `4096` as a number of bytes."""
    digits = text.rstrip("BKMGibkmg")
    return int(float(digits) * UNITS[text[len(digits) :].upper()])


def rank_text(options: Options, rank: int) -> str:
    """The rank tokens of one rank, with the blank before them."""
    if options.style == "dp":
        half = max(1, options.ranks // 2)
        return f" DP{rank // half} TP{rank} EP{rank}"
    return f" TP{rank}" if options.style == "tp" else ""


def process_text(rank: int) -> str:
    """The Ray actor that runs a rank: four ranks share one."""
    pid = 4102 + 1275 * (rank // 4)
    return f"\x1b[36m(SGLangEngine pid={pid})\x1b[0m "


class Pools:
    """Numbers of all ranks that wander and balance."""

    def __init__(self, options: Options, rng: random.Random) -> None:
        scale = 100 if options.big else 1
        self.options, self.rng = options, rng
        self.names = ("full", "swa") if options.swa else ("full",)
        self.total = {"full": 880_000 * scale, "swa": 131_072 * scale}
        both = [(rank, pool) for rank in range(options.ranks) for pool in self.names]
        self.state = {key: [self.total[key[1]] // 3, self.total[key[1]] // 8] for key in both}

    def line(self, rank: int, pool: str, lost: int) -> str:
        """One busy line without wrapper; `lost` tokens are owned by nobody."""
        total, rng, state = self.total[pool], self.rng, self.state[rank, pool]
        step = total // 4000
        state[0] = min(max(state[0] + rng.randrange(-step, step + 1), 0), total // 2)
        state[1] = min(max(state[1] + rng.randrange(-step, step + 1), 0), total // 4)
        evictable, protected = state
        uncached = rng.randrange(0, total // 100)
        available = total - evictable - protected - uncached - lost
        more = "".join(f", fork_term_{k}={rng.randrange(10 ** rng.randrange(1, 6))}" for k in range(self.options.extra))
        return (
            f"[{STAMP}{rank_text(self.options, rank)}] [Mem Check (BUSY)] [{pool}] total={total}, "
            f"available={available}, evictable={evictable}, protected={protected}, session_held=0, "
            f"uncached={uncached}{more}"
        )

    def check(self, lost: bool) -> Iterator[tuple[int, str]]:
        """One iteration of all ranks: (rank, line) in a shuffled order of ranks that keeps `full` before `swa`."""
        order = list(range(self.options.ranks))
        self.rng.shuffle(order)
        for pool in self.names:
            for rank in order:
                short = PAGE if lost and rank == self.options.broken % self.options.ranks and pool == "full" else 0
                yield rank, self.line(rank, pool, short)


def noise_lines(options: Options, rng: random.Random, count: int) -> Iterator[tuple[int, str]]:
    """Batch and HTTP lines and now and then a traceback of a request that went wrong."""
    made = 0
    while made < count:
        rank = rng.randrange(options.ranks)
        head = f"[{STAMP}{rank_text(options, rank)}] "
        what = rng.random()
        if what < 0.5:
            text = (
                f"{head}Decode batch, #running-req: {rng.randrange(200)}, #full token: {rng.randrange(880000)}, full "
                f"token usage: {rng.random():.2f}, #swa token: {rng.randrange(131072)}, swa token usage: "
                f"{rng.random():.2f}, cuda graph: True, gen throughput (token/s): {rng.random() * 9000:.2f}, "
                f"#queue-req: {rng.randrange(50)}"
            )
            yield rank, text
        elif what < 0.7:
            text = (
                f"{head}Prefill batch, #new-seq: {rng.randrange(1, 9)}, #new-token: {rng.randrange(8192)}, "
                f"#cached-token: {rng.randrange(8192)}, full token usage: {rng.random():.2f}, swa token usage: "
                f"{rng.random():.2f}, #running-req: {rng.randrange(200)}, #queue-req: {rng.randrange(50)}, "
                f"#pending-token: 0, cuda graph: False, input throughput (token/s): {rng.random() * 90000:.2f}"
            )
            yield rank, text
        elif what < 0.9985:
            client = f"10.0.{rng.randrange(256)}.{rng.randrange(256)}:{rng.randrange(1024, 65536)}"
            yield 0, f'[{STAMP}] INFO:     {client} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
        else:
            trace = (
                f"[{STAMP}] ERROR:    Exception in ASGI application",
                "Traceback (most recent call last):",
                '  File "/usr/lib/python3/dist-packages/uvicorn/protocols/http/h11_impl.py", line 409, in run_asgi',
                "    result = await app(self.scope, self.receive, self.send)",
                '  File "/usr/lib/python3/dist-packages/fastapi/applications.py", line 1054, in __call__',
                "    await super().__call__(scope, receive, send)",
                "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
            )
            yield from ((0, line) for line in trace)
            made += len(trace) - 1
        made += 1


def head_lines(options: Options) -> Iterator[tuple[int, str]]:
    """What a server prints when it starts."""
    args = (
        f"[{STAMP}] server_args=ServerArgs(model_path='toy/model', tp_size={options.ranks}, page_size={PAGE}, "
        f"disaggregation_mode='null', disable_radix_cache=False, swa_full_tokens_ratio=0.15)"
    )
    total = 88_000_000 if options.big else 880_000
    banner = (
        f"[{STAMP}{rank_text(options, 0)}] max_total_num_tokens={total}, chunked_prefill_size=8192, "
        f"max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=11.20 GB"
    )
    yield 0, args
    yield 0, banner


def ring_lines(options: Options, rng: random.Random) -> Iterator[tuple[int, str]]:
    """The ring of one rank, 1000 messages the last of which breaks, and the exception."""
    pools, rank = Pools(options, rng), options.broken % options.ranks
    pair = len(pools.names)
    full = ""
    for n in range(1000 // pair):
        last = n == 1000 // pair - 1
        for pool in pools.names:
            text = pools.line(rank, pool, PAGE if last and pool == "full" else 0)
            full = text if pool == "full" else full
            yield rank, text
    yield rank, f"[{STAMP}{rank_text(options, rank)}] Scheduler hit an exception: Traceback (most recent call last):"
    yield rank, '  File "/usr/lib/python3/dist-packages/sglang/srt/managers/scheduler.py", line 6368, in run_process'
    yield rank, "    scheduler.run_event_loop()"
    yield rank, f"AssertionError: Full Pool Mem Leak Detected! {full.split('(BUSY)] ')[1]}"
    yield rank, ""


def wrapped(options: Options, rank: int, text: str) -> str:
    """The line as a log collector passes it on, line end included."""
    if options.wrapper == "docker":
        text = json.dumps(text + ("\r\n" if options.crlf else "\n"), ensure_ascii=False)
        return f'{{"log":{text},"stream":"stderr","time":"{OUTER}789Z"}}\n'
    text += "\r\n" if options.crlf else "\n"
    if options.wrapper == "actions":
        return f"{OUTER}7Z {text}"
    if options.wrapper == "ray":
        return process_text(rank) + text
    return f"sglang-1  | {text}" if options.wrapper == "compose" else text


class Tile:
    """A stretch of text whose times can be moved: `at(step)` is the same text `step` tiles later."""

    def __init__(self, options: Options, lines: Iterator[tuple[int, str]], seconds: float) -> None:
        text = [wrapped(options, rank, line) for rank, line in lines]
        self.seconds = seconds
        size = 23 if options.ms else 19
        inner, outer = "#" * size, "@" * 26
        whole = "".join(text).replace(STAMP, inner).replace(OUTER, outer)
        self.array = np.frombuffer(bytearray(whole.encode()), np.uint8)
        self.ends = np.flatnonzero(self.array == 10) + 1
        self.marks = [(self.positions(mark), size, form) for mark, size, form in ((35, size, " "), (64, 26, "T"))]

    def positions(self, mark: int) -> np.ndarray:
        """Where the runs of a mark longer than ten begin."""
        hits = np.flatnonzero(self.array == mark)
        first = hits[np.diff(hits, prepend=-2) != 1]
        return first[self.array[np.minimum(first + 10, len(self.array) - 1)] == mark]

    def at(self, when: datetime) -> np.ndarray:
        """The text with times from `when` on, spread evenly over the tile's seconds. The array is reused."""
        for places, size, form in self.marks:
            if len(places):
                steps = min(200, len(places))
                times = [when + timedelta(seconds=self.seconds * k / steps) for k in range(steps)]
                stamps = np.array([t.isoformat(form, "microseconds")[:size].encode() for t in times], f"S{size}")
                which = np.arange(len(places)) * steps // len(places)
                window = np.ndarray((len(self.array) - size + 1,), f"V{size}", self.array, 0, (1,))  # type: ignore[call-overload]
                window[places] = stamps.view(f"V{size}")[which]
        return self.array


def tile_lines(options: Options, kind: str, rng: random.Random, checks: int, lost: bool) -> Iterator[tuple[int, str]]:
    """`checks` iterations of all ranks for a dense or mixed log, or as many lines of noise for a sparse one."""
    pools = Pools(options, rng)
    for _ in range(checks):
        if kind == "sparse":
            yield from noise_lines(options, rng, 320)
            continue
        for rank, line in pools.check(lost):
            yield rank, line
            if kind == "mixed" and rank % 4 == 0:
                yield from noise_lines(options, rng, 4 * options.noise)


def write(out: BinaryIO, kind: str, size: int, options: Options) -> int:
    """Writes one log of about `size` bytes (whole lines, at most one tile less). Returns the bytes written."""
    rng = random.Random(options.seed)
    head = Tile(options, head_lines(options), 1).at(START).tobytes()
    tail_tile = Tile(options, ring_lines(options, rng), 0.5) if kind == "sparse" else None
    room = size - len(head) - (len(tail_tile.array) if tail_tile else 0)
    probe = len(Tile(options, tile_lines(options, kind, random.Random(0), 4, False), 1).array) / 4
    checks = int(min(max(room / 20 / probe, 1), max(2_000_000 / probe, 1)))
    tiles = [Tile(options, tile_lines(options, kind, rng, checks, False), checks / 25) for _ in range(4)]
    lossy = [Tile(options, tile_lines(options, kind, rng, checks, True), checks / 25) for _ in range(4)]
    out.write(head)
    done, when, number = 0, START + timedelta(seconds=1), 0
    while done < room:
        tile = (lossy if kind != "sparse" and done >= 0.7 * room else tiles)[number % 4]
        array = tile.at(when)
        if done + len(array) > room:
            fit = tile.ends[tile.ends <= room - done]
            array = array[: fit[-1] if len(fit) else 0]
        out.write(array.data)
        if not len(array):
            break
        done, when, number = done + len(array), when + timedelta(seconds=tile.seconds), number + 1
    if tail_tile:
        done += out.write(tail_tile.at(when).data)
    return len(head) + done


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("dense", "mixed", "sparse"))
    parser.add_argument("size", help="200MB, 1GB, 64KiB, ...")
    parser.add_argument("path", help="file to write, - for stdout")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--no-swa", action="store_true", help="one pool only")
    parser.add_argument("--style", choices=("tp", "dp", "none"), default="tp", help="dp: DP, TP and EP tokens")
    parser.add_argument("--ms", action="store_true", help="times with milliseconds")
    parser.add_argument("--extra", type=int, default=0, metavar="N", help="N further terms behind uncached")
    parser.add_argument("--big", action="store_true", help="pools of 88 million tokens: eight digits and more")
    parser.add_argument("--wrapper", choices=("none", "actions", "docker", "ray", "compose"), default="none")
    parser.add_argument("--crlf", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    options = Options(
        a.ranks, not a.no_swa, a.style, a.ms, a.extra, a.big, a.wrapper, a.crlf, seed=a.seed, noise=Options.noise
    )
    if a.path == "-":
        write(sys.stdout.buffer, a.kind, parse_size(a.size), options)
        return 0
    with Path(a.path).open("wb") as out:
        write(out, a.kind, parse_size(a.size), options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
