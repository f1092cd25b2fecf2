"""Recordings: what the busy check looked at, check by check, with the sizes SGLang itself computed beside it.

A recording is JSON lines, one object a busy check, in order (`schemas/recording.json`). It is read line by line in
bounded memory; whatever is not as the schema says ends in one line that names source, line number and field.
Lengths and counters are in tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from memcheck_cli.checker.releases import ReleaseError, held_to
from memcheck_cli.checker.state import Batch, PoolStats, Request, State
from memcheck_cli.errors import UnreadableError

MAX_LINE = 64 * 1024 * 1024
"""Longest line of a recording in bytes. A check of 10,000 requests takes about 3 MB."""

_BLOCK = 1 << 20
_MAX_VALUE = 10**18
_MAX_NAME = 1000


class Lines(Protocol):
    """What a recording is read from: `readline` gives at most that many bytes of the next line, none at the end."""

    def readline(self, limit: int, /) -> bytes: ...


class RecordingError(UnreadableError):
    """A recording is not what the schema says: one line with source, line number and field."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a recording.

    line: line number from 1. check: the ordinal of the busy check, from 1. sglang: the release that ran.
    full_uncached, swa_uncached: what SGLang answered in tokens, None where it has no such sum (or was not asked).
    batch_uncached: (batch id, tokens) of each batch it asked about, None where not recorded.
    """

    line: int
    check: int
    loop_iter: int | None
    sglang: str
    state: State
    full_uncached: int | None
    swa_uncached: int | None
    batch_uncached: tuple[tuple[str, int], ...] | None


class _FieldError(Exception):
    """args: the field, what is wrong with it."""


_MISSING = object()


class _Reader:
    """One JSON object with the path that leads to it, so that an error can name the field."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise _FieldError(path or "line", "an object is expected")
        self.values: Mapping[str, object] = value
        self.path = path

    def name(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def get(self, key: str, default: object = _MISSING) -> object:
        value = self.values.get(key, default)
        if value is _MISSING:
            raise _FieldError(self.name(key), "is missing")
        return value

    def number(self, key: str, *, least: int | None = None, default: object = _MISSING) -> int:
        value = self.get(key, default)
        if type(value) is not int or abs(value) >= _MAX_VALUE:
            raise _FieldError(self.name(key), "a whole number is expected")
        if least is not None and value < least:
            raise _FieldError(self.name(key), f"a number of at least {least} is expected")
        return value

    def optional_number(self, key: str, *, least: int | None = None, required: bool = False) -> int | None:
        if self.get(key, _MISSING if required else None) is None:
            return None
        return self.number(key, least=least)

    def flag(self, key: str, *, default: object = _MISSING) -> bool:
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise _FieldError(self.name(key), "true or false is expected")
        return value

    def optional_flag(self, key: str) -> bool | None:
        return None if self.get(key, None) is None else self.flag(key)

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or len(value) > _MAX_NAME:
            raise _FieldError(self.name(key), "a text is expected")
        return value

    def optional_text(self, key: str) -> str | None:
        return None if self.get(key, None) is None else self.text(key)

    def items(self, key: str) -> Iterator[tuple[str, object]]:
        value = self.get(key)
        if not isinstance(value, list):
            raise _FieldError(self.name(key), "a list is expected")
        for position, item in enumerate(value):
            yield f"{self.name(key)}[{position}]", item


def _request(value: object, path: str) -> Request:
    fields = _Reader(value, path)
    holds = fields.optional_flag("holds_kv")
    committed_freed = fields.optional_flag("kv_committed_freed")
    freed = (not holds) if holds is not None else bool(committed_freed)
    return Request(
        id=fields.text("id"),
        req_pool_idx=fields.optional_number("req_pool_idx", required=True),
        kv_allocated_len=fields.number("kv_allocated_len"),
        kv_committed_len=fields.number("kv_committed_len"),
        cache_protected_len=fields.number("cache_protected_len"),
        swa_evicted_seqlen=fields.number("swa_evicted_seqlen", default=0),
        swa_evict_floor=fields.number("swa_evict_floor", default=0),
        freed=freed,
        overallocated_freed=fields.optional_flag("kv_overallocated_freed"),
        session_owned=fields.flag("session_owned", default=False),
        session_id=fields.optional_text("session_id"),
        beam_extra=fields.number("beam_extra", default=0),
        seq_len=fields.optional_number("seq_len"),
        fill_len=fields.optional_number("fill_len"),
        prefix_len=fields.optional_number("prefix_len"),
        finished=fields.optional_flag("finished"),
    )


def _batch(value: object, path: str, *, same_as: Batch | None = None) -> Batch:
    fields = _Reader(value, path)
    if same_as is not None and "reqs" not in fields.values:
        requests = same_as.requests
    else:
        requests = tuple(_request(item, name) for name, item in fields.items("reqs"))
    return Batch(
        fields.text("id"), fields.optional_text("forward_mode"), fields.flag("is_empty", default=not requests), requests
    )


def _batches(fields: _Reader) -> tuple[Batch | None, Batch | None]:
    last_value, running_value = fields.get("last_batch"), fields.get("running_batch")
    last = None if last_value is None else _batch(last_value, "last_batch")
    if running_value is None:
        return last, None
    same = _Reader(running_value, "running_batch").flag("same_object_as_last", default=False)
    if same and last is None:
        raise _FieldError("running_batch.same_object_as_last", "is true although there is no last batch")
    running = _batch(running_value, "running_batch", same_as=last if same else None)
    if last is not None and same != (running.id == last.id):
        raise _FieldError("running_batch.same_object_as_last", "does not fit the ids of the two batches")
    return last, running


def _pool(value: object, path: str) -> PoolStats:
    fields = _Reader(value, path)
    return PoolStats(
        total=fields.number("total"),
        available=fields.number("available"),
        evictable=fields.number("evictable"),
        protected=fields.number("protected"),
        session_held=fields.optional_number("session_held"),
    )


def _check(value: object, line: int) -> Check:
    fields = _Reader(value, "")
    release = fields.text("sglang")
    try:
        held_to(release)
    except ReleaseError as unknown:
        raise _FieldError("sglang", str(unknown)) from None
    last, running = _batches(fields)
    pools_value = _Reader(fields.get("pools"), "pools")
    pools = {name: _pool(item, f"pools.{name[:40]}") for name, item in pools_value.values.items()}
    if not pools:
        raise _FieldError("pools", "holds no pool")
    chunked_value = fields.get("chunked_req", None)
    sessions = None
    if fields.get("sessions", None) is not None:
        sessions = tuple(_request(item, name) for name, item in fields.items("sessions"))
    answers = None
    if fields.get("batch_uncached", None) is not None:
        answers = tuple(_answer(item, name) for name, item in fields.items("batch_uncached"))
    state = State(
        page_size=fields.number("page_size", least=1),
        hybrid_swa=fields.flag("hybrid_swa", default="swa" in pools),
        last_batch=last,
        running_batch=running,
        pools=pools,
        chunked_req=None if chunked_value is None else _request(chunked_value, "chunked_req"),
        chunked_recorded="chunked_req" in fields.values,
        sessions=sessions,
        swa_transient=fields.number("swa_transient", default=0),
        speculative_topk=fields.optional_number("speculative_topk"),
    )
    return Check(
        line=line,
        check=fields.number("check", least=1),
        loop_iter=fields.optional_number("loop_iter"),
        sglang=release,
        state=state,
        full_uncached=fields.optional_number("full_uncached"),
        swa_uncached=fields.optional_number("swa_uncached"),
        batch_uncached=answers,
    )


def _answer(value: object, path: str) -> tuple[str, int]:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and type(value[1]) is int:
        return value[0], value[1]
    raise _FieldError(path, "a pair of batch id and tokens is expected")


def _reject_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def parse_line(line: bytes) -> object:
    """The JSON value of one line. Raises ValueError for whatever is none, or nested too deeply."""
    try:
        return json.loads(line.decode("utf-8-sig"), parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_checks(stream: Lines, name: str) -> Iterator[Check]:
    """The checks of a recording, one at a time; `name` is what errors call the source.

    Blank lines are skipped. Raises RecordingError.
    """
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise RecordingError(f"{name}:{number}: the line is longer than {MAX_LINE} bytes")
        if not line.strip():
            continue
        try:
            yield _check(parse_line(line), number)
        except ValueError as error:
            cut = "" if line.endswith(b"\n") else " (the last line has no end: is the recording cut?)"
            raise RecordingError(f"{name}:{number}: no JSON object: {_reason(error)}{cut}") from None
        except _FieldError as error:
            field, wrong = error.args
            raise RecordingError(f"{name}:{number}: {field}: {wrong}") from None


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return str(error).split(";")[0][:100]


class Readable(Protocol):
    """What a recording or a log is read from: `read` gives some bytes, at most that many, none at the end."""

    def read(self, size: int, /) -> bytes | None: ...


class Ahead:
    """A stream that can be looked at before it is read."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._head = b""

    def is_recording(self, most: int = MAX_LINE) -> bool:
        """Whether the stream begins with a line of a recording (and not of a log that is wrapped in JSON). most: bytes
        that are looked at, about; where the line is longer it is taken for none."""
        start = 0
        while start == len(self._head) and start < _BLOCK and self._fill():
            start = len(self._head) - len(self._head.lstrip(b"\xef\xbb\xbf \t\r\n"))
        if self._head[start : start + 1] != b"{":
            return False
        while (end := self._head.find(b"\n", start)) < 0 and len(self._head) < most and self._fill():
            pass
        try:
            value = parse_line(self._head[start : end if end >= 0 else None])
        except ValueError:
            return False
        return isinstance(value, dict) and "pools" in value and "last_batch" in value

    def _fill(self) -> bool:
        block = self._stream.read(_BLOCK) or b""
        self._head += block
        return bool(block)

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._head:
            block, self._head = self._head[:size], self._head[size:]
            return block
        return self._stream.read(size) or b""

    def readinto(self, view: memoryview) -> int:
        """Fill a buffer; answers how many bytes, 0 at the end."""
        block = self.read(len(view))
        view[: len(block)] = block
        return len(block)

    def readline(self, limit: int) -> bytes:
        """The next line, at most `limit` bytes of it."""
        pieces: list[bytes] = []
        left = limit
        while left > 0:
            block = self._head or self._stream.read(_BLOCK) or b""
            end = min(block.find(b"\n") + 1 or len(block), left)
            pieces.append(block[:end])
            self._head = block[end:]
            left -= end
            if not block or pieces[-1].endswith(b"\n"):
                break
        return b"".join(pieces)
