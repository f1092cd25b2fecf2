"""The analysis for a person at a terminal: at most 80 columns, the answer first, every number with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memcheck_cli.counting import counted
from memcheck_cli.forensics.analysis import BALANCED, Analysis
from memcheck_cli.forensics.breaks import Break, Item, unit_of
from memcheck_cli.log.records import TERMS
from memcheck_cli.render.console import console_for, heading, indented, left_out, verdict_line
from memcheck_cli.render.safe import safe
from memcheck_cli.render.signatures import moved_sentences, print_explanation, told_already

if TYPE_CHECKING:
    from memcheck_cli.ledger import Row

SHOWN_BREAKS = 3
SHOWN_ITEMS = 5
SHOWN_STREAMS = 16
SHOWN_RANKS = 16


def print_analysis(analysis: Analysis, output: IO[str], verbose: bool = False) -> None:
    """Print the whole answer."""
    with console_for(output) as console:
        _print(console, analysis, verbose)


def _print(console: Console, analysis: Analysis, verbose: bool) -> None:
    if analysis.first_break is None:
        console.print(verdict_line(analysis.verdict, f"{safe(analysis.reason, 400)}."))
        _print_checked(console, analysis)
    by_event: dict[int, list[Break]] = {}
    for found in analysis.breaks:
        by_event.setdefault(found.event, []).append(found)
    shown = analysis.breaks if verbose else [seen[0] for seen in by_event.values()][:SHOWN_BREAKS]
    for number, found in enumerate(shown):
        if number == 0:
            console.print(verdict_line(analysis.verdict, _where(found), "default bold"))
        else:
            heading(console, f"ALSO  {_where(found)}")
        for sentence in _sentences(found, analysis, by_event):
            indented(console, sentence)
        if found.check != "pages" and (number == 0 or verbose):
            console.print(Padding(_balance_sheet(found), (0, 0, 0, 2)))
    if not verbose and len(shown) < len(by_event):
        console.print(f"… and {counted(len(by_event) - len(shown), 'more event')} (-v shows them)")
    print_explanation(console, analysis, verbose)
    _print_streams(console, analysis, verbose)
    _print_items(console, "Undetermined", analysis.undetermined, verbose)
    _print_items(console, "Not checked", analysis.unchecked, verbose)
    told = told_already(analysis)
    _print_items(console, "Worth knowing", [item for item in analysis.findings if item.reason not in told], verbose)
    _print_parts(console, analysis)
    rejected = sum(reading.rejected for reading in analysis.sources)
    if rejected:
        lines = "line bears" if rejected == 1 else "lines bear"
        console.print(f"{rejected} {lines} the checker's tag but cannot be read whole (--rejects FILE lists them).")


def _print_parts(console: Console, analysis: Analysis) -> None:
    """Lines count over a rotated set as a whole: say which member holds which."""
    for reading in analysis.sources:
        if len(reading.parts) > 1:
            starts = ", ".join(f"{safe(name)} from line {before + 1}" for name, before in reading.parts[-8:])
            console.print()
            console.print(Text(f"{safe(reading.name)} was read as one: {starts}."))


def _where(found: Break) -> str:
    stream = found.stream
    pool = f"pool {safe(found.pool)}" if found.pool else "a pool that is not named"
    rank = "" if stream.rank == "-" else f" on {safe(stream.rank)}"
    process = f" of {safe(stream.process)}" if stream.process else ""
    run = f", run {stream.run}" if stream.run > 1 else ""
    if found.check == "idle":
        after = found.after_iteration
        place = "at an idle report" + (f" after iteration {after}" if after else "")
    elif found.check == "pages":
        place = f"in the page check after iteration {found.iteration}" if found.iteration else "in a page check"
    elif found.iteration is None:
        place = "at an assertion without a record"
    else:
        place = f"at iteration {found.iteration}{_from_end(found)}"
    time = f", {safe(found.row.time).replace('T', ' ')}" if found.row.time else ""
    return f"{pool}{rank}{process}{run}: {place}, {safe(found.source)}:{found.row.line}{time}"


def _who(found: Break) -> str:
    """The rank, with its process where it has one; the process alone where no rank is printed."""
    rank, process = safe(found.stream.rank), safe(found.stream.process or "")
    if not process:
        return rank
    return process if rank == "-" else f"{rank} of {process}"


def _from_end(found: Break) -> str:
    if found.from_end is None:
        return ""
    return " (the last check)" if found.from_end == 0 else f" ({-found.from_end} before the last)"


def _sentences(found: Break, analysis: Analysis, by_event: Mapping[int, Sequence[Break]]) -> list[str]:
    explanation = analysis.explanation
    evidence = explanation.evidence.get(found.event) if explanation is not None else None
    unit = unit_of(found.pool)
    said: list[str] = []
    if found.check == "pages":
        what = (
            counted(found.pages or 0, "page stands twice in the free list", "pages stand twice in the free list")
            if found.kind == "double-free"
            else counted(
                found.pages or 0, "page is in the free pool while owned", "pages are in the free pool while owned"
            )
        )
        said.append(f"{what} ({found.kind}); the sums of this check may balance all the same.")
    elif found.delta is None:
        said.append("The server's assertion names no sum.")
    else:
        them = "it" if found.delta == -1 else "them"
        words = {
            "leak": f"{counted(-found.delta, unit)} missing: nobody owns {them} (a leak)",
            "overcount": f"{counted(found.delta, unit)} too many: owned twice (an overcount)",
            "reported": "the sum balances, but the server reports it as a leak",
        }[found.kind]
        said.append(f"{words}{_pages(found)}. accounted {found.accounted}, total {found.total}.")
    if found.moved is not None and found.witness is not None:
        moves = [f"{name} {change:+d}" for name, change in found.moved.items() if change]
        said.append(f"Moved since {_place(found.witness)}: {', '.join(moves) or 'nothing'}.")
    elif found.check != "pages":
        said.append("No balanced record of this pool stands before it in the log.")
    if evidence is not None and evidence.found is found:
        said += moved_sentences(evidence, first=found is analysis.first_break)
    if found.stream.mode == "ring-dump" and found.check == "busy":
        said.append(
            "The records come from a ring dump: iterations count from its first whole record, times are those of "
            "the dump, and what came before may be cut."
        )
    peers = [b for b in by_event[found.event] if b is not found]
    if peers:
        ranks = ", ".join(f"{_who(b)} (line {b.row.line})" for b in peers[:SHOWN_RANKS])
        more = f" and {len(peers) - SHOWN_RANKS} more" if len(peers) > SHOWN_RANKS else ""
        said.append(f"The same event was seen by {ranks}{more} too.")
    if found.series_breaks > 1:
        last = "" if found.last_delta is None else f"; the last is off by {found.last_delta:+d}"
        said.append(f"{found.series_breaks} records of this series break{last}.")
    if found.asserted is not None:
        if found.held_from_assertion:
            said.append(
                f"session_held is not printed: it is what the server's assertion counts more (line {found.asserted})."
            )
        else:
            said.append(f"The server's own assertion agrees (line {found.asserted}).")
    return said


def _pages(found: Break) -> str:
    if found.pages is not None and found.page_size and found.page_size > 1:
        return f", {counted(abs(found.pages), 'page')} of {found.page_size}"
    if found.page_size and found.page_size > 1:
        return f", no multiple of the page size {found.page_size}"
    return ""


def _place(row: Row) -> str:
    if row.check == "idle":
        return f"the balanced idle report on line {row.line}"
    return f"iteration {row.iteration} (line {row.line})"


def _balance_sheet(found: Break) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    if found.witness is not None:
        table.add_column(f"last balanced\nline {found.witness.line}", justify="right")
    table.add_column(f"first broken\nline {found.row.line}", justify="right")
    if found.witness is not None:
        table.add_column("moved", justify="right")
    before = found.witness.named_terms() if found.witness else {}
    after = found.row.named_terms()

    def line(name: str, old: int | None, new: int | None, style: str = "") -> None:
        cells = [_number(new)]
        if found.witness is not None:
            cells = [_number(old), *cells, _change(old, new)]
        table.add_row(name, *cells, style=style)

    for name in TERMS:
        if name in before or name in after:
            line(name, before.get(name), after.get(name))
    for name, value in (found.row.extra or {}).items():
        if isinstance(value, int) and not isinstance(value, bool):
            line(f"{safe(name, 24)} (extra)", None, value, "dim")
    if found.delta is not None:
        witness = found.witness
        line("accounted", witness.accounted if witness else None, found.accounted, "bold")
        old_total = None if witness is None else witness.total if witness.total is not None else found.total
        line("total", old_total, found.total)
        line("delta", 0 if witness else None, found.delta, "bold red" if found.delta else "bold")
    return table


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _change(old: int | None, new: int | None) -> str:
    return "" if old is None or new is None else f"{new - old:+d}" if new != old else "0"


def _print_checked(console: Console, analysis: Analysis) -> None:
    checks = sum(stream.checks for _, stream in analysis.streams)
    reports = sum(stream.idle_reports for _, stream in analysis.streams)
    lines = sum(reading.lines for reading in analysis.sources)
    if checks or reports:
        ranks = len({(s, stream.run, stream.process, stream.rank) for s, stream in analysis.streams})
        console.print(
            f"Checked: {counted(checks, 'busy check')} and {counted(reports, 'idle report')} of "
            f"{counted(ranks, 'stream')} in {counted(lines, 'line')}."
        )
        return
    console.print(counted(lines, "line was read.", "lines were read."))
    if any(reading.strange for reading in analysis.sources):
        console.print(
            "To have them read: give the lines as the server prints them, or without what the logging put before them "
            "(which loses times and ranks): grep -o '\\[Mem Check ([^\"]*' LOG | memcheck analyze -"
        )
    elif analysis.verdict != BALANCED and not analysis.checked_elsewhere and analysis.exit_code != 4:
        # Without any check, what is unchecked are the reasons why none can have run or been printed.
        first = "change what stands under `Not checked`, then " if analysis.unchecked else ""
        console.print(
            f"To have the server check: {first}set SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY=2 (0.5.6 on; a line "
            "every iteration) or =1 (0.5.13 and later: quiet, the last 1000 messages are dumped when the sum breaks), "
            "keep --log-level info, and run again. If it did run at level 1: --checked-level 1."
        )


def _print_streams(console: Console, analysis: Analysis, verbose: bool) -> None:
    if not analysis.streams:
        return
    several = len({source for source, _ in analysis.streams}) > 1
    runs = max(stream.run for _, stream in analysis.streams) > 1
    processes = any(stream.process for _, stream in analysis.streams)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, title="Streams", title_justify="left")
    for wanted, name in ((several, "source"), (runs, "run"), (processes, "process")):
        if wanted:
            table.add_column(name, overflow="fold")
    for name in ("rank", "mode", "checks", "idle", "pool", "records", "breaks"):
        table.add_column(name, justify="left" if name in ("rank", "mode", "pool") else "right")
    shown = analysis.streams if verbose else analysis.streams[:SHOWN_STREAMS]
    for source, stream in shown:
        head: list[str] = []
        if several:
            head.append(safe(source, 40))
        if runs:
            head.append(str(stream.run))
        if processes:
            head.append(safe(stream.process or "-", 30))
        head += [safe(stream.rank), stream.mode or "-", str(stream.checks), str(stream.idle_reports)]
        for number, (pool, count) in enumerate(stream.records().items() or [("-", 0)]):
            breaks = analysis.breaking.get((source, stream.run, stream.process, stream.rank, pool), 0)
            cells = head if number == 0 else [""] * len(head)
            table.add_row(*cells, safe(pool), str(count), str(breaks), style="red" if breaks else "")
    console.print()
    console.print(table)
    left_out(console, len(analysis.streams) - len(shown), "stream")


def _print_items(console: Console, title: str, items: Sequence[Item], verbose: bool) -> None:
    if not items:
        return
    heading(console, title)
    shown = items if verbose else items[:SHOWN_ITEMS]
    for item in shown:
        place = [] if item.rank in (None, "-") else [safe(item.rank or "")]
        place += [safe(item.pool)] if item.pool else []
        place += [f"line {item.line}"] if item.line is not None else []
        kind = f"{item.kind}: " if item.kind else ""
        indented(console, f"{kind}{safe(item.reason, 400)} ({', '.join(place)})" if place else safe(item.reason, 400))
    left_out(console, len(items) - len(shown), columns=2)
