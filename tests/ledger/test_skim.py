"""The fast reader gives the exact reader's answers, whatever the log and wherever blocks end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_logs import busy, prefix
from skimming import Log, OldLog, answer, source_of
from wrapping import WRAPPERS

from memcheck_cli.ledger import reading
from memcheck_cli.ledger.reading import read_source

SAMPLES = Path(__file__).parents[2] / "samples"


def assert_same(text: bytes, block: int, kernel_from: int, head: int = 0) -> None:
    exact = answer(read_source(source_of(text), exact=True, head=head))
    fast = answer(read_source(source_of(text), block=block, kernel_from=kernel_from, head=head))
    assert fast == exact


@settings(max_examples=80, deadline=None)
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


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(2, 60),
    st.sampled_from([64, 333, 4096, 1 << 20]),
    st.sampled_from([0, 3, 40, 10_000]),
)
def test_logs_of_old_releases(seed: int, pieces: int, block: int, kernel_from: int):
    lines = OldLog(random.Random(seed)).lines(pieces)
    assert_same(("\n".join(lines) + ("" if seed % 5 == 0 else "\n")).encode(), block, kernel_from)


@settings(max_examples=80, deadline=None)
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


@pytest.mark.parametrize("last", ["", ", withheld=1", ", census=2"])
def test_what_records_tell_of_the_release_comes_in_their_order(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a second run, when the kernel knows them all and sums them up together."""
    kinds = sorted(["", ", withheld=1", ", census=2"], key=lambda text: text == last)

    def lines(hour: int, *more: str) -> list[str]:
        clocks = [f"{hour:02}:{n // 60 % 60:02}:{n % 60:02}" for n in range(len(more))]
        return [busy("full", 100, 90, 0, 0, 0, 10, rank="TP0", clock=c) + m for c, m in zip(clocks, more, strict=True)]

    start = prefix("", "09:00:00") + "server_args=ServerArgs(page_size=1)"
    second = lines(10, *kinds[:1] * 1500, *kinds[:0:-1] * 300)
    text = "\n".join([*lines(8, *kinds * 300), start, *second, ""]).encode()

    def told(**how: object) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []

        def note(_: object, run: int, message: object, __: str) -> None:
            found.extend((run, ",".join(pool.extra)) for pool in getattr(message, "pools", ()))

        monkeypatch.setattr(reading, "_hint", note)
        read_source(source_of(text), **how)
        return list(dict.fromkeys(found))

    exact = told(exact=True, head=0)
    assert told(kernel_from=20, head=0) == exact
    assert [run for run, _ in exact] == [1, 1, 1, 2, 2, 2]


def test_a_crash_that_ray_tells_counts_in_neither_reader():
    start = prefix("", "08:00:00") + "server_args=ServerArgs(page_size=1)"
    banner = prefix("TP0", "08:00:01") + "max_total_num_tokens=100, chunked_prefill_size=512, max_prefill_tokens=512"
    checks = [busy("full", 100, 90, 0, 0, 0, 10, rank="TP0", clock=f"08:01:{n:02}") for n in range(30)]
    crash = prefix("TP7", "08:02:00") + "Scheduler PP0 TP7 crashed: no room"
    text = "\n".join([start, banner, *checks, crash, *checks, ""]).encode()
    assert_same(text, 1 << 20, 10_000)


def test_records_with_many_further_terms_keep_all_of_them():
    lines = []
    for n in range(300):
        more = "".join(f", term_{k}={(n + k) % 7}" for k in range(6))
        lines.append(
            busy("full", 100, 90, 0, 0, 0, 10 - (n >= 200), rank="TP0", clock=f"08:{n // 60:02}:{n % 60:02}") + more
        )
    text = ("\n".join(lines) + "\n").encode()
    assert_same(text, 1 << 20, 20)
    (found,) = answer(read_source(source_of(text), kernel_from=20, head=0))["breaks"]
    assert found["extra_terms"] == {f"term_{k}": (200 + k) % 7 for k in range(6)}


@pytest.mark.parametrize(("available", "evictable"), [(107, -7), (-7, 107)])
def test_two_odd_terms_of_one_record_are_told_in_their_order(available: int, evictable: int):
    checks = [busy("full", 100, 90, 0, 0, 0, 10, rank="TP0", clock=f"08:{n // 60:02}:{n % 60:02}") for n in range(400)]
    checks[300] = busy("full", 100, available, evictable, 0, 0, 0, rank="TP0", clock="08:05:00")
    assert_same(("\n".join(checks) + "\n").encode(), 1 << 20, 20)
