"""How a break goes on: once, the same amount each time, per cycle, or gone again; how fast, and until when.

A busy assertion ends the server at the first break, so most logs show one record and allow no statement. Units: tokens
(slots for the mamba and request pools), iterations, seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from memcheck_cli.counting import counted
from memcheck_cli.forensics.breaks import Break
from memcheck_cli.ledger.dumps import second_of
from memcheck_cli.ledger.rows import Row

SINGLE, CONSTANT, LINEAR, GROWING, VARYING, GONE = "single", "constant", "linear", "growing", "varying", "gone-again"
NOT_SAMPLED = "a server that only warns prints every 1000th report, so their number says nothing"


class Growth(NamedTuple):
    """How one break went on.

    kind: `single` (one record), `constant`, `linear` (the same step each time, three times at least), `growing` (one
    direction, other steps), `varying`, `gone-again` (it balances later). step: of `linear`. per_iteration: mean change
    of delta per iteration; per_sequence: per prefilled sequence, where they were counted. left: tokens that the pool
    can still give, on the last record. iterations_left, seconds_left: until they are gone at this rate. lines: the
    records it rests on.
    """

    kind: str
    text: str
    lines: tuple[int, ...]
    step: int | None = None
    per_iteration: float | None = None
    left: int | None = None
    iterations_left: int | None = None
    seconds_left: int | None = None
    per_sequence: float | None = None


def growth_of(found: Break, flushes: Sequence[int] = (), started: Mapping[int, int] | None = None) -> Growth:
    """How a break went on. flushes: lines on which the cache of its run was flushed. started: by line of a record, the
    sequences prefilled before it."""
    growth = _course(found, flushes)
    if started and growth.kind in (LINEAR, GROWING):
        (first, first_delta), (last, last_delta) = found.steps[0], found.steps[-1]
        apart = started.get(last.line, 0) - started.get(first.line, 0)
        if apart > 0 and first.line in started:
            rate = (last_delta - first_delta) / apart
            text = f"{growth.text}; {rate:+.3g} per prefilled sequence ({apart} between the first and the last)"
            return growth._replace(text=text, per_sequence=rate)
    return growth


def _course(found: Break, flushes: Sequence[int]) -> Growth:
    first = found.row
    last = found.last or first
    steps = found.steps
    if found.delta is None or len(steps) == 0:
        return _single(found, first)
    balanced = [row for row, delta in steps[1:] if delta == 0]
    if balanced:
        return _gone(found, first, balanced[0], flushes)
    deltas = [delta for _, delta in steps]
    if len(deltas) == 1:
        if found.series_breaks <= 1:
            return _single(found, first)
        records = counted(found.series_breaks, "record" if found.check == "busy" else "report")
        text = f"the same {deltas[0]:+} in {records} (lines {first.line} to {last.line}): it happened once and stays"
        if found.check == "idle":
            text += f"; {NOT_SAMPLED}"
        return Growth(CONSTANT, text, (first.line, last.line))
    changes = [later - earlier for earlier, later in pairwise(deltas)]
    lines = tuple(dict.fromkeys(row.line for row, _ in (*steps[:3], steps[-1])))
    told = ", ".join(f"{delta:+}" for delta in deltas[:6]) + (", …" if len(deltas) > 6 else "")
    if len(set(changes)) == 1:
        times = len(deltas) if changes[0] == deltas[0] else len(changes)
        if times >= 3:
            return _with_rate(found, LINEAR, f"{changes[0]:+} each time, {times} times", lines, last, changes[0])
    one_way = all(change * deltas[0] > 0 for change in changes)
    if one_way and len(deltas) < 3:
        text = f"from {deltas[0]:+} to {deltas[1]:+} (lines {spelled(lines)}): two values tell no rate"
        return Growth(GROWING, text, lines)
    if one_way:
        return _with_rate(found, GROWING, f"by another amount each time: {told}", lines, last, None)
    return Growth(VARYING, f"the difference goes up and down: {told} (lines {spelled(lines)})", lines)


def spelled(lines: Sequence[int]) -> str:
    """`3, 7 and 9`."""
    *most, end = map(str, lines)
    return f"{', '.join(most)} and {end}" if most else end


def _single(found: Break, first: Row) -> Growth:
    if found.check == "pages":
        many = found.series_breaks > 1
        text = (
            f"{found.series_breaks} reports" if many else f"one report (line {first.line}): whether it goes on is open"
        )
        return Growth(CONSTANT if many else SINGLE, text, (first.line,))
    why = (
        "the server stops at its first" if found.asserted is not None or found.check == "busy" else "there is no other"
    )
    return Growth(SINGLE, f"one record (line {first.line}): whether it grows is open, {why}", (first.line,))


def _gone(found: Break, first: Row, balanced: Row, flushes: Sequence[int]) -> Growth:
    flushed = next((line for line in flushes if first.line < line < balanced.line), None)
    text = f"off by {found.delta:+} on line {first.line} and balanced again on line {balanced.line}"
    if flushed is not None:
        lines: tuple[int, ...] = (first.line, flushed, balanced.line)
        return Growth(GONE, f"{text}: the cache was flushed between (line {flushed})", lines)
    text += ": nothing in the log says why, a flush or restart would"
    return Growth(GONE, text, (first.line, balanced.line))


def _with_rate(found: Break, kind: str, text: str, lines: tuple[int, ...], last: Row, step: int | None) -> Growth:
    """Add the rate, and how long the pool lasts at it."""
    text = f"{text} (lines {spelled(lines)})"
    first_row, first_delta = found.steps[0]
    last_row, last_delta = found.steps[-1]
    change = last_delta - first_delta
    per_iteration = iterations_left = seconds_left = None
    left = None
    if found.check == "busy" and first_row.iteration is not None and last_row.iteration is not None:
        apart = last_row.iteration - first_row.iteration
        if apart > 0:
            per_iteration = change / apart
            text += f"; {per_iteration:+.4g} per iteration"
    if change < 0:
        left = (last.terms[0] or 0) + (last.terms[1] or 0)
        if per_iteration is not None:
            iterations_left = int(left / -per_iteration)
            lasts = counted(iterations_left, "iteration")
            text += f", so the {left} still available or evictable (line {last.line}) last {lasts}"
        elapsed = _seconds(first_row, last_row)
        if elapsed and found.stream.mode != "ring-dump":
            seconds_left = int(left * elapsed / -change)
            here = (
                ""
                if per_iteration is not None
                else f", so the {left} still available or evictable (line {last.line}) last"
            )
            text += f"{here or ','} about {_spoken(seconds_left)}"
    return Growth(kind, text, lines, step, per_iteration, left, iterations_left, seconds_left)


def _seconds(first: Row, last: Row) -> int | None:
    start, end = second_of(first.time), second_of(last.time)
    return None if start is None or end is None or end <= start else end - start


def _spoken(seconds: int) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return counted(seconds, "second")
