"""Cutting a log into attempts: nothing is lost, lines keep their numbers, blocks do not matter."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bundles import COMMAND, begin, columns, end, failed, method, sample, stamped, text

from memcheck_cli.artifacts import cutting, following
from memcheck_cli.artifacts.cutting import Cutter
from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources import Source

HEALTHY = sample("healthy")
PIECES: list[list[str]] = [
    begin("a/test_a.py", 0, 1),
    begin("a/test_b.py", 1, 1),
    ["python3 /x/test_c.py"],
    ["[CI Retry] Attempt 2/2 for a/test_a.py"],
    ["✓ PASSED on retry (attempt 2): a/test_a.py"],
    failed("a/test_b.py"),
    end("a/test_a.py", 0, 1),
    end("a/test_b.py", 1, 1),
    [method("TestA", "test_1")],
    [method("TestB", "test_2")],
    [COMMAND],
    HEALTHY[:9],
    HEALTHY[9:14],
    ["", "x", "=====", "_____ TestA.test_1 _____", "----- Captured stderr call -----"],
    ["##[error]Process completed with exit code 1.", "Post job cleanup."],
    ["FAILED a/test_a.py::TestA::test_1 - x", "ERROR: test_2 (__main__.TestB)"],
    ["y" * 300],
]


class Blocks(io.RawIOBase):
    """A stream that gives what it has in reads of one size, and may be damaged at its end."""

    def __init__(self, data: bytes, size: int, damage: str | None = None) -> None:
        super().__init__()
        self.data = io.BytesIO(data)
        self.size = size
        self.damage = damage

    def read(self, size: int = -1, /) -> bytes:
        block = self.data.read(self.size)
        if not block and self.damage is not None:
            raise UnreadableError(self.damage)
        return block


def cut(data: bytes, size: int, job: str | None = None) -> tuple[list[bytes], list[dict[str, Any]], Cutter]:
    source = Source("made.log", lambda _: io.RawIOBase())
    cutter = Cutter(source, Blocks(data, size), job, None)
    texts = []
    attempts = []
    for attempt, piece in cutter:
        with piece.open() as stream:
            texts.append(b"".join(iter(lambda: stream.read(64), b"")))
        attempts.append(attempt)
    cutter.finish(True)
    told = []
    for attempt in attempts:
        lines = attempt.lines
        data_of = asdict(attempt)
        data_of["lines"] = len(lines)
        told.append(data_of)
    return texts, told, cutter


@given(
    st.lists(st.sampled_from(PIECES), max_size=12),
    st.sampled_from([1, 7, 64, 1000, 1 << 20]),
    st.booleans(),
    st.booleans(),
)
def test_nothing_is_lost_and_blocks_do_not_matter(
    pieces: list[list[str]], size: int, stamps: bool, whole: bool
) -> None:
    lines = [line for piece in pieces for line in piece]
    data = text(stamped(lines) if stamps else lines)
    if not whole:
        data = data[:-1]
    texts, attempts, _ = cut(data, size)
    assert b"".join(texts) == data
    assert attempts == cut(data, 1 << 20)[1]
    before = 0
    for piece, attempt in zip(texts, attempts, strict=True):
        assert attempt["first_line"] == before + 1
        before += piece.count(b"\n")


@given(
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from(["a", "b (1)"]), st.sampled_from(["s", "t"])), max_size=8
    ),
    st.sampled_from([1, 50, 1 << 20]),
)
def test_columns(pieces: list[tuple[list[str], str, str]], size: int) -> None:
    lines = [line for piece, job, step in pieces for line in columns(job, step, stamped(piece))]
    data = text(lines)
    texts, attempts, cutter = cut(data, size)
    assert b"".join(texts) == data
    for piece, attempt in zip(texts, attempts, strict=True):
        heads = [line.split(b"\t")[:2] for line in piece.splitlines()]
        assert {job for job, _ in heads} <= {(attempt["job"] or "").encode()}
        assert {step for _, step in heads} <= {(attempt["step"] or "").encode()}
    assert cutter.columns is bool(lines)
    assert set(cutter.jobs) == ({job for piece, job, _ in pieces if piece} or {None})


def test_a_line_that_is_too_long_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "LONGEST_LINE", 200)
    long = "Begin (0/1): " + "z" * 900 + " [CI Test Method] TestZ.test_z"
    data = text([*begin("test_a.py"), long, method("TestA", "test_a"), *end("test_a.py")])
    for size in (10, 64, 1 << 20):
        texts, attempts, _ = cut(data, size)
        assert b"".join(texts) == data
        assert [found[0] for found in attempts[-1]["methods"]] == [
            data.count(b"\n", 0, data.index(b"[CI Test Method] TestA")) + 1
        ]


def test_only_so_many_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_ATTEMPTS", 3)
    data = text([line for number in range(9) for line in begin(f"test_{number}.py", number, 9)])
    texts, attempts, _ = cut(data, 1 << 20)
    assert len(attempts) == 3 and b"".join(texts) == data


def test_only_so_many_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_MARKS", 5)
    data = text([method("TestA", f"test_{number}") for number in range(50)])
    _, (attempt,), _ = cut(data, 1 << 20)
    assert len(attempt["methods"]) == 5


def test_damage_ends_the_last_piece() -> None:
    source = Source("made.log", lambda _: io.RawIOBase())
    cutter = Cutter(source, Blocks(text(begin("test_a.py")), 1 << 20, "torn"), None, None)
    with pytest.raises(UnreadableError, match="torn"):
        for _, piece in cutter:
            stream = piece.open()
            while stream.read(10):
                pass


def test_a_piece_need_not_be_read_to_its_end() -> None:
    data = text([*begin("test_a.py"), *HEALTHY, *begin("test_b.py", 1, 1)])
    cutter = Cutter(Source("made.log", lambda _: io.RawIOBase()), Blocks(data, 100), None, None)
    assert [attempt.file and attempt.file[-9:] for attempt, _ in list(cutter)] == [None, "test_a.py", "test_b.py"]


def test_a_command_that_the_test_prints_is_no_new_file() -> None:
    data = text([*begin("a/test_a.py"), method("TestA", "test_a"), "python3 /x/test_helper.py", *end("a/test_a.py")])
    _, attempts, _ = cut(data, 1 << 20)
    assert [attempt["file"] for attempt in attempts] == [None, "/home/runner/work/sglang/sglang/a/test_a.py"]


def test_the_same_file_again_at_the_same_place_is_another_attempt() -> None:
    data = text(
        [*begin("test_a.py"), *end("test_a.py"), *begin("test_a.py"), *end("test_a.py"), *begin("test_a.py", 1, 1)]
    )
    _, attempts, _ = cut(data, 1 << 20)
    assert [(one["attempt"], one["result"]) for one in attempts[1:]] == [(1, "failed"), (2, "passed"), (1, None)]


def test_one_file_has_one_spelling() -> None:
    data = text(
        ["[CI Retry] Attempt 1/2 for a/test_a.py", method("A", "b"), *begin("a/test_a.py"), *end("a/test_a.py")]
    )
    _, attempts, _ = cut(data, 1 << 20)
    assert {attempt["file"] for attempt in attempts[1:]} == {"/home/runner/work/sglang/sglang/a/test_a.py"}
