"""Lines that bear the checker's tag but cannot be read whole, as they stand in the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memcheck_cli.ledger.again import Passed
    from memcheck_cli.log.records import Line

LONGEST = 1 << 16
"""Bytes of one line that are shown."""


class Reject(NamedTuple):
    """source: name of the source, or of the member of a rotated set that holds the line. line: number there, from 1 (of
    the first part where a collector cut the line). reason: one sentence. text: the physical line, bytes that are no
    UTF-8 as `\\xff`, at most LONGEST bytes of it."""

    source: str
    line: int
    reason: str
    text: str


Rejecting = Callable[[Reject], None]
"""Is told of every rejected line, once."""


def physical(passed: Passed, line: Line) -> str:
    """The physical line that `line` stands on; where it cannot be had any more, what was read of it."""
    raw, at = passed.fetch(line.offset, line.offset + LONGEST)
    if at != line.offset or not raw:
        return line.text
    raw, end, _ = raw.partition(b"\n")
    text = raw.removesuffix(b"\r").decode("utf-8", "backslashreplace")
    return text if end or len(raw) < LONGEST else f"{text}…"
