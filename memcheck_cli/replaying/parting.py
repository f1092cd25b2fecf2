"""Where the rules of two releases part on the same stats of a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from memcheck_cli.checker.invariant import Verdict

DIES_ON_HYBRID = "the check dies on hybrid pools (NotImplementedError)"


NO_TOTAL = "no total"
"""In place of a verdict: the pool's total is not known."""


class LogPlace(NamedTuple):
    """Where a record stands."""

    run: int
    process: str | None
    rank: str
    pool: str
    check: str
    iteration: int | None
    line: int
    time: str | None


@dataclass(slots=True)
class Parting:
    """Where two releases' rules part on the same stats. stops: first stop under the other rules and under ours, in
    words, with the place (None: never). untold: by rules, records they cannot judge from what was printed."""

    rules: str
    differ: int = 0
    first: tuple[LogPlace, str, str] | None = None
    stops: tuple[LogPlace, str] | None = None
    stops_ours: tuple[LogPlace, str] | None = None
    untold: dict[str, int] = field(default_factory=dict)

    def add(self, place: LogPlace, ours: str, theirs: str) -> None:
        """One more record with what a server under either rules makes of it, in words."""
        if _stops(ours) and (self.stops_ours is None or place.line < self.stops_ours[0].line):
            self.stops_ours = (place, ours)
        if _stops(theirs) and (self.stops is None or place.line < self.stops[0].line):
            self.stops = (place, theirs)
        if ours != theirs:
            self.differ += 1
            if self.first is None or place.line < self.first[0].line:
                self.first = (place, ours, theirs)


def _stops(word: str) -> bool:
    return word == DIES_ON_HYBRID or word.startswith(("leak", "overcount", "reported"))


def outcome(one: Verdict | None) -> str:
    if one is None:
        return NO_TOTAL
    if one.leak:
        return f"{one.kind} {one.delta:+d}"
    return f"tolerated {one.delta:+d}" if one.tolerated else "balanced"
