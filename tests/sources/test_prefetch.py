"""Reading ahead in a thread."""

from __future__ import annotations

import gc
import gzip
import io
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packing import sources, text_of

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources import prefetch
from memcheck_cli.sources.streams import ChunkStream

TEXT = text_of(3_000_000)


def threads() -> int:
    return sum(thread.name == "memcheck-prefetch" for thread in threading.enumerate())


def eventually(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 5
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return true()


@given(block=st.integers(1, 5000), ahead=st.integers(1, 4), size=st.integers(1, 9000), length=st.integers(0, 20_000))
@settings(deadline=None, max_examples=50)
def test_the_bytes_in_order(block: int, ahead: int, size: int, length: int) -> None:
    with prefetch(io.BytesIO(TEXT[:length]), block=block, ahead=ahead) as stream:  # type: ignore[arg-type]
        assert b"".join(iter(lambda: stream.read(size), b"")) == TEXT[:length]
        assert stream.read(size) == b""


def test_a_source(tmp_path: Path) -> None:
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(TEXT))
    (source,) = sources(path)
    assert source.decoded
    buffer = bytearray(1 << 20)
    result = bytearray()
    with prefetch(source.open()) as stream:
        while got := stream.readinto(buffer):
            result += buffer[:got]
    assert result == TEXT
    assert eventually(lambda: threads() == 0)


def test_an_error_comes_behind_the_bytes_before_it(tmp_path: Path) -> None:
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(TEXT)[:-50_000])
    (source,) = sources(path)
    pieces = []
    with prefetch(source.open(), block=10_000) as stream:
        with pytest.raises(UnreadableError, match="truncated gzip data"):
            while piece := stream.read(7777):
                pieces.append(piece)
        with pytest.raises(UnreadableError, match="truncated gzip data"):
            stream.read(1)
    text = b"".join(pieces)
    assert TEXT.startswith(text) and len(text) > 2_000_000


def test_any_other_error_comes_too() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"x"
        raise ZeroDivisionError

    with prefetch(ChunkStream(chunks()), block=1) as stream:
        assert stream.read(1) == b"x"
        with pytest.raises(ZeroDivisionError):
            stream.read(1)


class Counted(io.RawIOBase):
    """Endless; how much was read and whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        self.reads += 1
        return len(buffer)


def test_it_reads_a_bounded_way_ahead() -> None:
    endless = Counted()
    with prefetch(endless, block=100, ahead=3) as stream:
        assert eventually(lambda: endless.reads >= 3)
        time.sleep(0.05)
        assert endless.reads == 3
        stream.read(100)
        assert eventually(lambda: endless.reads == 4)


def test_closing_early_ends_the_thread_and_closes_the_stream() -> None:
    endless = Counted()
    stream = prefetch(endless)
    stream.read(10)
    stream.close()
    stream.close()
    assert endless.closed
    assert eventually(lambda: threads() == 0)
    with pytest.raises(ValueError, match="closed"):
        stream.read(1)


def test_letting_go_of_it_does_the_same() -> None:
    endless = Counted()
    stream = prefetch(endless)
    stream.read(10)
    del stream
    gc.collect()
    assert eventually(lambda: endless.closed and threads() == 0)


def test_a_silent_pipe_does_not_hold_up_closing() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as pipe:  # noqa: PTH123
        stream = prefetch(pipe)
        began = time.monotonic()
        stream.close()
        assert time.monotonic() - began < 2
        os.close(writing)
        assert eventually(lambda: threads() == 0)
