"""pytest: the `E   ` lines of a failure, and the sections of captured output."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import Peeled, Peelers, Stretch

_ERROR = re.compile(r"E {3,}", re.ASCII)
_CAPTURED = re.compile(r"-{3,} ?Captured (?:stdout|stderr) (?:setup|call|teardown) ?-{3,}\Z", re.ASCII)
_ENDED = re.compile(r"={5,}(?: .{0,300} ={3,})?\Z|_{4,} .{0,300} _{3,}\Z", re.ASCII)


def _error(text: str, stretch: Stretch) -> Peeled | None:
    found = _ERROR.match(text)
    return Peeled("pytest", text[found.end() :], copied=True) if found else None


def captured_after(text: str, captured: bool) -> bool:
    """Whether the lines behind `text` are captured output, given whether `text` itself was."""
    first = text[:1]
    if first == "-":
        return captured or _CAPTURED.match(text) is not None
    if first == "=" or first == "_":
        return captured and _ENDED.match(text) is None
    return captured


PEELERS: Peelers = (("E", _error),)
