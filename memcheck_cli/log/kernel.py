"""Busy lines of dense stretches as columns: whole blocks at once by array arithmetic, no Python object per line.

The kernel knows no grammar. It is taught by lines that the exact reader has read (`Kernel.learn`, see `templates`), and
takes a line for recognised only if every byte of it is one that it was taught, a digit of a clock, or a digit of a
number. All other lines that hold the tag are handed back with their place, for the exact reader.

The starts of all lines of a block (or, where busy lines are few, the places of one rare byte of the tag) give one row
each. A window on the row's head is gathered, `tables` tells which head it can only be, and all of it is compared with
that head. Then number by number: 16 digits and the text before them are gathered together, digits are counted by
finding the first byte that is none, and eight at a time become a number by three multiplications.

Import this module only when a log is dense: numpy takes longer to import than a small log takes to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from memcheck_cli.log.blocks import BLOCK, ROWS, Array, Scratch, Windows, count_lines, line_end, places_of
from memcheck_cli.log.digits import Ending
from memcheck_cli.log.records import Busy, Line
from memcheck_cli.log.tables import NO_TIME, UNDATED, HeadRow, Tables, words_of
from memcheck_cli.log.templates import FIELDS, Reading, take_apart

__all__ = ["FIELDS", "MARGIN", "NO_TIME", "UNDATED", "Batch", "Kernel", "count_lines"]

MARGIN = 2048
"""Bytes that a buffer must have before and behind a range to be read in place. Their content does not matter."""

_MOST_HEADS = 1024
_MOST_ENDINGS = 64
_UNPROVEN = 256
"""So many lessons without one recognised line between them are signs of lines that are all different."""
_UNREAD = 64
"""So many unread lines end a batch early, so that the next lines like them are learnt before they are met."""


class Batch:
    """The recognised lines of one stretch, in order, and the other lines that hold the tag.

    start, stop: the stretch of the buffer, whole lines. newlines: line feeds in it. feeds: where they stand (int64),
    None where that was not looked for because no line holds the tag. n: recognised lines. Columns of
    length n: offset, end (int64, indices in the buffer of the line's first byte and behind its line feed), reading,
    stream, pool (int32, codes: indices in `Kernel.readings`, `.streams`, `.pools`), time (int64, milliseconds since
    1970-01-01 of the printed time; see NO_TIME and UNDATED). values: int64, one row for each name in FIELDS, then one
    for each further term in the order of the reading's `extra`; 0 where a line does not print it. unread: (row, start,
    end) of each line that holds the tag and was not recognised; it stands before recognised line number `row`, and
    `end` is behind its line feed.

    The arrays are valid until the next batch is asked for.
    """

    __slots__ = (
        *("start", "stop", "newlines", "feeds", "unread", "offset", "end"),
        *("reading", "stream", "pool", "time", "values"),
    )

    def __init__(
        self, start: int, stop: int, newlines: int, feeds: Array, rows: _Rows, unread: list[tuple[int, int, int]]
    ) -> None:
        self.start = start
        self.stop = stop
        self.newlines = newlines
        self.feeds: Array = feeds
        self.unread = unread
        self.offset: Array = rows.offset
        self.end: Array = rows.end
        self.reading: Array = rows.reading
        self.stream: Array = rows.stream
        self.pool: Array = rows.pool
        self.time: Array = rows.time
        self.values: Array = rows.values

    @property
    def n(self) -> int:
        """Number of recognised lines."""
        return len(self.offset)

    def gaps(self) -> list[tuple[int, int]]:
        """Start and end of every stretch between recognised lines: whole lines that were not recognised."""
        if not self.n:
            return [(self.start, self.stop)]
        rows = (self.offset[1:] != self.end[:-1]).nonzero()[0]
        found = list(zip(self.end[rows].tolist(), self.offset[rows + 1].tolist(), strict=True))
        if self.offset[0] > self.start:
            found.insert(0, (self.start, int(self.offset[0])))
        if self.end[-1] < self.stop:
            found.append((int(self.end[-1]), self.stop))
        return found


class _Rows(NamedTuple):
    offset: Array
    reading: Array
    stream: Array
    pool: Array
    time: Array
    values: Array
    end: Array


class Kernel:
    """Reads blocks. Knows nothing at first; every `learn` may make it recognise more.

    readings: what `Batch.reading` indexes. streams: (process, rank) pairs and pools: labels, by code. dense: most lines
    were busy ones in the last batch.
    """

    def __init__(self, tag: bytes = b"[Mem Check") -> None:
        self.tag = tag
        self.readings: list[Reading] = []
        self.streams: list[tuple[str | None, str]] = []
        self.pools: list[str] = []
        self._codes: dict[object, int] = {}
        self._heads: list[HeadRow] = []
        self._endings: list[Ending] = []
        self._tables: Tables | None = None
        self._stream_of = np.empty(0, np.int32)
        self._pool_of = np.empty(0, np.int32)
        self._scratch = Scratch()
        self.dense = False
        self._few = 32
        self._anchor = 1
        self._hits = 0
        padded = tag[:16].ljust(16, b"\0")
        mask = (b"\xff" * len(tag[8:16])).ljust(8, b"\0")
        words = words_of([padded, mask], 0, 16)
        self._tag_words = (words[0, 0], words[0, 1], words[1, 0])
        self._unproven = 0
        self._skip = 0

    # Learning

    def learn(self, raw: bytes, line: Line, message: Busy) -> bool:
        """Teaches one physical line, line feed included, that the exact reader has read as `line` and `message`.

        Returns whether something new was learnt. Where every line is new (a counter in its wrapping) lines are taken
        up ever more rarely. May be called between two batches of `read`.
        """
        if self._skip:
            self._skip -= 1
            return False
        learnt = take_apart(raw, line, message, self.tag)
        if learnt is None:
            return False
        head_key = ("head", learnt.head)
        ending_key = ("ending", learnt.columns, learnt.gaps, learnt.tail)
        if ("line", head_key, ending_key) in self._codes:
            return False
        self._unproven += 1
        if self._unproven > _UNPROVEN:
            self._skip = 1 << min(self._unproven - _UNPROVEN, 16)
        if len(self._heads) >= _MOST_HEADS or len(self._endings) >= _MOST_ENDINGS:
            self._forget()
        self._codes["line", head_key, ending_key] = 1
        reading = learnt.reading
        self._code(("stream", reading.process, reading.rank), self.streams, (reading.process, reading.rank))
        self._code(("pool", reading.pool), self.pools, reading.pool)
        ending = self._code(ending_key, self._endings, Ending(learnt.columns, learnt.gaps, learnt.tail))
        dated, fraction = reading.dated, reading.fraction
        row = HeadRow(learnt.head, learnt.anchor, learnt.clock, learnt.day, dated, fraction, {})
        head = self._code(head_key, self._heads, row)
        before = dict(self._heads[head].endings)
        self._heads[head].endings.clear()
        self._heads[head].endings.update({ending: len(self.readings), **before})
        self.readings.append(reading)
        self._tables = None
        return True

    def _code(self, key: object, items: list[Any], item: Any) -> int:
        code = self._codes.setdefault(key, len(items))
        if code == len(items):
            items.append(item)
        return code

    def _forget(self) -> None:
        """Drops all templates. Codes that were given out keep their meaning."""
        self._heads, self._endings = [], []
        kept = ("stream", "pool")
        self._codes = {key: code for key, code in self._codes.items() if isinstance(key, tuple) and key[0] in kept}

    def _prepare(self) -> Tables:
        self._tables = Tables(self._heads, len(self._endings))
        streams, pools = [], []
        for reading in self.readings:
            streams.append(self._codes["stream", reading.process, reading.rank])
            pools.append(self._codes["pool", reading.pool])
        self._stream_of, self._pool_of = np.array(streams, np.int32), np.array(pools, np.int32)
        return self._tables

    # Reading

    def read(self, data: bytes | bytearray, start: int, stop: int) -> Iterator[Batch]:
        """Reads data[start:stop], which begins where a line begins, as batches that cover it in order.

        A last line without line feed is never recognised; it is in `unread` if it holds the tag. Bytes behind `stop`
        and before `start` do not matter, but reading is faster where MARGIN of them are there. `data` must not change
        before the iteration is over.
        """
        shift = 0
        if start < MARGIN or stop + MARGIN > len(data):
            pad = bytes(MARGIN)
            shift = start - MARGIN
            data = bytearray().join((pad, memoryview(data)[start:stop], pad))
            start, stop = MARGIN, MARGIN + stop - start
        windows = Windows(data)
        at = start
        while at < stop:
            batch = self._dense_batch(data, windows, at, stop) if self.dense and self._heads else None
            if batch is None:
                batch = self._sparse_batch(data, windows, at, stop)
            at = batch.stop
            if batch.n:
                self._unproven = self._skip = 0
            if batch.newlines >= 64:
                self.dense = batch.n * 5 >= batch.newlines * 3
            if shift:
                batch.start += shift
                batch.stop += shift
                batch.offset = batch.offset + shift
                batch.end = batch.end + shift
                if batch.feeds is not None:
                    batch.feeds = batch.feeds + shift
                batch.unread = [(row, a + shift, b + shift) for row, a, b in batch.unread]
            yield batch

    def _dense_batch(self, data: bytes | bytearray, windows: Windows, start: int, stop: int) -> Batch | None:
        """A block in which most lines are expected to be busy lines: every line is a row."""
        end = line_end(data, start + BLOCK, start, stop)
        if end - start > BLOCK:
            return None
        feeds = places_of(self._scratch, windows.bytes, start, end, 10)
        lines = len(feeds)
        if lines == 0 or lines > ROWS:
            return None
        starts = self._scratch.get("starts", lines, np.int64)
        starts[0] = start
        np.add(feeds[:-1], 1, out=starts[1:])
        rows, bad = self._rows(windows, starts)
        unread: list[tuple[int, int, int]] = []
        tag = self.tag
        for index in bad.tolist():
            a, b = int(starts[index]), int(feeds[index]) + 1
            if data.find(tag, a, b) >= 0:
                unread.append((int(np.searchsorted(rows.offset, a)), a, b))
        if data[end - 1] != 10:
            # Only the very last line can lack its line feed.
            a = int(feeds[-1]) + 1
            if data.find(tag, a, end) >= 0:
                unread.append((len(rows.offset), a, end))
        return self._batch(data, start, end, lines, feeds, rows, unread)

    def _sparse_batch(self, data: bytes | bytearray, windows: Windows, start: int, stop: int) -> Batch:
        """Blocks in which busy lines are few: the places of one byte of the tag are rows."""
        at = start
        blocks: list[tuple[int, int]] = []
        found: list[Array] = []
        hits = 0
        while at < stop and hits < self._few:
            end = line_end(data, at + BLOCK, at, stop)
            tags = self._tags(data, windows, at, end)
            if hits + len(tags) > 2 * self._few:
                # Enough for now: the exact reader may have to teach something first.
                end = data.find(b"\n", int(tags[self._few - 1]), end) + 1 or end
                tags = tags[tags < end]
            blocks.append((at, end))
            found.append(tags)
            hits += len(tags)
            at = end
        tags = found[0] if len(found) == 1 else np.concatenate(found)
        tables = self._tables or (self._prepare() if self._heads else None)
        feeds: Array = None
        if not hits or tables is None:
            rows, bad = _NO_ROWS, np.arange(hits)
            newlines = count_lines(data, start, at, self._scratch)
        else:
            pieces = [(at, min(at + BLOCK, b)) for a, b in blocks for at in range(a, b, BLOCK)]
            lines = [places_of(self._scratch, windows.bytes, a, b, 10) for a, b in pieces]
            feeds = lines[0] if len(lines) == 1 else np.concatenate(lines)
            newlines = len(feeds)
            starts = self._scratch.get("starts", hits, np.int64)
            starts.fill(-1)
            for distance in tables.anchors:
                places = tags - distance
                behind_feed = windows.bytes.take(places - 1, mode="clip") == 10
                fits = (places == start) | (behind_feed & (places > start))
                np.copyto(starts, places, where=fits)
            lost = starts < 0
            if lost.any():
                # Read any place: those rows are thrown away.
                np.copyto(starts, tags, where=lost)
                rows, bad = self._rows(windows, starts, lost)
            else:
                rows, bad = self._rows(windows, starts)
            if len(rows.end) and rows.end[-1] > at:
                # The line feed that ends the last one is not part of the stretch.
                final = int(np.searchsorted(tags, rows.offset[-1]))
                rows = _cut(rows, len(rows.offset) - 1)
                bad = np.sort(np.append(bad, final))
        unread: list[tuple[int, int, int]] = []
        before = start
        for index in bad.tolist():
            place = int(tags[index])
            if place < before:
                continue
            a = max(data.rfind(b"\n", before, place) + 1, before)
            b = data.find(b"\n", place, at) + 1 or at
            before = b
            unread.append((int(np.searchsorted(rows.offset, a)), a, b))
        self._few = min(self._few * 4, ROWS // 2) if len(unread) * 4 <= hits else 32
        return self._batch(data, start, at, newlines, feeds, rows, unread)

    def _batch(
        self,
        data: bytes | bytearray,
        start: int,
        stop: int,
        newlines: int,
        feeds: Array,
        rows: _Rows,
        unread: list[tuple[int, int, int]],
    ) -> Batch:
        if len(unread) > _UNREAD and not self._skip:
            # Hand back early, so that the next lines like these are recognised.
            row, _, stop = unread[_UNREAD - 1]
            unread = unread[:_UNREAD]
            rows = _cut(rows, row)
            if feeds is None:
                newlines = count_lines(data, start, stop, self._scratch)
            else:
                feeds = feeds[: int(np.searchsorted(feeds, stop))]
                newlines = len(feeds)
        return Batch(start, stop, newlines, feeds, rows, unread)

    # Finding rows

    def _tags(self, data: bytes | bytearray, windows: Windows, start: int, end: int) -> Array:
        """Where the whole tag stands."""
        byte, tag = self.tag[self._anchor], self.tag
        found: list[Array] = []
        at = start
        while at < end:
            stop = min(at + BLOCK, end)
            if self._hits > 160:
                places = places_of(self._scratch, windows.bytes, at, stop, byte)
            else:
                hits: list[int] = []
                find, note = data.find, hits.append
                place = find(byte, at, stop)
                while place >= 0:
                    note(place)
                    place = find(byte, place + 1, stop)
                places = np.array(hits, np.int64)
            self._hits = len(places)
            if len(places):
                places -= self._anchor
                words = windows.gather(16, places)
                fits = (words[:, 0] == self._tag_words[0]) & ((words[:, 1] & self._tag_words[2]) == self._tag_words[1])
                good = places[fits]
                if len(places) > 64 + 2 * len(good):
                    self._choose_anchor(data, at, stop)
                places = good[(good >= start) & (good + len(tag) <= end)]
            found.append(places)
            at = stop
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _choose_anchor(self, data: bytes | bytearray, start: int, stop: int) -> None:
        """Takes the byte of the tag that is rarest in a block in which the present one is not rare."""
        block = bytes(memoryview(data)[start:stop])
        counts = {byte: block.count(byte) for byte in set(self.tag)}
        self._anchor = self.tag.index(min(counts, key=lambda byte: counts[byte]))

    # Reading rows

    def _rows(self, windows: Windows, starts: Array, lost: Array | None = None) -> tuple[_Rows, Array]:
        """Reads the lines that begin at `starts`. Returns those recognised, and the indices of the others.

        lost: rows to be thrown away.
        """
        tables = self._tables
        if tables is None:
            tables = self._prepare()
        n = len(starts)
        get = self._scratch.get
        bad = get("bad", n)
        head, time, failed = tables.find(windows, self._scratch, starts, bad)
        if lost is not None:
            np.copyto(bad, np.uint64(1), where=lost)
            failed = True
        rows = None
        if failed:
            keep = (bad == 0).nonzero()[0]
            if len(keep) < n:
                rows = keep
                starts, head, time = starts.take(keep), head.take(keep), time.take(keep)
                n = len(keep)
        if n == 0:
            return _NO_ROWS, np.arange(len(bad))
        first = np.add(starts, tables.size.take(head, mode="clip"), out=get("first", n, np.int64))
        values: Array
        reading: Array
        last: Array
        single = tables.one_ending
        if single >= 0:
            values, wrong, last = self._endings[single].read(windows, self._scratch, first)
            reading = tables.reading[:, single].take(head)
            if wrong is None:
                return self._finish(starts, reading, time, values, last), _others(len(bad), rows)
            pending = wrong.nonzero()[0]
            reading[pending] = -1
            values, last = values.copy(), last.copy()
        else:
            pending = np.arange(n)
            reading, last = np.full(n, -1, np.int32), np.zeros(n, np.int64)
            values = np.zeros((len(FIELDS), n), np.int64)
        values = self._retry(windows, tables, head, starts, pending, values, reading, last)
        good: Array = (reading >= 0).nonzero()[0]
        if len(good) < n:
            rows = good if rows is None else rows.take(good)
            starts, reading, time, last = starts.take(good), reading.take(good), time.take(good), last.take(good)
            values = values.take(good, axis=1)
        return self._finish(starts, reading, time, values, last), _others(len(bad), rows)

    def _finish(self, starts: Array, reading: Array, time: Array, values: Array, end: Array) -> _Rows:
        stream, pool = self._stream_of.take(reading), self._pool_of.take(reading)
        return _Rows(starts, reading, stream, pool, time, values, end)

    def _retry(
        self,
        windows: Windows,
        tables: Tables,
        head: Array,
        starts: Array,
        pending: Array,
        values: Array,
        reading: Array,
        last: Array,
    ) -> Array:
        """Reads the rows `pending` with every ending that their heads were seen with: the preferred ones, the others,
        and then all of them the careful way. Fills reading and last; returns values, with more rows if needed."""
        for step in range(3):
            codes = range(len(self._endings)) if step else sorted(set(tables.first.take(head.take(pending)).tolist()))
            for code in codes:
                if not len(pending):
                    return values
                heads = head.take(pending)
                fits = tables.reading[:, code].take(heads) >= 0
                if step < 2:
                    fits &= (tables.first.take(heads) == code) == (step == 0)
                mine = pending[fits]
                if not len(mine) or (step == 0 and tables.one_ending >= 0):
                    continue
                ending = self._endings[code]
                place = starts.take(mine) + tables.size.take(head.take(mine))
                got, wrong, end = ending.read(windows, self._scratch, place, step == 2)
                if wrong is not None:
                    good = (wrong == 0).nonzero()[0]
                    mine, got, end = mine.take(good), got.take(good, axis=1), end.take(good)
                if not len(mine):
                    continue
                if step == 2:
                    ending.note(got)
                if len(got) > len(values):
                    values = np.concatenate((values, np.zeros((len(got) - len(values), len(last)), np.int64)))
                values[: len(got), mine] = got
                values[len(got) :, mine] = 0
                last[mine] = end
                heads = head.take(mine)
                reading[mine] = tables.reading[:, code].take(heads)
                if step == 1 and 2 * len(mine) > len(last):
                    # The usual ending has changed.
                    tables.prefer(code, np.bincount(heads).nonzero()[0])
                pending = pending[reading.take(pending) < 0]
        return values


def _others(n: int, rows: Array | None) -> Array:
    """The indices below n that are not in `rows` (None: all are)."""
    if rows is None:
        return _NONE
    left = np.ones(n, bool)
    left[rows] = False
    return left.nonzero()[0]


def _cut(rows: _Rows, n: int) -> _Rows:
    """The first n rows."""
    values = rows.values[:, :n]
    return _Rows(rows.offset[:n], rows.reading[:n], rows.stream[:n], rows.pool[:n], rows.time[:n], values, rows.end[:n])


_NONE = np.empty(0, np.int64)
_NO_CODES = np.empty(0, np.int32)
_NO_ROWS = _Rows(_NONE, _NO_CODES, _NO_CODES, _NO_CODES, _NONE, np.empty((len(FIELDS), 0), np.int64), _NONE)
