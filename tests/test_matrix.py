"""Whatever a log was collected with, and however it was packed: the breaks are those of the plain log.

Every kind of log goes through every wrapper and every container, singly and stacked, and must give the plain log's
breaks, field by field, with the line numbers of the file that was read.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kinds import KINDS
from packing import make_tar, make_zip, pipe_of, zstd
from wrapping import PASTED, WRAPPERS, Wrapping, stack, stacks

from memcheck_cli.forensics.analysis import Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.ledger.reading import read_source
from memcheck_cli.render.analysis_json import document
from memcheck_cli.sources import Source, find_sources

NAMES = list(KINDS)
LINES = {"line", "asserted_line"}
FAST: dict[str, Any] = {"head": 0, "kernel_from": 3}
"""Lines that cannot matter are passed over from the first byte on, and stretches are read as columns."""

# `total_from` names a line in words. An explanation quotes lines, which other tests look at.
WORDS = {"total_from", "explanation", "source", "process"}


def text_of(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def analysed(*sources: Source, **how: Any) -> dict[str, Any]:
    return document(analyze_readings([read_source(source, **how) for source in sources], Settings(), Scope()))


def of_text(text: bytes, **how: Any) -> dict[str, Any]:
    return analysed(Source("log", lambda _: io.BytesIO(text)), **how)  # type: ignore[arg-type,return-value]


@cache
def plain(kind: str) -> dict[str, Any]:
    answer = of_text(text_of(KINDS[kind]))
    assert answer["verdict"] == "broken"
    return answer


def moved(data: Any, number: Callable[[int], int]) -> Any:
    """An item of an answer with its line numbers put through `number`, and without what a wrapper may change."""
    if not isinstance(data, dict):
        return data
    return {
        key: number(value) if key in LINES and value is not None else moved(value, number)
        for key, value in data.items()
        if key not in WORDS and key != "member"
    }


def breaks_of(answer: dict[str, Any], number: Callable[[int], int] = int) -> list[Any]:
    return [moved(found, number) for found in answer["breaks"]]


def assert_wrapped(wrapping: Wrapping, kind: str, **how: Any) -> None:
    lines = KINDS[kind]
    physical = wrapping(lines)
    answer = of_text(text_of(physical), **how)
    expected = plain(kind)
    numbers = wrapping.numbers(lines)
    assert breaks_of(answer) == breaks_of(expected, lambda line: numbers[line - 1])
    assert {found["process"] for found in answer["breaks"]} == {wrapping.process}
    (told,), (wanted,) = answer["sources"], expected["sources"]
    assert (told["lines"], told["records"], told["rejected"]) == (
        len(physical),
        wanted["records"],
        wanted["rejected"],
    )
    # A wrapped batch line may be lost, and it is what tells a stream from a dump.
    names = ("run", "rank", "busy_checks", "idle_reports", "pools", *(["mode"] if wrapping.exact else []))
    assert checked(answer, names) == checked(expected, names)


def checked(answer: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    return [[stream[name] for name in names] for stream in answer["streams"]]


# Wrappers


@pytest.mark.parametrize("kind", NAMES)
def test_every_wrapper(kind: str) -> None:
    for wrapping in WRAPPERS.values():
        assert_wrapped(wrapping, kind)
        assert_wrapped(wrapping, kind, **FAST)


def beyond_joining(outer: str, inner: str, kind: str) -> bool:
    """Wrapped so narrow that a prefix, or a continuation line without one, is broken from its text."""
    if outer not in PASTED:
        return False
    return kind == "old-idle" or (outer == "pasted-narrow-editor" and inner == "ray-time")


@pytest.mark.parametrize("outer", WRAPPERS)
def test_every_stack_of_two(outer: str) -> None:
    """Each pair with two kinds of log, other ones for each pair."""
    for turn, (one, inner) in enumerate(stacks()):
        if one != outer:
            continue
        wrapping = stack(WRAPPERS[outer], WRAPPERS[inner])
        for kind in (NAMES[turn % len(NAMES)], NAMES[(turn // len(NAMES) + 5) % len(NAMES)]):
            if not beyond_joining(outer, inner, kind):
                assert_wrapped(wrapping, kind)


@pytest.mark.parametrize("kind", NAMES)
def test_stacks_of_three(kind: str) -> None:
    for outer, middle, inner in (
        ("docker-json-parts", "ansi", "ray-time"),
        ("gh-run-view", "compose-colour", "ray-colour"),
        ("cri-parts", "json", "mpirun"),
        ("quote", "kubectl", "verl"),
        ("crlf", "journal-short", "srun"),
        ("fence", "github-actions", "pytest-error"),
    ):
        assert_wrapped(stack(stack(WRAPPERS[outer], WRAPPERS[middle]), WRAPPERS[inner]), kind)


@pytest.mark.parametrize("kind", NAMES)
def test_a_file_that_changes_its_wrapper_midway(kind: str) -> None:
    """The collector was exchanged while the server ran; none of these names a process."""
    names = ["docker-timestamps", "cri-parts", "github-actions", "ansi", "docker-json-parts", "json", "fluentd"]
    lines = KINDS[kind]
    physical = []
    numbers = []
    for index, line in enumerate(lines):
        wrapping = WRAPPERS[names[index * len(names) // len(lines)]]
        numbers.append(len(physical) + 1)
        physical += wrapping.per_line(index, line)
    for how in ({}, FAST):
        answer = of_text(text_of(physical), **how)
        assert breaks_of(answer) == breaks_of(plain(kind), lambda line: numbers[line - 1])


# Prefixes: what the server or its logging configuration prints before a message

SERVERS = re.compile(r"\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)((?: [A-Z]{2}\d+)*)\] ")

# Form, and how much of a time it keeps (date and clock, clock, nothing) and whether it keeps ranks.
PREFIXES: dict[str, tuple[str, str, bool]] = {
    "milliseconds": ("[{date} {clock}.123{ranks}] ", "millis", True),
    "more-tokens": ("[{date} {clock} PP1 ATTN_CP0{ranks} EP3] ", "date", True),
    "clock-only": ("[{clock}{ranks}] ", "clock", True),
    "ranks-only": ("[{only}] ", "", True),
    "front-cut": ("{clock}{ranks}] ", "clock", True),
    "front-cut-deeper": ("{only}] ", "", True),
    "level-and-file": ("{date} {clock} ERROR 300 [scheduler.py:34] ", "date", False),
    "logging": ("{date} {clock},123 - sglang.srt - INFO - ", "millis", False),
    "loguru": ("{date} {clock}.123 | INFO     | sglang.srt.managers:run:34 - ", "millis", False),
    "brackets": ("[{date} {clock},123][sglang][INFO] - ", "millis", False),
    "default": ("INFO:sglang.srt.managers.scheduler:", "", False),
    "bracket-in-a-logger": ("INFO 01-02 {clock} [scheduler.py:34] [{date} {clock}{ranks}] ", "date", True),
}


SEVERAL = ("several-ranks", "two-ranks", "idle-warnings")
"""Kinds with several ranks, which are one stream where ranks are not told."""


def as_told(time: str | None, how: str) -> str | None:
    """What is left of a time."""
    if time is None:
        return None
    return {"date": time, "millis": f"{time}.123", "clock": time[11:], "": None}[how]


@pytest.mark.parametrize("form", PREFIXES)
def test_every_prefix(form: str) -> None:
    """The breaks are those of the plain log, apart from what the prefix does not tell."""
    pattern, time, ranks = PREFIXES[form]

    def put(found: re.Match[str]) -> str:
        told = pattern.replace("{date}", found[1]).replace("{clock}", found[2])
        return told.replace("{ranks}", found[3]).replace("{only}", found[3].strip())

    for kind in NAMES:
        lines = KINDS[kind]
        if not ranks and kind in SEVERAL:
            continue
        if not ranks:
            lines = [SERVERS.sub(r"[\1 \2] ", line) for line in lines]
        elif kind not in SEVERAL:
            lines = [SERVERS.sub(r"[\1 \2 TP0] ", line) for line in lines]
        expected = of_text(text_of(lines))["breaks"]
        found = of_text(text_of([SERVERS.sub(put, line, count=1) for line in lines]))["breaks"]
        for one in expected:
            one["time"] = as_told(one["time"], time)
            if one["last_balanced"] is not None:
                one["last_balanced"]["time"] = as_told(one["last_balanced"]["time"], time)
            if form == "more-tokens":
                one["rank"] = f"PP1 ATTN_CP0 {one['rank']} EP3"
        for one in (*expected, *found):
            del one["event"]  # those of one event are at most some seconds apart
        assert breaks_of({"breaks": found}) == breaks_of({"breaks": expected}), kind


# Containers: a file's text to what lies on disk, and the name of the source

Packed = tuple[str, bytes, str]


def packed_as(name: str, pack: Callable[[bytes], bytes], source: str = "") -> Callable[[bytes], Packed]:
    return lambda text: (name, pack(text), source or name)


def frames(text: bytes) -> bytes:
    """Several zstd frames, with a skippable one between."""
    third = len(text) // 3
    skippable = bytes.fromhex("502a4d18") + (5).to_bytes(4, "little") + b"12345"
    return zstd(text[:third]) + zstd(text[third : 2 * third], write_checksum=True) + skippable + zstd(text[2 * third :])


def members(text: bytes) -> bytes:
    """Several gzip members."""
    return gzip.compress(text[:500]) + gzip.compress(text[500:])


def as_utf16(codec: str, mark: bytes = b"") -> Callable[[bytes], bytes]:
    return lambda text: mark + text.decode("utf-8", "replace").encode(codec)


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "utf-8-bom": lambda text: b"\xef\xbb\xbf" + text,
    "utf-16-le": as_utf16("utf-16-le"),
    "utf-16-be": as_utf16("utf-16-be"),
    "utf-16-le-bom": as_utf16("utf-16-le", b"\xff\xfe"),
    "utf-16-be-bom": as_utf16("utf-16-be", b"\xfe\xff"),
    "utf-32-le-bom": as_utf16("utf-32-le", b"\xff\xfe\0\0"),
    "crlf": lambda text: text.replace(b"\n", b"\r\n"),
    "utf-16-crlf": lambda text: as_utf16("utf-16-le", b"\xff\xfe")(text.replace(b"\n", b"\r\n")),
}


def zip_in_tar_in_zip(text: bytes) -> bytes:
    inner = make_zip({"deep/server.log": text})
    return make_zip({"b.tar": make_tar({"c.zip": inner})})


CONTAINERS: dict[str, Callable[[bytes], Packed]] = {
    "plain": packed_as("server.log", bytes),
    "no-suffix": packed_as("server", gzip.compress),
    "wrong-suffix": packed_as("server.gz", bytes),
    "gzip": packed_as("server.log.gz", gzip.compress),
    "gzip-members": packed_as("server.log.gz", members),
    "bzip2": packed_as("server.log.bz2", bz2.compress),
    "xz": packed_as("server.log.xz", lzma.compress),
    "zstd": packed_as("server.log.zst", zstd),
    "zstd-frames": packed_as("server.log.zst", frames),
    "gzip-twice": packed_as("server.log.gz.gz", lambda text: gzip.compress(gzip.compress(text))),
    "zip": packed_as("b.zip", lambda text: make_zip({"job/server.log": text}), "b.zip/job/server.log"),
    "zip-of-gzip": packed_as("b.zip", lambda text: make_zip({"s.log.gz": gzip.compress(text)}), "b.zip/s.log.gz"),
    "tar": packed_as("b.tar", lambda text: make_tar({"./job/server.log": text}), "b.tar/job/server.log"),
    "tar.gz": packed_as("b.tgz", lambda text: gzip.compress(make_tar({"server.log": text})), "b.tgz/server.log"),
    "tar.zst": packed_as("b.tar.zst", lambda text: zstd(make_tar({"s.log": text})), "b.tar.zst/s.log"),
    "tar.xz": packed_as("b.txz", lambda text: lzma.compress(make_tar({"s.log": text})), "b.txz/s.log"),
    "zip-in-tar-in-zip": packed_as("a.zip", zip_in_tar_in_zip, "a.zip/b.tar/c.zip/deep/server.log"),
    **{name: packed_as("server.log", encode) for name, encode in ENCODINGS.items()},
}


def one_source(found: list[Any]) -> Source:
    (source,) = found
    assert isinstance(source, Source), found
    return source


def assert_packed(directory: Path, container: str, kind: str, wrapping: Wrapping | None = None) -> None:
    lines = KINDS[kind]
    name, data, told = CONTAINERS[container](text_of(wrapping(lines) if wrapping else lines))
    path = directory / name
    path.write_bytes(data)
    source = one_source(list(find_sources([str(path)])))
    assert source.name == f"{directory}/{told}"
    numbers = wrapping.numbers(lines) if wrapping else list(range(1, len(lines) + 1))
    for how in ({}, FAST):
        assert breaks_of(analysed(source, **how)) == breaks_of(plain(kind), lambda line: numbers[line - 1])
    assert breaks_of(through_pipe(data)) == breaks_of(plain(kind), lambda line: numbers[line - 1])


def through_pipe(data: bytes) -> dict[str, Any]:
    with pipe_of(data) as pipe:
        return analysed(one_source(list(find_sources(["-"], stdin=pipe))))


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container(tmp_path: Path, container: str) -> None:
    for kind in NAMES:
        assert_packed(tmp_path, container, kind)


@pytest.mark.parametrize("container", CONTAINERS)
def test_wrappers_in_containers(tmp_path: Path, container: str) -> None:
    """Every container with a third of the wrappers, each with another kind of log."""
    turn = list(CONTAINERS).index(container)
    for index, name in enumerate(WRAPPERS):
        if index % 3 == turn % 3:
            assert_packed(tmp_path, container, NAMES[(index + turn) % len(NAMES)], WRAPPERS[name])


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("container", ["gzip", "zstd-frames", "tar.gz", "zip-in-tar-in-zip"])
def test_encodings_in_containers(tmp_path: Path, container: str, encoding: str) -> None:
    name, data, _ = CONTAINERS[container](ENCODINGS[encoding](text_of(KINDS["two-ranks"])))
    (tmp_path / name).write_bytes(data)
    source = one_source(list(find_sources([str(tmp_path / name)])))
    assert breaks_of(analysed(source)) == breaks_of(plain("two-ranks"))


def test_a_directory_with_other_things_in_it(tmp_path: Path) -> None:
    deep = tmp_path / "run" / "1"
    deep.mkdir(parents=True)
    (deep / "server.log").write_bytes(text_of(KINDS["stream"]))
    (deep / "weights.bin").write_bytes(bytes(range(256)) * 40)
    (tmp_path / ".hidden").write_bytes(text_of(KINDS["ring-dump"]))
    (tmp_path / "empty").mkdir()
    found = [item for item in find_sources([str(tmp_path)]) if isinstance(item, Source)]
    assert breaks_of(analysed(*found)) == breaks_of(plain("stream"))


# Rotated sets


def rotated(lines: list[str], cuts: tuple[int, int]) -> dict[str, bytes]:
    first, second = cuts
    return {
        "server.log.2.gz": gzip.compress(text_of(lines[:first])),
        "server.log.1": text_of(lines[first:second]),
        "server.log": text_of(lines[second:]),
    }


def assert_rotated(sources: list[Any], kind: str, cuts: tuple[int, int]) -> None:
    source = one_source(sources)
    first, second = cuts
    before = {"server.log.2.gz": 0, "server.log.1": first, "server.log": second}
    expected = plain(kind)
    for how in ({}, FAST):
        answer = analysed(source, **how)
        assert [place_of(found, before) for found in answer["breaks"]] == [b["line"] for b in expected["breaks"]]
        witnesses = [found["last_balanced"] for found in answer["breaks"] if found["last_balanced"]]
        assert [place_of(found, before) for found in witnesses] == [
            found["last_balanced"]["line"] for found in expected["breaks"] if found["last_balanced"]
        ]
        assert without_lines(answer) == without_lines(expected)


def place_of(item: dict[str, Any], before: dict[str, int]) -> int:
    """The line in the whole log, from the line in a member."""
    return before[Path(item["member"]).name] + int(item["line"])


def without_lines(answer: dict[str, Any]) -> list[Any]:
    breaks = breaks_of(answer, lambda _: 0)
    for found in breaks:
        found.pop("asserted_member", None)
    return breaks


@pytest.mark.parametrize("kind", NAMES)
def test_rotation_at_any_line(tmp_path: Path, kind: str) -> None:
    lines = KINDS[kind]
    for cut in range(1, len(lines) - 1):
        directory = tmp_path / str(cut)
        directory.mkdir()
        cuts = (cut, min(cut + 1 + cut % 3, len(lines) - 1))
        for name, data in rotated(lines, cuts).items():
            (directory / name).write_bytes(data)
        assert_rotated(list(find_sources([str(directory)])), kind, cuts)


@pytest.mark.parametrize("wrapper", ["cri", "compose", "docker-json", "ray-colour", "crlf"])
def test_rotated_sets_in_an_archive(tmp_path: Path, wrapper: str) -> None:
    kind = "several-ranks"
    lines = WRAPPERS[wrapper](KINDS[kind])
    cuts = (6, 13)
    (tmp_path / "b.zip").write_bytes(make_zip(rotated(lines, cuts)))
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(make_tar(rotated(lines, cuts))))
    for archive in ("b.zip", "b.tar.gz"):
        assert_rotated(list(find_sources([str(tmp_path / archive)])), kind, cuts)


# The command itself, over a real pipe


@pytest.mark.parametrize("container", ["plain", "gzip", "zstd-frames", "zip-in-tar-in-zip", "utf-16-le"])
def test_stdin_of_the_command(container: str) -> None:
    _, data, _ = CONTAINERS[container](text_of(KINDS["idle-report"]))
    run = subprocess.run(
        [sys.executable, "-m", "memcheck_cli", "analyze", "-", "--format", "json"],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (1, b"")
    assert breaks_of(json.loads(run.stdout)) == breaks_of(plain("idle-report"))
