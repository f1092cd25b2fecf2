"""`memcheck replay`: exit codes, JSON, what is printed where."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

import memcheck_cli
from memcheck_cli.cli.replay import command
from memcheck_cli.errors import UsageError

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ROOT / "samples"
SCHEMA = json.loads((Path(memcheck_cli.__file__).parent / "schemas" / "replay.json").read_text("utf-8"))
LOST, HEALTHY = str(SAMPLES / "swa-lost-page.log"), str(SAMPLES / "healthy.log")
RECORDED = str(SAMPLES / "recorded-swa64.record.jsonl")
PAGES = str(ROOT / "tests" / "cases" / "page-reports-of-both-kinds.log")


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    result = CliRunner().invoke(command, list(arguments), input=stdin, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def answer(*arguments: str, stdin: bytes | None = None) -> dict[str, Any]:
    data = json.loads(run(*arguments, "--format", "json", stdin=stdin).stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert next(iter(data)) == "schema"
    return data


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((HEALTHY,), 0),
        ((LOST,), 1),
        ((HEALTHY, LOST), 1),
        ((RECORDED,), 0),
        ((RECORDED, "--rules", "0.5.8"), 3),
        ((str(SAMPLES / "quiet.log"),), 3),
        ((PAGES,), 3),
        ((PAGES, "--rules", "0.5.14"), 0),
        ((HEALTHY, "--without", "protected"), 1),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int) -> None:
    assert run(*arguments).return_value == code


def test_why_it_is_undecided_is_said() -> None:
    why = "the server made 2 reports without sums, which no rules can recompute."
    assert said(PAGES).startswith(f"UNDECIDED {why}")
    assert run(PAGES, "--emit", "2").stderr.endswith(f"memcheck: undecided: {why}\n")


def test_nothing_readable_is_4(tmp_path: Path) -> None:
    result = run(str(tmp_path / "missing.log"))
    assert result.return_value == 4
    assert "missing.log" in result.stderr
    both = run(str(tmp_path / "missing.log"), HEALTHY)
    assert both.return_value == 0
    assert "missing.log" in both.stderr
    data = answer(str(tmp_path / "missing.log"), HEALTHY)
    assert [source["kind"] for source in data["sources"]] == ["log", None]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rules", "newest"),
        ("--rules", "0.2.0"),
        ("--against", "x"),
        ("--without", "total"),
        ("--with", "a b"),
        ("--emit", "1", "--as-test"),
        ("--emit", "2", "--format", "json"),
        ("--emit", "2", "--with", "withheld"),
        ("--emit", "1", "--pool", "swa"),
        ("--emit", "2", "--against", "0.5.9"),
        ("--as-test", "--format", "json"),
        ("--ring", "10"),
        ("--ring", "10", "--emit", "2"),
        ("--max-expanded", "much"),
    ],
)
def test_wrong_use(arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as error:
        run(HEALTHY, *arguments)
    assert "\n" not in str(error.value)


def test_json_of_a_log() -> None:
    data = answer(LOST, "--against", "0.5.9", "--total", "swa=1", "--with", "withheld")
    assert data["records"] == data["agree"] + len(data["disagree"]) + data["unknown"]
    assert (data["verdict"], data["breaks"]) == ("broken", 1)
    first = data["first_break"]
    assert (first["pool"], first["check"], first["kind"], first["delta"]) == ("swa", "busy", "leak", -64)
    assert sum(first["terms"].values()) - first["total"] == -64
    (source,) = data["sources"]
    assert [question["change"] for question in source["what_if"]] == [
        ["with withheld"],
        ["total swa=1"],
        ["with withheld", "total swa=1"],
    ]
    assert "NotImplementedError" in source["against"]["against_stops"]["because"]


def test_json_of_a_recording() -> None:
    data = answer(RECORDED, "--against", "0.5.9")
    assert data["rules"] == "0.5.23"
    assert data["records"] == data["agree"] == 13
    assert (data["disagree"], data["unknown"]) == ([], 0)
    assert data["sources"][0]["kind"] == "recording"


def test_json_of_disagreements() -> None:
    lines = Path(RECORDED).read_text().splitlines()
    check = json.loads(lines[0])
    check["full_uncached"] += 1
    data = answer("-", stdin=(json.dumps(check) + "\n" + lines[1] + "\n").encode())
    (item,) = data["disagree"]
    assert (item["line"], item["iteration"]) == (1, 1)
    assert item["recorded"]["full"] == item["recomputed"]["full"] + 1
    log = Path(HEALTHY).read_text().replace("uncached=1\n", "uncached=2\n", 1)
    data = answer("-", stdin=log.encode())
    (item,) = data["disagree"]
    assert (item["ours"], item["server"], item["delta"]) == ("overcount", "passed", 1)


def test_stdin_is_a_source() -> None:
    assert run(stdin=Path(LOST).read_bytes()).return_value == 1
    assert run("-", stdin=Path(RECORDED).read_bytes()).return_value == 0


def test_compressed_recordings(tmp_path: Path) -> None:
    path = tmp_path / "a.record.jsonl.gz"
    path.write_bytes(gzip.compress(Path(RECORDED).read_bytes()))
    assert answer(str(path))["agree"] == 13


@pytest.mark.parametrize("arguments", [(LOST,), (RECORDED, "--rules", "0.5.8", "--against", "0.5.9"), (LOST, "-v")])
def test_terminal_output_fits(arguments: tuple[str, ...]) -> None:
    output = run(*arguments, "--without", "uncached", "--total", "full=5").stdout
    assert "\x1b" not in output
    assert all(len(line) <= 80 for line in output.splitlines())


def test_terminal_output_says_it() -> None:
    output = " ".join(run(str(SAMPLES / "lost-page.log"), "--against", "0.5.13").stdout.split())
    assert output.startswith("BROKEN 1 record breaks by the rules.")
    assert "the server's own verdict: failed" in output
    assert "The two rules never differ." in output
    would = " ".join(run(HEALTHY, "--without", "uncached").stdout.split())
    assert "What if without uncached: first break at iteration 1" in would


def test_hostile_names_are_neutralised() -> None:
    record = json.loads(Path(RECORDED).read_text().splitlines()[0])
    record["full_uncached"] += 1
    for request in record["last_batch"]["reqs"]:
        request["id"] = "\x1b[31m" * 5
    record["running_batch"] = dict(record["last_batch"], id="\x1b]0;x\x07")
    output = run("-", "--rules", "0.5.12", stdin=json.dumps(record).encode()).stdout
    assert "\x1b" not in output and "\x07" not in output


def test_emit_and_analyze_in_a_pipe(tmp_path: Path) -> None:
    replayed = subprocess.run(
        [sys.executable, "-m", "memcheck_cli", "replay", LOST, "--emit", "1"],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert replayed.returncode == 1
    assert replayed.stdout.count(b"[Mem Check (BUSY)]") == Path(LOST).read_bytes().count(b"[Mem Check (BUSY)]")
    analyzed = subprocess.run(
        [sys.executable, "-m", "memcheck_cli", "analyze", "-", "--format", "json"],
        input=replayed.stdout,
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    first = json.loads(analyzed.stdout)["first_break"]
    assert (first["pool"], first["delta"], first["from_end"]) == ("swa", -64, 0)


def test_a_pipe_closed_early_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_bytes(Path(HEALTHY).read_bytes() * 200)
    command_line = f"'{sys.executable}' -m memcheck_cli replay '{path}' --emit 2 | head -n 1"
    done = subprocess.run(command_line, shell=True, capture_output=True, cwd=ROOT, check=False)
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


def test_emit_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    result = run(LOST, "--emit", "2", "-o", str(path))
    assert result.stdout == ""
    lines = [line for line in Path(LOST).read_bytes().splitlines(keepends=True) if b"[Mem Check" in line]
    assert path.read_bytes() == b"".join(lines)


def test_as_test_passes_under_pytest(tmp_path: Path) -> None:
    path = tmp_path / "test_written.py"
    assert run(LOST, "--as-test", "-o", str(path)).return_value == 1
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    nothing = run(HEALTHY, "--as-test")
    assert nothing.stdout == ""
    assert "no test to write" in nothing.stderr


def test_options_are_documented() -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    for parameter in command.params:
        if parameter.opts[0].startswith("-"):
            assert max(parameter.opts, key=len) in text
    assert "Examples:" in text


OLD = str(SAMPLES / "old-release.log")


def said(*arguments: str, stdin: bytes | None = None) -> str:
    return " ".join(run(*arguments, stdin=stdin).stdout.split())


def sessions() -> bytes:
    lines = Path(HEALTHY).read_text().replace("session_held=0, uncached=1\n", "session_held=1, uncached=0\n")
    assert "session_held=1" in lines
    return lines.encode()


def test_where_two_releases_stop() -> None:
    only_ours = said("-", "--rules", "0.5.9", "--against", "0.5.13", stdin=sessions())
    assert re.search(
        r"0\.5\.9 would have stopped at iteration \d+ \(line \d+: leak -1\), 0\.5\.13 not at all\.", only_ours
    )
    assert re.search(r"iteration \d+: 0\.5\.9: leak -1; 0\.5\.13: balanced\.", only_ours)
    only_theirs = said("-", "--rules", "0.5.13", "--against", "0.5.9", stdin=sessions())
    assert re.search(r"0\.5\.13 would not have stopped at all, 0\.5\.9 at iteration \d+ \(", only_theirs)
    assert "Both 0.5.8 and 0.5.10 would have stopped at iteration" in said(
        OLD, "--rules", "0.5.8", "--against", "0.5.10"
    )
    assert "Neither 0.5.23 nor 0.5.13 would have stopped." in said(HEALTHY, "--against", "0.5.13")
    hybrid = said(LOST, "--rules", "0.5.9", "--against", "0.5.13")
    assert "(line 10: the check dies on hybrid pools (NotImplementedError)), 0.5.13 at iteration 15" in hybrid
    recorded = said(RECORDED, "--rules", "0.5.9", "--against", "0.5.13")
    assert "0.5.9 dies with NotImplementedError; 0.5.13 counts batch-" in recorded


def test_where_two_releases_stop_waits_for_the_total() -> None:
    log = re.sub(r"(?m)^(?!.*Leak Detected).*max_total_num_tokens=.*\n", "", Path(OLD).read_text())
    log = re.sub(r"(?m)^.*server_args.*\n", "", log)
    answered = said("-", "--rules", "0.5.8", "--against", "0.5.9", stdin=log.encode())
    assert "Both 0.5.8 and 0.5.9 would have stopped at iteration 30" in answered
    untold = said("-", "--rules", "0.5.8", "--against", "0.5.9", stdin=log.split("Scheduler hit")[0].encode())
    assert "0.5.8: cannot be told; 0.5.9: cannot be told." in untold
    assert "would have stopped" not in untold


def test_rules_that_need_more_than_was_recorded_are_said_to() -> None:
    answered = said(RECORDED.replace("swa64", "0.5.12"), "--rules", "0.5.4", "--against", "0.5.13")
    assert "0.5.4: cannot be told; 0.5.13: would not have stopped." in answered
    assert "What 0.5.4 makes of 14 checks cannot be told." in answered


def test_a_change_that_no_record_knows_is_told() -> None:
    answered = said(HEALTHY, "--with", "witheld", "--total", "swa=5")
    assert "What if with witheld: no record has that term, so nothing changes." in answered
    assert "What if total swa=5: no record is of that pool, so nothing changes." in answered
    assert "so nothing changes" not in said(HEALTHY, "--without", "session_held")


def test_why_no_record_was_found() -> None:
    assert said(HEALTHY, "--rank", "TP9").startswith("UNDECIDED no record of the ranks and pools asked for was found.")
    assert "memcheck analyze says what to switch on" in said(str(SAMPLES / "quiet.log"))
    assert said("missing.log") == "UNDECIDED nothing could be read."


def test_pools_of_a_recording() -> None:
    both = answer(RECORDED, "--total", "full=1")
    assert both["verdict"] == "broken"
    only = answer(RECORDED, "--total", "full=1", "--pool", "swa")
    assert (only["verdict"], list(only["sources"][0]["pools"])) == ("balanced", ["swa"])
    assert only["agree"] == 13


def test_ranks_and_pools_that_are_not_there() -> None:
    ranks = str(SAMPLES / "two-ranks.log")
    gone = run(ranks, "--rank", "TP9")
    assert (gone.return_value, gone.stderr) == (3, "memcheck: no check of TP9 was found, only of TP0 and TP1\n")
    partly = run(ranks, "--rank", "TP9", "--rank", "TP0", "--pool", "full", "--pool", "swa")
    assert partly.return_value == 0
    assert partly.stderr.splitlines() == [
        "memcheck: no check of TP9 was found, only of TP0 and TP1",
        "memcheck: no check of the pool swa was found, only of full",
    ]
    assert run(ranks, "--rank", "TP0").stderr == ""


def test_what_emitted_lines_do_not_tell_goes_to_stderr() -> None:
    result = run(OLD, "--emit", "2")
    assert result.stderr.count("\n") == 1
    assert "these lines print no total" in result.stderr and "--rules 0.5.11" in result.stderr
    assert run(OLD, "--emit", "2", "--rules", "0.5.11").stderr == ""


def test_a_terminal_answer_where_nothing_was_judged() -> None:
    out = run(HEALTHY, "--rules", "0.4.9").stdout
    assert re.match(r"UNDECIDED  none of \d+ records could be judged by the rules\.\n", out)
    out = run(HEALTHY, "--rank", "TP7", "--against", "0.5.9").stdout
    assert "no release" not in out and "stopped" not in out
    assert "\n  0 records\n" in out


def test_rules_of_a_release_nobody_knows_yet_are_named() -> None:
    done = run(str(SAMPLES / "recorded-swa64.record.jsonl"), "--rules", "9.9", "--against", "0.5.23")
    assert done.stderr == "memcheck: no rules are known of SGLang 9.9: those of 0.5.23 stand for it\n"
