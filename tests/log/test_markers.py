"""Marked lines are found wherever they stand, however the bytes of the markers are spread over the log."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck_cli.log.markers import Markers

MARKERS = (b"[Mem Check", b"Scheduler hit an exception", b"Error: ", b"server_args=", b"Retract", b"eta")
NOISE = b'[2026-03-01 10:00:00] INFO:     10.0.0.1:4 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def plainly(markers: tuple[bytes, ...], data: bytes, start: int, stop: int) -> list[tuple[int, int]]:
    lines, at = [], start
    while at < stop:
        end = data.find(b"\n", at, stop) + 1 or stop
        if any(marker in data[at:end] for marker in markers):
            lines.append((at, end))
        at = end
    return lines


pieces = st.sampled_from(
    [
        *MARKERS,
        *(marker[:-1] for marker in MARKERS),
        b"M",
        b"x" * 50,
        b"Memory Meta Metal",
        b"\n",
        b"\n",
        b"\r",
        NOISE,
        b"",
    ]
)


@settings(max_examples=200)
@given(st.lists(st.lists(pieces, max_size=40).map(b"".join), min_size=1, max_size=4), st.sets(st.sampled_from(MARKERS)))
def test_the_same_as_a_plain_search(blocks: list[bytes], chosen: set[bytes]) -> None:
    markers = tuple(sorted(chosen)) or MARKERS
    finder = Markers(markers)
    for block in blocks:
        data = b"Error: before\n" + block + b"Error: behind\n"
        start, stop = len(b"Error: before\n"), len(b"Error: before\n") + len(block)
        assert finder.find(data, start, stop) == plainly(markers, data, start, stop)
        assert finder.find(bytearray(data), start, stop) == plainly(markers, data, start, stop)


@settings(max_examples=200)
@given(
    st.lists(st.lists(pieces, max_size=40).map(b"".join), min_size=1, max_size=4),
    st.sets(st.sampled_from(MARKERS)),
    st.randoms(use_true_random=False),
)
def test_only_the_gaps_are_looked_at(blocks: list[bytes], chosen: set[bytes], rng) -> None:
    markers = tuple(sorted(chosen)) or MARKERS
    finder = Markers(markers)
    for data in blocks:
        lines = plainly((b"",), data, 0, len(data))
        gaps = [line for line in lines if rng.random() < 0.6]
        wanted = [line for line in plainly(markers, data, 0, len(data)) if line in gaps]
        assert finder.find(bytearray(data), 0, len(data), gaps) == wanted


def test_a_log_that_changes() -> None:
    finder = Markers(MARKERS)
    quiet = NOISE * 3000
    loud = b"".join(bytes((byte,)) * 3 + b" all bytes of the markers: %d\n" % byte for byte in range(32, 127)) * 100
    for noise in (quiet, loud, quiet, loud, loud, quiet):
        data = noise + b"x server_args=1\n" + noise + b"y Retract\n" + noise[:-1]
        assert finder.find(data, 0, len(data)) == plainly(MARKERS, data, 0, len(data))


def test_several_markers_share_one_search() -> None:
    """What the speed rests on: in ordinary noise no marker of a server's trouble needs a search of its own."""
    finder = Markers([b"Scheduler hit an exception", b"max_total_num_tokens=", b"context_length=", b"[Mem Check"])
    finder.find(NOISE * 1000, 0, len(NOISE) * 1000)
    assert 0 < len(finder.needles) < 4
    assert all(len(needle) == 1 for needle in finder.needles)


@pytest.mark.parametrize("markers", [[], [b""], [b"a\nb"]])
def test_markers_that_cannot_be(markers: list[bytes]) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        Markers(markers)


def test_a_byte_is_not_sought_whose_markers_all_hold_others_that_are() -> None:
    markers = Markers((b"xRa", b"xRb", b"cRa", b"cRb", b"x1", b"c2"))
    noise = b"12ab 12ab 12ab 12ab\n" * 3000
    data = noise + b"xRa\n" + noise + b"c2 cRb\n"
    lines = [data[a:b] for a, b in markers.find(data, 0, len(data))]
    assert lines == [b"xRa\n", b"c2 cRb\n"]
    assert set(markers.needles) == {b"x", b"c"}
