"""What GitHub is given: Markdown that shows texts as they stand, within the size, and harmless annotations."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bundles import columns, failed, file_run, job, retried, sample, stamped, text, zipped
from markdown_it import MarkdownIt

from memcheck_cli.artifacts import Bundle, Known, accept, read_bundle
from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.render.artifacts import print_bundle
from memcheck_cli.render.github import MOST_ANNOTATIONS, MOST_BYTES, Harmless, annotation_lines, markdown, summary
from memcheck_cli.render.safe import safe
from memcheck_cli.sources import Source, find_sources

READER = MarkdownIt("gfm-like", {"linkify": False, "html": True})
EVIL = "x | `y` <script>alert(1)</script> [a](http://b) **c** _d_ &amp; \x1b[31m ::error::e ##[error]f @g #1"


def bundle_of(folder: Path, name: str, data: bytes) -> Bundle:
    path = folder / name
    path.write_bytes(data)
    found = [one for one in find_sources([str(path)]) if isinstance(one, Source)]
    return read_bundle(found, [str(path)], Settings(), Scope(), today=date(2026, 12, 1))


def tables(text_: str) -> list[list[list[str]]]:
    """The cells of all tables, as a Markdown reader sees them."""
    found: list[list[list[str]]] = []
    for token in READER.parse(text_):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and found and token.level >= 4:
            assert {child.type for child in token.children or []} <= {"text", "text_special", "code_inline"}
            found[-1][-1].append("".join(child.content for child in token.children or []))
    return found


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    one = job(retried("test_a.py", sample("lost-page"), sample("healthy")), green=True)
    two = job([*file_run("test_b.py", sample("swa-lost-page")), *failed("test_b.py")], green=False)
    return bundle_of(
        tmp_path, "run.zip", zipped({"0_one (1).txt": text(stamped(one)), "1_two.txt": text(stamped(two))})
    )


def evil(folder: Path) -> Bundle:
    lines = [*file_run("test_a.py", sample("lost-page")), *failed("test_a.py")]
    return bundle_of(folder, "run.txt", text(columns(EVIL.replace("\t", " "), "step", stamped(lines))))


def test_the_summary_has_the_hidden_leak_first(bundle: Bundle) -> None:
    hidden, broken = tables(summary(bundle))
    assert hidden[0] == ["job", "test", "attempt", "pool", "delta", "pages", "ended", "job ended", "where"]
    line = bundle.tests[0].breaks[0].found.row.line
    where = f"iteration 40, 0_one (1).txt:{line}"
    assert hidden[1:] == [
        ["one (1)", "test_a.py TestPool.test_decode", "1/2", "full", "-16", "-1", "failed", "green", where]
    ]
    assert broken[1][:2] == ["two", "test_b.py TestPool.test_decode"]
    for group in bundle.groups:
        assert f"`{group.fingerprint.id}`" in summary(bundle)


def test_accepted_breaks_stand_apart(bundle: Bundle) -> None:
    accept(bundle, [Known(group.fingerprint.id, "a | reason", date(2027, 1, 1)) for group in bundle.groups])
    told = summary(bundle)
    assert "### Broken in accepted ways" in told and "### Hidden" not in told
    assert len(tables(told)) == 1
    assert annotation_lines(bundle) == []


def test_text_from_logs_is_shown_as_it_stands(tmp_path: Path) -> None:
    bundle = evil(tmp_path)
    (table,) = tables(summary(bundle))
    assert table[1][0] == safe(EVIL)
    assert len(table[1]) == 9
    assert "<script" not in READER.render(summary(bundle))


@given(st.text(max_size=100))
def test_any_text_survives_a_cell_and_a_list(given_text: str) -> None:
    shown = safe(given_text, 300).replace("\t", " ")
    (table,) = tables(f"| a | b |\n| --- | --- |\n| {markdown(given_text)} | c |\n")
    assert table[1] == [" ".join(shown.split(" ")).strip(" "), "c"] or table[1][0].split() == shown.split()
    tokens = READER.parse(f"- {markdown(given_text)}\n")
    inner = [token for token in tokens if token.type == "inline"]
    assert len(inner) <= 1
    if inner:
        assert {child.type for child in inner[0].children or []} <= {"text", "text_special"}
        assert "".join(child.content for child in inner[0].children or []).split() == shown.split()


def test_the_summary_keeps_its_size(tmp_path: Path) -> None:
    lines = [line for n in range(60) for line in file_run(f"test_{n}.py", sample("idle-warning"), index=n, last=59)]
    bundle = bundle_of(tmp_path, "run.txt", text(lines))
    whole = summary(bundle)
    assert len(whole.encode()) < MOST_BYTES
    for room in (600, 1500, 5000):
        cut = summary(bundle, room)
        assert len(cut.encode()) <= room
        assert "cut here" in cut
        assert whole.startswith(cut.partition("\n…")[0])
    bundle.tests *= 200
    assert len(summary(bundle).encode()) <= MOST_BYTES


def test_at_most_ten_annotations_and_the_hidden_one_first(tmp_path: Path, bundle: Bundle) -> None:
    first, second = annotation_lines(bundle)
    assert first.startswith("::error ") and "hidden by a retry" in first and "hidden" not in second
    bundle.groups *= 9
    lines = annotation_lines(bundle)
    assert len(lines) == MOST_ANNOTATIONS
    assert "9 more ways" in lines[-1]


def test_annotations_are_escaped(tmp_path: Path) -> None:
    bundle = evil(tmp_path)
    bundle.tests[0].file = "test/a,b:c%d.py"
    (line,) = annotation_lines(bundle)
    assert "\n" not in line and "\r" not in line and "\x1b" not in line
    properties, _, data = line.removeprefix("::error ").partition("::")
    assert properties.startswith("file=test/a%2Cb%3Ac%25d.py,title=KV pool check%3A full-leak-")
    said = unquote(data).split("\n")
    assert len(said) == 3 and said[0].startswith("full: leak of 16 tokens")
    assert safe(EVIL) in said[1]


def test_a_file_in_the_checkout_is_named(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", "/home/runner/work/sglang/sglang")
    assert annotation_lines(bundle)[0].startswith("::error file=test_a.py,title=")
    monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
    assert annotation_lines(bundle)[0].startswith("::error title=")


def test_nothing_to_say_no_annotation(tmp_path: Path) -> None:
    assert annotation_lines(bundle_of(tmp_path, "a.log", text(sample("healthy")))) == []
    (line,) = annotation_lines(bundle_of(tmp_path, "b.log", text(sample("quiet"))))
    assert line.startswith("::warning ")


def test_terminal_output_on_github_holds_no_command(tmp_path: Path) -> None:
    bundle = evil(tmp_path)
    bundle.tests[0].job = "::error::pwn"
    bundle.tests[0].method = "##[add-path]/evil"
    output = io.StringIO()
    print_bundle(bundle, Harmless(output))  # type: ignore[arg-type]
    told = output.getvalue()
    assert "pwn" in told
    assert not any(line.lstrip().startswith("::") for line in told.splitlines())
    assert "##[" not in told
