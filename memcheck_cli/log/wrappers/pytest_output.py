"""pytest and unittest: `E   ` lines of a failure, sections of captured output, progress that ends no line."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import DIGITS, LOWER, UPPER, Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

_ERROR = pattern(r"E {3,}", re.ASCII)
_CAPTURED = pattern(r"-{3,} ?Captured (?:stdout|stderr) (?:setup|call|teardown) ?-{3,}\Z", re.ASCII)
_ENDED = pattern(r"={5,}(?: .{0,300} ={3,})?\Z|_{4,} .{0,300} _{3,}\Z", re.ASCII)


def _error(text: str, stretch: Stretch) -> Peeled | None:
    found = _ERROR.match(text)
    return Peeled("pytest", text[found.end() :], copied=True) if found else None


# What a server or a suite prints right behind a runner's progress.
_BEHIND = pattern(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\[CI |command=", re.ASCII)
_LONGEST_HEAD = 800


def split_progress(text: str) -> tuple[str, str]:
    """A runner's progress and the line of somebody else right behind it: dots of tests that are over (`..[2026-…`), or
    the name of the one that runs (`a.py::A::b [2026-…`, `b (a.A.b) ... [2026-…`). No progress: empty, and the text."""
    if not text or (
        text[0] not in _MARKS and "::" not in text[:_LONGEST_HEAD] and ") ... " not in text[:_LONGEST_HEAD]
    ):
        return "", text
    found = _BEHIND.search(text, 1, _LONGEST_HEAD + 32)
    if found is None:
        return "", text
    head = text[: found.start()]
    dots = head.rstrip(_MARKS)
    running = dots.endswith(" ") and (
        (dots.count(" ") == 1 and ".py::" in dots) or (dots.endswith(") ... ") and dots.count(" ") == 3)
    )
    return (head, text[found.start() :]) if not dots or running else ("", text)


def _progress(text: str, stretch: Stretch) -> Peeled | None:
    head, inner = split_progress(text)
    return Peeled("progress", inner) if head else None


_MARKS = ".FEsxXRu"


def captured_after(text: str, captured: bool) -> bool:
    """Whether the lines behind `text` are captured output, given whether `text` itself was."""
    first = text[:1]
    if first == "-":
        return captured or _CAPTURED.match(text) is not None
    if first == "=" or first == "_":
        return captured and _ENDED.match(text) is None
    return captured


PEELERS: Peelers = (("E", _error), ("./" + DIGITS + LOWER + UPPER, _progress))
