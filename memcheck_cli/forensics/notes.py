"""What the checker said without numbers, and where no checker spoke at all: findings that are no breaks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from memcheck_cli.forensics.breaks import Item, Judged
from memcheck_cli.ledger import Ledger, Note, Series, Stream, bounds
from memcheck_cli.ledger.book import TORN_REPORT
from memcheck_cli.ledger.reading import SourceReading
from memcheck_cli.log.records import Value

SILENT_CHECKS = 3
"""So many checks in a row without a pool that was printed before are no damage to the log."""

CHECKER_CRASH = "checker-crash"

_PARALLEL = (("tp_size", "TP"), ("pp_size", "PP"))


def add_notes(reading: SourceReading, judged: Judged) -> None:
    """Add all of it for one source, each list in the order of its lines."""
    ledger = reading.ledger
    if ledger is None:
        return
    noted(ledger, judged)
    beyond_bounds(ledger, judged)
    several_pools(judged)
    flushes: dict[int, list[int]] = {}
    for flush in reading.flushes:
        flushes.setdefault(flush.run, []).append(flush.line)
    balanced_again(judged, flushes)
    silent_pools(ledger, judged)
    missing_ranks(ledger, judged)
    why_not_busy(reading, judged)
    for items in (judged.undetermined, judged.unchecked, judged.findings):
        items.sort(key=lambda item: item.line or 0)


def noted(ledger: Ledger, judged: Judged) -> None:
    """Add what the notes of a ledger say: reported leaks are undetermined, crashes of the checker are none."""
    broken = {(found.stream.run, found.stream.process, found.stream.rank) for found in judged.breaks}
    for note in ledger.notes:
        if note.kind == TORN_REPORT:
            if (note.run, note.process, note.rank) not in broken:  # else it may be about what breaks
                reason = f"the server reported a leak in a line that is {note.what} (`{note.detail[:120]}`)"
                judged.undetermined.append(_item(ledger, note, reason, reported=True))
        elif note.kind == "leak":
            reason = f"the server reported a leak without numbers: {note.what} (`{note.detail[:120]}`)"
            judged.undetermined.append(_item(ledger, note, reason, reported=True))
        elif note.kind == "pool-bytes":
            reason = f"the server reported a leak in the {note.what}, which prints no sum (`{note.detail[:120]}`)"
            judged.undetermined.append(_item(ledger, note, reason, reported=True))
        elif note.kind == "crash":
            reason = f"the checker itself failed, which is no leak: {note.what}"
            judged.findings.append(_item(ledger, note, reason, kind=CHECKER_CRASH))
        elif note.kind == "tree-sanity":
            reason = f"the server's own recount of its {note.what} failed (`{note.detail[:120]}`)"
            judged.findings.append(_item(ledger, note, reason, kind="tree-sanity"))
        elif note.kind == "unsupported":
            judged.unchecked.append(_item(ledger, note, note.what))
    if ledger.watchdog_pools:
        texts = "pool text belongs" if ledger.watchdog_pools == 1 else "pool texts belong"
        reason = (
            f"{ledger.watchdog_pools} {texts} to a watchdog dump, a known false alarm and no check: it prints the "
            "pools while requests run, with uncached=0"
        )
        line = ledger.watchdog_line
        judged.findings.append(Item(ledger.source, None, None, None, None, line, reason, "watchdog-numbers"))


def beyond_bounds(ledger: Ledger, judged: Judged) -> None:
    """Add what was not told apart any more."""
    if ledger.joint is not None:
        reason = (
            f"more than {bounds.STREAMS:,} ranks of processes: the records of the further ones are counted together as "
            f"`{bounds.FURTHER_RANKS}`, each judged by itself, so what moved and at which iteration is not told"
        )
        line = ledger.joint.first_line
        judged.findings.append(Item(ledger.source, None, None, ledger.joint.rank, None, line, reason, "many-streams"))
    if ledger.starts.beyond is not None:
        reason = f"more than {bounds.RUNS:,} server starts: what follows is counted with the last run"
        judged.findings.append(
            Item(ledger.source, bounds.RUNS, None, None, None, ledger.starts.beyond, reason, "many-runs")
        )


def _item(ledger: Ledger, note: Note, reason: str, kind: str | None = None, reported: bool = False) -> Item:
    return Item(ledger.source, note.run, note.process, note.rank, None, note.line, reason, kind, reported)


def several_pools(judged: Judged) -> None:
    """Add a finding for every check in which more than one pool breaks."""
    by_check: dict[tuple[object, ...], list[int]] = {}
    for index, found in enumerate(judged.breaks):
        if found.check == "pages" or found.stream.joint:
            continue
        where = found.row.iteration if found.check == "busy" else (found.row.time, found.row.iteration)
        if found.check == "busy" and where is None:
            continue
        key = (found.stream.run, found.stream.process, found.stream.rank, found.check, where)
        by_check.setdefault(key, []).append(index)
    for indices in by_check.values():
        if len(indices) < 2:
            continue
        together = [judged.breaks[index] for index in indices]
        told = ", ".join(f"{b.pool} {b.delta:+d} (line {b.row.line})" for b in together if b.delta is not None)
        first = together[0]
        more: dict[str, Value] = {"pools": [b.pool for b in together], "lines": [b.row.line for b in together]}
        judged.findings.append(
            Item(
                first.source,
                first.stream.run,
                first.stream.process,
                first.stream.rank,
                None,
                first.row.line,
                f"{len(together)} pools break in the same check: {told}",
                "several-pools-break",
                more=more,
            )
        )


def balanced_again(judged: Judged, flushes: Mapping[int, list[int]]) -> None:
    """Add a finding for every series that breaks and balances again; flushes: lines by run."""
    for found in judged.breaks:
        back = next((row for row, delta in found.steps[1:] if delta == 0), None)
        if back is None or found.stream.joint:
            continue
        flushed = flushes.get(found.stream.run, [])
        at = bisect_right(flushed, found.row.line)
        flush = flushed[at] if at < len(flushed) and flushed[at] < back.line else None
        why = "nothing between says why" if flush is None else f"the cache was flushed between (line {flush})"
        reason = f"off by {found.delta:+d} on line {found.row.line}, and it balances again on line {back.line}: {why}"
        stream = found.stream
        more: dict[str, Value] = {"broken_line": found.row.line, "balanced_line": back.line, "flush_line": flush}
        judged.findings.append(
            Item(
                found.source,
                stream.run,
                stream.process,
                stream.rank,
                found.pool,
                back.line,
                reason,
                "balanced-again",
                more=more,
            )
        )


def silent_pools(ledger: Ledger, judged: Judged) -> None:
    """Add a finding for every pool that a stream stops printing while its checks go on."""
    for stream in ledger.in_order():
        for series in stream.busy.values():
            last = series.segments[-1].last
            missing = stream.checks - (last.iteration or 0)
            if stream.joint or last.iteration is None or missing < SILENT_CHECKS or series.records < SILENT_CHECKS:
                continue
            reason = (
                f"printed for the last time at iteration {last.iteration} (line {last.line}), and {missing} checks of "
                "this stream follow without it"
            )
            more: dict[str, Value] = {"iteration": last.iteration, "checks_without": missing}
            judged.findings.append(_of_stream(ledger, stream, series, last.line, reason, "pool-silent", more))


def _of_stream(
    ledger: Ledger, stream: Stream, series: Series, line: int, reason: str, kind: str, more: Mapping[str, Value]
) -> Item:
    return Item(ledger.source, stream.run, stream.process, stream.rank, series.pool, line, reason, kind, more=more)


def why_not_busy(reading: SourceReading, judged: Judged) -> None:
    """Add, for every run without a busy check, what in its flags or release stands against one."""
    from memcheck_cli.log.release_hints import why_unchecked

    ledger = reading.ledger
    if ledger is None:
        return
    checked = {stream.run for stream in ledger.streams.values() if stream.checks or stream.lone_assertions}
    for number, run in ledger.runs.items():
        if number in checked:
            continue
        hints = reading.hints.get(number)
        best = hints.best() if hints is not None else None
        for process, start in run.starts.items():
            if start.args or start.quoted:
                flags = run.flags(process)
                for reason in why_unchecked(flags, best.low if best else None, best.high if best else None):
                    judged.unchecked.append(
                        Item(ledger.source, number, process, None, None, start.args_line, reason.rstrip("."))
                    )
                break


def missing_ranks(ledger: Ledger, judged: Judged) -> None:
    """Add ranks that exist and were not checked: silent ones, and those that the flags promise and no line shows."""
    by_run: dict[int, list[Stream]] = {}
    for stream in ledger.streams.values():
        by_run.setdefault(stream.run, []).append(stream)
    named: dict[int, list[tuple[str | None, str, int]]] = {}
    for (of_run, process, rank), line in sorted(ledger.ranks.items(), key=lambda item: item[1]):
        named.setdefault(of_run, []).append((process, rank, line))
    for number, run in ledger.runs.items():
        streams = by_run.get(number, [])
        checked = {(s.process, s.rank) for s in streams if s.checks or s.idle_reports or s.lone_assertions or s.pages}
        if not checked:
            continue
        dumped = all(s.mode == "ring-dump" for s in streams if s.checks) and any(s.checks for s in streams)
        seen = {rank for _, rank in checked}
        for process, rank, line in named.get(number, ()):
            if (process, rank) in checked:
                continue
            seen.add(rank)
            reason = (
                f"{rank} prints no check: at level 1 a rank is silent while its sums hold, or when it is stopped"
                if dumped
                else f"{rank} prints other lines and no check"
            )
            if any(s.checks for s in streams):
                judged.unchecked.append(Item(ledger.source, number, process, rank, None, line, reason))
        args_line = next((start.args_line for start in run.starts.values() if start.args_line is not None), None)
        for flag, token in _PARALLEL:
            size = run.flag(flag, None)
            if not isinstance(size, int) or isinstance(size, bool) or not 1 < size <= 4096:
                continue
            present = {index for rank in seen if (index := _index(rank, token)) is not None}
            absent = [index for index in range(size) if index not in present]
            if absent:
                judged.unchecked.append(_missing(ledger, number, args_line, flag, size, token, absent))


def _index(rank: str, token: str) -> int | None:
    """The number of a rank token: 3 for `TP3`."""
    for part in rank.split(" "):
        digits = part.removeprefix(token)
        if digits != part and digits.isascii() and digits.isdigit() and len(digits) < 6:
            return int(digits)
    return None


def _missing(ledger: Ledger, run: int, line: int | None, flag: str, size: int, token: str, absent: list[int]) -> Item:
    names = ", ".join(f"{token}{index}" for index in absent[:8]) + (", …" if len(absent) > 8 else "")
    if len(absent) == size:
        reason = f"{flag} is {size}, and no line names a {token} rank: whether all of them were checked cannot be told"
    else:
        reason = f"{flag} is {size}, and no line of {names} is in this log (another node may have it)"
    more: dict[str, Value] = {"missing": [f"{token}{index}" for index in absent[:64]]}
    return Item(ledger.source, run, None, None, None, line, reason, more=more)
