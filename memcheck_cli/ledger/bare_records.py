"""Whole bare busy lines of the current form that follow each other, taken into the ledger without numpy.

Nearly all of them go on as the ones before them did: of those only the last one of each pool is made a row, the others
are counted. Every other one goes through `Ledger.record`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcheck_cli.ledger.rows import NO_MARKS, Row, Series
from memcheck_cli.ledger.stream import Stream
from memcheck_cli.log.prefixes import rank_of, time_of

if TYPE_CHECKING:
    from memcheck_cli.ledger.book import Ledger

Printed = tuple[int, tuple[bytes, ...]]
"""Where a line begins, and the groups of `log.lines.BUSY_LINE` on it (no further terms)."""

MOST_NAMES = 4096
"""Spellings of times and pools that are remembered."""


class BareRecords:
    """Takes such lines into one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._names: dict[bytes, str] = {}

    def take(self, printed: Sequence[Printed], line: int) -> int:
        """Take lines of which `line` is the first. Answers how many were taken: those behind one that opened a break
        are left, and those behind one after which every line matters."""
        ledger, names = self._ledger, self._names
        if len(names) > MOST_NAMES:
            names.clear()
        steadies: dict[bytes, _Steady] = {}
        streams = len(ledger.streams)
        taken = 0
        for offset, (when, tokens, pool, total, available, evictable, protected, held, uncached, _) in printed:
            steady = steadies.get(tokens)
            if steady is None:
                steady = steadies[tokens] = _Steady(ledger, rank_of(tokens))
            name = names.get(pool)
            if name is None:
                name = names[pool] = pool.decode("ascii")
            terms = (int(available), int(evictable), int(protected), int(held), int(uncached))
            counted = steady.pools.get(name) or steady.begin(name)
            if counted is not None and total == counted.printed and sum(terms) == counted.total and min(terms) >= 0:
                opened = steady.opened
                if name == "full" or name in opened:
                    steady.checks += 1
                    steady.opened = {name}
                else:
                    opened.add(name)
                steady.last = counted
                counted.count += 1
                counted.last = (line + taken, offset, steady.checks, when, terms)
                if steady.compared:
                    steady.compare(counted)
                taken += 1
                continue
            steady.settle()
            time = names.get(when)
            if time is None:
                time = names[when] = time_of(when)
            opened_break = ledger.record(steady.rank, name, line + taken, offset, time, int(total), terms)
            taken += 1
            if len(ledger.streams) == streams:
                steady.load()
            else:  # a new stream may be a peer of any other, or part some
                streams = len(ledger.streams)
                for other in steadies.values():
                    other.settle()
                steadies.clear()
            if opened_break or ledger.wants_every_line:
                break
        for steady in steadies.values():
            steady.settle()
        return taken


class _Counted:
    """A series whose records go on as they did. printed: its total as it is printed. count, last: records since the
    series was last told, and the newest of them: line, offset, iteration, time and terms."""

    __slots__ = ("count", "last", "pool", "printed", "series", "total")

    def __init__(self, pool: str, series: Series, total: int) -> None:
        self.pool = pool
        self.series = series
        self.total = total
        self.printed = b"%d" % total
        self.count = 0
        self.last: tuple[int, int, int, bytes, tuple[int, ...]] = (0, 0, 0, b"", ())

    def row(self) -> Row:
        line, offset, iteration, when, terms = self.last
        return Row(line, offset, iteration, time_of(when), self.total, terms, None, NO_MARKS, "B3")


class _Steady:
    """A stream while records of it are counted. opened, checks: its open check by now. compared: every record of it is
    wanted as a row, for its peers."""

    __slots__ = ("checks", "compared", "last", "ledger", "opened", "pools", "rank", "stream")

    def __init__(self, ledger: Ledger, rank: str) -> None:
        self.ledger = ledger
        self.rank = rank
        self.load()

    def load(self) -> None:
        """Begin with the stream as it is now."""
        ledger = self.ledger
        stream: Stream | None = ledger.streams.get((ledger.run_number(None), None, self.rank))
        self.stream = stream
        self.pools: dict[str, _Counted] = {}
        self.last: _Counted | None = None
        if stream is not None:
            self.checks = stream.checks
            self.opened = stream.opened or set()
            self.compared = stream.peers is not None and stream.peers.wants(stream.member)

    def begin(self, pool: str) -> _Counted | None:
        """Begin to count the records of a pool, if all that is to be known of them is how many go on."""
        stream = self.stream
        if (
            stream is None
            or not stream.burst.over
            or stream.opened is None
            or stream.joint
            or stream.watcher is not None
        ):
            return None
        series = stream.busy.get(pool)
        total = series.steady_total() if series is not None else None
        if series is None or total is None:
            return None
        counted = self.pools[pool] = _Counted(pool, series, total)
        return counted

    def compare(self, counted: _Counted) -> None:
        """Hand the newest record on to be compared with those of the peers."""
        stream = self.stream
        if stream is not None and stream.peers is not None:
            stream.peers.add(stream.member, counted.pool, counted.row())

    def settle(self) -> None:
        """Tell the stream what was counted."""
        stream, last = self.stream, self.last
        if stream is None or last is None:
            return
        for counted in self.pools.values():
            if counted.count:
                row = counted.row()
                counted.series.go_on(row, counted.count)
                stream.last_balanced[counted.pool] = row
                if counted is last:
                    stream.last_busy = (counted.pool, row)
                self.ledger.records += counted.count
                counted.count = 0
        stream.checks, stream.opened = self.checks, self.opened
        self.last = None
