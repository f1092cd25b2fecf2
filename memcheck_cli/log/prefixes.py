"""The server's own prefix: time and rank tokens, taken off the front of a line.

The standard form is `[2026-06-11 08:15:05 DP1 TP1] text`, with `.123` behind the time when milliseconds are logged.
After it come the forms of old releases (time only), of logging configurations that drop the bracket, and of prefixes
whose front a collector has cut away. Nothing is invented: a time or a rank that is not printed whole is left out.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from memcheck_cli.patterns import pattern


class Prefix(NamedTuple):
    """What stood before a message, and the message.

    time: the server's own time as ISO 8601 (`2026-06-11T08:15:05`, `2026-06-11T08:15:05.123` where a fraction was
    printed, `08:15:05` where no whole date was), or None. Ranges are checked, calendars are not (a 31 June is passed
    on). rank: the rank tokens exactly as printed, joined by one space, or "-". prefixed: something was taken off.
    """

    time: str | None
    rank: str
    prefixed: bool
    text: str


_DATE = r"[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)"
# Inside a bracket that begins with a time any NAME<number> is a rank token; elsewhere only these names are.
_ANY_RANK = r"[A-Z][A-Z_]{0,30}\d{1,9}"
_KNOWN_RANK = r"(?:[A-Z]{2,12}_)?(?:TP|DP|PP|EP|CP)\d{1,9}"
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"

_STANDARD = pattern(
    rf"\[(?:({_DATE}) )?({_CLOCK})([.,]\d{{1,9}})?((?: {_ANY_RANK})*+)\](?: |$)",
    re.ASCII,
)
# The same shape with numbers that are no time: the rank is certain, the time is not.
_NO_TIME = pattern(
    rf"\[\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?((?: {_ANY_RANK})*+)\](?: |$)",
    re.ASCII,
)
_RANK_ONLY = pattern(rf"\[({_KNOWN_RANK}(?: {_KNOWN_RANK})*+)\](?: |$)", re.ASCII)
# A prefix whose front is gone: any tail of `[2026-06-11 08:15:05.123 DP1 TP1] `. It must still end in a known rank
# token, or hold the whole clock time, to be told from other text that has a bracket in it.
_CUT = tuple(
    rf"(?:(?P<date>[\d\-]{{1,10}}) | )?{rest}\](?: |$)"
    for rest in (
        rf"(?P<clock>[\d:]{{1,8}})?(?P<part>[.,]?\d{{1,9}})?(?P<ranks>(?: {_KNOWN_RANK})++)",
        rf"(?P<ranks>{_KNOWN_RANK}(?: {_KNOWN_RANK})*+)",
        rf"(?P<clock>{_CLOCK})(?P<part>[.,]\d{{1,9}})?",
    )
)
_WHOLE_DATE = pattern(_DATE, re.ASCII)
_WHOLE_CLOCK = pattern(_CLOCK, re.ASCII)

_STAMP = rf"(?P<date>{_DATE})[ T](?P<clock>{_CLOCK})(?P<part>[.,]\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)?"
_NAME = r"[A-Za-z_][\w.]{0,120}"
_WHERE = rf"(?:\[?{_NAME}(?:\.py)?:(?:[A-Za-z_<>]\w{{0,80}}>?:)?\d{{1,9}}\]?|\[(?!full\]|swa\]|mamba){_NAME}\])"
# Layouts that people configure. Each names its parts; what is left over is the message.
_CONFIGURED = (
    # 2026-01-02 03:04:05,123 - sglang.srt - INFO - text; the name or the level may be missing, or change places
    rf"{_STAMP} - (?:{_NAME} - )?{_LEVEL} - (?:{_NAME} - )?(?:{_WHERE} - )?",
    # 2026-01-02 03:04:05.123 | INFO     | sglang.srt:run:34 - text
    rf"{_STAMP} ?\| {_LEVEL} {{0,9}}(?:\| (?:\d{{1,9}} \| )?(?:{_WHERE}|{_NAME}) ?)?(?:- |\| )",
    # [2026-01-02 03:04:05,123][sglang][INFO] - text
    rf"\[{_STAMP}\] ?(?:\[{_NAME}\] ?)?\[{_LEVEL} {{0,9}}\](?: ?\[{_NAME}\])?(?: - |: | )",
    # 2026-01-02 03:04:05 ERROR 300 [scheduler.py:34] text; 2026-01-02 03:04:05,123 INFO sglang: text
    rf"{_STAMP} {{1,3}}[\[(]?{_LEVEL}[\])]?:? {{1,9}}(?:\[?\d{{1,9}}\]? )?(?:--- )?"
    rf"(?:{_WHERE}(?::| -)? {{1,3}}|(?=\w*\.){_NAME}(?::| -) )?(?:- )?",
    # INFO 01-02 03:04:05 [scheduler.py:34] text: a date without year is no date
    rf"{_LEVEL} (?:\d\d-\d\d (?P<clock>{_CLOCK})(?P<part>[.,]\d{{1,9}})? )(?:{_WHERE} )?",
    # INFO:sglang.srt.managers.scheduler:text, the default of the logging module
    rf"{_LEVEL}:{_NAME}:",
)
# `%(asctime)s %(message)s` has nothing of its own to tell it by: the message must be one that the server prints.
_TIME_ONLY = (
    rf"{_STAMP}[ :-]{{1,3}}"
    r"(?=\[Mem Check \(|(?:Prefill|Decode) batch\b|server_args=|max_total_num_tokens=|KV [Cc]ache|SIGQUIT received"
    r"|Scheduler hit an exception|(?:pool|pool-bytes|\w{5,40}_pool\w{0,20}) memory leak detected!"
    r"|Memory pool (?:memory )?(?:leak|end)|Cache (?:not )?flushed|Use [Ss]liding window|KV (?:double free|page use))",
)


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compiled when first needed: most logs have none of the rarer forms, and compiling them takes milliseconds."""
    return tuple(re.compile(pattern, re.ASCII) for pattern in patterns)


def _joined(tokens: str) -> str:
    return " ".join(tokens.split()) if tokens else "-"


def _stamp(date: str | None, clock: str, part: str | None) -> str:
    time = f"{date}T{clock}" if date else clock
    return f"{time}.{part[1:]}" if part else time


def _configured(text: str) -> Prefix | None:
    first = text[0]
    if not (first.isdigit() or first in "[DIWECF"):
        return None
    for form in _compiled(_CONFIGURED + _TIME_ONLY):
        found = form.match(text)
        if found:
            break
    else:
        return None
    parts = found.groupdict()
    rest = text[found.end() :]
    # A logger that prints another logger's lines: the bracket behind its head is the server's own.
    inner = _bracketed(rest)
    if inner and (inner.time or not parts.get("clock")):
        return inner
    clock = parts.get("clock")
    time = _stamp(parts.get("date"), clock, parts.get("part")) if clock else None
    return Prefix(time, inner.rank, True, inner.text) if inner else Prefix(time, "-", True, rest)


def _bracketed(text: str) -> Prefix | None:
    found = _STANDARD.match(text)
    if found:
        date, clock, part, ranks = found.groups()
        return Prefix(_stamp(date, clock, part), _joined(ranks), True, text[found.end() :])
    found = _RANK_ONLY.match(text) or _NO_TIME.match(text)
    if found:
        return Prefix(None, _joined(found[1]), True, text[found.end() :])
    return None


def _cut(text: str) -> Prefix | None:
    for form in _compiled(_CUT):
        found = form.match(text)
        if found:
            break
    else:
        return None
    parts = found.groupdict()
    date, clock = parts["date"], parts.get("clock")
    time = None
    if clock and _WHOLE_CLOCK.fullmatch(clock):
        time = _stamp(date if date and _WHOLE_DATE.fullmatch(date) else None, clock, parts.get("part"))
    return Prefix(time, _joined(parts.get("ranks") or ""), True, text[found.end() :])


def time_of(printed: bytes) -> str:
    """The time of a standard prefix, date and clock, as it is kept."""
    return printed.decode("ascii").replace(" ", "T").replace(",", ".")


def rank_of(tokens: bytes) -> str:
    """The rank that the tokens of a standard prefix, each with a blank before it, spell."""
    return tokens[1:].decode("ascii") or "-"


@lru_cache(maxsize=2048)
def _standard_head(head: str) -> tuple[str, str] | None:
    """Time and rank of a whole `[... ] `. Kept, because many lines of one second have the same."""
    found = _STANDARD.fullmatch(head)
    if not found:
        return None
    date, clock, part, ranks = found.groups()
    return _stamp(date, clock, part), _joined(ranks)


def split_prefix(text: str) -> Prefix:
    """Takes the server's own time and rank off a line.

    text: one line, unwrapped, without its line end. Raises nothing, for any text.

    >>> split_prefix("[2026-06-11 08:15:05 DP1 TP1] hello")
    Prefix(time='2026-06-11T08:15:05', rank='DP1 TP1', prefixed=True, text='hello')
    >>> split_prefix("-06-11 08:15:05 TP0] hello")
    Prefix(time='08:15:05', rank='TP0', prefixed=True, text='hello')
    """
    if text[:1] == "[":
        end = text.find("] ", 1, 200)
        if end > 0:
            head = _standard_head(text[: end + 2])
            if head:
                return Prefix(head[0], head[1], True, text[end + 2 :])
    if text and ("]" in text[:200] or ":" in text[:60]):
        prefix = _bracketed(text) or _configured(text) or _cut(text)
        if prefix:
            return prefix
    return Prefix(None, "-", False, text)
