"""The overview of a CI run at the terminal."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import pytest
from made_bundles import sample

from memcheck_cli.artifacts import Bundle, read_bundle
from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.render.artifacts import print_bundle
from memcheck_cli.render.github import summary
from memcheck_cli.sources import Source, find_sources


def bundle_of(folder: Path, *names: str) -> Bundle:
    for name in names:
        (folder / f"{name}.log").write_text("".join(f"{line}\n" for line in sample(name)))
    found = [one for one in find_sources([str(folder)]) if isinstance(one, Source)]
    return read_bundle(found, [str(folder)], Settings(), Scope(), today=date(2026, 12, 1))


def told(bundle: Bundle) -> str:
    output = io.StringIO()
    print_bundle(bundle, output)
    return output.getvalue()


@pytest.mark.parametrize(("names", "there"), [(["pair-bad"], False), (["pair-bad", "lost-page"], True)])
def test_the_column_of_pages_is_there_where_pages_say_something(tmp_path: Path, names: list[str], there: bool) -> None:
    bundle = bundle_of(tmp_path, *names)
    (head,) = (line for line in told(bundle).splitlines() if line.startswith("try "))
    assert head.split() == ["try", "pool", "delta", *(["pages"] if there else []), "ended", "job", "test"]
    rows = [line.split(" | ") for line in summary(bundle).splitlines() if line.startswith("| ")]
    assert ("pages" in rows[0]) == there
    assert len({len(row) for row in rows}) == 1 and len(rows) == 2 + len(names)


def test_every_signature_is_named_once(tmp_path: Path) -> None:
    text = told(bundle_of(tmp_path, "lost-page", "pair-bad", "swa-lost-page"))
    assert text.count("What that points to:") == 1
    assert [line.split()[-1] for line in text.splitlines() if "memcheck explain" in line] == [
        "page-dropped",
        "swa-one-page",
    ]
