"""One of a thing is one thing: in the function that says so, and in whatever a verb says of few things."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_bundles import sample
from made_logs import busy, prefix

from memcheck_cli.cli.main import memcheck
from memcheck_cli.counting import counted, signed
from memcheck_cli.sources.budget import size_text

MANY = (
    "bytes|cases|checks|columns|containers|entries|events|files|iterations|jobs|lines|pages|ranks|records|reports|"
    "requests|seconds|slots|sources|streams|tests|times|tokens"
)
ONE_OF_MANY = re.compile(
    rf"(?<![-\d.,+#:] )(?<![\w.,+-])1 (?:[a-z-]+ )?(?:{MANY})\b(?! of)|\b1 of (?:them|these) [a-z]+[^s] "
)

BALANCED = busy("full", 100, 90, 0, 0, 0, 10, rank="TP0")
BROKEN = busy("full", 100, 89, 0, 0, 0, 10, rank="TP0")
NO_TOTAL = f"{prefix('TP0')}[Mem Check (BUSY)] available_size=7, evictable_size=2, protected_size=1, uncached_size=0"
DOUBLE_FREE = f"{prefix('TP0')}KV double free: sub-pool 0 has 1 duplicate pages."
IN_USE = f"{prefix('TP0')}KV page use-after-free: 1 owner page refs are in the free pool, sample pages=[7]."
LOGS = {
    "nothing": ["x"],
    "quiet": sample("quiet"),
    "balanced": [BALANCED],
    "broken": [BROKEN],
    "both": [BALANCED, BROKEN],
    "undecided": [NO_TOTAL],
    "double-free": [BALANCED, DOUBLE_FREE],
    "in-use": [BALANCED, IN_USE],
}


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, lines in LOGS.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.chdir(tmp_path)


def told(*arguments: str) -> str:
    """Everything that is said, on one line."""
    result = CliRunner().invoke(memcheck, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    return " ".join(result.output.split())


def test_counted() -> None:
    assert [counted(number, "page") for number in (0, 1, 2, -1)] == ["0 pages", "1 page", "2 pages", "-1 page"]
    assert [counted(number, "it is", "they are") for number in (1, 3)] == ["1 it is", "3 they are"]
    assert [signed(number, "token") for number in (-1, 1, 16)] == ["-1 token", "+1 token", "+16 tokens"]
    assert [size_text(size) for size in (1, 2)] == ["1 byte", "2 bytes"]


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("verb", ["analyze", "analyze -v", "replay", "replay --against 0.5.9", "artifacts"])
def test_one_of_a_thing(verb: str, name: str) -> None:
    text = told(*verb.split(), name)
    assert not ONE_OF_MANY.search(text), text


@pytest.mark.parametrize("form", ["terminal", "markdown"])
@pytest.mark.parametrize("a", LOGS)
@pytest.mark.parametrize("b", ["balanced", "both", "double-free"])
def test_one_of_a_thing_in_two_runs(a: str, b: str, form: str) -> None:
    text = told("diff", a, b, "--format", form)
    assert not ONE_OF_MANY.search(text), text


def test_what_few_things_are_called() -> None:
    assert "Checked: 1 busy check and 0 idle reports of 1 stream in 1 line." in told("analyze", "balanced")
    assert "the one record that could be decided balances" in told("analyze", "balanced")
    assert "the record found could not be decided" in told("analyze", "undecided")
    assert "1 line was read." in told("analyze", "nothing")
    assert "1 page stands twice in the free list" in told("analyze", "double-free")
    assert "1 page is in the free pool while owned" in told("analyze", "in-use")
    assert "1 record by the rules of" in told("replay", "balanced")
    assert "1 source with 1 line." in told("artifacts", "balanced")
    assert "the only test did not run under the check" in told("artifacts", "quiet")
