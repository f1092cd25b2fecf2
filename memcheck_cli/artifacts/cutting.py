"""Cuts the log of a job into attempts of test files, while it is read once from start to end.

Each attempt is handed on as a source of its own, so that servers of different attempts never share a ledger; on the
way its marks are followed (`following`). Lines keep the numbers that they have in the whole log.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memcheck_cli.artifacts.attempts import Attempt
from memcheck_cli.artifacts.following import Follower
from memcheck_cli.artifacts.jobs import JobLog
from memcheck_cli.artifacts.marks import COLUMNS, LONGEST, MARKERS
from memcheck_cli.log.markers import Markers
from memcheck_cli.sources import Source

if TYPE_CHECKING:
    from io import RawIOBase

BLOCK = 1 << 20
LONGEST_LINE = 4 << 20
"""Bytes of a line; of a longer one nothing is looked at."""


class Cutter:
    """Iterate for the attempts; each must be read to its end before the next is asked for.

    columns: it is the text of `gh run view --log`.
    """

    def __init__(self, source: Source, stream: RawIOBase, job: str | None, step: str | None) -> None:
        self.source = source
        self.columns = False
        self._stream = stream
        self._follower = Follower(job, step)
        self._markers = Markers(MARKERS)
        self._prefix: re.Pattern[bytes] | None = None

    @property
    def jobs(self) -> dict[str | None, JobLog]:
        """What the source tells of each job."""
        return self._follower.jobs

    def finish(self, whole: bool) -> None:
        """No more lines. whole: the log was read to its end."""
        self._follower.finish(whole)

    def __iter__(self) -> Iterator[tuple[Attempt, Source]]:
        events = self._events()
        attempt: Attempt | None = self._follower.current
        while attempt is not None:
            feed = _Feed(events)
            yield attempt, Source(self.source.name, feed.opened)
            feed.drain()
            attempt = feed.following

    def _events(self) -> Iterator[bytes | Attempt]:
        """The text, and a new attempt before its first line."""
        rest = b""
        passing = False  # the rest of a line that is too long goes by
        first = True
        while block := self._stream.read(BLOCK):
            if passing:
                end = block.find(b"\n") + 1
                yield block[: end or len(block)]
                if not end:
                    continue
                self._follower.line += 1
                passing = False
                block = block[end:]
            data = rest + block
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if end:
                if first:
                    first = False
                    self.columns = COLUMNS.match(data) is not None
                yield from self._lines(data[:end])
            if len(rest) > LONGEST_LINE:
                yield rest
                rest = b""
                passing = True
        if rest:
            yield from self._lines(rest)

    def _lines(self, data: bytes) -> Iterator[bytes | Attempt]:
        """Whole lines."""
        places: list[tuple[int, int, tuple[str, str] | None]] = [
            (start, end, None) for start, end in self._markers.find(data, 0, len(data))
        ]
        if self.columns:
            places += self._changes(data)
            places.sort(key=lambda place: (place[0], place[2] is None))
        follower = self._follower
        done = counted = 0
        for start, end, column in places:
            follower.line += data.count(b"\n", counted, start)
            counted = start
            if column is not None:
                opened = follower.enter(*column)
            else:
                opened = follower.take(data[start : min(end, start + LONGEST)])
            if opened is not None:
                if start > done:
                    yield data[done:start]
                    done = start
                follower.go_on_with(opened)
                yield opened
        follower.line += data.count(b"\n", counted)
        yield data[done:]

    def _changes(self, data: bytes) -> list[tuple[int, int, tuple[str, str] | None]]:
        """Where another job or step begins in the columns of `gh run view --log`."""
        found: list[tuple[int, int, tuple[str, str] | None]] = []
        at = 0
        while at < len(data):
            if self._prefix is not None:
                other = self._prefix.search(data, at)
                if other is None:
                    break
                at = other.start()
            columns = COLUMNS.match(data, at)
            if columns is not None:
                head = data[at : columns.start(2)] + columns[2] + b"\t"
                self._prefix = re.compile(rb"^(?!" + re.escape(head) + rb")(?=[^\n])", re.MULTILINE)
                job, step = (columns[n].decode("utf-8", "replace").strip() for n in (1, 2))
                found.append((at, at, (job.removeprefix("\ufeff"), step)))
            at = data.find(b"\n", at) + 1 or len(data)
        return found


class _Feed(io.RawIOBase):
    """The text of one attempt."""

    def __init__(self, events: Iterator[bytes | Attempt]) -> None:
        super().__init__()
        self._events = events
        self._left = memoryview(b"")
        self._over = False
        self.following: Attempt | None = None

    def opened(self, _: Source) -> io.RawIOBase:
        """Itself: what opens the source."""
        return self

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        while not self._left:
            if self._over:
                return 0
            event = next(self._events, None)
            if event is None or isinstance(event, Attempt):
                self._over, self.following = True, event
                return 0
            self._left = memoryview(event)
        count = min(len(view), len(self._left))
        view[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def drain(self) -> None:
        """Pass over what was not read."""
        self._left = memoryview(b"")
        while not self._over:
            event = next(self._events, None)
            if event is None or isinstance(event, Attempt):
                self._over, self.following = True, event
