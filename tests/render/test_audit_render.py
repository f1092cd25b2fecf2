"""The audit for a person: 80 columns, no control characters, Markdown that stays a table."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.audit import audit
from memcheck_cli.audit.model import Audit, AuditedClass, BaseClass, Reason, Setting, Skipped, Speculative
from memcheck_cli.audit.requirement import require
from memcheck_cli.render.audit import headline, print_audit, write_markdown

SAMPLES = Path(__file__).parents[2] / "samples" / "spec_tests"


def made(name: str = "TestIt", file: str = "tests/test_it.py", text: str = "why", **changes: object) -> AuditedClass:
    values: dict[str, object] = {
        "name": name,
        "file": file,
        "line": 7,
        "level": None,
        "set_by": None,
        "set_how": None,
        "set_file": None,
        "set_line": None,
        "verdict": "undecided",
        "starts_server": True,
        "is_test": True,
        "launch_file": file,
        "launch_line": 9,
        "speculative": Speculative(text, 4, 3, 2, certain=True),
        "order": (BaseClass(name, file, 7, "read"), BaseClass(text, None, None, "unresolved")),
        "settings": (Setting(text, text, True, text, text, file, 3, True),),
        "reasons": (Reason(text, file, 8),),
        "notes": (Reason(text, "other.py", 8),),
    }
    return AuditedClass(**(values | changes))  # type: ignore[arg-type]


def terminal(answer: Audit, level: int | None = None, *, explain: bool = False) -> str:
    output = io.StringIO()
    print_audit(answer, None if level is None else require(answer, level), output, explain=explain)
    return output.getvalue()


def markdown(answer: Audit, level: int | None = None) -> str:
    output = io.StringIO()
    write_markdown(answer, None if level is None else require(answer, level), output)
    return output.getvalue()


@pytest.mark.parametrize("explain", [False, True])
def test_eighty_columns(explain: bool) -> None:
    root = Path.cwd()
    if not (root / "samples").exists():
        pytest.skip("paths are longer elsewhere")
    text = terminal(audit(["samples/spec_tests"]), 1, explain=explain)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_long_names_fold() -> None:
    entry = made(name="Test" + "Long" * 30, level=1, verdict="checked", set_by="Base" * 20, set_how="env_overrides")
    text = terminal(Audit((entry,), (), 1, ()))
    assert "".join(part.strip() for part in text.splitlines()).count("LongLong")
    rows = [line for line in text.splitlines() if "why" not in line and ":" not in line]
    assert max(map(len, rows)) <= 80


def test_headline() -> None:
    assert headline(Audit((), (), 1, ())) == "no test class that starts a server in 1 file"
    assert headline(Audit((made(),), (), 1, ())) == "1 test class: 1 undecided"
    told = audit([str(SAMPLES)])
    assert headline(told) == "9 test classes: 6 checked, 2 unchecked, 1 undecided"


def test_every_class_has_its_row() -> None:
    answer = audit([str(SAMPLES)])
    text, table = terminal(answer), markdown(answer)
    for entry in answer.classes:
        assert any(line.split()[:1] == [str(entry.line)] and entry.name in line for line in text.splitlines())
        row = next(line for line in table.splitlines() if f"`{entry.name}`" in line)
        level = "undecided" if entry.level is None else str(entry.level)
        assert row.split("|")[1].strip().strip("*") == level
        assert f"test_tree.py:{entry.line}" in row or f"test_sessions.py:{entry.line}" in row


def test_what_is_required_is_named() -> None:
    answer = audit([str(SAMPLES)])
    for text in (terminal(answer, 1), markdown(answer, 1)):
        assert "2 speculative test classes fall short of level 1:" in text
        assert "test_tree.py:36" in text
    good = Audit((made(level=2, verdict="checked"),), (), 1, ())
    assert "all speculative test classes reach level 2" in terminal(good, 2)
    assert "All speculative test classes reach level 2." in markdown(good, 2)
    skipped = Audit(good.classes, (Skipped("bad.py", "broken"),), 2, ())
    assert "undecided: 1 file was not read" in terminal(skipped, 2)
    assert "Undecided: 1 file was not read." in markdown(skipped, 2)
    assert "no test class that starts a server was found" in terminal(Audit((), (), 1, ()), 1)


NASTY = "\x1b[31m|`<b>*x*\n\u202e\x00]["


@pytest.mark.parametrize("explain", [False, True])
def test_control_characters_are_shown_as_escapes(explain: bool) -> None:
    answer = Audit((made(name=NASTY, file=NASTY, text=NASTY),), (), 1, ())
    text = terminal(answer, 1, explain=explain)
    assert not {"\x1b", "\u202e", "\x00"} & set(text)
    assert "\\x1b" in text


@given(st.text(max_size=40), st.text(max_size=40))
def test_markdown_keeps_its_table(name: str, text: str) -> None:
    answer = Audit((made(name=name, file=name, text=text), made(name="Second")), (), 1, ())
    lines = markdown(answer, 1).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    for row in rows:
        bare = row.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 6
