"""The comparison for a person at a terminal: at most 80 columns, the answer first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memcheck_cli.compare.comparison import Comparison
from memcheck_cli.compare.picture import picture_of
from memcheck_cli.compare.workload import DETERMINISTIC
from memcheck_cli.forensics.breaks import unit_of
from memcheck_cli.render import diff_words as words
from memcheck_cli.render.console import console_for, heading, indented, left_out, verdict_line
from memcheck_cli.render.diff_picture import LABEL, picture_lines
from memcheck_cli.render.safe import safe

LINE_STYLES = {"a": "cyan", "b": "magenta", "apart": "", "off": "red", "mark": "bold red"}
SHOWN = 5


def print_comparison(comparison: Comparison, output: IO[str], verbose: bool = False) -> None:
    """Print the whole answer."""
    with console_for(output) as console:
        console.print(verdict_line(comparison.outcome, f"{safe(words.headline(comparison), 600)}."))
        for letter, side, style in (("A", comparison.a, "cyan"), ("B", comparison.b, "magenta")):
            console.print(Text(f"{letter}  {safe(side.name)}", style=style))
        _sheet(console, words.sides_sheet(comparison))
        _setting(console, comparison, verbose)
        _streams(console, comparison, getattr(output, "encoding", None), verbose)
        _breaks(console, comparison, verbose)


def _say(console: Console, sentences: Iterable[str], by: int = 2) -> None:
    for sentence in sentences:
        indented(console, safe(sentence, 800), by)


def _sheet(console: Console, sheet: words.Sheet, limit: int | None = None) -> None:
    """A table; numbers are set to the right."""
    if not sheet.rows:
        return
    shown = sheet.rows[:limit]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, head in enumerate(sheet.heads):
        right = number > 0 and all(_is_number(row[number]) for row in shown)
        table.add_column(head, justify="right" if right else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text(safe(cell, 300)) for cell in row))
    console.print(Padding(table, (0, 0, 0, 2)))
    left_out(console, len(sheet.rows) - len(shown), columns=2)


def _is_number(cell: str) -> bool:
    return cell.lstrip("+-").replace(".", "", 1).isdigit() or cell == ""


def _setting(console: Console, comparison: Comparison, verbose: bool) -> None:
    setting = comparison.setting
    sheet = words.setting_sheet(setting)
    heading(console, "Setting")
    if not sheet.rows:
        _say(console, ["Nothing that both sides tell differs."])
    _sheet(console, sheet, None if verbose else 20)
    _say(console, words.setting_sentences(setting))
    if setting.not_comparable:
        _say(console, ["Not comparable:"])
        shown = setting.not_comparable if verbose else setting.not_comparable[:SHOWN]
        _say(console, [f"- {reason}." for reason in shown], 4)
        left_out(console, len(setting.not_comparable) - len(shown), columns=4)


def _streams(console: Console, comparison: Comparison, encoding: str | None, verbose: bool) -> None:
    main = comparison.main
    said = words.matching_sentences(comparison)
    if main is None:
        if said:
            heading(console, "Streams")
            _say(console, said)
        return
    head, reason = words.workload_words(main)
    streams = words.streams_compared(comparison, main)
    heading(console, f"{head} ({safe(streams)})" if streams else head)
    _say(console, [f"{words.capital(reason)}.", *said])
    if main.workload.compared:
        _say(console, [words.alignment_words(main)])
    if main.workload.kind != DETERMINISTIC and main.workload.compared:
        _say(console, [words.RULE_WORDS])
    _say(console, words.parting_sentences(comparison, main))
    if main.difference is not None and len(main.difference.differing) > 1:
        _sheet(console, words.differing_sheet(main.difference), None if verbose else 12)
    if not comparison.same:
        _picture(console, comparison, encoding)
    if main.distributions:
        heading(console, "Distributions")
        _sheet(console, words.distribution_sheet(main.distributions))
        _say(console, [words.distribution_words(main), *words.drift_sentences(main.distributions)])
    others = words.others_sheet(comparison)
    if others.rows:
        heading(console, "Other streams")
        _sheet(console, others, None if verbose else SHOWN)


def _picture(console: Console, comparison: Comparison, encoding: str | None) -> None:
    main = comparison.main
    assert main is not None
    picture = picture_of(comparison, main, console.width - LABEL - 4)
    if picture is None:
        return
    console.print()
    for line in picture_lines(picture, encoding, unit_of(picture.pool)):
        console.print(Text(f"  {line.text}", style=LINE_STYLES.get(line.style, "")), soft_wrap=True)


def _breaks(console: Console, comparison: Comparison, verbose: bool) -> None:
    breaks = comparison.breaks
    if breaks is not None and not comparison.same:
        said = words.relation_words(breaks)
        heading(console, f"First breaks: {said}")
        _sheet(console, words.breaks_sheet(breaks))
    if len(comparison.series) > 1:
        heading(console, "Series that break")
        _sheet(console, words.series_sheet(comparison), None if verbose else SHOWN)
