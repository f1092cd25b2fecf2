"""Small nasty logs with the answer that the promises to callers ask for: tests/cases/NAME.json beside the log it names.

`expect` is a part of the JSON answer: of an object the named keys, of a list some item for each; `count` gives lengths
of lists, `absent` what no item of a list may hold, `same_event` breaks that share one event number.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from memcheck_cli.cli.main import memcheck

CASES = Path(__file__).parent / "cases"


def holds(wanted: Any, given: Any) -> bool:
    """Whether `given` has all that is wanted."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(
            name in given and holds(part, given[name]) for name, part in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(given, list) and all(any(holds(part, item) for item in given) for part in wanted)
    return type(wanted) is type(given) and wanted == given


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_case(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    monkeypatch.chdir(CASES)
    words = ["analyze", case["file"], *case.get("args", []), "--format", "json"]
    run = CliRunner().invoke(memcheck, words, standalone_mode=False)
    code = 2 if isinstance(run.exception, click.UsageError) else run.return_value
    assert code == case["exit_code"], case["why"]
    if code == 2:
        return
    answer = json.loads(run.stdout)
    for name, part in case.get("expect", {}).items():
        assert holds(part, answer.get(name)), (case["why"], name, answer.get(name))
    for name, size in case.get("count", {}).items():
        assert len(answer[name]) == size, case["why"]
    for name, parts in case.get("absent", {}).items():
        assert not any(holds(part, item) for part in parts for item in answer[name]), case["why"]
    shared = [b["event"] for part in case.get("same_event", []) for b in answer["breaks"] if holds(part, b)]
    assert len(set(shared)) <= 1 and len(shared) >= len(case.get("same_event", [])), case["why"]
