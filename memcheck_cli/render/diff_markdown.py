"""The comparison as Markdown, short enough for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO

from memcheck_cli.compare.comparison import Comparison
from memcheck_cli.compare.picture import picture_of
from memcheck_cli.forensics.breaks import unit_of
from memcheck_cli.render import diff_words as words
from memcheck_cli.render.console import showable
from memcheck_cli.render.diff_picture import picture_lines
from memcheck_cli.render.safe import safe

MARKS = {"both-balanced": "✅", "fixed": "✅", "introduced": "❌", "both-broken": "❌", "undecided": "⚠️"}
COLUMNS = 72
MOST_ROWS = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@&$])")


def write_markdown(comparison: Comparison, output: IO[str]) -> None:
    """Write the whole answer."""
    blank = True
    for line in _lines(comparison):
        if not line and blank:
            continue
        blank = not line
        output.write(showable(line, getattr(output, "encoding", None)) + "\n")


def escaped(text: str, limit: int = 300) -> str:
    """Text from a log as Markdown that shows it and does nothing else."""
    return _SPECIAL.sub(r"\\\1", safe(text, limit))


def _lines(comparison: Comparison) -> Iterable[str]:
    yield f"### {MARKS[comparison.outcome]} memcheck diff: {comparison.outcome}"
    yield ""
    yield f"{words.capital(escaped(words.headline(comparison), 600))}."
    yield ""
    yield f"- **A** {escaped(comparison.a.name)}"
    yield f"- **B** {escaped(comparison.b.name)}"
    yield from _sheet(words.sides_sheet(comparison))
    setting = comparison.setting
    yield from _part("Setting")
    sheet = words.setting_sheet(setting)
    if sheet.rows:
        yield from _sheet(sheet)
    else:
        yield "Nothing that both sides tell differs."
    yield from _sentences(words.setting_sentences(setting))
    if setting.not_comparable:
        yield ""
        yield "Not comparable:"
        yield ""
        yield from (f"- {escaped(reason)}" for reason in setting.not_comparable[:MOST_ROWS])
    main = comparison.main
    if main is not None:
        head, reason = words.workload_words(main)
        streams = words.streams_compared(comparison, main)
        yield from _part(f"{head} ({streams})" if streams else head)
        yield from _sentences([f"{words.capital(reason)}.", *words.matching_sentences(comparison)], first=True)
        if main.workload.compared:
            yield from _sentences([words.alignment_words(main), *words.parting_sentences(comparison, main)])
        if main.difference is not None and len(main.difference.differing) > 1:
            yield from _sheet(words.differing_sheet(main.difference))
        picture = None if comparison.same else picture_of(comparison, main, COLUMNS)
        if picture is not None:
            yield ""
            yield "```text"
            for line in picture_lines(picture, None, unit_of(picture.pool)):
                yield line.text.replace("`", "'")
            yield "```"
        if main.distributions:
            yield from _part("Distributions")
            yield from _sheet(words.distribution_sheet(main.distributions))
            yield from _sentences([words.distribution_words(main), *words.drift_sentences(main.distributions)])
        others = words.others_sheet(comparison)
        if others.rows:
            yield from _part("Other streams")
            yield from _sheet(others)
    elif said := words.matching_sentences(comparison):
        yield from _part("Streams")
        yield from _sentences(said, first=True)
    if comparison.breaks is not None and not comparison.same:
        yield from _part(f"First breaks: {words.relation_words(comparison.breaks)}")
        yield from _sheet(words.breaks_sheet(comparison.breaks))
    if len(comparison.series) > 1:
        yield from _part("Series that break")
        yield from _sheet(words.series_sheet(comparison))


def _part(title: str) -> Iterable[str]:
    yield ""
    yield f"#### {escaped(title)}"
    yield ""


def _sentences(sentences: Iterable[str], first: bool = False) -> Iterable[str]:
    said = " ".join(escaped(sentence, 800) for sentence in sentences)
    if said:
        if not first:
            yield ""
        yield said


def _sheet(sheet: words.Sheet) -> Iterable[str]:
    yield ""
    yield f"| {' | '.join(sheet.heads)} |"
    yield f"|{' --- |' * len(sheet.heads)}"
    for row in sheet.rows[:MOST_ROWS]:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"
    if len(sheet.rows) > MOST_ROWS:
        yield ""
        yield f"… and {len(sheet.rows) - MOST_ROWS} more."
