"""This run beside an earlier one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bundles import VALIDATOR, bundle_of, saved
from made_bundles import failed, file_run, job, sample, stamped, text, zipped

from memcheck_cli.artifacts.comparing import before_of, compare, saved_groups
from memcheck_cli.artifacts.model import Bundle
from memcheck_cli.errors import UsageError
from memcheck_cli.render.artifacts_json import document


def run_of(folder: Path, **logs: str) -> Bundle:
    """A run with a file `test_NAME.py` for every log."""
    lines = [
        line
        for name, log in logs.items()
        for line in [*file_run(f"test_{name}.py", sample(log), cls=f"Test{name}"), *failed(f"test_{name}.py")]
    ]
    return bundle_of(saved(folder, "run.zip", zipped({"0_unit.txt": text(stamped(job(lines, green=False)))})))


def test_new_gone_and_still_there(tmp_path: Path) -> None:
    before = run_of(tmp_path / "a", one="lost-page", two="swa-lost-page", three="idle-warning")
    after = run_of(tmp_path / "b", one="lost-page", two="healthy", four="two-ranks")
    result = compare(after, "before", before_of(before))
    assert [group.fingerprint.pool for group in result.still] == ["full"]
    assert [group.tests[0].cls for group in result.new] == ["Testfour"]
    gone = {one.tests[0][2]: one.checked_again for one in result.gone}
    assert gone == {"Testtwo": True, "Testthree": False}
    after.comparison = result
    VALIDATOR.validate(document(after))
    assert {group.compared for group in after.groups} == {"new", "still there"}


def test_a_saved_answer_is_as_good_as_the_bundle(tmp_path: Path) -> None:
    before = run_of(tmp_path / "a", one="lost-page", two="swa-lost-page")
    path = saved(tmp_path, "before.json", json.dumps(document(before)).encode())
    assert saved_groups(str(path)) == [
        one._replace(tests=[tuple(test) for test in one.tests]) for one in before_of(before)
    ]
    result = compare(run_of(tmp_path / "b", one="lost-page"), "x", saved_groups(str(path)) or [])
    assert (len(result.new), len(result.still), len(result.gone)) == (0, 1, 1)


def test_what_is_no_saved_answer(tmp_path: Path) -> None:
    assert saved_groups(str(saved(tmp_path, "a.log", b"x"))) is None
    assert saved_groups(str(saved(tmp_path, "b.json", b'{"schema": "memcheck.analysis/1"}'))) is None
    assert saved_groups(str(tmp_path)) is None
    assert saved_groups(str(tmp_path / "missing")) is None


@pytest.mark.parametrize(
    "rest",
    [
        '"tests": []}',
        '"tests": [], "groups": [3]}',
        '"tests": [], "groups": [{"tests": [5]}]}',
        '"tests": ',
        "[" * 9000,
    ],
)
def test_a_damaged_answer_is_wrong_use(tmp_path: Path, rest: str) -> None:
    with pytest.raises(UsageError, match="write it again"):
        saved_groups(str(saved(tmp_path, "a.json", f'{{"schema": "memcheck.artifacts/1", {rest}'.encode())))


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        *(("tests", key, value) for key in ("job", "file", "class", "method") for value in (3, ["x"], {})),
        *(("groups", key, value) for key in ("fingerprint", "kind") for value in (3, ["x"], None)),
        *(("groups", key, value) for key in ("pool", "signature") for value in (3, ["x"])),
        *(("groups", key, value) for key in ("tests", "moved", "flags") for value in (3, "x", None, [[]])),
    ],
)
def test_an_answer_with_values_of_other_types_is_wrong_use(tmp_path: Path, part: str, key: str, value: object) -> None:
    answer = json.loads(json.dumps(document(run_of(tmp_path / "a", one="lost-page"))))
    answer[part][0][key] = value
    path = saved(tmp_path, "before.json", json.dumps(answer).encode())
    with pytest.raises(UsageError, match="write it again") as raised:
        saved_groups(str(path))
    assert "Error" not in str(raised.value)
