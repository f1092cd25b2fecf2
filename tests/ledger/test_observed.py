"""Who observes a log is told the same by the fast reader as by the exact one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import prefix
from skimming import Log, OldLog, source_of
from wrapping import WRAPPERS

from memcheck_cli.compare.tracks import EVENTS, Collector, Kept
from memcheck_cli.forensics.trends import Trends
from memcheck_cli.ledger import Row, Stream
from memcheck_cli.ledger.reading import Observer, read_source
from memcheck_cli.log.records import Context, Line

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.log"))

EVENT_LINES = (
    "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 100",
    "retract_decode: aborted last request abc",
    "Abort queued request. rid='r1'",
    "Cache flushed successfully!",
    "Scheduler hit an exception: Traceback (most recent call last):",
    "Prefill out of memory. Try to lower your batch size.",
    "Try to allocate 4096 tokens.",
    "Available tokens: 12",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
)


class Everything:
    """Keeps all that it is told, of context lines those of some kinds."""

    def __init__(self, markers: tuple[bytes, ...], kinds: tuple[str, ...]) -> None:
        self.markers = markers
        self.kinds = kinds
        self.records: list[object] = []
        self.contexts: list[object] = []

    def record(self, stream: Stream, check: str, pool: str, row: Row) -> None:
        self.records.append((stream.run, stream.member, check, pool, row))

    def context(self, run: int, line: Line, message: Context) -> None:
        if message.kind in self.kinds:
            self.contexts.append((run, line, message))


class Eventful(Log):
    """A log with lines of the events that `diff` counts."""

    def piece(self) -> list[str]:
        if self.rng.random() < 0.15:
            return [prefix(self.rng.choice(self.ranks), self.clock()) + self.rng.choice(EVENT_LINES)]
        return super().piece()


def collected(collector: Collector) -> object:
    collector.settle()
    tracks = {
        (stream.run, stream.member, key): (
            len(track),
            track.start,
            track.forgotten,
            track.second.numbers().tolist(),
            track.iteration.numbers().tolist(),
            track.line.numbers().tolist(),
            track.total.numbers().tolist(),
            {name: numbers.tolist() for name, numbers in track.columns().items()},
        )
        for stream, found in collector.tracks.items()
        for key, track in found.items()
    }
    return tracks, collector.events, collector.dropped_tracks


def told(make: Callable[[], Observer], seen: Callable[[Observer], object], text: bytes, **how: object) -> object:
    observer = make()
    read_source(source_of(text), observer, **how)  # type: ignore[arg-type]
    return seen(observer)


def assert_told_the_same(text: bytes, block: int, kernel_from: int, kept: Kept | None = None) -> None:
    fast = {"block": block, "kernel_from": kernel_from, "head": 0}
    exact = {"exact": True, "head": 0}
    for make, seen in (
        (lambda: Collector(kept=kept), collected),
        (lambda: Everything(Collector.markers, EVENTS), lambda all: (all.records, all.contexts)),
        (lambda: Everything(Trends.markers, ("prefill", "decode")), lambda all: (all.records, all.contexts)),
    ):
        assert told(make, seen, text, **fast) == told(make, seen, text, **exact)


BLOCKS = st.sampled_from([64, 333, 4096, 1 << 20])
KERNEL_FROM = st.sampled_from([0, 3, 40, 10_000])


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(5, 90), BLOCKS, KERNEL_FROM, st.sampled_from(["none", *sorted(WRAPPERS)]))
def test_made_logs(seed: int, pieces: int, block: int, kernel_from: int, wrapper: str):
    lines = Eventful(random.Random(seed)).lines(pieces)
    if wrapper == "pasted":
        return  # broken anywhere: found only where every line is read
    if wrapper == "ansi":
        lines = [line for line in lines if "- Captured std" not in line]
    wrapped = lines if wrapper == "none" else WRAPPERS[wrapper](lines)
    assert_told_the_same(("\n".join(wrapped) + "\n").encode("utf-8", "surrogateescape"), block, kernel_from)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 60), BLOCKS, KERNEL_FROM)
def test_logs_of_old_releases(seed: int, pieces: int, block: int, kernel_from: int):
    text = "\n".join(OldLog(random.Random(seed)).lines(pieces)) + "\n"
    assert_told_the_same(text.encode(), block, kernel_from)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    KERNEL_FROM,
    st.builds(Kept, checks=st.integers(1, 300), records=st.integers(1, 600), tracks=st.integers(1, 6)),
)
def test_what_is_kept_is_bounded_in_the_same_way(seed: int, kernel_from: int, kept: Kept):
    text = "\n".join(Eventful(random.Random(seed)).lines(60)) + "\n"
    assert_told_the_same(text.encode(), 1 << 20, kernel_from, kept)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases(path: Path):
    assert_told_the_same(path.read_bytes(), 4096, 20)


def test_a_record_torn_into_a_batch_line_is_rejected_whoever_observes():
    check = prefix("TP0", "08:15:01") + (
        "[Mem Check (BUSY)] [full] total=100, available=90, evictable=0, protected=0, session_held=0, uncached=10"
    )
    batch = prefix("TP0", "08:15:02") + (
        "Decode batch, #running-req: 1, #token: 10, token usage: 0.10, gen throughput (token/s): 5.00, #queue-req: 0"
    )
    text = "\n".join([*[check, batch] * 40, batch + check, *[check, batch] * 40, ""]).encode()
    for how in ({"exact": True}, {"kernel_from": 10_000}, {"kernel_from": 20}):
        reading = read_source(source_of(text), Trends("log"), head=0, **how)  # type: ignore[arg-type]
        assert (reading.records, reading.rejected) == (80, 1)
    assert_told_the_same(text, 1 << 20, 10_000)
