"""Long lines that a collector cut into parts (CRI's P flag, docker's 16 KiB records), put together again per stream."""

from __future__ import annotations

from memcheck_cli.log.wrappers.layers import Layers

Piece = tuple[int, int, str]
"""Number and offset of a physical line, and the text it held."""

Whole = tuple[int, int, str, bool]
"""Number and offset of the first part, the text, and whether its end was seen."""

Key = tuple[str, str | None, str]
"""Wrapper, process named around it, stream."""

MAX_SIZE = 64 * 1024 * 1024
"""Characters kept of one line in parts. What comes after them is dropped and the line is not whole."""

MAX_STREAMS = 64
"""Streams whose lines are put together at the same time. Of more, the line that waited longest is given up."""

FULL_RECORD = 16000
"""A docker record this long is certainly a part: the driver cuts at 16384 bytes."""

FRONT = 600
"""Characters that are enough to tell how a line begins."""

MAX_UNDECIDED = 64
"""So many records without a line end, and none with one: this writer does not print line ends."""


class _Pending:
    __slots__ = ("dropped", "last", "pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.size = 0
        self.last = 0
        self.dropped = False

    def add(self, piece: Piece) -> None:
        self.last = len(piece[2])
        if self.size + self.last > MAX_SIZE:
            self.dropped = True
            return
        self.size += self.last
        self.pieces.append(piece)

    def front(self) -> str:
        """The first characters, as many as wrappers and a prefix may take."""
        front = ""
        for piece in self.pieces:
            front += piece[2][:FRONT]
            if len(front) >= FRONT:
                break
        return front

    def joined(self, whole: bool) -> Whole:
        number, offset, _ = self.pieces[0]
        return number, offset, "".join(piece[2] for piece in self.pieces), whole and not self.dropped


class Parts:
    """Holds the parts of unfinished lines, one per wrapper, process and stream."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._pending: dict[Key, _Pending] = {}
        self.line_ends_seen = False
        self._no_line_ends = False

    def __bool__(self) -> bool:
        return bool(self._pending)

    def __contains__(self, key: Key) -> bool:
        return key in self._pending

    def flagged(self, key: Key, piece: Piece, more: bool) -> list[Whole]:
        """A part of a collector that flags parts. Gives the lines that are now complete, or cut off by this one."""
        done: list[Whole] = []
        pending = self._pending.get(key)
        if pending is None and not more:
            return [(*piece, True)]
        if pending is not None and self._layers.begins(piece[2]) and self._layers.begins(pending.front()):
            # The writer died within its line and the next one begins a line: the halves are not one.
            done.append(pending.joined(False))
            del self._pending[key]
            pending = None
            if not more:
                return [*done, (*piece, True)]
        if pending is None:
            pending = self._open(key, done)
        pending.add(piece)
        if not more:
            done.append(pending.joined(True))
            del self._pending[key]
        return done

    def ended(self, key: Key, piece: Piece, more: bool) -> list[Whole]:
        """A record whose line end, if it has one, says that its line is complete. The piece comes without it.

        Some shippers write docker's form and leave all line ends out: a record that begins with the server's bracket
        behind one without line end tells them, as long as no record of the file had one.
        """
        if not more:
            self.line_ends_seen = True
            self._no_line_ends = False
        done: list[Whole] = []
        pending = self._pending.get(key)
        if pending is not None and pending.last < FULL_RECORD and self._begins_anew(piece[2], pending.front()):
            del self._pending[key]
            if self.line_ends_seen:
                done.append(pending.joined(False))
            else:
                self._no_line_ends = True
                done.extend((*held, True) for held in pending.pieces)
            pending = None
        if more and self._no_line_ends and len(piece[2]) < FULL_RECORD and pending is None:
            return [*done, (*piece, True)]
        if not more and pending is None:
            return [*done, (*piece, True)]
        if pending is None:
            pending = self._open(key, done)
        pending.add(piece)
        if not more:
            done.append(pending.joined(True))
            del self._pending[key]
        elif not self.line_ends_seen and len(pending.pieces) >= MAX_UNDECIDED and pending.size < FULL_RECORD:
            self._no_line_ends = True
            done.extend((*held, True) for held in pending.pieces)
            del self._pending[key]
        return done

    def _open(self, key: Key, done: list[Whole]) -> _Pending:
        if len(self._pending) >= MAX_STREAMS:
            done.append(self._pending.pop(next(iter(self._pending))).joined(False))
        pending = self._pending[key] = _Pending()
        return pending

    def _begins_anew(self, text: str, front: str) -> bool:
        """Whether `text` is another line than the one whose front is held."""
        if not self._layers.begins(text):
            return False
        return self._layers.begins(front) if self.line_ends_seen else self._layers.holds_something(front)

    def rest(self) -> list[tuple[Key, Whole]]:
        """What is still open at the end of the file, in the order of the lines: cut off, all of it."""
        left = sorted(
            ((key, pending.joined(False)) for key, pending in self._pending.items()), key=lambda item: item[1][0]
        )
        self._pending.clear()
        return left
