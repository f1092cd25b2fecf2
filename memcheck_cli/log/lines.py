"""The exact reader: what one text of a log says about the checker's accounting.

`read_message` takes the message part of a line (wrapping and prefix off) and gives a `records.Message`, or None where
the line is none of the checker's. It defines what is right: a faster reader must give the same answers. A text is
read whole or not at all. One that bears the checker's tag and is damaged becomes `Torn`; no part of it becomes a
value. Time is linear in the text.
"""

from __future__ import annotations

import re

from memcheck_cli.checker import messages
from memcheck_cli.log.bare_errors import read_traceback_hint, settle_bare
from memcheck_cli.log.continuations import read_continuation
from memcheck_cli.log.dialects import busy
from memcheck_cli.log.pool_text import Damage, read_pool
from memcheck_cli.log.records import TERMS, Busy, Message, PoolText, Value
from memcheck_cli.log.reports import read_report, torn
from memcheck_cli.log.seams import TAG, is_torn_into, torn_report_at
from memcheck_cli.patterns import pattern

__all__ = [
    "BUSY_LINE",
    "CONTINUATION_TAGS",
    "HEAD_TAGS",
    "TAG",
    "TAGS",
    "read_message",
    "read_traceback_hint",
    "settle_bare",
]

HEAD_TAGS: tuple[bytes, ...] = (
    b"[Mem Check",
    b"etected!",
    b"free: ",
    b"anity check ",
    b"UserWarning: ",
    b"Error",
    b"accounting invariant",
    b" crashed: ",
)
"""Every line that can begin a report (and every torn one) holds one of these."""

CONTINUATION_TAGS: tuple[bytes, ...] = (
    b"total=",
    b"able_size",
    b"able_token_size=",
    b" != ",
    b"expected=",
    b"_items",
    b"rontier",
    b"[full]",
    b"[swa]",
    b"[mamba",
)
"""Every line that can only go on with a report before it (`PoolLine`, `PoolParts`, `Unnumbered.continuation`, their
torn ones) holds one of these; they need to be looked for only behind a report."""

TAGS: tuple[bytes, ...] = HEAD_TAGS + CONTINUATION_TAGS
"""Every line for which `read_message` has an answer holds one of these."""

_PREFIX = (
    rb"\[([1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]) "
    rb"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:[.,][0-9]{1,9})?)"
    rb"((?: [A-Z][A-Z_]{0,30}[0-9]{1,9})*+)\] "
)
_KNOWN_NAMES = b"|".join(
    name.encode() for name in ("total", *TERMS, "free_list_duplicates", "unaligned_sharded_counts")
)
BUSY_LINE: re.Pattern[bytes] = pattern(
    _PREFIX
    + rb"\[Mem Check \(BUSY\)\] \[([A-Za-z][A-Za-z0-9_-]{0,31})\] total=(-?[0-9]{1,18}), available=(-?[0-9]{1,18}), "
    rb"evictable=(-?[0-9]{1,18}), protected=(-?[0-9]{1,18}), session_held=(-?[0-9]{1,18}), "
    rb"uncached=(-?[0-9]{1,18})((?:, (?!(?:" + _KNOWN_NAMES + rb")=)[A-Za-z_][A-Za-z0-9_]*+=-?[0-9]{1,18})*+)(?=\r?\n)"
)
"""A whole physical line of the current busy form with the server's own prefix and no wrapping. Groups: time (a blank
between date and clock), rank tokens with a blank before each (empty: none), pool, total, the five terms in the order of
TERMS, and further `, name=integer` pairs (names twice must be ruled out by the caller). The line end is not consumed.
`read_message` reads the same from the same line; a line that does not match may still be one of its others."""

_NO_EXTRA: dict[str, Value] = {}
_NO_MARKS: frozenset[str] = frozenset()
_standard = messages.BUSY.pattern.fullmatch

_ERROR = pattern(
    r"(ValueError|AssertionError|RuntimeError|Exception): |(?:AssertionError|NotImplementedError)\Z", re.ASCII
)
_COPIED = pattern(r"E {3,12}", re.ASCII)
_CRASHED = pattern(r"Scheduler((?: [A-Z][A-Z_]{0,15}[0-9]{1,6})*+) crashed: ", re.ASCII)
_BARE = frozenset({"AssertionError", "NotImplementedError"})
_WARNING = "UserWarning: "
_REPEATED = pattern(r" {0,8}\[repeated [0-9]{1,9}x across cluster\]\Z", re.ASCII)


def read_message(text: str, prefixed: bool) -> Message | None:
    """What `text`, the message part of a line, says; None where it is none of the checker's texts.

    prefixed: a time and rank prefix stood before it. Never raises.
    """
    match = _standard(text)
    if match is not None:
        pool, total, available, evictable, protected, held, uncached = match.groups()
        terms = {
            "available": int(available),
            "evictable": int(evictable),
            "protected": int(protected),
            "session_held": int(held),
            "uncached": int(uncached),
        }
        return Busy("B3", (PoolText(pool, int(total), terms, _NO_EXTRA, _NO_MARKS),))
    text = text.rstrip()
    if text.endswith(" across cluster]"):
        text = _REPEATED.sub("", text)
    copied = False
    if not prefixed:
        text = text.lstrip(" \t")
        copy = _COPIED.match(text)
        if copy is not None:
            copied = True
            text = text[copy.end() :]
    at = text.find(TAG)
    if at == 0:
        return _read_busy(text)
    if at > 0 and is_torn_into(text, at, prefixed):
        return torn("the busy tag stands behind the fragment of another line")
    message = _read_prefixed(text) if prefixed else _read_unprefixed(text, copied)
    if message is None and torn_report_at(text, prefixed) >= 0:
        damaged = torn("the report stands behind the fragment of another line", False)
        return damaged._replace(report="behind a fragment")
    return message


def _read_prefixed(text: str) -> Message | None:
    if text.startswith("Scheduler"):
        return _read_crashed(text)
    # A bare error is the end of a traceback, which has no prefix.
    return None if text in _BARE else read_report(text, 0, "", False)


def _read_crashed(text: str) -> Message | None:
    crashed = _CRASHED.match(text)
    return None if crashed is None else read_report(text, crashed.end(), "crashed", False, crashed[1].strip())


def _read_unprefixed(text: str, copied: bool) -> Message | None:
    if text.startswith("Scheduler") and not copied:
        return _read_crashed(text)
    error = _ERROR.match(text)
    if error is not None:
        return read_report(text, error.end() if error[1] else 0, error[1] or "", copied)
    warning = text.find(_WARNING, 0, 4096)
    if warning == 0 or (warning > 0 and _is_place(text[:warning])):
        return read_report(text, warning + len(_WARNING), "UserWarning", copied)
    return read_report(text, 0, "", copied) or read_continuation(text)


def _is_place(before: str) -> bool:
    """`/path/file.py:12: `, which stands before a Python warning."""
    path, _, number = before.removesuffix(": ").rpartition(":")
    return before.endswith(": ") and path.endswith(".py") and number.isascii() and number.isdigit()


# Busy lines


def _read_busy(text: str) -> Message:
    if text == messages.BUSY_HEAD.rstrip():
        return Busy("B3-empty", ())
    if text.startswith(messages.BUSY_HEAD):
        found = read_pool(text[len(messages.BUSY_HEAD) :], busy.BUSY)
        if isinstance(found, Damage):
            return torn(found.reason, True, found.label)
        return Busy(found.form.id, (found.pool,))
    if text.startswith(messages.BUSY_BOTH_POOLS.start):
        return _read_both(text)
    return torn("the busy tag itself is damaged")


def _read_both(text: str) -> Message:
    values = messages.BUSY_BOTH_POOLS.read(text)
    if values is None:
        return torn("the line of both pools is cut or torn")
    pools = []
    for pool in ("full", "swa"):
        terms = {term: int(values[f"{pool}_{term}"]) for term in TERMS}
        if sum(terms.values()) != values[f"{pool}_sum"]:
            return torn("the printed sum is not the sum of the printed terms", pool=pool)
        pools.append(PoolText(pool, None, terms))
    return Busy("B2", tuple(pools))
