"""Times that collectors put before a line: GitHub Actions, `kubectl --timestamps`, `docker logs -t`, `ts`, exports.

A stamp with a `T` and a zone is never the server's, whose prefix has neither, except where a logging configuration
prints it before its level name; without a zone it is a collector's only if a server's bracket follows.
"""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import DIGITS, UPPER, Peeled, Peelers, Stretch
from memcheck_cli.log.wrappers.known import RANK
from memcheck_cli.patterns import pattern

_ZONED = pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,](\d{1,9}))?(?:Z|[+-]\d\d:?\d\d))(?:[ \t]|\Z)", re.ASCII)
_OWN_LEVEL = pattern(r"[\[(]?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b(?!:\S)(?! \d\d-\d\d )", re.ASCII)
_LEVEL_THEN_RANK = pattern(
    rf"(?:([\w.-]{{1,120}}) )?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL) (?=\[?{RANK}(?: {RANK}){{0,12}}\] )", re.ASCII
)
_BEFORE_BRACKET = pattern(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)[ \t]{1,3}(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", re.ASCII
)
_MONTH = pattern(r"([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?) ", re.ASCII)


def _zoned(text: str, stretch: Stretch) -> Peeled | None:
    found = _ZONED.match(text)
    if not found:
        return None
    inner = text[found.end() :]
    fraction = len(found[2] or "")
    actions = fraction == 7 and found[1].endswith("Z")
    host = _LEVEL_THEN_RANK.match(inner)
    if host:
        return Peeled("export", inner[host.end() :], host[1], found[1])
    if fraction < 6 and _OWN_LEVEL.match(inner):
        return None
    return Peeled("github-actions" if actions else "timestamp", inner, time=found[1])


def _before_bracket(text: str, stretch: Stretch) -> Peeled | None:
    found = _BEFORE_BRACKET.match(text)
    return Peeled("timestamp", text[found.end() :], time=found[1]) if found else None


def _month(text: str, stretch: Stretch) -> Peeled | None:
    """The form of `ts`: no year, and no host behind it as in a journal."""
    found = _MONTH.match(text)
    if not found:
        return None
    inner = text[found.end() :]
    label = ("ts", "")
    return Peeled("timestamp", inner, time=found[1], label=label) if stretch.accepts(label, inner) else None


PEELERS: Peelers = ((DIGITS, _zoned), (DIGITS, _before_bracket), (UPPER, _month))
