"""Every command's help has examples, and those on samples work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from memcheck_cli.cli.main import VERBS, memcheck

ROOT = Path(__file__).parents[2]


def command_of(verb: str) -> click.Command:
    found = memcheck.get_command(click.Context(memcheck), verb)
    assert found is not None
    return found


def examples_of(verb: str) -> list[str]:
    """The example lines of a verb's help as it is printed; a longer one goes on with a deeper indentation."""
    command = command_of(verb)
    text = command.get_help(click.Context(command, info_name=verb))
    _, _, behind = text.partition("Examples:\n")
    lines = re.sub(r"\n {6,}", " ", behind.split("\n\n")[0]).splitlines()
    return [line.strip() for line in lines if "memcheck " in line]


RUNNABLE = [
    (verb, line)
    for verb in VERBS
    for line in examples_of(verb)
    if line.startswith("memcheck ") and "|" not in line and ("samples/" in line or verb in ("forms", "explain"))
]


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each_verb(verb: str):
    command = command_of(verb)
    assert command.get_short_help_str(limit=200)
    assert examples_of(verb)
    assert any(shown == verb for shown, _ in RUNNABLE), "no example works on the samples"
    assert max(map(len, command.get_help(click.Context(command, info_name=f"memcheck {verb}")).splitlines())) <= 80
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help or option.name == "form", option.name


@pytest.mark.parametrize(("verb", "line"), RUNNABLE, ids=[line for _, line in RUNNABLE])
def test_examples_work(verb: str, line: str, tmp_path: Path):
    words = shlex.split(line)[1:]
    if "-o" in words:
        at = words.index("-o") + 1
        words[at] = str(tmp_path / Path(words[at]).name)
    done = subprocess.run(
        [sys.executable, "-m", "memcheck_cli", *words], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout or "-o" in words


def test_every_verb_is_told():
    done = subprocess.run([sys.executable, "-m", "memcheck_cli", "--help"], capture_output=True, text=True, check=True)
    for verb in VERBS:
        assert f"\n  {verb}" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["analyse"], "Did you mean 'analyze'?"),
        (["samples/healthy.log"], "memcheck analyze samples/healthy.log"),
        (["analyze", "--total", "full"], "full=131072"),
        (["analyze", "--page-size", "0"], "--page-size"),
        (["analyze", "--max-expanded", "much", "samples/healthy.log"], "100GB"),
    ],
)
def test_wrong_use_says_what_to_do(words: list[str], hint: str):
    done = subprocess.run([sys.executable, "-m", "memcheck_cli", *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert hint in done.stderr and "Traceback" not in done.stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "memcheck_cli", *arguments]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("verb", ["analyze", "replay", "diff", "artifacts", "audit"])
def test_an_output_that_cannot_be_written_is_wrong_use(verb: str, tmp_path: Path) -> None:
    arguments = ["a.log", "b.log"] if verb == "diff" else ["a.log"]
    done = run(verb, *arguments, "-o", str(tmp_path / "missing" / "answer"))
    assert done.returncode == 2
    assert "there is no directory" in done.stderr


def test_errors_are_one_line_whatever_they_quote() -> None:
    done = run("audit", "/no/such\n\x1b[31mfile")
    assert done.returncode == 4
    assert done.stderr == "memcheck: cannot read /no/such\\x0a\\x1b[31mfile: No such file or directory\n"
