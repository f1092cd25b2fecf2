"""The file of accepted fingerprints, and what accepting does."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest
from bundles import TODAY, bundle_of, saved
from hypothesis import given
from hypothesis import strategies as st
from made_bundles import job, retried, sample, stamped, text, zipped

from memcheck_cli.artifacts import accept
from memcheck_cli.artifacts.known import _quoted, add_known, day_of, load_known
from memcheck_cli.artifacts.model import Bundle, Known
from memcheck_cli.errors import UsageError

LATER = date(2027, 1, 31)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    first = job(retried("test_a.py", sample("lost-page"), sample("healthy")), green=True)
    data = zipped({"0_one.txt": text(stamped(first)), "two/server.log": text(sample("swa-lost-page"))})
    return bundle_of(saved(tmp_path, "run.zip", data))


def test_accepted_breaks_do_not_fail_and_stand_apart(bundle: Bundle) -> None:
    full, swa = sorted(group.fingerprint.id for group in bundle.groups)
    accept(bundle, [Known(full, "known upstream", None)])
    assert bundle.verdict == "broken"
    assert {group.fingerprint.id: group.accepted for group in bundle.groups} == {full: True, swa: False}
    accept(bundle, [Known(full, "known upstream", None), Known(swa, "the same", TODAY)])
    assert bundle.verdict == "balanced" and bundle.exit_code == 0
    assert "accepted" in bundle.reason
    assert all(test.accepted for test in bundle.tests if test.breaks)


def test_an_expired_entry_accepts_nothing(bundle: Bundle) -> None:
    entries = [Known(group.fingerprint.id, "old", date(2026, 11, 30)) for group in bundle.groups]
    accept(bundle, entries)
    assert bundle.verdict == "broken"
    assert all(group.known is not None and not group.accepted for group in bundle.groups)
    accept(bundle, [*entries, *(entry._replace(expires=LATER) for entry in entries)])
    assert bundle.verdict == "balanced"


def test_unused_entries_are_told(bundle: Bundle) -> None:
    accept(bundle, [Known("full-leak-0000000000", "gone", None)])
    assert [known.fingerprint for known in bundle.unused] == ["full-leak-0000000000"]


def test_what_is_written_is_read_back(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text("# kept as it is\n[[known]]\nfingerprint = 'full-leak-1'\nreason = 'why'")
    known = load_known(str(path))
    assert known == [Known("full-leak-1", "why", None)]
    added = add_known(str(path), bundle.groups, known, 'a "reason" \\ with\nlines', LATER, TODAY)
    assert len(added) == 2
    assert path.read_text().startswith("# kept as it is\n")
    again = load_known(str(path))
    assert again == [*known, *added]
    assert add_known(str(path), bundle.groups, again, "x", LATER, TODAY) == []
    accept(bundle, again)
    assert bundle.verdict == "balanced"


def test_an_expired_entry_is_written_anew(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    old = [Known(group.fingerprint.id, "old", date(2026, 1, 1)) for group in bundle.groups]
    assert len(add_known(str(path), bundle.groups, old, "new", LATER, TODAY)) == 2


@given(st.text(max_size=60).filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text)))
def test_any_reason_is_a_string_of_toml(reason: str) -> None:
    assert tomllib.loads(f"a = {_quoted(reason)}")["a"] == reason


def test_hostile_job_names_stay_in_their_comment(tmp_path: Path) -> None:
    name = "evil\n[[known]]\rx"
    data = "\t".join([name.replace("\n", "\x0b"), "s", ""]).encode()
    lines = b"".join(data + line.encode() + b"\n" for line in stamped(sample("lost-page")))
    bundle = bundle_of(saved(tmp_path, "run.txt", lines))
    bundle.tests[0].job = name
    path = tmp_path / "known.toml"
    add_known(str(path), bundle.groups, [], "x", LATER, TODAY)
    assert len(load_known(str(path))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "[[known]]\nfingerprint = 3\nreason = 'x'",
        "[[known]]\nfingerprint = 'full-leak-1'",
        "[[known]]\nfingerprint = 'full-leak-1'\nreason = ' '",
        "[[known]]\nfingerprint = 'full-leak-1'\nreason = 'x'\nexpires = 'soon'",
        "[[known]]\nfingerprint = 'full-leak-1'\nreason = 'x'\nexpires = 3",
        "known = 3",
        "known = [3]",
        "[[known",
        "\x00",
    ],
)
def test_a_file_that_is_none_is_wrong_use(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(UsageError):
        load_known(str(path))


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        load_known(str(tmp_path / "none.toml"))
    assert load_known(str(tmp_path / "none.toml"), may_be_missing=True) == []
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError):
        load_known(str(tmp_path / "b"))


def test_days() -> None:
    assert day_of("2026-12-31", "x") == date(2026, 12, 31)
    with pytest.raises(UsageError):
        day_of("31.12.2026", "x")
