"""Small nasty logs with the answer that `memcheck analyze --format json` owes them.

A case is `cases/NAME.json` beside the log it names (a file, a compressed file or a folder): `why` says what it is
about, `args` are further arguments, `exit_code` the exit code, `expect` a subset of the JSON answer, `count` lengths
of its lists, `absent` what no item of a list may match, `same_event` breaks that must share one event. A subset of an
object holds some of its keys, a subset of a list has a match in it for each of its items, all else must be equal.
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
NAMES = sorted(path.stem for path in CASES.glob("*.json"))


def unmet(wanted: Any, answer: Any, path: str = "$") -> list[str]:
    """Every place where `wanted` is no subset of `answer`."""
    match wanted:
        case dict():
            if not isinstance(answer, dict):
                return [f"{path} is {answer!r}, no object"]
            missing = [f"{path}.{key} is missing" for key in wanted if key not in answer]
            return missing + [
                told for key in wanted if key in answer for told in unmet(wanted[key], answer[key], f"{path}.{key}")
            ]
        case list():
            if not isinstance(answer, list):
                return [f"{path} is {answer!r}, no list"]
            told: list[str] = []
            for number, item in enumerate(wanted):
                attempts = [unmet(item, other, f"{path}[{number}]") for other in answer]
                if not attempts:
                    told.append(f"{path} holds nothing like {item!r}")
                elif all(attempts):
                    told += sorted(attempts, key=len)[0]
            return told
        case _:
            same = type(wanted) is type(answer) and wanted == answer
            return [] if same else [f"{path} is {answer!r}, not {wanted!r}"]


def matching(items: list[Any], subset: Any) -> list[Any]:
    """The items that the subset matches."""
    return [item for item in items if not unmet(subset, item)]


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES)
    case = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    words = ["analyze", case["file"], *case["args"], "--format", "json"]
    result = CliRunner().invoke(memcheck, words, standalone_mode=False)
    if case["exit_code"] == 2:
        assert isinstance(result.exception, click.UsageError), case["why"]
        return
    assert result.exception is None, case["why"]
    answer = json.loads(result.stdout)
    told = unmet(case["expect"], answer)
    if result.return_value != case["exit_code"]:
        told.append(f"exit code is {result.return_value}, not {case['exit_code']}")
    for key, length in case.get("count", {}).items():
        if len(answer[key]) != length:
            told.append(f"{key} has {len(answer[key])} items, not {length}")
    for key, subsets in case.get("absent", {}).items():
        told += [f"{key} holds {subset!r}" for subset in subsets if matching(answer[key], subset)]
    if subsets := case.get("same_event"):
        events = {found["event"] for subset in subsets for found in matching(answer["breaks"], subset)}
        if len(events) != 1 or not all(matching(answer["breaks"], subset) for subset in subsets):
            told.append(f"events are {events}, not one that all of {subsets} share")
    assert not told, case["why"] + "\n" + "\n".join(told)


def test_every_log_has_a_case() -> None:
    used = {json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["file"].split("/")[0] for name in NAMES}
    assert {path.name for path in CASES.iterdir() if path.suffix != ".json"} == used
    assert len(NAMES) >= 74


def test_a_wrong_expectation_is_told() -> None:
    assert unmet({"a": [{"b": 1}]}, {"a": [{"b": 2}, {"b": 1, "c": 3}]}) == []
    assert unmet({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == ["$.a[0].b is 2, not 1"]
    assert unmet({"a": None}, {}) == ["$.a is missing"]
    assert unmet(1, True) == ["$ is True, not 1"]
    assert unmet([{"a": 1}], []) == ["$ holds nothing like {'a': 1}"]
