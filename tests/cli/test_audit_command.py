"""`memcheck audit` at the command line: formats, exit codes, what goes to stderr."""

from __future__ import annotations

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
from memcheck_cli.cli.audit import command
from memcheck_cli.errors import UnreadableError, UsageError

ROOT = Path(__file__).parents[2]
SAMPLES = Path("samples") / "spec_tests"


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are shown as they were named, so how lines wrap does not hang on where the checkout lies."""
    monkeypatch.chdir(ROOT)


SCHEMA = json.loads((Path(memcheck_cli.__file__).parent / "schemas" / "audit.json").read_text("utf-8"))
LEVEL = "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY"
TEST = f"""\
from sglang.srt.environ import envs
from sglang.test.kits.spec_server_kits import SpecAccuracyKit
from sglang.test.server_fixtures.spec_eagle_fixture import Eagle3Base
class TestIt(Eagle3Base, SpecAccuracyKit):
    env_overrides = ((envs.{LEVEL}, 1),)
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def document(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    answer: dict[str, Any] = json.loads(result.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(answer)
    return answer


def test_the_samples_as_json() -> None:
    answer = document(str(SAMPLES))
    assert answer["schema"] == "memcheck.audit/1"
    told = {entry["class"]: (entry["level"], entry["set_by"], entry["verdict"]) for entry in answer["classes"]}
    assert told == {
        "TestSessions": (1, "SessionServerBase", "checked"),
        "TestSessionsLoud": (2, "TestSessionsLoud", "checked"),
        "TestSessionsBack": (1, "SessionServerBase", "checked"),
        "TestTree": (1, "Checked", "checked"),
        "TestTreeTopk4": (1, "Checked", "checked"),
        "TestTreeLoud": (2, "TestTreeLoud", "checked"),
        "TestTreeSilent": (0, "TestTreeSilent", "unchecked"),
        "TestWrongBase": (0, None, "unchecked"),
        "TestOnlyInCI": (None, None, "undecided"),
    }
    entry = next(entry for entry in answer["classes"] if entry["class"] == "TestTreeTopk4")
    assert entry["speculative"] == {
        "algorithm": "EAGLE3",
        "topk": 4,
        "num_steps": 3,
        "draft_tokens": 4,
        "certain": True,
    }
    source = (SAMPLES / "test_tree.py").read_text().splitlines()
    assert source[entry["line"] - 1].startswith("class TestTreeTopk4")
    assert "CHECK, 1" in source[entry["set_at"]["line"] - 1]
    assert answer["required"] is None


def test_contract_keys_come_with_every_class() -> None:
    for entry in document(str(SAMPLES))["classes"]:
        assert {"class", "file", "line", "level", "set_by", "speculative", "verdict"} <= set(entry)
        assert (entry["level"] is None) == (entry["verdict"] == "undecided") == bool(entry["reasons"])


@pytest.mark.parametrize(
    ("body", "level", "code"),
    [
        ("", "1", 0),
        ("", "2", 1),
        ("    env_overrides = ()\n", "1", 1),
        ("    env_overrides = unknown()\n", "1", 3),
        ("    __test__ = False\n", "1", 3),
        (f"    env_overrides = ((envs.{LEVEL}, -1),)\n", "1", 0),
        (f"    env_overrides = ((envs.{LEVEL}, -1),)\n", "2", 1),
    ],
)
def test_required_level(tmp_path: Path, body: str, level: str, code: int) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(TEST + body)
    result = run(str(path), "--require-level", level)
    assert result.exit_code == code
    required = document(str(path), "--require-level", level)["required"]
    assert bool(required["short"]) == (code == 1)
    if code == 1:
        assert f"{path}:4: TestIt" in result.stdout
        assert required["short"][0]["class"] == "TestIt"
        assert required["short"][0]["line"] == 4
    assert run(str(path)).exit_code == 0


def test_a_certain_failure_beats_an_undecided_class() -> None:
    result = run(str(SAMPLES), "--require-level", "1")
    assert result.exit_code == 1
    assert "2 speculative test classes fall short" in result.stdout
    assert re.search(r"test_tree\.py:36: TestTreeSilent has level 0\n", result.stdout)
    assert re.search(r"test_tree\.py:49: TestOnlyInCI: ", result.stdout)


def test_every_class_may_be_asked(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from sglang.test.test_utils import CustomTestCase, popen_launch_server\n"
        "class TestIt(CustomTestCase):\n    def test_it(self):\n        popen_launch_server('model', 'url')\n"
    )
    assert run(str(tmp_path), "--require-level", "1").exit_code == 0
    result = run(str(tmp_path), "--require-level", "1", "--every")
    assert result.exit_code == 1
    assert "1 test class falls short of level 1:" in result.stdout


def test_a_file_that_was_not_read_leaves_it_undecided(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "test_bad.py").write_text("class Broken(:\n")
    result = run(str(tmp_path), "--require-level", "1")
    assert result.exit_code == 3
    assert "test_bad.py: no Python" in result.stderr
    assert "test_bad.py" not in result.stdout
    assert run(str(tmp_path)).exit_code == 0
    assert [entry["file"] for entry in document(str(tmp_path))["skipped"]] == [str(tmp_path / "test_bad.py")]


def test_many_skipped_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    for number in range(30):
        (tmp_path / f"test_bad{number}.py").write_text("class (")
    lines = run(str(tmp_path)).stderr.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "memcheck: and 10 more that were not read"


def test_one_class() -> None:
    result = run(str(SAMPLES), "--class", "TestTreeSilent")
    assert result.exit_code == 0
    names = re.findall(r"^ {5}\d  (\w+)\b", result.stdout, re.MULTILINE)
    assert names == ["TestTreeSilent", "Checked", "TreeServerBase", "CustomTestCase", "ChatKit", "object"]
    assert re.search(r"1  shadowed, Checked, env_overrides,\s+\S+test_tree\.py:18", result.stdout)
    assert re.search(r"0  in force, TestTreeSilent, env_overrides,\s+\S+test_tree\.py:39", result.stdout)
    (entry,) = document(str(SAMPLES), "--class", "TestTreeSilent")["classes"]
    assert [base["class"] for base in entry["mro"]] == names
    writes = [(w["value"], w["set_by"], w["in_force"]) for w in entry["variables"] if w["name"] == LEVEL]
    assert writes == [("1", "Checked", False), ("0", "TestTreeSilent", True)]


def test_a_class_that_is_no_test_is_explained_too() -> None:
    result = run(str(SAMPLES), "--class", "ChatKit")
    assert result.exit_code == 0
    assert "starts no server" in result.stdout


def test_no_such_class() -> None:
    result = run(str(SAMPLES), "--class", "TestTreeSilence")
    assert isinstance(result.exception, UsageError)
    assert "did you mean TestTreeSilent?" in str(result.exception)


@pytest.mark.parametrize(
    "arguments", [(), (".", "--require-level", "0"), (".", "--require-level", "x"), (".", "--format", "xml")]
)
def test_wrong_use(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("arguments", [(str(SAMPLES), "--every"), (str(SAMPLES), "--release", "new")])
def test_wrong_use_told_by_us(arguments: tuple[str, ...]) -> None:
    assert isinstance(run(*arguments).exception, UsageError)


def test_unreadable(tmp_path: Path) -> None:
    assert isinstance(run(str(tmp_path / "missing")).exception, UnreadableError)
    assert isinstance(run(str(tmp_path)).exception, UnreadableError)


def test_release_of_a_known_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from sglang.test.kits.streaming_session_kit import Kit\n"
        "from sglang.test.server_fixtures.streaming_session_fixture import StreamingSessionServerBase\n"
        "class TestIt(StreamingSessionServerBase, Kit): pass\n"
    )
    levels = [document(str(tmp_path), *more)["classes"][0]["level"] for more in ((), ("--release", "0.5.12.post1"))]
    assert levels == [1, 2]


@pytest.mark.parametrize("form", ["terminal", "json", "markdown"])
def test_output_file(tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    result = run(str(SAMPLES), "--format", form, "-o", str(out))
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_text("utf-8") == run(str(SAMPLES), "--format", form).stdout


def memcheck(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memcheck_cli", "audit", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


def test_through_the_main_command(tmp_path: Path) -> None:
    assert memcheck("samples/spec_tests", "--require-level", "1").returncode == 1
    missing = memcheck(str(tmp_path / "missing"))
    assert (missing.returncode, missing.stdout) == (4, "")
    assert missing.stderr.startswith("memcheck: cannot read ") and missing.stderr.count("\n") == 1
    assert memcheck("samples/spec_tests", "--class", "Nobody").returncode == 2


def test_the_examples_of_the_help_work(tmp_path: Path) -> None:
    text = run("--help").stdout
    examples = re.findall(r"^ +memcheck audit (samples.*)$", text, re.MULTILINE)
    assert len(examples) >= 4
    for example in examples:
        arguments = [str(tmp_path / word) if word == "audit.md" else word for word in example.split()]
        assert memcheck(*arguments).returncode in (0, 1), example
    assert all(len(line) <= 80 for line in text.splitlines())
