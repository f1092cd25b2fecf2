"""From the physical lines of one file to lines without wrapping.

Every line is unwrapped by what stands on it, so writers with different wrappers may interleave and a file may change
its wrapper midway. What has to be remembered is little: parts of a line that a collector cut (`parts`), an open line
of pasted text (`pasted`), labels of ambiguous wrappers, and whether pytest's captured output is being read.
`sticky_markers` and `quiet` tell a reader that skips lines which ones it must not skip.
"""

from __future__ import annotations

from memcheck_cli.log.wrappers.interface import Unwrapped
from memcheck_cli.log.wrappers.layers import Layers
from memcheck_cli.log.wrappers.parts import Parts, Whole
from memcheck_cli.log.wrappers.pasted import Joiner
from memcheck_cli.log.wrappers.pytest_output import captured_after
from memcheck_cli.log.wrappers.ray import split_tail
from memcheck_cli.log.wrappers.terminal import clean, is_fence

MAX_LAYERS = 12
"""Wrappers around one line. What is wrapped deeper stays wrapped."""

_CAREFUL_ENDS = frozenset("\r \t\xa0])M`")
"""Last characters behind which padding, a line end or a collector's tail may stand."""
_DOCKER = b'","stream":"'
_MARKERS = (b"[Mem Check (", b"etected!", b"server_args=", b" std", _DOCKER)


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


class Unwrapper:
    """Unwraps the lines of one file, fed in order. Raises nothing, for any text.

    A reader may leave out lines, provided it feeds: every line with a checker tag or `server_args=`; every line with
    one of `sticky_markers` (or, for a whole block of lines, everything unless `quiet` allows otherwise); and every
    line while `needs_all_lines` holds. What it feeds is then read as if it had fed all. Both attributes are to be
    asked again after each line fed.

    A line that begins with the server's own bracket and a blank, followed neither by `(` nor by a bracket other than
    `[Mem Check`, and that holds no escape character, no padding and no `[repeated` is what it is whatever stood
    before it, except while `needs_all_lines` holds or within captured output.
    """

    def __init__(self) -> None:
        self.bare = True
        self.needs_all_lines = False
        self._layers: tuple[str, ...] = ()
        self._peeling: Layers | None = None
        self._parts = Parts()
        self._joiner = Joiner()
        self._captured = False
        self._least_quoted = 1 << 30
        self._around: dict[tuple[str, str | None, str], _Around] = {}

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the wrappers around the last line fed, outermost first."""
        return self._layers

    @property
    def sticky_markers(self) -> tuple[bytes, ...]:
        """Bytes that every line which may change the state holds. A docker log has one in every line: see `quiet`."""
        return (*_MARKERS, b"====", b"____") if self._captured else _MARKERS

    def quiet(self, block: bytes) -> bool:
        """Whether lines of a block of whole lines may be left out, save those with a checker tag or `server_args=`."""
        if self.needs_all_lines or self._captured:
            return False
        if b" stderr P" in block or b" stdout P" in block or b"- Captured std" in block:
            return False
        records = block.count(_DOCKER)
        if records:
            if records != block.count(b"\\n" + _DOCKER):
                return False
            self._parts.line_ends_seen = True
        return True

    def feed(self, number: int, offset: int, text: str, whole: bool = True) -> list[Unwrapped]:
        """One physical line, decoded, without its line feed. Gives the lines that are complete now: none to several.

        number: from 1. offset: of its first byte. whole: False for a last line without line end, or one cut by the
        reader. Lines come in the order of their last parts.
        """
        if text[:1] == "[" and text[17:18] == ":" and text[5:6] == "-" and not self.needs_all_lines:
            at = text.find("] ", 20, 140)
            if at > 0:
                follows = text[at + 2 : at + 13]
                end = text[-1]
                if follows == "[Mem Check ":
                    plain = end.isdigit() and "uncached" in text and len(text) != self._joiner.width
                    if plain:
                        self._least_quoted = 0
                else:
                    plain = (
                        follows[:1] not in "[("
                        and end not in _CAREFUL_ENDS
                        and "etected!" not in text
                        and "server_args=" not in text
                    )
                if plain and "\x1b" not in text:
                    self._layers = ()
                    return [Unwrapped(number, offset, None, None, text, 1, False, self._captured, whole)]
        return self._feed(number, offset, text, whole)

    def finish(self) -> list[Unwrapped]:
        """The end of the file: what was still held. Lines whose last part never came are not whole."""
        done: list[Unwrapped] = []
        for key, line in self._parts.rest():
            self._unwrap(line, self._around.get(key, _Around()).copy(), done)
        lines: list[Unwrapped] = []
        for unwrapped in done:
            lines.extend(self._joiner.offer(unwrapped, 0, False))
        lines.extend(self._joiner.release())
        self.needs_all_lines = False
        return lines

    def _feed(self, number: int, offset: int, text: str, whole: bool) -> list[Unwrapped]:
        if self._peeling is None:
            self._peeling = Layers()
        peeled: list[Unwrapped] = []
        around = _Around()
        self._layers = ()
        length = len(text.rstrip("\r"))
        self._unwrap((number, offset, text, whole), around, peeled)
        loose = around.process is None
        done: list[Unwrapped] = []
        if not peeled and self._joiner and not self._parts:
            done = self._joiner.release()
        for line in peeled:
            done.extend(self._joiner.offer(line, length, loose))
        self.needs_all_lines = bool(self._joiner) or bool(self._parts)
        return done

    def _unwrap(self, line: Whole, around: _Around, done: list[Unwrapped]) -> None:
        """Takes all layers off one text and appends what it held to `done`."""
        number, offset, text, whole = line
        peeling = self._peeling
        assert peeling is not None
        learnt = []
        while True:
            text, cleaned = clean(text)
            if cleaned:
                around.names.append(cleaned)
            if len(around.names) >= MAX_LAYERS:
                break
            peeled = peeling.peel(text)
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
                self._join_parts(
                    number, offset, text, whole and not peeled.cut, peeled.name, peeled.part, peeled.more, around, done
                )
                return
            if "\n" in text:
                for inner in text.split("\n"):
                    self._unwrap((number, offset, inner, whole), around.copy(), done)
                return
        self._layers = tuple(around.names)
        if around.names:
            self.bare = False
        if text[:1] in ("`", "~", " ", "\t") and is_fence(text):
            return
        tagged = "[Mem Check (" in text or "etected!" in text
        if learnt and (tagged or "=" in text):
            for label in learnt:
                peeling.stretch.learn(label)
        copied = around.copied
        if tagged:
            if text.endswith("```"):
                text = text.rstrip("`")
            copied = copied or around.quoted > self._least_quoted
            self._least_quoted = min(self._least_quoted, around.quoted)
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
                self._captured,
                whole and not around.cut,
            )
        )
        if text[:1] in ("-", "=", "_"):
            self._captured = captured_after(text, self._captured)

    def _join_parts(
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
            lines = self._parts.ended(key, (number, offset, text.removesuffix("\n")), more)
        else:
            lines = self._parts.flagged(key, (number, offset, text), more)
        self._around[key] = around.copy()
        self._layers = tuple(around.names)
        self.bare = False
        for line in lines:
            self._unwrap((line[0], line[1], line[2], line[3] and (whole or more)), around.copy(), done)
