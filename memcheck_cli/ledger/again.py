"""Reading again what was passed over: what stands before a break, and records in which peers differ.

Both readers do it in the same way and with nothing known of the text before, so what they find is the same.
"""

from __future__ import annotations

import os
import re
from collections import deque
from functools import cache
from typing import TYPE_CHECKING

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.rows import row_of
from memcheck_cli.ledger.window import WINDOW, BareRecord, BatchEvent, Window
from memcheck_cli.log.batch_lines import SURE_BATCH
from memcheck_cli.log.context import MARKERS
from memcheck_cli.log.lines import BUSY_LINE, TAGS
from memcheck_cli.log.prefixes import rank_of
from memcheck_cli.log.reader import LineReader
from memcheck_cli.log.records import Busy
from memcheck_cli.patterns import pattern

if TYPE_CHECKING:
    from memcheck_cli.ledger.book import Ledger, Opening
    from memcheck_cli.ledger.peers import Group
    from memcheck_cli.sources import Source

KEPT = 8 << 20
"""Bytes of a stream that cannot be read twice that are kept behind the place reached."""

ROOM = 32 << 10
"""Bytes by which a block that is kept may grow when its buffer is used again."""

LONGEST_RECORD = 1 << 16

MOST_RANKS = 4096
"""Spellings of ranks that are remembered."""


class Passed:
    """The text of a source that was read already. A plain file is read again, of anything else the last bytes are kept.

    kept: whether what was read must be handed to `keep`.
    """

    def __init__(self, source: Source) -> None:
        self._path = source.path if not source.members else None
        self.kept = self._path is None
        self._blocks: deque[tuple[int, bytearray, int]] = deque()  # offset, buffer, bytes of it that count
        self._spare: list[bytearray] = []
        self._file: int | None = None

    def keep(self, offset: int, block: bytes | memoryview) -> None:
        """Copy a block that was read; offset: where it begins."""
        blocks, size = self._blocks, len(block)
        while blocks and blocks[0][0] + blocks[0][2] < offset - KEPT:
            self._spare = [blocks.popleft()[1]]
        if not self._spare or len(self._spare[-1]) < size:
            # A little more, since blocks of whole lines differ in size and fresh memory is dear.
            self._spare = [bytearray(size + ROOM)]
        buffer = self._spare.pop()
        memoryview(buffer)[:size] = block
        blocks.append((offset, buffer, size))

    def fetch(self, start: int, stop: int) -> tuple[bytes, int]:
        """Bytes of the source from offset `start` to `stop`, as far as they can be had, and where they begin."""
        if self._path is not None:
            try:
                return os.pread(self._opened(), max(0, stop - start), start), start
            except OSError:
                return b"", stop
        parts = [
            memoryview(buffer)[max(0, start - at) : min(size, stop - at)]
            for at, buffer, size in self._blocks
            if at < stop and at + size > start
        ]
        return b"".join(parts), max(start, self._blocks[0][0]) if parts else stop

    def read_into(self, view: memoryview, start: int) -> int:
        """Fill a buffer with bytes of a plain file from an offset on; answers how many. Raises UnreadableError."""
        try:
            return os.preadv(self._opened(), [view], start) if len(view) else 0
        except OSError as error:
            from memcheck_cli.sources.streams import os_reason

            raise UnreadableError(os_reason(error)) from error

    def _opened(self) -> int:
        if self._file is None:
            if self._path is None:
                raise OSError("not a plain file")
            self._file = os.open(self._path, os.O_RDONLY)
        return self._file

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


_BATCH_FIRST = frozenset((b"P", b"D"))

_ANSWERED = pattern(
    rb"\[[0-9: ,.-]{19,30}\] INFO: {1,9}[0-9.]{7,15}:[0-9]{1,5} - \"(?:GET|POST) "
    rb"/(?:v1/(?:chat/)?completions|v1/models|generate|health|health_generate|metrics) HTTP/1\.1\" 200 OK\n"
)
"""A request that was answered: of all lines that say nothing the commonest, and dear to search for all that may have a
meaning."""


@cache
def _meaning() -> re.Pattern[bytes]:
    """What every line holds that has a meaning."""
    return re.compile(b"|".join(map(re.escape, (*MARKERS, *TAGS))))


class Again:
    """Takes the ledger's openings and keeps what stands before them: `window.kept`. kept: see `Passed`."""

    def __init__(self, ledger: Ledger, passed: Passed) -> None:
        self.window = Window()
        self._ledger = ledger
        self._passed = passed
        self.kept = passed.kept
        self._ranks: dict[bytes, str] = {}
        self._seen_to = 0  # the window holds what stands before this offset

    def keep(self) -> None:
        """Fill the window with what stands before the records that opened a break, and keep it."""
        openings = self._ledger.openings
        for opening in openings:
            if self.window.wants(opening):
                self._fill(opening)
                self.window.keep([opening])
        openings.clear()

    def _fill(self, opening: Opening) -> None:
        row = opening.row
        since = max(0, row.offset - WINDOW)
        if since > self._seen_to or row.offset < self._seen_to:
            self.window.clear()
        else:
            since = self._seen_to
        text, at = self._passed.fetch(since, row.offset)
        if at > 0 and at != self._seen_to:
            # The first line is only half there.
            cut = text.find(b"\n") + 1
            text, at = text[cut:], at + cut
        reader = LineReader(line=row.line - 1 - text.count(b"\n"), offset=at)
        self._read(text, reader)
        self._seen_to = row.offset

    def _read(self, text: bytes, reader: LineReader) -> None:
        """Put whole lines into the window."""
        window, unwrapper = self.window, reader.unwrapper
        at = 0
        while True:
            if unwrapper.passes_bare_lines:
                at = self._bare(text, at, reader)
            end = text.find(b"\n", at) + 1
            if not end:
                return
            digit_follows = text[end : end + 1].isdigit()
            for line, message in reader.line(text[at : end - 1], end - at, True, digit_follows):
                window.add(line, message)
            at = end

    def _bare(self, text: bytes, at: int, reader: LineReader) -> int:
        """Put the bare lines in that stand from `at` on; answers how far they go. Most lines are records of other
        streams, batches that nobody will ask for, or nothing at all."""
        unwrapper = reader.unwrapper
        busy = BUSY_LINE.match
        takes_busy = not unwrapper.least_quoted
        records: list[BareRecord] = []
        events: list[BatchEvent] = []
        begin, last, base = at, at, reader.offset - at
        number = reader.lines
        while text[at : at + 1] == b"[":
            place = text.find(b"] ", at) + 2
            first = text[place : place + 1]
            record = busy(text, at) if first == b"[" else None
            event = SURE_BATCH.match(text, at) if first in _BATCH_FIRST else None
            if record is not None:
                end = record.end() + 1
                if text[end - 1] != 0x0A or not takes_busy:
                    break
            elif event is not None:
                end = event.end()
            else:
                nothing = _ANSWERED.match(text, at)
                end = nothing.end() if nothing is not None else text.find(b"\n", at) + 1
                if not end or (nothing is None and _meaning().search(text, at, end)):
                    break
            if text[end : end + 1].isdigit():
                break
            number += 1
            if record is not None:
                records.append((base + at, number, record))
            elif event is not None:
                time, tokens, message, prefill = event.groups()
                kind = "prefill" if prefill else "decode"
                events.append(BatchEvent(number, base + at, self._rank(tokens), kind, time, message))
            last, at = at, end
        if at > begin:
            reader.lines = number
            reader.offset = base + at
            unwrapper.passed(number, at - last - 1)
            self.window.add_bare(records, events)
        return at

    def _rank(self, tokens: bytes) -> str:
        """The rank that tokens, each with a blank before it, spell."""
        rank = self._ranks.get(tokens)
        if rank is None:
            if len(self._ranks) >= MOST_RANKS:
                self._ranks.clear()
            rank = self._ranks[tokens] = rank_of(tokens)
        return rank

    def tell_peers(self) -> None:
        """Read the lines again in which peers were found to differ."""
        fresh = self._ledger.peers.fresh
        while fresh:
            group = fresh.pop(0)
            for found in list(group.doubts()):
                for sight in found.sights:
                    if sight.row is None:
                        self._tell(group, sight.offset, sight.line)

    def _tell(self, group: Group, offset: int, number: int) -> None:
        text, at = self._passed.fetch(offset, offset + LONGEST_RECORD)
        if at != offset:
            return
        reader = LineReader(line=number - 1, offset=offset)
        for line, message in reader.feed(text):
            # A record in several wrapped parts has the place of its first part.
            if isinstance(message, Busy) and message.pools and line.number == number:
                pool = message.pools[0]
                row = row_of(line, line.time, pool.terms, pool.total, pool.marks, message.form, pool.extra)
                group.tell(offset, row)
                return
