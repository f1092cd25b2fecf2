"""The replay for a person at a terminal: what the rules say, where the server said otherwise, and the what-ifs."""

from __future__ import annotations

from collections.abc import Collection
from typing import IO

from rich.console import Console
from rich.text import Text

from memcheck_cli.checker.invariant import Verdict
from memcheck_cli.counting import counted
from memcheck_cli.render.console import console_for, indented, left_out, verdict_line
from memcheck_cli.render.replay_json import plain_breaks, rules_of, word
from memcheck_cli.render.safe import safe
from memcheck_cli.replaying.changes import WhatIf
from memcheck_cli.replaying.judgements import LogReplay
from memcheck_cli.replaying.parting import LogPlace
from memcheck_cli.replaying.recordings import Difference, Place, RecordingReplay
from memcheck_cli.replaying.run import UNDECIDED, Options, Replay

SHOWN = 5
SHOWN_SOURCES = 20

Stop = tuple[Place, str] | tuple[LogPlace, str] | None
"""Where a server stops and why; None: nowhere."""


def print_replay(replay: Replay, options: Options, output: IO[str], verbose: bool = False) -> None:
    """Print the whole answer."""
    with console_for(output) as console:
        console.print(verdict_line(replay.verdict, headline(replay, options)))
        shown = replay.results if verbose else replay.results[:SHOWN_SOURCES]
        for result in shown:
            _print_result(console, result, options, verbose)
        left_out(console, len(replay.results) - len(shown), "source")


def headline(replay: Replay, options: Options) -> str:
    """The answer in one sentence; of an undecided one, why it is."""
    records = sum(result.records for result in replay.results)
    if replay.verdict == UNDECIDED and replay.unsummed:
        return f"the server made {counted(replay.unsummed, 'report')} without sums, which no rules can recompute."
    if not any(result.decided for result in replay.results) and records:
        return f"none of {counted(records, 'record')} could be judged by the rules."
    if not records:
        if replay.exit_code == 4:
            return "nothing could be read."
        if options.ranks or options.pools:
            return "no record of the ranks and pools asked for was found."
        return "no record of the checker and no recording was found; memcheck analyze says what to switch on."
    breaks = sum(plain_breaks(result) for result in replay.results)
    changed = [result.what_if[-1].breaks for result in replay.results if result.what_if]
    said = f"{_breaking(breaks)} by the rules"
    return f"{said}, {sum(changed)} with the changes." if changed else f"{said}."


def _breaking(number: int) -> str:
    return counted(number, "record breaks", "records break") if number else "no record breaks"


def _print_result(console: Console, result: LogReplay | RecordingReplay, options: Options, verbose: bool) -> None:
    console.print()
    what = counted(result.records, "check" if isinstance(result, RecordingReplay) else "record")
    rules = " and ".join(sorted(rules_of(result))) or options.rules or "no release"
    told = "" if options.rules else " (the newest that fits)" if isinstance(result, LogReplay) else " (as recorded)"
    console.print(Text(safe(result.name), style="bold"))
    if result.error is not None:
        indented(console, f"reading ended early: {safe(result.error, 300)}", style="yellow")
    if result.records:
        indented(console, f"{what} by the rules of {safe(rules)}{told}")
        other = "the server's own verdicts" if isinstance(result, LogReplay) else "the recorded sizes"
        said = f"agree {result.agree}, disagree {result.disagreements}, unknown {result.unknown}"
        indented(console, f"compared with {other}: {said}")
    else:
        indented(console, what)
    for reason, number in list(result.unknown_reasons.items())[: None if verbose else SHOWN]:
        indented(console, f"unknown {number}: {safe(reason, 300)}", 4)
    if isinstance(result, LogReplay):
        if result.unsummed:
            reports = counted(result.unsummed, "report")
            indented(console, f"{reports} of the server without sums (page check, bare or torn report): see analyze", 4)
        _print_first_log_break(console, result)
        lines = [(f"line {one.place.line}, {_log_place(one.place)}", reason) for one, reason in result.disagree]
    else:
        if result.assumed:
            names = ", ".join(sorted(result.assumed))
            indented(console, f"not recorded, taken as absent: {names}", 4)
        _print_first_recorded_break(console, result)
        lines = [(f"line {one.place.line}, check {one.place.iteration}", one.reason) for one in result.disagree]
    if lines:
        indented(console, "Disagreements", style="bold")
        shown = lines if verbose else lines[:SHOWN]
        for place, reason in shown:
            indented(console, f"{place}: {safe(reason, 400)}", 4)
        left_out(console, result.disagreements - len(shown), columns=4)
    if result.records:
        _print_against(console, result, rules)
    for question in result.what_if:
        _print_what_if(console, question)


def _log_place(at: LogPlace) -> str:
    run = f", run {at.run}" if at.run > 1 else ""
    process = f" of {safe(at.process, 60)}" if at.process else ""
    rank = "" if at.rank == "-" else f" on {safe(at.rank, 60)}"
    when = "idle report" if at.check == "idle" else f"iteration {at.iteration}" if at.iteration else "assertion alone"
    return f"pool {safe(at.pool, 40)}{rank}{process}{run}, {when}"


def _off(verdict: Verdict, total: int | None) -> str:
    off = f"{word(verdict)} of {verdict.delta:+d}" if verdict.delta else "reported although it balances"
    return f"{off} (accounted {verdict.accounted}, total {total})"


def _print_first_log_break(console: Console, result: LogReplay) -> None:
    first = result.first_break
    if first is None or first.ours is None:
        return
    place = f"{_log_place(first.place)}, line {first.place.line}"
    said = f"First break: {place}: {_off(first.ours, first.pool.total)}; the server's own verdict: {first.server}."
    indented(console, said, style="red")


def _print_first_recorded_break(console: Console, result: RecordingReplay) -> None:
    if result.first_raise is not None:
        place, dead = result.first_raise
        may = "may die" if dead.possible else "dies"
        said = (
            f"These rules: the check {may} at check {place.iteration} (line {place.line}) with {dead.what}: {dead.why}."
        )
        indented(console, safe(said, 400), style="yellow")
    if result.first_break is None:
        return
    at, verdict, _, total = result.first_break
    said = f"First break: pool {at.pool}, check {at.iteration}, line {at.line}: {_off(verdict, total)}."
    indented(console, safe(said, 400), style="red")


def _print_against(console: Console, result: LogReplay | RecordingReplay, rules: str) -> None:
    other = result.against
    if other is None:
        return
    indented(console, _stops(other.stops_ours, safe(rules), other.stops, safe(other.rules), other.untold))
    for untold, number in other.untold.items():
        checks = counted(number, "check" if isinstance(result, RecordingReplay) else "record")
        indented(console, f"What {safe(untold)} makes of {checks} cannot be told.", 4)
    if other.first is None:
        indented(
            console, "Where both can be told, they never differ." if other.untold else "The two rules never differ.", 4
        )
        return
    many = counted(other.differ, "check" if isinstance(result, RecordingReplay) else "record")
    if isinstance(other.first, Difference):
        one = other.first
        said = f"line {one.place.line}, check {one.place.iteration}: {one.reason}"
    else:
        at, mine, against = other.first
        said = f"line {at.line}, {_log_place(at)}: {rules}: {mine}; {other.rules}: {against}"
    indented(console, safe(f"They differ on {many}, first at {said}.", 500), 4)


def _stops(ours: Stop, rules: str, theirs: Stop, others: str, untold: Collection[str]) -> str:
    """Where servers under either rules would have stopped, ours first."""
    if (ours is None and rules in untold) or (theirs is None and others in untold):
        said = []
        for name, at in ((rules, ours), (others, theirs)):
            known = f"would have stopped {_stop(at)}" if at else "would not have stopped"
            said.append(f"{name}: {'cannot be told' if at is None and name in untold else known}")
        return "; ".join(said) + "."
    if ours is None and theirs is None:
        return f"Neither {rules} nor {others} would have stopped."
    if ours is None:
        return f"{rules} would not have stopped at all, {others} {_stop(theirs)}."
    if theirs is None:
        return f"{rules} would have stopped {_stop(ours)}, {others} not at all."
    if _stop(ours) == _stop(theirs):
        return f"Both {rules} and {others} would have stopped {_stop(ours)}."
    return f"{rules} would have stopped {_stop(ours)}, {others} {_stop(theirs)}."


def _stop(at: Stop) -> str:
    if at is None:
        return "nowhere"
    place, why = at
    when = f"iteration {place.iteration}" if place.iteration else "an assertion"
    return f"at {when} (line {place.line}: {safe(why)})"


def _print_what_if(console: Console, question: WhatIf) -> None:
    label = safe(question.label, 200)
    if not question.met:
        what = "is of that pool" if all(change.kind == "total" for change in question.changes) else "has that term"
        indented(console, f"What if {label}: no record {what}, so nothing changes.")
        return
    if question.first is None:
        said = f"What if {label}: nothing breaks"
    else:
        at, verdict = question.first
        assert isinstance(at, LogPlace | Place)
        when = f"iteration {at.iteration}" if at.iteration else "an idle report or assertion"
        off = f"{word(verdict)} of {verdict.delta:+d}"
        said = f"What if {label}: first break at {when}, pool {safe(at.pool or '')}, line {at.line}: {off}"
    if question.before:
        cured = f"{question.cured} of {counted(question.before, 'break')} gone, {question.new} new"
        said += f"; {cured}: {'explains every break' if question.explains else 'does not explain every break'}"
    elif question.breaks:
        said += f"; {_breaking(question.new)} only then"
    indented(console, said + ".")
