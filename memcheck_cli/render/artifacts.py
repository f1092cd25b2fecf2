"""A CI run's bundle for a person at a terminal: at most 80 columns, what a retry hid first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memcheck_cli.artifacts.known import describe
from memcheck_cli.artifacts.model import BALANCED, BROKEN, SILENT, UNDECIDED, Bundle, Case, Group, Test
from memcheck_cli.artifacts.silence import counted_reasons
from memcheck_cli.counting import counted
from memcheck_cli.render.artifacts_words import (
    attempt_of,
    before_word,
    delta_of,
    green,
    group_counts,
    known_word,
    named,
    pages_of,
    place_of,
    pool_of,
    test_name,
    told_in_pages,
    unlike,
)
from memcheck_cli.render.console import console_for, heading, indented, left_out, verdict_line
from memcheck_cli.render.safe import safe

SHOWN_BROKEN = 20
SHOWN_CHECKED = 10
SHOWN_UNCHECKED = 5
SHOWN_GROUPS = 10


def print_bundle(bundle: Bundle, output: IO[str], verbose: bool = False) -> None:
    """Print the whole answer."""
    with console_for(output) as console:
        _print(console, bundle, verbose)


def _print(console: Console, bundle: Bundle, verbose: bool) -> None:
    console.print(verdict_line(bundle.verdict, f"{safe(bundle.reason, 400)}."))
    broken = [test for test in bundle.tests if test.verdict == BROKEN]
    hidden = [test for test in broken if test.hidden_by_retry and not test.accepted]
    _table(console, "Hidden by a retry that passed", hidden, verbose, SHOWN_BROKEN)
    others = [test for test in broken if not test.hidden_by_retry and not test.accepted]
    _table(console, "Broken", others, verbose, SHOWN_BROKEN)
    _table(console, "Broken in accepted ways", [test for test in broken if test.accepted], verbose, SHOWN_BROKEN)
    _groups(console, bundle.groups, verbose)
    _comparison(console, bundle)
    _cases(console, bundle, verbose)
    _undecided(console, [test for test in bundle.tests if test.verdict == UNDECIDED], verbose)
    checked = [test for test in bundle.tests if test.verdict in (BALANCED, SILENT)]
    _table(console, "Checked, nothing broke", checked, verbose, SHOWN_CHECKED)
    _unchecked(console, bundle.tests, verbose)
    _sources(console, bundle)


def _table(console: Console, title: str, tests: Sequence[Test], verbose: bool, limit: int) -> None:
    if not tests:
        return
    console.print()
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, title=title, title_justify="left")
    broken = any(test.breaks for test in tests)
    shown = tests if verbose else tests[:limit]
    in_pages = told_in_pages(shown)
    table.add_column("try", no_wrap=True)
    if broken:
        for name in ("pool", "delta", "pages") if in_pages else ("pool", "delta"):
            table.add_column(name, justify="left" if name == "pool" else "right")
    else:
        table.add_column("verdict", no_wrap=True)
    table.add_column("ended", no_wrap=True)
    table.add_column("job", no_wrap=True)
    table.add_column("test", overflow="fold")
    for test in shown:
        cells = [attempt_of(test)]
        if broken:
            found = unlike(test)
            cells += [_lines(pool_of(seen) for seen, _ in found), _lines(delta_of(seen) for seen, _ in found)]
            if in_pages:
                cells.append(_lines(pages_of(seen) for seen, _ in found))
        else:
            cells.append(test.verdict)
        table.add_row(*cells, test.ended or "-", green(test), _who(test))
    console.print(table)
    left_out(console, len(tests) - len(shown))


def _lines(cells: Iterable[str]) -> str:
    return "\n".join(safe(cell, 24) for cell in cells)


def _who(test: Test) -> str:
    """The test, its job, and where its breaks stand."""
    lines = [safe(test_name(test), 200)]
    if test.job is not None:
        lines.append(f"in {safe(test.job)}{f', step {safe(test.step)}' if test.step else ''}")
    for seen, ranks in unlike(test):
        on = f" on {', '.join(map(safe, ranks))}" if ranks else ""
        lines.append(f"{safe(pool_of(seen))}{on}: {safe(place_of(seen))}")
    return "\n".join(lines)


def _groups(console: Console, groups: Sequence[Group], verbose: bool) -> None:
    if not groups:
        return
    heading(console, "Ways to break")
    shown = groups if verbose else groups[:SHOWN_GROUPS]
    for group in shown:
        style = "" if group.accepted else "red"
        indented(console, Text(group.fingerprint.id, style=style).append(f"  {group_counts(group)}", style="default"))
        indented(console, safe(describe(group), 400), 4)
        if group.known is not None:
            indented(console, safe(known_word(group.known, group.accepted), 400), 4)
    left_out(console, len(groups) - len(shown))
    signatures = dict.fromkeys(group.fingerprint.signature for group in groups if group.fingerprint.signature)
    for number, signature in enumerate(signatures):
        head = "What that points to:" if number == 0 else " " * 20
        indented(console, f"{head} memcheck explain {signature}", style="dim")


def _comparison(console: Console, bundle: Bundle) -> None:
    comparison = bundle.comparison
    if comparison is None:
        return
    heading(console, f"Beside {safe(comparison.name)}")
    counts = ((comparison.new, "new"), (comparison.still, "still there"), (comparison.gone, "gone"))
    indented(console, ", ".join(f"{len(groups)} {word}" for groups, word in counts))
    for group in comparison.new:
        indented(console, Text(f"new    {group.fingerprint.id}", style="red"))
    for group in comparison.still:
        indented(console, f"still  {group.fingerprint.id}")
    for before in comparison.gone:
        style = "green" if before.checked_again else ""
        told = Text(f"gone   {safe(before.fingerprint.id)}", style=style)
        indented(console, told.append(f"  {safe(before_word(before), 300)}", style="default"))


def _cases(console: Console, bundle: Bundle, verbose: bool) -> None:
    if not bundle.cases:
        return
    heading(console, f"Failing cases of JUnit files ({len(bundle.cases)} of {bundle.junit_cases})")
    explained = [case for case in bundle.cases if case.seen is not None]
    others = [case for case in bundle.cases if case.seen is None]
    for case in explained if verbose else explained[:SHOWN_BROKEN]:
        indented(console, safe(_case_name(case), 300))
        assert case.seen is not None
        told = f"explained by {case.seen.fingerprint.id} ({safe(place_of(case.seen))}; {case.how})"
        indented(console, told, 4)
    left_out(console, 0 if verbose else len(explained) - SHOWN_BROKEN)
    if others:
        names = [safe(_case_name(case), 120) for case in others[: None if verbose else 3]]
        more = "" if len(names) == len(others) else ", …"
        indented(console, f"{counted(len(others), 'case')} that no break explains: {', '.join(names)}{more}")


def _case_name(case: Case) -> str:
    return named(case.file.rpartition("/")[2] if case.file else None, case.cls, case.method)


def _undecided(console: Console, tests: Sequence[Test], verbose: bool) -> None:
    if not tests:
        return
    heading(console, "Undecided")
    for test in tests if verbose else tests[:SHOWN_BROKEN]:
        indented(console, _line(test))
        indented(console, safe(test.reason or "", 400), 4)
    left_out(console, 0 if verbose else len(tests) - SHOWN_BROKEN)


def _unchecked(console: Console, tests: Sequence[Test], verbose: bool) -> None:
    reasons = counted_reasons(tests)
    if not reasons:
        return
    heading(console, f"Unchecked: {counted(sum(map(len, reasons.values())), 'test')}")
    for reason, those in reasons.items():
        indented(console, f"{len(those)}: {safe(reason, 400)}")
        for test in those if verbose else those[:SHOWN_UNCHECKED]:
            indented(console, _line(test), 4)
        left_out(console, 0 if verbose else len(those) - SHOWN_UNCHECKED, columns=4)


def _line(test: Test) -> str:
    job = f" in {safe(test.job)}" if test.job is not None else ""
    attempt = (
        f", attempt {attempt_of(test)}" if test.attempt is not None and (test.attempts or test.attempt > 1) else ""
    )
    return f"{safe(test_name(test))}{job}{attempt}"


def _sources(console: Console, bundle: Bundle) -> None:
    repeats = sum(source.repeats is not None for source in bundle.sources)
    lines = sum(source.lines for source in bundle.sources)
    told = f"{counted(len(bundle.sources), 'source')} with {counted(lines, 'line')}"
    if repeats:
        again = counted(
            repeats, "of them says again what others say, and counts", "of them say again what others say, and count"
        )
        told += f"; {again} once"
    console.print()
    console.print(f"{told}.")
    unused = [known.fingerprint for known in bundle.unused]
    if unused:
        console.print(Text(f"Accepted, but not seen: {', '.join(unused[:10])}{', …' if len(unused) > 10 else ''}."))
    rejected = sum(source.rejected for source in bundle.sources if source.repeats is None)
    if rejected:
        console.print(f"{counted(rejected, 'line')} with the checker's tag cannot be read whole.")
