"""Parallel launchers: mpirun of several makers, and srun's labels."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import DIGITS, LOWER, UPPER, Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

# [2026-01-02 16:01:47] [/bin/sh@<0,0>]: text
_PROGRAM = pattern(r"(?:\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] )?\[([^\s\[\]]{1,300}@<\d{1,9},\d{1,9}>)\]: ?", re.ASCII)
# [1,0]<stderr>:text, [prterun-host-12@1,0]<stdout>: text, a date before them with --timestamp-output
_TAG = pattern(
    r"([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} ?)?\[((?:[\w.@-]{1,120}@)?\d{1,9},\d{1,9})\]"
    r"<std(?:out|err|diag)>:? ?",
    re.ASCII,
)
# [0] text: ranks of MPICH's launchers; 0: text: labels of srun
_NUMBER = pattern(r"\[(\d{1,6})\] ", re.ASCII)
_LABEL = pattern(r" {0,6}(\d{1,6}): ", re.ASCII)


def _mpirun(text: str, stretch: Stretch) -> Peeled | None:
    found = _PROGRAM.match(text) or _TAG.match(text)
    if not found:
        return None
    time = found[1]
    return Peeled("mpirun", text[found.end() :], found[2], time.strip() if time else None)


def _mpich(text: str, stretch: Stretch) -> Peeled | None:
    found = _NUMBER.match(text)
    if not found:
        return None
    label = ("mpich", found[1])
    inner = text[found.end() :]
    return Peeled("mpirun", inner, found[1], label=label) if stretch.accepts(label, inner) else None


def _srun(text: str, stretch: Stretch) -> Peeled | None:
    found = _LABEL.match(text)
    if not found:
        return None
    label = ("srun", found[1])
    inner = text[found.end() :]
    return Peeled("srun", inner, found[1], label=label) if stretch.accepts(label, inner) else None


PEELERS: Peelers = (("[" + UPPER + LOWER, _mpirun), ("[", _mpich), (DIGITS + " ", _srun))
