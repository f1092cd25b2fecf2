"""Numbers and words as they stand in a log, read without guessing: what is not wholly a number is none.

Digits are ASCII. An integer of more than 18 digits is damage, not a count.
"""

from __future__ import annotations

from memcheck_cli.log.records import Value
from memcheck_cli.patterns import pattern

INTEGER = r"-?[0-9]{1,18}"
"""An integer as a regular expression."""

ENDS = r"(?=[,;)\s]|\Z)"
"""What may follow a number: without it, the digits are a piece of something torn."""

_INTEGER = pattern(INTEGER)
_DECIMAL = pattern(r"-?[0-9]{1,18}\.[0-9]{1,18}")
_WORDS: dict[str, Value] = {"True": True, "False": False, "None": None}


def integer(token: str) -> int | None:
    """The integer that `token` is, or None."""
    if len(token) <= 18 and token.isdigit() and token.isascii():
        return int(token)
    return int(token) if _INTEGER.fullmatch(token) else None


def number(token: str) -> int | float | None:
    """The integer or decimal that `token` is, or None."""
    if _DECIMAL.fullmatch(token):
        return float(token)
    return int(token) if _INTEGER.fullmatch(token) else None


def truth(token: str) -> bool | None:
    """True or False as Python prints them, else None."""
    value = _WORDS.get(token)
    return value if isinstance(value, bool) else None


def without_cut_end(text: str) -> str:
    """`text` of a line that was cut, without the number or word at its end, which may be a piece. A bracket, a comma or
    a quote at the end closes what stands before it, so nothing is left out then."""
    if not text or not (text[-1].isalnum() or text[-1] in "._+-"):
        return text
    return text[: max(text.rfind(mark) for mark in " =,'\"(") + 1]
