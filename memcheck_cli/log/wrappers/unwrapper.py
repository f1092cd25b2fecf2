"""From the physical lines of one file to lines without wrapping.

Every line is unwrapped by what stands on it, so writers with different wrappers may interleave and a file may change
its wrapper midway. What has to be remembered is little: parts of a line that a collector cut (`parts`), an open line
of pasted text (`pasted`), labels of ambiguous wrappers, and whether pytest's captured output is being read.
`sticky_markers` and `quiet` tell a reader that skips lines which ones it must not skip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memcheck_cli.log.wrappers.interface import Unwrapped
from memcheck_cli.log.wrappers.plain import plain

if TYPE_CHECKING:
    from memcheck_cli.log.wrappers.peeling import Peeling

_NEVER = 1 << 30
_DOCKER = b'","stream":"'
_MARKERS = (b"[Mem", b"etected!", b"] total=", b"server_args=", b" std", _DOCKER)
_CAPTURED_MARKERS = (*_MARKERS, b"====", b"____")


class Unwrapper:
    """Unwraps the lines of one file, fed in order. Raises nothing, for any text.

    A reader may leave out lines, provided it feeds: every line with one of `sticky_markers` (or, of a block that is
    `quiet`, only those with `[Mem`, `etected!`, `] total=` or `server_args=`); before a line that `plain` does not
    pass the line before it; and every line while `needs_all_lines` holds. What it feeds is then read as if it had fed
    all, as long as it feeds all lines with a `=` in files whose wrappers are ambiguous (`name | `, `0: `): these are
    learnt from such lines. The attributes are to be asked again after each line fed.

    A line that passes `plain.plain` is what it is, whatever was fed before, except while `needs_all_lines` holds,
    within captured output, and where the next line begins with a digit: it need not be fed.

    bare: True while no wrapper was seen in this file. needs_all_lines: a line is held whose next part may follow.
    layers: names of the wrappers around the last line fed, outermost first.
    """

    def __init__(self) -> None:
        self.bare = True
        self.needs_all_lines = False
        self.layers: tuple[str, ...] = ()
        self._peeling: Peeling | None = None
        self._captured = False
        self._width = 0
        self._saw_bare = False
        self._last = (0, 0)

    @property
    def captured(self) -> bool:
        """Whether the lines stand in captured output now: there every line matters."""
        return self._captured

    @property
    def passes_bare_lines(self) -> bool:
        """Whether a line that `plain.plain` passes, and that is none of the checker, is what it is now, and need not be
        fed: see `passed`."""
        return not (self.needs_all_lines or self._captured or self._width)

    @property
    def passes_bare_records(self) -> bool:
        """The same of the checker's busy lines."""
        return self._saw_bare and self.passes_bare_lines

    def passed(self, number: int, size: int) -> None:
        """A line was passed that had this number and so many characters."""
        self._last = (number, size)

    @property
    def sticky_markers(self) -> tuple[bytes, ...]:
        """Bytes that every line which may change the state holds. A docker log has one in every line: see `quiet`."""
        return _CAPTURED_MARKERS if self._captured else _MARKERS

    def quiet(self, data: bytes | bytearray, start: int = 0, stop: int | None = None) -> bool:
        """Whether of data[start:stop], whole lines, only those with `[Mem`, `etected!`, `] total=` or `server_args=`
        need be fed."""
        if self.needs_all_lines or self._captured:
            return False
        stop = len(data) if stop is None else stop
        find, count = data.find, data.count
        at = find(b" std", start, stop)
        if at >= 0 and any(find(flag, at, stop) >= 0 for flag in (b" stderr P", b" stdout P", b"- Captured std")):
            return False
        at = find(_DOCKER, start, stop)
        if at >= 0:
            if count(_DOCKER, at, stop) != count(b"\\n" + _DOCKER, start, stop):
                return False
            self.see_line_ends()
        return True

    @property
    def line_ends_seen(self) -> bool:
        """Whether a docker record with a line end was seen."""
        return self._peeling is not None and self._peeling.parts.line_ends_seen

    def see_line_ends(self) -> None:
        """Docker records with line ends were passed over."""
        self._long_way().parts.line_ends_seen = True

    @property
    def least_quoted(self) -> int:
        """The fewest quote marks that a checker line stood behind so far; a large number where there was none."""
        return 0 if self._saw_bare else _NEVER if self._peeling is None else self._peeling.least_quoted

    def see_unquoted(self) -> None:
        """Checker lines without quote marks were passed over."""
        if self.least_quoted:
            self._long_way().least_quoted = 0

    def feed(
        self, number: int, offset: int, text: str, whole: bool = True, digit_follows: bool = False
    ) -> list[Unwrapped]:
        """One physical line, decoded, without its line feed. Gives the lines that are complete now: none to several.

        number: from 1. offset: of its first byte. whole: False for a last line without line end, or one cut by the
        reader. digit_follows: the next physical line begins with a digit, so the last number of this one may have
        been cut by a terminal. Lines come in the order of their last parts.
        """
        if not self.needs_all_lines and not digit_follows:
            kind = plain(text, self._width)
            if kind:
                if kind == 2:
                    self._saw_bare = True
                self.layers = ()
                self._last = (number, len(text))
                return [Unwrapped(number, offset, None, None, text, 1, False, self._captured, whole)]
        peeling = self._long_way()
        last, before = self._last
        peeling.before = before if last == number - 1 else 0
        self._last = (number, len(text))
        done = peeling.feed(number, offset, text, whole, digit_follows and not text[:1].isdigit())
        self._catch_up(peeling)
        return done

    def finish(self) -> list[Unwrapped]:
        """The end of the file: what was still held. Lines whose last part never came are not whole."""
        if self._peeling is None:
            return []
        done = self._peeling.finish()
        self._catch_up(self._peeling)
        return done

    def _long_way(self) -> Peeling:
        if self._peeling is None:
            # The families' patterns take milliseconds to compile, and a bare log of nothing but brackets needs none.
            from memcheck_cli.log.wrappers.peeling import Peeling

            self._peeling = Peeling()
        if self._saw_bare:
            self._peeling.least_quoted = 0
        return self._peeling

    def _catch_up(self, peeling: Peeling) -> None:
        self.bare = peeling.bare
        self.layers = peeling.layers
        self.needs_all_lines = peeling.waiting
        self._captured = peeling.captured
        self._width = peeling.joiner.width
