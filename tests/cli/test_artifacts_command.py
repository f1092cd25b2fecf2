"""`memcheck artifacts`: exit codes, outputs, what is printed where."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from click.testing import CliRunner, Result
from junitparser import JUnitXml
from made_bundles import columns, failed, file_run, job, junit, retried, sample, stamped, text, zipped

import memcheck_cli
from memcheck_cli.cli.artifacts import command
from memcheck_cli.errors import UnreadableError, UsageError

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads((Path(memcheck_cli.__file__).parent / "schemas" / "artifacts.json").read_text("utf-8"))
GREEN = job(retried("test_a.py", sample("lost-page"), sample("healthy")), green=True)
FINE = job(file_run("test_a.py", sample("healthy")), green=True)


@pytest.fixture(autouse=True)
def _not_on_github(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    yield


@pytest.fixture
def leaking(tmp_path: Path) -> str:
    path = tmp_path / "leaking.zip"
    path.write_bytes(zipped({"0_unit (1).txt": text(stamped(GREEN))}))
    return str(path)


@pytest.fixture
def fine(tmp_path: Path) -> str:
    path = tmp_path / "fine.zip"
    path.write_bytes(zipped({"0_unit (1).txt": text(stamped(FINE))}))
    return str(path)


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


def test_exit_codes(leaking: str, fine: str, tmp_path: Path) -> None:
    assert run(fine).return_value == 0
    assert run(leaking).return_value == 1
    assert run(fine, leaking).return_value == 1
    assert run(str(ROOT / "samples" / "quiet.log")).return_value == 3
    missing = run(str(tmp_path / "missing.zip"))
    assert missing.return_value == 4 and "missing.zip" in missing.stderr
    partly = run(str(tmp_path / "missing.zip"), fine)
    assert partly.return_value == 0 and "missing.zip" in partly.stderr


def test_the_promised_keys(leaking: str) -> None:
    data = answer(leaking)
    keys = ["job", "file", "class", "method", "attempt", "verdict", "ended", "hidden_by_retry", "breaks"]
    first, second = ({key: test[key] for key in keys} for test in data["tests"])
    file = "/home/runner/work/sglang/sglang/test_a.py"
    named = {"job": "unit (1)", "file": file, "class": "TestPool", "method": "test_decode"}
    (found,) = first.pop("breaks")
    assert first == {**named, "attempt": 1, "verdict": "broken", "ended": "failed", "hidden_by_retry": True}
    assert second == {
        **named, "attempt": 2, "verdict": "balanced", "ended": "passed", "hidden_by_retry": False, "breaks": []
    }  # fmt: skip
    assert (found["pool"], found["delta"], found["pages"], found["page_size"]) == ("full", -16, -1, 16)
    (group,) = data["groups"]
    assert group["fingerprint"] == found["fingerprint"] and group["tests"] == [0] and group["jobs"] == ["unit (1)"]


def test_the_break_is_the_one_that_analyze_finds(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(text(sample("two-ranks")))
    shell = [sys.executable, "-m", "memcheck_cli"]
    analyzed = json.loads(
        subprocess.run([*shell, "analyze", str(path), "--format", "json"], capture_output=True, check=False).stdout
    )
    (test,) = answer(str(path))["tests"]
    (found,) = test["breaks"]
    expected = {key: value for key, value in analyzed["breaks"][0].items() if key in found}
    assert {key: found[key] for key in expected} == expected


def test_a_pipe_is_a_source_and_gives_the_same(leaking: str) -> None:
    view = text(columns("unit (1)", "Run tests", stamped(GREEN)))
    piped, packed = answer("-", stdin=view), answer(leaking)
    assert [test["verdict"] for test in piped["tests"]] == [test["verdict"] for test in packed["tests"]]
    assert {test["job"] for test in piped["tests"]} == {"unit (1)"}
    real = subprocess.run(
        [sys.executable, "-m", "memcheck_cli", "artifacts", "--format", "json"],
        input=view,
        capture_output=True,
        check=False,
    )
    assert real.returncode == 1
    assert json.loads(real.stdout)["tests"] == piped["tests"]


def test_a_pipe_that_is_closed_early_is_no_error(leaking: str) -> None:
    script = '"$0" -m memcheck_cli artifacts "$1" --format json | head -c 10; exit ${PIPESTATUS[0]}'
    done = subprocess.run(["bash", "-c", script, sys.executable, leaking], capture_output=True, check=False)
    assert done.returncode in (0, 1) and b"Traceback" not in done.stderr


def test_the_terminal_says_what_was_hidden_first(leaking: str) -> None:
    told = run(leaking).stdout
    assert told.startswith("BROKEN")
    assert told.index("Hidden by a retry that passed") < told.index("Ways to break") < told.index("Checked")
    assert all(len(line) <= 80 for line in told.splitlines())
    assert "\x1b" not in told


def test_terminal_escapes_in_names_are_neutralised(tmp_path: Path) -> None:
    view = text(columns("\x1b]0;evil\x07\x1b[31m", "\x9b31m", stamped(GREEN)))
    path = tmp_path / "a\x1b[31m.txt"
    path.write_bytes(view)
    for form in ("terminal", "markdown", "junit"):
        told = run(str(path), "--format", form).stdout
        assert not set(told) & set("\x1b\x07\x9b")


def test_other_files_beside_the_answer(leaking: str, tmp_path: Path) -> None:
    result = run(
        leaking, "--json", str(tmp_path / "a.json"), "--junit", str(tmp_path / "a.xml"), "-o", str(tmp_path / "a.txt")
    )
    assert result.stdout == ""
    assert (tmp_path / "a.txt").read_text().startswith("BROKEN")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads((tmp_path / "a.json").read_text("utf-8")))
    assert JUnitXml.fromfile(str(tmp_path / "a.xml")).failures == 1
    assert (tmp_path / "a.xml").read_text() == run(leaking, "--format", "junit").stdout


def test_known_breaks(leaking: str, tmp_path: Path) -> None:
    known = str(tmp_path / "known.toml")
    with pytest.raises(UsageError):
        run(leaking, "--known", known)
    first = run(leaking, "--known", known, "--write-known", "--reason", "upstream issue")
    assert first.return_value == 0 and "1 added" in first.stderr
    expires = (date.today() + timedelta(days=90)).isoformat()
    data = answer(leaking, "--known", known)
    assert (data["verdict"], data["tests"][0]["verdict"], data["tests"][0]["known"]) == ("balanced", "broken", True)
    assert data["known"][0] | {"fingerprint": ""} == {
        "fingerprint": "", "reason": "upstream issue", "expires": expires, "expired": False, "seen": True
    }  # fmt: skip
    told = run(leaking, "--known", known).stdout
    assert told.startswith("BALANCED") and "Broken in accepted ways" in told and "upstream issue" in told
    again = run(leaking, "--known", known, "--write-known")
    assert "0 added" in again.stderr
    Path(known).write_text(Path(known).read_text().replace(expires, "2020-01-01"))
    assert run(leaking, "--known", known).return_value == 1
    assert "which is over" in run(leaking, "--known", known).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--write-known",),
        ("--reason", "x"),
        ("--expires", "2099-01-01"),
        ("--known", "k", "--write-known", "--expires", "soon"),
        ("--known", "k", "--write-known", "--expires", "2001-01-01"),
        ("--known", "k", "--write-known", "--reason", " "),
    ],
)
def test_wrong_use(fine: str, arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        run(fine, *arguments)


def test_baseline_of_a_bundle_and_of_a_saved_answer(leaking: str, fine: str, tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    saved.write_text(run(leaking, "--format", "json").stdout)
    for before in (leaking, str(saved)):
        gone = answer(fine, "--baseline", before)["baseline"]
        assert (gone["new"], gone["still"], [one["checked_again"] for one in gone["gone"]]) == ([], [], [True])
        assert answer(leaking, "--baseline", before)["groups"][0]["baseline"] == "still there"
        assert "1 gone" in run(fine, "--baseline", before).stdout
    new = answer(leaking, "--baseline", fine)
    assert new["baseline"]["new"] == [new["groups"][0]["fingerprint"]]
    with pytest.raises(UnreadableError):
        run(fine, "--baseline", str(tmp_path / "missing.json"))


@pytest.mark.parametrize(
    "text", ["[1, 2]", "3", '{"schema": "memcheck.analysis/1"}', '{\n "schema": "mem', "hello", ""]
)
def test_a_baseline_that_holds_no_run(fine: str, tmp_path: Path, text: str) -> None:
    path = tmp_path / "before.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="name what an earlier run left, or the file that --format json made of it"):
        run(fine, "--baseline", str(path))


def test_a_cut_baseline(leaking: str, tmp_path: Path) -> None:
    text = run(leaking, "--format", "json").stdout
    path = tmp_path / "before.json"
    for length in range(60, len(text) - 2, 97):
        path.write_text(text[:length])
        with pytest.raises(UsageError, match="write it again"):
            run(leaking, "--baseline", str(path))


def test_tests_of_a_source_tree(tmp_path: Path) -> None:
    lines = job(file_run("spec_tests/test_tree.py", sample("quiet"), cls="TestTreeSilent", name="test_a"), green=True)
    path = tmp_path / "run.zip"
    path.write_bytes(zipped({"0_unit.txt": text(stamped(lines))}))
    without = answer(str(path))["tests"][0]
    assert without["verdict"] == "unchecked"
    with_sources = answer(str(path), "--tests", str(ROOT / "samples" / "spec_tests"))["tests"][0]
    assert "TestTreeSilent" in with_sources["reason"]


def test_on_github(leaking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "summary.md"
    target.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    quiet = run(leaking)
    assert "::" not in quiet.stdout and target.read_text() == "# before\n"
    asked = run(leaking, "--github")
    assert asked.stdout.count("\n::error ") == 1
    assert target.read_text("utf-8").startswith("# before\n## ❌")
    target.write_text("")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    there = run(leaking)
    assert there.stdout == asked.stdout and target.read_text("utf-8") == run(leaking, "--format", "markdown").stdout
    assert "::error" not in run(leaking, "--no-github").stdout
    data = run(leaking, "--format", "json")
    assert json.loads(data.stdout)["verdict"] == "broken" and data.stderr.count("::error ") == 1


def test_the_summary_of_a_step_stays_within_its_size(
    leaking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "summary.md"
    target.write_bytes(b"x" * ((1 << 20) - 600))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    run(leaking, "--github")
    assert (1 << 20) - 600 < target.stat().st_size <= 1 << 20


def test_a_summary_that_cannot_be_written_changes_no_exit_code(
    leaking: str, fine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for target in (tmp_path, tmp_path / "none" / "summary.md", Path("/dev/full")):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
        for path, code in ((fine, 0), (leaking, 1)):
            result = run(path, "--github")
            assert result.return_value == code
            (line,) = result.stderr.splitlines()
            assert "no summary is written" in line and str(target) in line


def test_outputs_are_looked_at_before_anything_is_read(fine: str, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "none" / "x")
    for option in ("-o", "--json", "--junit"):
        for path in (nowhere, str(tmp_path)):
            with pytest.raises(click.BadParameter):
                run(fine, option, path)
    with pytest.raises(click.BadParameter):
        run(fine, "--known", nowhere, "--write-known")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_outputs_that_may_not_be_written(fine: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    (tmp_path / "x").chmod(0o400)
    for option in ("-o", "--json", "--junit"):
        with pytest.raises(click.BadParameter):
            run(fine, option, str(tmp_path / "x"))


def test_without_a_summary_file_it_is_said(leaking: str) -> None:
    assert "GITHUB_STEP_SUMMARY" in run(leaking, "--github").stderr


def test_bombs_and_strange_members_do_no_harm(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0_unit.txt", text(stamped(GREEN)))
        archive.writestr("../../etc/evil.txt", b"x\n")
        archive.writestr("bomb.txt", b"\n" * (400 << 20))
        archive.writestr("core.bin", bytes(range(256)) * 50)
        archive.writestr("junit.xml", b"<testsuites>" + b"<" * 1000)
    path = tmp_path / "run.zip"
    path.write_bytes(buffer.getvalue())
    result = run(str(path), "--format", "json")
    assert result.return_value == 1
    data = json.loads(result.stdout)
    errors = {source["name"].rpartition("/")[2]: source["error"] for source in data["sources"]}
    assert "decompression bomb" in errors["bomb.txt"]
    assert "no JUnit" in errors["junit.xml"]
    assert errors["0_unit.txt"] is None


def test_explained_cases_are_told(tmp_path: Path) -> None:
    lines = job([*file_run("test_a.py", sample("lost-page")), *failed("test_a.py")], green=False)
    (tmp_path / "0_unit.txt").write_bytes(text(stamped(lines)))
    (tmp_path / "junit.xml").write_bytes(
        junit([("test_a.TestPool", "test_decode", "gone"), ("x.TestY", "z", "1 != 2")])
    )
    told = run(str(tmp_path)).stdout
    assert "Failing cases of JUnit files (2 of 2)" in told and "same test" in told and "no break explains" in told
    (first, second) = answer(str(tmp_path))["junit"]["failures"]
    assert first["explained_by"]["test"] == 0 and second["explained_by"] is None
