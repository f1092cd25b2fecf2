"""What every wrapper family is: a function that takes one layer of wrapping off the front of a line.

A family is a module with `PEELERS`, pairs of the characters a wrapped line can begin with ("" for any) and the
function. A strict grammar decides by itself. A family whose wrapping could be anybody's text (`name | `, `0: `) also
asks its `Stretch`: it peels where what follows is plausible as a server's line, or where the same label was learnt
from such a line before.
"""

from __future__ import annotations

from collections.abc import Callable


class Unwrapped:
    """A line without its collector's wrapping.

    number, offset: physical line number from 1 and byte offset of its first physical part. process: what the
    innermost wrapper that names anything says wrote it, or None. outer_time: the innermost wrapper's time, as
    printed there, or None; never the server's own. text: what is left; the server's own prefix is still on it. copies:
    from `[repeated Nx across cluster]`. copied: a repetition of a line that somebody else printed (pytest's `E   `
    lines, annotations, a quoted reply to lines that stand unquoted before it). captured: inside the captured output
    that pytest prints behind a failure. whole: False where the end is missing.
    """

    __slots__ = ("captured", "copied", "copies", "number", "offset", "outer_time", "process", "text", "whole")

    def __init__(
        self,
        number: int,
        offset: int,
        process: str | None,
        outer_time: str | None,
        text: str,
        copies: int,
        copied: bool,
        captured: bool,
        whole: bool,
    ) -> None:
        self.number = number
        self.offset = offset
        self.process = process
        self.outer_time = outer_time
        self.text = text
        self.copies = copies
        self.copied = copied
        self.captured = captured
        self.whole = whole

    def key(self) -> tuple[int, int, str | None, str | None, str, int, bool, bool, bool]:
        """All fields, to compare two of them."""
        return (
            self.number,
            self.offset,
            self.process,
            self.outer_time,
            self.text,
            self.copies,
            self.copied,
            self.captured,
            self.whole,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unwrapped) and self.key() == other.key()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Unwrapped{self.key()!r}"


class Peeled:
    """One layer off. name: the wrapper, for a person. text: what it held, with inner line ends where the collector
    keeps several lines in one record. process, time: what this layer says, or None. copied: see `Unwrapped`.
    label: what to remember of an ambiguous wrapper. part: for collectors that cut long lines, the stream the part
    belongs to. more: this part's end is still to come. cut: the layer itself is torn, so the text's end is missing.
    """

    __slots__ = ("copied", "cut", "label", "more", "name", "part", "process", "text", "time")

    def __init__(
        self,
        name: str,
        text: str,
        process: str | None = None,
        time: str | None = None,
        *,
        copied: bool = False,
        label: tuple[str, str] | None = None,
        part: str | None = None,
        more: bool = False,
        cut: bool = False,
    ) -> None:
        self.name = name
        self.text = text
        self.process = process
        self.time = time
        self.copied = copied
        self.label = label
        self.part = part
        self.more = more
        self.cut = cut


class Stretch:
    """What has been learnt of a file's ambiguous wrappers, and whether a text is plausible behind one."""

    MAX_LABELS = 4096

    def __init__(self, plausible: Callable[[str], bool]) -> None:
        self._labels: set[tuple[str, str]] = set()
        self._plausible = plausible

    def accepts(self, label: tuple[str, str], text: str) -> bool:
        """Whether `label` may be taken for a wrapper in front of `text`."""
        return label in self._labels or self._plausible(text)

    def plausible(self, text: str) -> bool:
        return self._plausible(text)

    def learn(self, label: tuple[str, str]) -> None:
        if len(self._labels) < self.MAX_LABELS:
            self._labels.add(label)


Peeler = Callable[[str, Stretch], "Peeled | None"]
Peelers = tuple[tuple[str, Peeler], ...]

DIGITS = "0123456789"
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
