"""Lines that end within a number, for all one can tell: the last line of a log that has no line end.

Which number stands at the end is kept as a mark of the row, `cut_total` or `cut_` and the name of a term, because only
that number can have had more digits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memcheck_cli.log.records import TERMS, Line
from memcheck_cli.patterns import pattern

if TYPE_CHECKING:
    from memcheck_cli.ledger.rows import Row

_NONE: frozenset[str] = frozenset()
_LAST_NUMBER = pattern(r"([A-Za-z_.()]+|total slots)=-?[0-9]+\Z", re.ASCII)
_LONGEST_NAME = 100
_TOTALS = ("total", "tokens_per_layer", "max_total_num_token", ".size", "expected")
_TERM_NAMES = (("avail", "available"), ("evict", "evictable"), *((term, term) for term in TERMS))


def cut_mark(line: Line) -> frozenset[str]:
    """The mark of the number that a line without a line end ends in; none for a whole line or any other end."""
    if line.whole:
        return _NONE
    found = _LAST_NUMBER.search(line.text, max(0, len(line.text) - _LONGEST_NAME))
    if found is None:
        return _NONE
    name = found[1]
    for part, term in _TERM_NAMES:
        if part in name:
            return frozenset({f"cut_{term}"})
    return frozenset({"cut_total"}) if any(part in name for part in _TOTALS) else frozenset({"cut_other"})


def could_go_on(row: Row, delta: int) -> bool:
    """Whether more digits at the end of the number that a row ends in could make its sum right."""
    if not row.cut or delta == 0:
        return False
    if "cut_total" in row.marks:
        return row.total is not None and _begins(row.total, row.total + delta)
    for name, value in zip(TERMS, row.terms, strict=True):
        if f"cut_{name}" in row.marks and value is not None:
            summed = name != "protected" or "protected_not_summed" not in row.marks
            return summed and _begins(value, value - delta)
    return False


def may_be(cut: Row, accounted: int | None, whole: Row) -> bool:
    """Whether a row, if its last number had more digits, may repeat another. accounted: the sum it prints."""
    if "cut_total" in cut.marks:
        return accounted == whole.accounted and (
            whole.total is None or cut.total == whole.total or _begins(cut.total or 0, whole.total)
        )
    return (cut.total == whole.total or whole.total is None) and all(
        one == two or (f"cut_{name}" in cut.marks and one is not None and two is not None and _begins(one, two))
        for name, one, two in zip(TERMS, cut.terms, whole.terms, strict=True)
    )


def _begins(printed: int, wanted: int) -> bool:
    """Whether `wanted` is written as `printed` is, with more digits behind."""
    text, whole = str(printed), str(wanted)
    return len(whole) > len(text) and whole.startswith(text)
