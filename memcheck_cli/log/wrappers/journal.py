"""systemd's journal in its short forms, and syslog files."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import DIGITS, UPPER, Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = (
    # <13> of a raw syslog file; short and short-precise; short-iso; short-full; short-unix; short-monotonic
    r"(?:<\d{1,3}>)?("
    rf"{_MONTH} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{{1,9}})?"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
    r"|[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [A-Z+\-\d][\w+-]{1,8}"
    r"|\d{9,11}\.\d{6}"
    r"|\[ {0,12}\d{1,12}\.\d{6}\]"
    r")"
)
_WITH_PID = pattern(rf"{_TIME} \S{{1,255}} ([^\s\[\]:]{{1,255}}\[\d{{1,10}}\]):(?: |\Z)", re.ASCII)
# Without a pid there is little to tell it by: no zone letter (CI stamps have one), and no error's name for a program.
_NO_PID = pattern(
    rf"{_TIME}(?<!Z) [\w.-]{{1,255}} ((?!\w*(?:Error|Exception|Warning):)[A-Za-z][^\s\[\]:]{{0,255}}):(?: |\Z)",
    re.ASCII,
)
_RFC5424 = re.compile(
    r"<\d{1,3}>1 (\S{1,40}) \S{1,255} (\S{1,48}) (\S{1,128}) \S{1,32} (?:-|\[[^\]\n]{0,2000}\]) ?", re.ASCII
)


def _journal(text: str, stretch: Stretch) -> Peeled | None:
    found = _WITH_PID.match(text)
    if found:
        return Peeled("journal", text[found.end() :], found[2], found[1])
    found = _NO_PID.match(text)
    if found:
        label = ("journal", found[2])
        inner = text[found.end() :]
        return Peeled("journal", inner, found[2], found[1], label=label) if stretch.accepts(label, inner) else None
    found = _RFC5424.match(text) if text[0] == "<" else None
    if found:
        process = found[2] if found[3] == "-" else f"{found[2]}[{found[3]}]"
        return Peeled("syslog", text[found.end() :].removeprefix("\ufeff"), process, found[1])
    return None


PEELERS: Peelers = ((DIGITS + UPPER + "<[", _journal),)
