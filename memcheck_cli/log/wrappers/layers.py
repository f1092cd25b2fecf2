"""All wrapper families, and one step of unwrapping: the first family whose grammar fits takes its layer off.

Families whose lines can begin alike stand in the order in which they must be asked, the more specific one first.
"""

from __future__ import annotations

from memcheck_cli.log.wrappers import (
    actions,
    compose,
    journal,
    json_lines,
    kubernetes,
    launchers,
    pytest_output,
    ray,
    stamps,
    terminal,
)
from memcheck_cli.log.wrappers.interface import Peeled, Peeler, Stretch
from memcheck_cli.log.wrappers.known import BRACKET, LIKELY

FAMILIES = (actions, kubernetes, journal, json_lines, ray, launchers, stamps, compose, pytest_output, terminal)

MAX_DEPTH = 4
"""Ambiguous wrappers within each other that are looked through to find out whether the outermost is one."""

_SPAN = 500


def _by_first_character() -> tuple[dict[str, tuple[Peeler, ...]], tuple[Peeler, ...]]:
    always = tuple(peeler for family in FAMILIES for first, peeler in family.PEELERS if not first)
    characters = {character for family in FAMILIES for first, _ in family.PEELERS for character in first}
    table = {
        character: tuple(
            peeler for family in FAMILIES for first, peeler in family.PEELERS if not first or character in first
        )
        for character in characters
    }
    return table, always


_TABLE, _ALWAYS = _by_first_character()


class Layers:
    """One file's wrappers: which of the ambiguous ones were learnt, and the step that takes one off."""

    def __init__(self) -> None:
        self.stretch = Stretch(self.plausible)
        self._depth = 0

    def peel(self, text: str) -> Peeled | None:
        """The outermost layer off `text`, or None where there is none (any more)."""
        for peeler in _TABLE.get(text[:1], _ALWAYS):
            peeled = peeler(text, self.stretch)
            if peeled is not None:
                return peeled
        return None

    def begins(self, text: str) -> bool:
        """Whether a text, unwrapped, begins with the server's bracket: it is the front of a line, not a later part."""
        return BRACKET.match(self._unwrapped(text)) is not None

    def holds_something(self, text: str) -> bool:
        """Whether a text is more than wrapping."""
        return bool(self._unwrapped(text).strip())

    def _unwrapped(self, text: str) -> str:
        for _ in range(MAX_DEPTH):
            text, _name = terminal.clean(text)
            peeled = self.peel(text)
            if peeled is None:
                break
            text = peeled.text
        return text

    def plausible(self, text: str) -> bool:
        """Whether a text behind an ambiguous wrapper is the server's, or another wrapper's."""
        text, _ = terminal.clean(text)
        if BRACKET.match(text) or LIKELY.match(text):
            return True
        # Another wrapper within is worth looking for only where it may hold a prefix, a record or a report.
        if self._depth >= MAX_DEPTH or not (
            "]" in text[:_SPAN] or text[:1] == "{" or "etected!" in text or "()=" in text[:_SPAN]
        ):
            return False
        self._depth += 1
        try:
            return self.peel(text) is not None
        finally:
            self._depth -= 1
