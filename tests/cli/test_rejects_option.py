"""`memcheck analyze --rejects`: every rejected line, as many as the answer counts, none of them raw."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_logs import busy, pool_text, prefix

from memcheck_cli.cli.main import memcheck

WHOLE = busy("full", 100, 90, 0, 0, 0, 10, rank="TP0")
TORN = f"{prefix('TP0')}[Mem Check (BUSY)] [full] total=100, avail"
WRAPPED = f"sglang-1  | {TORN}"
IDLE = f"pool memory leak detected! {pool_text('full', 100, 90)[:30]}, "
EVIL = f"{TORN[:-5]}\x1b]0;x\x07\tx\u202e".encode() + b"\xff"


def run(*arguments: str | Path, stdin: bytes | None = None, code: int = 0) -> str:
    result = CliRunner().invoke(memcheck, ["analyze", *map(str, arguments)], input=stdin, standalone_mode=False)
    if isinstance(result.exception, SystemExit | None):
        assert result.return_value == code, result.output
        return result.stdout
    raise result.exception


def rows(text: str) -> list[list[str]]:
    assert not text or text.endswith("\n")
    return [line.split("\t") for line in text.split("\n")[:-1]]


def log() -> bytes:
    return b"\n".join([WHOLE.encode(), TORN.encode(), WHOLE.encode(), WRAPPED.encode(), IDLE.encode(), EVIL, b""])


def test_every_rejected_line_is_written(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(log())
    rejects = tmp_path / "rejects.tsv"
    answer = json.loads(run(path, "--rejects", rejects, "--format", "json", code=3))
    written = rows(rejects.read_text())
    assert [(row[0], row[1], row[3]) for row in written] == [
        (str(path), "2", TORN),
        (str(path), "4", WRAPPED),
        (str(path), "5", IDLE),
        (str(path), "6", TORN[:-5] + "\\x1b]0;x\\x07\\x09x\\u202e\\xff"),
    ]
    assert all(row[2] for row in written)
    assert answer["sources"][0]["rejected"] == 4


def test_nothing_rejected_is_an_empty_file(tmp_path: Path) -> None:
    run("--rejects", tmp_path / "r", stdin=WHOLE.encode() + b"\n")
    assert (tmp_path / "r").read_bytes() == b""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stdin_and_stdout(tmp_path: Path, pack: object) -> None:
    told = run("-", "--rejects", "-", "-o", tmp_path / "answer", stdin=pack(log()), code=3)  # type: ignore[operator]
    assert [row[:2] for row in rows(told)] == [["-", "2"], ["-", "4"], ["-", "5"], ["-", "6"]]
    assert rows(told)[1][3] == WRAPPED


def test_rotated_sets_name_the_member(tmp_path: Path) -> None:
    (tmp_path / "server.log.1").write_text(f"{WHOLE}\n{TORN}\n")
    (tmp_path / "server.log").write_text(f"{WHOLE}\n{WHOLE}\n{TORN}\n")
    run(tmp_path, "--rejects", tmp_path / "r")
    assert [row[:2] for row in rows((tmp_path / "r").read_text())] == [
        [f"{tmp_path}/server.log.1", "2"],
        [f"{tmp_path}/server.log", "3"],
    ]


@pytest.mark.parametrize("trends", [False, True])
def test_as_many_as_are_counted(tmp_path: Path, trends: bool) -> None:
    """Also far behind the beginning, in columns, in parts of collectors, and in both readers."""
    numbers = random.Random(7)
    lines = []
    for number in range(30_000):
        line = busy("full", 10**6, 10**6 - number, 0, 0, 0, number, rank=f"TP{number % 2}")
        lines.append(line if number % 1000 else line[: numbers.randrange(60, len(line) - 8)])
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    rejects = tmp_path / "rejects.tsv"
    arguments = [tmp_path / "log", "--rejects", rejects, "--format", "json", *(["--trends"] if trends else [])]
    answer = json.loads(run(*arguments))
    written = rows(rejects.read_text())
    assert answer["sources"][0]["rejected"] == len(written) == 30
    for row in written:
        assert row[3] == lines[int(row[1]) - 1]


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    run("--rejects", tmp_path / "r", stdin=TORN.encode() + b"x" * 300_000 + b"\n", code=3)
    (row,) = rows((tmp_path / "r").read_text())
    assert len(row[3]) == (1 << 16) + 1
    assert row[3].endswith("…")


def test_inputs_are_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(log())
    (tmp_path / "link").symlink_to(path)
    for arguments, told in (
        (["--rejects", path], "is an input"),
        (["-o", tmp_path / "link"], "is an input"),
        (["--rejects", "-"], "give the answer a file with -o"),
        (["--rejects", tmp_path / "x", "-o", tmp_path / "." / "x"], "name the same file"),
    ):
        with pytest.raises(Exception, match=told) as raised:
            run(path, *arguments)
        assert getattr(raised.value, "exit_code", None) == 2
    assert path.read_bytes() == log()


@pytest.mark.parametrize("before", [0, 70_000])
def test_a_torn_text_without_tag_counts_only_in_a_report(tmp_path: Path, before: int) -> None:
    """Whether every line is read (at the beginning) or not."""
    filler = f"{prefix()}INFO: nothing of it\n" * (before // 30)
    torn = "[swa] total=100, avail"
    report = f"{prefix()}pool memory leak detected! {pool_text('full', 100, 90)}"
    (tmp_path / "log").write_text(f"{filler}{WHOLE}\n{torn}\n{WHOLE}\n{report}\n{torn}\n{WHOLE}\n")
    run(tmp_path / "log", "--rejects", tmp_path / "r", code=1)
    first = filler.count("\n")
    assert [row[1:4:2] for row in rows((tmp_path / "r").read_text())] == [[str(first + 5), torn]]
