"""Which check of A stands beside which of B."""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.compare.laid import Laid, Walk
from memcheck_cli.compare.matching import Match
from memcheck_cli.compare.workload import DETERMINISTIC, Workload, decide
from memcheck_cli.forensics.breaks import Break

AUTO, START, END, BREAK, TIME, CONTENT = "auto", "start", "end", "break", "time", "content"
METHODS = (AUTO, START, END, BREAK, TIME, CONTENT)


class Alignment(NamedTuple):
    """method: of METHODS, not `auto`. offset: B's iteration minus A's; None under `time`. reason: half a sentence."""

    method: str
    offset: int | None
    reason: str


def aligned(
    match: Match, laid: Laid, wanted: str, breaks: tuple[Break | None, Break | None]
) -> tuple[Alignment, Walk, Workload]:
    """Align two streams as asked, or as their modes and numbers suggest, and follow them.

    breaks: the first busy break of either stream.
    """
    modes = (match.a.stream.mode, match.b.stream.mode)
    dumps = "ring-dump" in modes
    if wanted == TIME:
        walk = laid.walk(0)
        workload = decide(laid, walk)
        return Alignment(TIME, None, "as asked: by seconds since the first check"), walk, workload
    if wanted == CONTENT:
        found = laid.by_content()
        if found is not None:
            return _followed(laid, Alignment(CONTENT, found[0], f"as asked: {found[1]} checks agree"))
        wanted = AUTO
    by_asking = wanted != AUTO
    if not by_asking:
        wanted = START if not dumps else BREAK if all(breaks) else END
    first = _by_method(match, wanted, breaks, dumps, by_asking)
    answer = _followed(laid, first)
    if by_asking or answer[2].kind == DETERMINISTIC:
        return answer
    found = laid.by_content()
    if found is None or found[0] == first.offset:
        return answer
    offset, votes = found
    if votes * 2 < laid.overlap(*laid.start(offset)):
        return answer
    reason = f"so {votes} checks agree"
    other = _followed(laid, Alignment(CONTENT, offset, reason))
    return other if other[2].kind == DETERMINISTIC else answer


def _by_method(
    match: Match, method: str, breaks: tuple[Break | None, Break | None], dumps: bool, by_asking: bool
) -> Alignment:
    asked = "as asked" if by_asking else None
    a, b = breaks
    if method == BREAK:
        if a is not None and b is not None and a.iteration is not None and b.iteration is not None:
            return Alignment(BREAK, b.iteration - a.iteration, asked or "a ring dump's beginning is lost")
        method = END if dumps else START
        asked = "as asked by the break, which not both have" if by_asking else None
    if method == END:
        ends = match.a.stream.checks, match.b.stream.checks
        return Alignment(END, ends[1] - ends[0], asked or "a ring dump's beginning is lost")
    return Alignment(START, 0, asked or "both are streams from the start")


def _followed(laid: Laid, alignment: Alignment) -> tuple[Alignment, Walk, Workload]:
    walk = laid.walk(alignment.offset or 0)
    return alignment, walk, decide(laid, walk)
