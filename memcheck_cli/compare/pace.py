"""How fast a stream checks, and how long it took to break."""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.compare.sides import Lane, Side
from memcheck_cli.compare.tracks import ABSENT
from memcheck_cli.forensics.breaks import Break
from memcheck_cli.ledger.dumps import second_of

LEAST_SECONDS = 10
"""Shorter times, told to the second, give no rate."""


class Pace(NamedTuple):
    """checks: busy checks of the stream. seconds: from the first to the last. per_second: None where `why` says so.
    break_check, break_seconds: the first break, as iterations and seconds from the first check; None where it does not
    break or nothing tells."""

    checks: int
    seconds: int | None
    per_second: float | None
    why: str | None
    break_check: int | None
    break_seconds: int | None


def pace_of(side: Side, lane: Lane) -> Pace:
    """The pace of one stream."""
    checks = lane.stream.checks
    start, seconds = _span(lane)
    if lane.stream.mode == "ring-dump":
        seconds = None
        why: str | None = "a ring dump is printed at once"
    elif not checks:
        why = "there is no busy check"
    elif seconds is None:
        why = "the checks have no time"
    elif seconds < LEAST_SECONDS:
        why = f"the checks span {seconds} s; times are told to the second, so {LEAST_SECONDS} s are needed"
    else:
        why = None
    rate = round(checks / seconds, 3) if why is None and seconds else None
    found = next((one for one in side.analysis.breaks if one.stream is lane.stream), None)
    return Pace(checks, seconds, rate, why, *_until(lane, found, start))


def _until(lane: Lane, found: Break | None, start: int | None) -> tuple[int | None, int | None]:
    if found is None or lane.stream.mode == "ring-dump":
        return None, None
    check = found.after_iteration if found.check == "idle" else found.iteration
    second = second_of(found.row.time)
    if start is None and lane.run is not None:
        told = lane.run.starts.get(lane.stream.process) or lane.run.starts.get(None)
        start = second_of(told.time) if told is not None else None
    if second is None or start is None or second < start:
        return check, None
    return check, second - start


def _span(lane: Lane) -> tuple[int | None, int | None]:
    """The second of the first busy record, and the seconds to the last one."""
    first: int | None = None
    last: int | None = None
    for (check, _), track in lane.tracks.items():
        if check != "busy" or track.start is None:
            continue
        seconds = track.second.numbers()
        known = seconds[seconds != ABSENT]
        ends = track.start + int(known[-1])
        first = track.start if first is None else min(first, track.start)
        last = ends if last is None else max(last, ends)
    if first is None or last is None or last < first:
        return first, None
    return first, last - first
