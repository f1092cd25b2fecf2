"""What the README shows is what the commands print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n(.*?)```", README, re.DOTALL)


def run(command: str) -> str:
    words = shlex.split(command)
    assert words[0] == "memcheck"
    # A person's shell: colours off in a pipe, 80 columns, no CI.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB", "COLUMNS"))}
    done = subprocess.run(
        [sys.executable, "-m", "memcheck_cli", *words[1:]],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    return done.stdout


def test_something_is_shown():
    assert len(SHOWN) >= 3


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.split("\n", 1)[0])
def test_shown_answers(shown: str):
    command, _, answer = shown.partition("\n")
    assert command.startswith("$ memcheck ")
    printed = run(command.removeprefix("$ "))
    if "\n[…]\n" in answer:
        head, _, tail = answer.partition("[…]\n")
        assert printed.startswith(head)
        assert printed.endswith(tail)
    else:
        assert printed == answer


def test_every_sample_has_its_line():
    table = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "samples").iterdir():
        if path.name != "README.md":
            assert f"`{path.name}" in table, path.name


@pytest.mark.parametrize("path", sorted((ROOT / "samples").glob("*.log")), ids=lambda path: path.stem)
def test_every_sample_says_what_the_table_says(path: Path):
    """The verdict that samples/README.md gives for each log."""
    table = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    (line,) = [line for line in table.splitlines() if f"`{path.name}`" in line]
    verdict = line.rstrip(" |").rsplit("|", 1)[1].strip()
    assert run(f"memcheck analyze samples/{path.name}").split()[0] == verdict.upper()


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_python_that_is_shown_runs(monkeypatch: pytest.MonkeyPatch):
    (shown,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(shown, names)
    told = re.findall(r"^(\w+) = .*?  # (.*)$", shown, re.MULTILINE)
    assert len(told) >= 3
    for name, comment in told:
        for attribute in re.findall(r"\.(\w+)", comment):
            assert hasattr(names[name], attribute), (name, attribute)


def test_ci_runs_the_command_that_the_readme_names():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    command = "pip install -q -e '.[test,fast]' && pytest -q"
    assert command in script and command in README
