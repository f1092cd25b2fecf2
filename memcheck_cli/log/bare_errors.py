"""Errors without text: only the function that the traceback before them ends in tells whose they are."""

from __future__ import annotations

import re

from memcheck_cli.log.dialects.notes import CRASH_FUNCTIONS, FUNCTIONS
from memcheck_cli.log.records import Unnumbered
from memcheck_cli.patterns import pattern

_FRAME = pattern(r"\s{0,40}File \"[^\"]{0,4096}\", line [0-9]{1,9}, in ([^\s,]{1,200})", re.ASCII)


def read_traceback_hint(text: str) -> str | None:
    """The function that a traceback's frame line names (`  File "…", line 12, in name`), or None."""
    match = _FRAME.match(text)
    return match[1] if match is not None else None


def settle_bare(note: Unnumbered, function: str | None) -> Unnumbered | None:
    """What a bare error means once the function is known that its traceback ends in; None: it is not the checker's.

    note: of kind `bare` (an assertion without text) or `crash`. function: None where no traceback was seen; then a
    bare assertion is nobody's, and a crash is taken at its word.
    """
    if note.kind == "bare":
        told = FUNCTIONS.get(function or "")
        return None if told is None else Unnumbered(note.form, *told, f"{note.detail} in {function}", note.copied)
    ends = CRASH_FUNCTIONS.get(note.form)
    return note if function is None or ends is None or function in ends else None
