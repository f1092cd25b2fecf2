"""What terminals, editors and encodings leave in a text: escape sequences, BOMs, NULs, line ends, padding."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import Peeled, Peelers, Stretch
from memcheck_cli.log.wrappers.known import BRACKET
from memcheck_cli.patterns import pattern

# CSI; OSC and the other strings up to their end; two-character escapes. An unended string loses its head only.
_ESCAPES = pattern(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]?|[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-~])?|\x9b[0-?]*+[ -/]*+[@-~]?"
)
_LITERAL_ESCAPE = pattern(r"(?:\^\[|\\u001[bB]|\\x1[bB]|\\033|\\e|\u241b)\[[0-9;]{0,16}m")
_CARE = pattern("[\x1b\x9b\x00\r\ufeff\ufffd]")
CARE_FIRST = frozenset("\x1b\x9b\x00\ufeff\ufffd")
"""First characters of a text that is to be cleaned before any wrapper can be told."""

_BAR = pattern(r"[^\n]{0,300}?\d{1,3}%\|[^|\n]{0,300}\|[^\[\n]{0,60}\[[^\]\n]{0,120}\](?=\[\d{4}-\d\d-\d\d )", re.ASCII)
_INDENT = " \t\xa0\u3000"


def clean(text: str) -> tuple[str, str | None]:
    """The text as a person sees it, and the name of what was taken off, if a person should hear of it.

    Escape sequences, NULs, byte order marks and line ends go. Padding at the end goes, one blank stays (the checker
    prints texts that end in one).
    """
    name = None
    if _CARE.search(text):
        if "\x00" in text:
            text = text.replace("\x00", "")
            name = "utf-16"
        if "\x1b" in text or "\x9b" in text:
            text = _ESCAPES.sub("", text)
            name = "ansi"
        if text[:1] in "\ufeff\ufffd":
            text = text.lstrip("\ufeff\ufffd")
        text = text.rstrip("\r")
    if text[-2:] == "^M":
        text = text[:-2]
    if text[-1:] in _INDENT and text[-2:-1] in _INDENT:
        text = text.rstrip(_INDENT)
        if text.endswith("(BUSY)]"):
            text += " "
    return text, name


def _indentation(text: str, stretch: Stretch) -> Peeled | None:
    inner = text.lstrip(_INDENT)
    if not inner or not stretch.plausible(inner):
        return None
    return Peeled("indentation", inner)


_QUOTE = pattern(r"(?:> ?){1,40}")


def _quote(text: str, stretch: Stretch) -> Peeled | None:
    found = _QUOTE.match(text)
    if not found:
        return None
    inner = text[found.end() :]
    depth = found[0].count(">")
    label = ("quote", str(depth))
    if not stretch.accepts(label, inner):
        return None
    return Peeled("quote", inner, label=label)


def _fence(text: str, stretch: Stretch) -> Peeled | None:
    """A fence before a text on the same line; a fence alone is dropped by the unwrapper."""
    inner = text.lstrip("`~")
    if len(text) - len(inner) < 3 or not stretch.plausible(inner):
        return None
    return Peeled("fence", inner)


_FENCE_ALONE = pattern(r"[ \t]{0,12}(?:`{3,}|~{3,})[ \t]*+[\w+.#-]{0,30}[ \t]*+\Z")


def is_fence(text: str) -> bool:
    """Whether the line is a Markdown fence and nothing else (an info word may stand behind it)."""
    return _FENCE_ALONE.match(text) is not None


def _literal_escape(text: str, stretch: Stretch) -> Peeled | None:
    """Escape sequences that were printed for a reader (`^[[36m`, `\\u001b[36m`) instead of sent."""
    inner = _LITERAL_ESCAPE.sub("", text)
    return Peeled("ansi", inner) if inner != text else None


def _overwritten(text: str, stretch: Stretch) -> Peeled | None:
    """A line written over with carriage returns, as progress displays do: what was written last."""
    if "\r" not in text:
        return None
    inner = text[text.rindex("\r") + 1 :]
    return Peeled("carriage-return", inner) if BRACKET.match(inner) or _BAR.match(inner) else None


def _bar(text: str, stretch: Stretch) -> Peeled | None:
    """A progress bar that did not end its line before the server wrote."""
    if "%|" not in text[:400]:
        return None
    found = _BAR.match(text)
    return Peeled("progress-bar", text[found.end() :]) if found else None


PEELERS: Peelers = (
    (_INDENT, _indentation),
    (">", _quote),
    ("`~", _fence),
    ("^\\\u241b", _literal_escape),
    ("", _overwritten),
    ("", _bar),
)
