"""The long way of a line: all layers off, parts put together, pasted ends joined. `unwrapper` takes the short one."""

from __future__ import annotations

from memcheck_cli.log.wrappers.interface import Unwrapped
from memcheck_cli.log.wrappers.layers import Layers
from memcheck_cli.log.wrappers.parts import Key, Parts, Whole
from memcheck_cli.log.wrappers.pasted import Joiner
from memcheck_cli.log.wrappers.plain import plain
from memcheck_cli.log.wrappers.pytest_output import captured_after
from memcheck_cli.log.wrappers.ray import split_tail
from memcheck_cli.log.wrappers.terminal import CARE_FIRST, clean, is_fence

MAX_LAYERS = 12
"""Wrappers around one line. What is wrapped deeper stays wrapped."""

_HARMLESS = frozenset(("indentation", "carriage-return", "progress-bar"))
"""Layers that stand before single lines of logs that nobody wrapped."""


class _Around:
    """What the layers already off say of a text."""

    __slots__ = ("copied", "cut", "names", "process", "quoted", "time")

    def __init__(self) -> None:
        self.process: str | None = None
        self.time: str | None = None
        self.copied = False
        self.cut = False
        self.quoted = 0
        self.names: list[str] = []

    def copy(self) -> _Around:
        other = _Around()
        other.process, other.time, other.copied, other.cut = self.process, self.time, self.copied, self.cut
        other.quoted, other.names = self.quoted, list(self.names)
        return other


class Peeling:
    """One file's state. bare: no wrapper was seen. captured: within pytest's captured output. least_quoted: the
    fewest quote marks that a checker line of this file stood behind. layers: of the last line. before: characters of
    the physical line before the one that is fed, 0 where it is not known."""

    def __init__(self) -> None:
        self.bare = True
        self.captured = False
        self.least_quoted = 1 << 30
        self.before = 0
        self.layers: tuple[str, ...] = ()
        self.families = Layers()
        self.parts = Parts(self.families)
        self.joiner = Joiner()
        self._around: dict[Key, _Around] = {}

    @property
    def waiting(self) -> bool:
        """Whether the next line matters to one that is held."""
        return bool(self.joiner) or bool(self.parts)

    def feed(self, number: int, offset: int, text: str, whole: bool, digit_follows: bool) -> list[Unwrapped]:
        """One physical line: see `Unwrapper.feed`."""
        peeled: list[Unwrapped] = []
        around = _Around()
        self.layers = ()
        text = text.rstrip("\r").removesuffix("^M")
        self._unwrap((number, offset, text, whole), around, peeled)
        if not peeled and self.joiner and not self.parts:
            return self.joiner.release()
        done: list[Unwrapped] = []
        for line in peeled:
            done.extend(self.joiner.offer(line, len(text), self.before, around.process is None, digit_follows))
        return done

    def finish(self) -> list[Unwrapped]:
        """What was still held at the end of the file."""
        peeled: list[Unwrapped] = []
        for key, line in self.parts.rest():
            self._unwrap(line, self._around.get(key, _Around()).copy(), peeled)
        done: list[Unwrapped] = []
        for unwrapped in peeled:
            done.extend(self.joiner.offer(unwrapped, 0, 0, False))
        return [*done, *self.joiner.release()]

    def _unwrap(self, line: Whole, around: _Around, done: list[Unwrapped]) -> None:
        """Takes all layers off one text and appends what it held to `done`."""
        number, offset, text, whole = line
        learnt = []
        while True:
            peeled = None
            kind = plain(text, self.joiner.width)
            if kind:
                break
            if len(around.names) < MAX_LAYERS and text[:1] not in CARE_FIRST:
                # Before anything is cleaned: a part of a line may begin or end within an escape sequence.
                peeled = self.families.peel(text)
            if peeled is None:
                cleaned, name = clean(text)
                if name:
                    around.names.append(name)
                if cleaned is not text and len(around.names) < MAX_LAYERS:
                    peeled = self.families.peel(cleaned)
                text = cleaned
                if peeled is None:
                    break
            around.names.append(peeled.name)
            around.process = peeled.process or around.process
            around.time = peeled.time or around.time
            around.copied = around.copied or peeled.copied
            around.cut = around.cut or peeled.cut
            text = peeled.text
            if peeled.label:
                learnt.append(peeled.label)
                if peeled.name == "quote":
                    around.quoted += int(peeled.label[1])
            if peeled.part is not None:
                self._join(
                    number, offset, text, whole and not peeled.cut, peeled.name, peeled.part, peeled.more, around, done
                )
                return
            if "\n" in text:
                for inner in text.split("\n"):
                    self._unwrap((number, offset, inner, whole), around.copy(), done)
                return
        self.layers = tuple(around.names)
        if self.bare and not _HARMLESS.issuperset(around.names):
            self.bare = False
        if text[:1] in ("`", "~", " ", "\t") and is_fence(text):
            return
        tagged = kind == 2 or (kind == 0 and ("[Mem Check (" in text or "etected!" in text))
        if learnt and (tagged or "=" in text):
            for label in learnt:
                self.families.stretch.learn(label)
        copied = around.copied
        if tagged:
            if text.endswith("```"):
                text = text.rstrip("`")
            copied = copied or around.quoted > self.least_quoted
            if text[:1] != ">":  # else its quote marks are not known to be some yet
                self.least_quoted = min(self.least_quoted, around.quoted)
        copies = 1
        if "[repeated " in text:
            text, copies = split_tail(text)
        done.append(
            Unwrapped(
                number,
                offset,
                around.process,
                around.time,
                text,
                copies,
                copied,
                self.captured,
                whole and not around.cut,
            )
        )
        if text[:1] in ("-", "=", "_"):
            self.captured = captured_after(text, self.captured)

    def _join(
        self,
        number: int,
        offset: int,
        text: str,
        whole: bool,
        name: str,
        stream: str,
        more: bool,
        around: _Around,
        done: list[Unwrapped],
    ) -> None:
        """A text of a collector that cuts lines: goes on with the lines that it completes."""
        key = (name, around.process, stream)
        if name == "docker-json":
            lines = self.parts.ended(key, (number, offset, text.removesuffix("\n")), more)
        else:
            lines = self.parts.flagged(key, (number, offset, text), more)
        if key in self.parts:
            self._around[key] = around.copy()
        else:
            self._around.pop(key, None)
        self.layers = tuple(around.names)
        self.bare = False
        for first, start, joined, complete in lines:
            for inner in joined.split("\n"):
                self._unwrap((first, start, inner, complete and (whole or more)), around.copy(), done)
