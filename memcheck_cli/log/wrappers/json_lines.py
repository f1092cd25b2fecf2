"""Collectors that keep one JSON object a line: docker's json-file driver, Kubernetes shippers, verl, journald's export.

A docker record without a line end is a part of a longer line. Other writers end a line with the object.
"""

from __future__ import annotations

import re
from json import JSONDecoder, loads

from memcheck_cli.log.wrappers.interface import DIGITS, Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

_TEXT_KEYS = ("log", "message", "msg", "line", "MESSAGE", "@message", "textPayload", "_raw")
_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "asctime", "date")
_DOCKER_KEYS = frozenset(("log", "stream", "attrs", "time"))
# fluentd's file output: time, tag, record
_FLUENTD = pattern(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})? ?(?:Z|[+-]\d\d:?\d\d))[ \t]([\w.*/-]{1,200}):?[ \t](?=\{\")",
    re.ASCII,
)
_TORN = pattern(r'\{"(?:log|message|msg|line)": ?"')
_TEXT = JSONDecoder(strict=False)
_OPEN_ESCAPE = pattern(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


def _printable(text: str) -> str:
    """JSON can spell halves of surrogate pairs, which no encoding takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _process(record: dict[str, object]) -> str | None:
    """What the record says of its writer, or None."""
    pod = record.get("kubernetes")
    if isinstance(pod, dict):
        name, container = pod.get("pod_name"), pod.get("container_name")
        if isinstance(name, str) and isinstance(container, str):
            return f"pod/{name}/{container}"
    unit, pid = record.get("SYSLOG_IDENTIFIER"), record.get("_PID")
    if isinstance(unit, str):
        return f"{unit}[{pid}]" if isinstance(pid, str) else unit
    container = record.get("container_name")
    return container.lstrip("/") or None if isinstance(container, str) else None


def _torn(text: str) -> Peeled | None:
    """A record whose end is missing (a file cut while it was written) still holds the front of its line."""
    found = _TORN.match(text)
    if not found:
        return None
    for candidate in (text, _OPEN_ESCAPE.sub("", text) + '"'):
        try:
            inner = _TEXT.raw_decode(candidate, found.end() - 1)[0]
        except ValueError:
            continue
        if not isinstance(inner, str):
            return None
        inner = _printable(inner)
        return Peeled("json", inner.removesuffix("\n"), cut=not inner.endswith("\n"))
    return None


def _json(text: str, stretch: Stretch) -> Peeled | None:
    if text[1:2] != '"' and not text[1:].lstrip().startswith('"'):
        return None
    if not text.rstrip().endswith("}"):
        return _torn(text)
    try:
        record = loads(text, strict=False)
    except (ValueError, RecursionError):
        return _torn(text)
    if not isinstance(record, dict):
        return None
    for key in _TEXT_KEYS:
        inner = record.get(key)
        if isinstance(inner, str):
            break
    else:
        return None
    inner = _printable(inner)
    time = None
    for key in _TIME_KEYS:
        value = record.get(key)
        if isinstance(value, str):
            time = _printable(value)
            break
    stream = record.get("stream")
    if stream in ("stdout", "stderr") and "log" in record and "time" in record and record.keys() <= _DOCKER_KEYS:
        return Peeled("docker-json", inner, time=time, part=str(stream), more=not inner.endswith("\n"))
    process = _process(record)
    return Peeled("json", inner.removesuffix("\n"), _printable(process) if process else None, time)


def _fluentd(text: str, stretch: Stretch) -> Peeled | None:
    found = _FLUENTD.match(text)
    return Peeled("fluentd", text[found.end() :], time=found[1]) if found else None


PEELERS: Peelers = (("{", _json), (DIGITS, _fluentd))
