"""Busy lines as they stand in the file: what surrounds the message is kept, so that it can be printed again.

A busy line is wrapping, bracket, message, tail: `sglang-1  | ` `[2026-06-11 08:15:03 TP1] ` `[Mem Check (BUSY)] ...`
and whatever a collector put behind it (a carriage return, the rest of a JSON object).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy, Line, Message

TAG = b"[Mem Check (BUSY"
_BRACKET = re.compile(rb"\[[^\[\]]{0,100}[0-9]{2}:[0-9]{2}:[0-9]{2}[^\[\]]{0,100}\] \Z")
_KEPT = 20_000
_LONGEST = 1 << 16


class Around(NamedTuple):
    """The bytes around a message: a collector's wrapping, the server's time and rank bracket, what follows.

    end: the line end, which the last line of a file may lack.
    """

    wrapping: bytes = b""
    bracket: bytes = b""
    tail: bytes = b""
    end: bytes = b"\n"

    def line(self, message: str, *, bracket: bool = True) -> bytes:
        """`message` as a whole line, line end included."""
        return self.wrapping + (self.bracket if bracket else b"") + message.encode() + self.tail + self.end


class RawLines(LineReader):
    """A line reader that remembers what surrounded the latest busy messages, by line number."""

    def __init__(self) -> None:
        super().__init__()
        self._raw: dict[int, tuple[bytes, bytes]] = {}
        self._around: OrderedDict[int, Around] = OrderedDict()

    def line(
        self, raw: bytes, size: int, whole: bool, digit_follows: bool = False
    ) -> Iterator[tuple[Line, Message | None]]:
        """One physical line; see `LineReader.line`."""
        if TAG in raw and len(raw) <= _LONGEST:
            if len(self._raw) >= _KEPT:
                self._raw.clear()
            self._raw[self.lines + 1] = raw, b"\n" if size > len(raw) else b""
        for line, message in super().line(raw, size, whole, digit_follows):
            if isinstance(message, Busy):
                self._keep(line)
            yield line, message

    def _keep(self, line: Line) -> None:
        raw, end = self._raw.pop(line.number, (None, b""))
        if raw is None:
            return
        at = raw.find(TAG)
        head, body = raw[:at], line.text.rstrip().encode()
        # The text of an empty line ends in a blank, which belongs to the message and not to what follows it.
        body += b" " if body.endswith(b"]") and raw.startswith(body + b" ", at) else b""
        tail = raw[at + len(body) :] if raw.startswith(body, at) else b""
        bracket = _BRACKET.search(head)
        wrapping, bracketed = (b"", head) if bracket is None else (head[: bracket.start()], bracket[0])
        self._around[line.number] = Around(wrapping, bracketed, tail, end)
        if len(self._around) > _KEPT:
            self._around.popitem(last=False)

    def around(self, number: int) -> Around:
        """What surrounded the busy message of line `number`; nothing where that is no longer known."""
        return self._around.get(number, Around())
