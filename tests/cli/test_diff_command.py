"""`memcheck diff`: outcomes, exit codes, formats, inputs of all kinds."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from made_logs import assertion, busy, prefix

import memcheck_cli
from memcheck_cli.cli.diff import command
from memcheck_cli.errors import UsageError

ROOT = Path(__file__).parents[2]
GOOD, BAD = ROOT / "samples" / "pair-good.log", ROOT / "samples" / "pair-bad.log"
SCHEMA = json.loads((Path(memcheck_cli.__file__).parent / "schemas" / "diff.json").read_text("utf-8"))


def run(*arguments: str | Path, stdin: bytes | None = None) -> tuple[int, Result]:
    result = CliRunner().invoke(command, [str(part) for part in arguments], input=stdin, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result


def run_json(*arguments: str | Path, stdin: bytes | None = None) -> tuple[int, dict[str, Any]]:
    code, result = run(*arguments, "--format", "json", stdin=stdin)
    document = json.loads(result.stdout)
    jsonschema.validate(document, SCHEMA)
    assert next(iter(document)) == "schema"
    return code, document


def script(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own, its output going through a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "memcheck_cli", "diff", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **environment},
        cwd=ROOT,
        timeout=60,
        check=False,
    )


def test_the_sample_pair() -> None:
    code, document = run_json(GOOD, BAD)
    assert (code, document["outcome"], document["same"]) == (1, "introduced", False)
    assert document["first_difference"]["iteration"] == {"a": 34, "b": 34}
    assert document["first_difference"]["line"] == {"a": 47, "b": 47}
    assert (document["first_difference"]["term"], document["first_difference"]["by"]) == ("available", -1)
    assert document["workload"]["kind"] == "deterministic"
    assert document["b"]["first_break"]["iteration"] == 34
    assert document["a"]["first_break"] is None


def test_the_sample_pair_the_other_way_round() -> None:
    code, document = run_json(BAD, GOOD)
    assert (code, document["outcome"]) == (0, "fixed")
    assert document["first_difference"]["by"] == 1


@pytest.mark.parametrize(("log", "code", "outcome"), [(GOOD, 0, "both-balanced"), (BAD, 1, "both-broken")])
def test_a_log_beside_itself_in_another_wrapper_and_compression(
    log: Path, code: int, outcome: str, tmp_path: Path
) -> None:
    wrapped = b"".join(b"sglang-1  | " + line for line in log.read_bytes().splitlines(keepends=True))
    (tmp_path / "wrapped.log.gz").write_bytes(gzip.compress(wrapped))
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as bundle:
        bundle.write(tmp_path / "wrapped.log.gz", "job/server.log.gz")
    for other in (tmp_path / "wrapped.log.gz", tmp_path / "bundle.zip"):
        found, document = run_json(log, other)
        assert (found, document["outcome"]) == (code, outcome)
        assert document["same"] is True
        assert document["first_difference"] is None


def test_stdin_is_a_side() -> None:
    assert run_json("-", BAD, stdin=GOOD.read_bytes())[0] == 1
    code, document = run_json(BAD, "-", stdin=gzip.compress(GOOD.read_bytes()))
    assert (code, document["outcome"], document["b"]["name"]) == (0, "fixed", "-")


def test_only_one_side_is_stdin() -> None:
    with pytest.raises(UsageError, match="only one side"):
        run("-", "-")


def test_quiet_logs_are_undecided_unless_the_caller_vouches_for_them() -> None:
    quiet = ROOT / "samples" / "quiet.log"
    assert run_json(quiet, BAD)[0] == 1
    code, document = run_json(quiet, GOOD)
    assert (code, document["outcome"]) == (3, "undecided")
    assert document["workload"] is None
    code, document = run_json(quiet, BAD, "--checked-level", "1")
    assert (code, document["outcome"]) == (1, "introduced")


def test_an_unreadable_side_is_told() -> None:
    code, result = run("no-such.log", GOOD)
    assert code == 4
    assert "no-such.log: no such file" in result.stderr
    assert "A cannot be read" in result.stdout


def test_of_a_side_that_is_partly_readable_the_rest_counts(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(BAD.read_bytes())
    (tmp_path / "torn.log.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    code, result = run(GOOD, tmp_path)
    assert code == 1
    assert "torn.log.gz" in result.stderr


def swa_log(available: int, rank: str = "TP0") -> bytes:
    lines = [busy("full", 1000, 900, 50, 50, rank=rank), busy("swa", 500, available, 100, rank=rank)]
    lines += assertion("swa", 500, available, 100, rank=rank) if available != 400 else []
    return "".join(line + "\n" for line in lines).encode()


def test_pool_and_rank_narrow_what_is_spoken_about(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_bytes(swa_log(400) + swa_log(400, "TP1"))
    bad.write_bytes(swa_log(400) + swa_log(336, "TP1"))
    assert run_json(good, bad)[1]["outcome"] == "introduced"
    assert run_json(good, bad, "--pool", "full")[1]["outcome"] == "both-balanced"
    assert run_json(good, bad, "--rank", "TP0")[1]["outcome"] == "both-balanced"
    code, document = run_json(good, bad, "--rank", "TP1", "--page-size", "64")
    assert (code, document["b"]["first_break"]["pages"]) == (1, -1)
    assert [one["a"]["rank"] for one in document["streams"]] == ["TP1"]
    mapped = run_json(good, bad, "--rank", "TP0", "--map", "TP0=TP1")[1]
    assert mapped["outcome"] == "introduced"
    assert [(one["a"]["rank"], one["b"]["rank"], one["matched_by"]) for one in mapped["streams"]] == [
        ("TP0", "TP1", "map")
    ]


def test_a_total_that_is_not_printed_comes_from_the_caller(tmp_path: Path) -> None:
    for name, uncached in (("a", 50), ("b", 51)):
        sizes = f"available_size=900, evictable_size=25, protected_size=25, uncached_size={uncached}"
        (tmp_path / name).write_text(f"{prefix()}[Mem Check (BUSY)] {sizes}\n" * 3)
    assert run_json(tmp_path / "a", tmp_path / "b")[0] == 3
    code, document = run_json(tmp_path / "a", tmp_path / "b", "--total", "full=1000")
    assert document["a"]["verdict"] == "balanced"
    assert document["setting"]["totals"][0]["a"] == [1000]
    assert (code, document["outcome"]) == (1, "introduced")


@pytest.mark.parametrize("pair", ["TP0", "=TP0", "TP0=", ""])
def test_a_map_that_is_none_is_refused(pair: str) -> None:
    result = CliRunner().invoke(command, [str(GOOD), str(BAD), "--map", pair])
    assert result.exit_code == 2
    assert "A=B" in result.output


def test_times_pair_no_checks() -> None:
    with pytest.raises(UsageError, match="--align time"):
        run(GOOD, BAD, "--align", "time", "--workload", "deterministic")
    code, document = run_json(GOOD, BAD, "--align", "time")
    assert (code, document["first_difference"], document["workload"]["kind"]) == (1, None, "live")


def test_the_answer_for_a_person() -> None:
    done = script(GOOD, BAD)
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (1, b"")
    assert text.startswith("INTRODUCED  B breaks and A does not.\n")
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert not any(line != line.rstrip() for line in text.splitlines())
    flat = " ".join(text.split())
    assert "33 checks in a row are equal before the first one that differs." in flat
    assert "They part at check 34 (A line 47, B line 47): available of pool full is 40 in A and 39 in B" in flat
    assert "▲ they part here" in text


def test_an_output_that_shows_ascii_alone_gets_no_more() -> None:
    done = script(GOOD, BAD, PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert done.stdout.isascii()
    assert b"^ they part here" in done.stdout


def test_markdown(tmp_path: Path) -> None:
    target = tmp_path / "diff.md"
    code, result = run(GOOD, BAD, "--format", "markdown", "-o", target)
    assert (code, result.output) == (1, "")
    text = target.read_text("utf-8")
    assert text.startswith("### ❌ memcheck diff: introduced\n\nB breaks and A does not.\n")
    assert "| verdict | balanced | broken |\n" in text
    assert text.count("```") == 2
    assert "\n\n\n" not in text


def test_what_logs_say_cannot_break_out_of_the_answer(tmp_path: Path) -> None:
    evil = "DP1\x1b[31m|<img>`*_ TP0"
    for name, available in (("a.log", 400), ("b.log", 399)):
        lines = [busy("full", 500, available, 100, extra=f", <b>`x|y=1, z\x07={available}") for _ in range(3)]
        text = "".join(f"(Engine {evil} pid=1) {line}\n" for line in lines)
        (tmp_path / name).write_text(text + "".join(f"{prefix(evil)}{line}\n" for line in lines))
    for form in ("terminal", "markdown", "json"):
        code, result = run(tmp_path / "a.log", tmp_path / "b.log", "--format", form)
        assert code in (0, 1, 3)
        assert not set(result.output) & {"\x1b", "\x07", "\x9b"}
        assert form != "markdown" or "<img>" not in result.output.replace("\\<", "").replace("\\>", "")


def test_the_examples_in_the_help_work() -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    examples = [line.split()[2:] for line in text.splitlines() if line.strip().startswith("memcheck diff samples/")]
    assert examples
    for arguments in examples:
        assert script(*arguments).returncode == 1


def test_the_run_and_the_rank_that_are_compared_are_named(tmp_path: Path) -> None:
    start = prefix() + "server_args=ServerArgs(model_path='m', page_size=1)"
    good = [busy("full", 4096, 4096 - at, 0, 0, 0, at, rank=rank) for at in range(1, 40) for rank in ("TP0", "TP1")]
    bad = [*good[:-1], busy("full", 4096, 4056, 0, 0, 0, 39, rank="TP1"), *assertion("full", 4096, 4056, 0, 0, 0, 39)]
    (tmp_path / "good.log").write_text("\n".join([start, *good, ""]))
    (tmp_path / "bad.log").write_text("\n".join([start, *good[:8], start, *bad, ""]))
    for form in ("terminal", "markdown"):
        text = " ".join(run(tmp_path / "good.log", tmp_path / "bad.log", "--format", form)[1].stdout.split())
        assert "pool full on TP1, run 2, check 39, line" in text
        assert "compared check by check (TP1, run 1 (A) and 2 (B))" in text
        assert "Only in B, compared with nothing: run 1 of TP0, run 1 of TP1." in text
        assert "Other streams" in text and "TP0, run 1 (A) and 2 (B)" in text
        assert run(tmp_path / "bad.log", tmp_path / "good.log")[0] == 0
