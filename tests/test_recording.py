"""Recordings: the reader, its errors, and the real ones' sizes under the release that made them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli import recording
from memcheck_cli.checker.uncached import Sizes, uncached_sizes
from memcheck_cli.recording import Ahead, Check, RecordingError, read_checks

ROOT = Path(__file__).parent.parent
SAMPLES = sorted((ROOT / "samples").glob("*.record.jsonl"))
SCHEMA = json.loads((ROOT / "memcheck_cli" / "schemas" / "recording.json").read_text())


def line(**changes: Any) -> dict[str, Any]:
    request = {
        "id": "r1",
        "req_pool_idx": 3,
        "kv_allocated_len": 40,
        "kv_committed_len": 40,
        "cache_protected_len": 16,
        "swa_evicted_seqlen": 0,
    }
    base: dict[str, Any] = {
        "check": 1,
        "loop_iter": 7,
        "sglang": "0.5.23",
        "page_size": 1,
        "hybrid_swa": False,
        "last_batch": {"id": "b1", "forward_mode": "DECODE", "is_empty": False, "reqs": [request]},
        "running_batch": {"id": "b2", "same_object_as_last": False, "forward_mode": None, "is_empty": True, "reqs": []},
        "chunked_req": None,
        "sessions": [],
        "swa_transient": 0,
        "pools": {"full": {"total": 100, "available": 60, "evictable": 0, "protected": 16, "session_held": 0}},
        "full_uncached": 24,
        "swa_uncached": 0,
    }
    base.update(changes)
    return base


def read(*lines: dict[str, Any] | bytes) -> list[Check]:
    data = b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines)
    return list(read_checks(io.BytesIO(data), "x.jsonl"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_real_checks_give_the_recorded_sizes(path: Path) -> None:
    assert path.stat().st_size < 60_000
    with path.open("rb") as stream:
        checks = list(read_checks(stream, path.name))
    assert len(checks) > 10
    for check in checks:
        answer = uncached_sizes(check.state, check.sglang)
        assert isinstance(answer, Sizes)
        assert (answer.full, answer.swa) == (check.full_uncached, check.swa_uncached)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples_are_as_the_schema_says(path: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for text in path.read_text().splitlines():
        validator.validate(json.loads(text))
    assert is_recording(path.read_bytes())


def test_there_are_samples() -> None:
    assert len(SAMPLES) >= 2


def test_fields() -> None:
    (check,) = read(line())
    assert (check.line, check.check, check.loop_iter, check.sglang) == (1, 1, 7, "0.5.23")
    assert check.state.last_batch is not None
    assert check.state.last_batch.requests[0].kv_allocated_len == 40
    assert check.state.chunked_recorded and check.state.sessions == ()
    assert check.state.pools["full"].terms(24) == {
        "available": 60,
        "evictable": 0,
        "protected": 16,
        "session_held": 0,
        "uncached": 24,
    }


def test_old_recordings_have_fewer_fields() -> None:
    old = line(sglang="0.5.8", swa_uncached=None, batch_uncached=[["b1", 24]])
    for name in ("chunked_req", "sessions", "swa_transient", "hybrid_swa"):
        del old[name]
    del old["pools"]["full"]["session_held"]
    (check,) = read(old)
    assert (check.state.chunked_recorded, check.state.sessions, check.state.hybrid_swa) == (False, None, False)
    assert "session_held" not in check.state.pools["full"].terms(0)
    assert check.batch_uncached == (("b1", 24),)


def test_the_running_batch_may_be_the_last_one() -> None:
    same = line(running_batch={"id": "b1", "same_object_as_last": True, "forward_mode": "DECODE", "is_empty": False})
    (check,) = read(same)
    assert check.state.running_batch is not None and check.state.last_batch is not None
    assert check.state.running_batch.requests == check.state.last_batch.requests


def test_no_last_batch() -> None:
    (check,) = read(line(last_batch=None))
    assert check.state.last_batch is None


def wrong(path: str, value: Any) -> dict[str, Any]:
    changed = line()
    at = changed
    *way, last = path.split("/")
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if value is KeyError:
        del at[last]
    else:
        at[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("check", 0, "check: a number of at least 1"),
        ("check", True, "check: a whole number"),
        ("check", 10**30, "check: a whole number"),
        ("page_size", 0, "page_size"),
        ("page_size", 1.5, "page_size"),
        ("sglang", "nightly", "sglang: 'nightly' is no SGLang release"),
        ("sglang", "0.2.0", "sglang: there are no rules"),
        ("pools", {}, "pools: holds no pool"),
        ("pools", [], "pools: an object"),
        ("pools/full/total", None, "pools.full.total"),
        ("last_batch", KeyError, "last_batch: is missing"),
        ("last_batch/reqs", {}, "last_batch.reqs: a list"),
        ("last_batch/reqs/0/kv_allocated_len", "40", "last_batch.reqs[0].kv_allocated_len"),
        ("last_batch/reqs/0/id", 5, "last_batch.reqs[0].id"),
        ("last_batch/reqs/0/req_pool_idx", KeyError, "last_batch.reqs[0].req_pool_idx: is missing"),
        ("last_batch/reqs/0/session_owned", 1, "last_batch.reqs[0].session_owned: true or false"),
        ("running_batch/same_object_as_last", True, "does not fit the ids"),
        ("batch_uncached", [["b1"]], "batch_uncached[0]"),
        ("sessions", 3, "sessions: a list"),
        ("chunked_req", [], "chunked_req: an object"),
    ],
)
def test_errors_name_line_and_field(path: str, value: Any, named: str) -> None:
    with pytest.raises(RecordingError) as error:
        read(line(), wrong(path, value))
    message = str(error.value)
    assert message.startswith("x.jsonl:2: ")
    assert named in message
    assert "\n" not in message
    assert error.value.exit_code == 4


@pytest.mark.parametrize(
    "damaged",
    [
        b"{",
        b"[1]\n",
        b"nonsense\n",
        b"\xff\xfe\n",
        b'{"check": NaN}\n',
        b'{"check": ' + b"9" * 5000 + b"}\n",
        b"[" * 100_000 + b"\n",
        b'{"a":' * 100_000 + b"\n",
    ],
)
def test_what_is_no_json_object(damaged: bytes) -> None:
    with pytest.raises(RecordingError, match=r"^x\.jsonl:3: ") as error:
        read(line(), b"\n", damaged)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_a_line_without_end_is_told() -> None:
    with pytest.raises(RecordingError, match="no end"):
        read(json.dumps(line()).encode()[:200])


def test_long_lines_are_refused_without_being_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_LINE", 1000)
    with pytest.raises(RecordingError, match="longer than"):
        read(b" " * 5000)


def test_reading_is_lazy() -> None:
    checks = read_checks(io.BytesIO(json.dumps(line()).encode() + b"\nbroken\n"), "x")
    assert next(checks).check == 1
    with pytest.raises(RecordingError):
        next(checks)


@given(st.binary(max_size=200))
def test_any_bytes_end_in_one_error(data: bytes) -> None:
    try:
        assert all(isinstance(check, Check) for check in read_checks(io.BytesIO(data), "x"))
    except RecordingError as error:
        assert "\n" not in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(line())), JSON)
def test_any_value_of_any_field_ends_in_one_error_or_is_fine(name: str, value: Any) -> None:
    changed = line()
    changed[name] = value
    try:
        (check,) = read(changed)
        uncached_sizes(check.state, check.sglang)
    except RecordingError as error:
        assert "x.jsonl:1: " in str(error)
    else:
        jsonschema.validate(changed, SCHEMA)


def is_recording(text: bytes, **bound: int) -> bool:
    return Ahead(io.BytesIO(text)).is_recording(**bound)


def test_logs_wrapped_in_json_are_no_recordings() -> None:
    assert not is_recording(b'{"log":"[2026-01-01 00:00:00] hello\\n","stream":"stderr"}\n')
    assert not is_recording(b"[2026-01-01 00:00:00] hello\n")
    assert not is_recording(b"{")
    assert not is_recording(b"")
    assert is_recording(b"\xef\xbb\xbf" + json.dumps(line()).encode())


def test_how_far_is_looked_is_told() -> None:
    text = json.dumps(line()).encode()
    long = text[:1] + b" " * (3 << 20) + text[1:] + b"\n"
    assert is_recording(long)
    assert not is_recording(long, most=2 << 20)


@pytest.mark.parametrize(("start", "line"), [(b"", 1), (b"\n\n", 3), (b"\xef\xbb\xbf", 1), (b"  \r\n", 2)])
def test_recordings_are_known_by_their_first_line(start: bytes, line: int) -> None:
    stream = Ahead(io.BytesIO(start + SAMPLES[0].read_bytes()))
    assert stream.is_recording()
    checks = list(read_checks(stream, "x"))
    assert len(checks) > 10
    assert checks[0].line == line


@given(st.binary(max_size=300), st.integers(1, 50))
def test_looking_ahead_loses_nothing(data: bytes, size: int) -> None:
    stream = Ahead(io.BytesIO(data))
    stream.is_recording()
    assert b"".join(iter(lambda: stream.read(size), b"")) == data
    lines = Ahead(io.BytesIO(data))
    lines.is_recording()
    assert b"".join(iter(lambda: lines.readline(size), b"")) == data


@given(st.binary(max_size=300), st.integers(1, 50))
def test_a_buffer_is_filled_with_what_was_looked_at_first(data: bytes, size: int) -> None:
    stream = Ahead(io.BytesIO(data))
    stream.is_recording()
    view, got = memoryview(bytearray(size)), b""
    while count := stream.readinto(view):
        got += view[:count]
    assert got == data
