"""From columns of busy records to a stretch, by array arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from memcheck_cli.ledger.peers import digests
from memcheck_cli.ledger.rows import NO_SLOTS, Combination, Row
from memcheck_cli.ledger.stretch import Piece, PoolStretch, StreamStretch, Stretch
from memcheck_cli.log.kernel import NO_TIME, UNDATED, Kernel
from memcheck_cli.log.records import TERMS
from memcheck_cli.log.templates import FIELDS, MOST_FIELDS, Reading

Array = Any
Peered = Callable[[str | None, str], bool]

Said = tuple[str | None, str, tuple[str, ...]]
"""What a record tells of the release that printed it: its process, its form, the names of its further terms."""

CAPACITY = 32 * 1024
"""Records that are summed up at once."""

MOST_EXTRA = 3
"""Further terms that are summed up here; records with more are taken one by one."""

_KNOWN_MARKS = frozenset({"session_unprinted"})


class Columns:
    """Busy records, copied from the kernel's batches until there are enough to be summed up.

    span: bytes behind the first record held from which on no further batch is added.
    Columns of length n: offset, end and line (of the source), reading, stream, pool, time as in `kernel.Batch`; values
    of shape (6 + MOST_FIELDS, n), in the order of FIELDS, then all of the reading's further terms.
    """

    def __init__(self, kernel: Kernel, capacity: int = CAPACITY, span: int = 1 << 62) -> None:
        self.kernel = kernel
        self.capacity = size = capacity
        self.span = span
        self.n = 0
        self.offset = np.empty(size, np.int64)
        self.end = np.empty(size, np.int64)
        self.line = np.empty(size, np.int64)
        self.time = np.empty(size, np.int64)
        self.reading = np.empty(size, np.int32)
        self.stream = np.empty(size, np.int32)
        self.pool = np.empty(size, np.int32)
        self.values = np.empty((len(FIELDS) + MOST_FIELDS, size), np.int64)

    def extend(self, batch: Any, lo: int, hi: int, offset: int, line: Array, flush: Callable[[], object]) -> None:
        """Rows lo to hi of a batch; offset: what is added to its offsets; line: their line numbers. flush: is called
        whenever there are enough, and lets go of those that are held."""
        while lo < hi:
            if self.n == self.capacity or (self.n and offset + batch.offset[lo] - self.offset[0] > self.span):
                flush()
            upto = min(hi, lo + self.capacity - self.n)
            self._append(batch, lo, upto, offset, line[: upto - lo])
            line = line[upto - lo :]
            lo = upto

    def _append(self, batch: Any, lo: int, hi: int, offset: int, line: Array) -> None:
        a, b = self.n, self.n + hi - lo
        np.add(batch.offset[lo:hi], offset, out=self.offset[a:b])
        np.add(batch.end[lo:hi], offset, out=self.end[a:b])
        self.line[a:b] = line
        self.time[a:b] = batch.time[lo:hi]
        self.reading[a:b] = batch.reading[lo:hi]
        self.stream[a:b] = batch.stream[lo:hi]
        self.pool[a:b] = batch.pool[lo:hi]
        self.values[: len(batch.values), a:b] = batch.values[:, lo:hi]
        self.n = b

    def used(self) -> list[Reading]:
        """The readings of the records held."""
        return [self.kernel.readings[code] for code in np.flatnonzero(np.bincount(self.reading[: self.n])).tolist()]

    def said(self) -> tuple[Said, ...]:
        """What the records tell of the release, in the order in which they first say it."""
        found = [(r.process, r.form, (*r.extra, *r.fixed)) for r in self.used()]
        if len(set(found)) == 1:
            return (found[0],)
        reading = self.reading[: self.n]
        first = [int((reading == code).argmax()) for code in np.flatnonzero(np.bincount(reading)).tolist()]
        return tuple(dict.fromkeys(said for _, said in sorted(zip(first, found, strict=True))))

    def row(self, at: int, iteration: int | None = None) -> Row:
        """Record number `at` as the ledger keeps it."""
        reading = self.kernel.readings[int(self.reading[at])]
        printed = reading.printed
        numbers = self.values[:, at].tolist()
        terms = tuple(numbers[i] if name in printed else None for i, name in enumerate(FIELDS[1:], 1))
        extra = dict(reading.fixed)
        extra.update(zip(reading.extra, numbers[len(FIELDS) :], strict=False))
        return Row(
            int(self.line[at]),
            int(self.offset[at]),
            iteration,
            time_text(int(self.time[at]), reading.fraction),
            numbers[0] if "total" in printed else None,
            terms,
            extra or None,
            reading.marks,
            reading.form,
        )


class Taken(NamedTuple):
    """Records of one pool of one stream, in order, as they were taken into a ledger. Arrays of length n: iteration,
    line, time as in `kernel.Batch`; total, None where none is printed. terms: arrays by name of those that are printed,
    extra: the same of further terms with whole numbers."""

    iteration: Array
    line: Array
    time: Array
    total: Array | None
    terms: dict[str, Array]
    extra: dict[str, Array]

    def first(self, count: int) -> Taken:
        """The first of them."""
        numbers = [{name: values[:count] for name, values in named.items()} for named in (self.terms, self.extra)]
        total = self.total[:count] if self.total is not None else None
        return Taken(self.iteration[:count], self.line[:count], self.time[:count], total, *numbers)


def taken_of(columns: Columns, pool: PoolStretch, base: int) -> Taken:
    """The records of a pool of a stretch that knows its `rows`. base: the iteration that 0 stands for."""
    assert pool.rows is not None
    places, iteration = pool.rows
    reading = columns.kernel.readings[int(columns.reading[places[0]])]
    values = columns.values[: len(FIELDS) + len(reading.extra), places]
    printed = [name for name in FIELDS if name in reading.printed]
    by_name = {name: values[FIELDS.index(name)] for name in printed}
    total = by_name.pop("total", None)
    extra = dict(zip(reading.extra, values[len(FIELDS) :], strict=True))
    return Taken(iteration + base, columns.line[places], columns.time[places], total, by_name, extra)


def time_text(milliseconds: int, fraction: bool) -> str | None:
    """The kernel's time as the exact reader writes it."""
    if milliseconds == NO_TIME:
        return None
    undated = milliseconds < UNDATED // 2
    if undated:
        milliseconds -= UNDATED
    days, rest = divmod(milliseconds, 86_400_000)
    seconds, millis = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    clock = f"{hour:02}:{minute:02}:{second:02}" + (f".{millis:03}" if fraction else "")
    return clock if undated else f"{np.datetime64(days, 'D')}T{clock}"


def summarize(columns: Columns, peered: Peered, rows: bool = False) -> Stretch | None:
    """The stretch that all records of `columns` make, or None where they must be taken one by one.

    peered: whether the records of a process and rank are compared with those of its peers. rows: tell where the records
    of each pool stand, too.
    """
    n = columns.n
    kernel = columns.kernel
    readings = columns.used()
    like = readings[0]
    if any(_odd(reading, like) for reading in readings):
        return None
    stream = columns.stream[:n]
    counts = np.bincount(stream, minlength=len(kernel.streams))
    order = np.argsort(stream.astype(np.int16), kind="stable")
    pool = columns.pool[:n][order]
    values = columns.values[: len(FIELDS) + len(like.extra), :n][:, order]
    balance = values[1] + values[2]
    for column in values[3:6]:
        balance += column
    balance -= values[0]  # a total that is not printed is 0 here
    healthy = not balance.any() and int(values[1:6].min()) >= 0
    stretch: Stretch = []
    start = 0
    for code in np.flatnonzero(counts).tolist():
        end = start + int(counts[code])
        process, rank = kernel.streams[code]
        part = _Part(
            columns, like, order[start:end], pool[start:end], values[:, start:end], balance[start:end], healthy, rows
        )
        stretch.append(part.summarize(process, rank, peered(process, rank)))
        start = end
    return stretch


def _odd(reading: Reading, like: Reading) -> bool:
    """Whether records of a reading, or of it beside another, must be taken one by one."""
    return bool(
        reading.marks - _KNOWN_MARKS
        or reading.printed != like.printed
        or reading.extra != like.extra
        or len(reading.extra) > MOST_EXTRA
        or reading.pool not in ("full", "swa")
        or any(isinstance(value, int) and not isinstance(value, bool) for value in reading.fixed.values())
    )


class _Part:
    """The records of one stream, in order."""

    def __init__(
        self,
        columns: Columns,
        reading: Reading,
        order: Array,
        pool: Array,
        values: Array,
        balance: Array,
        healthy: bool,
        rows: bool,
    ) -> None:
        self.columns = columns
        self.reading = reading
        self.order = order
        self.pool = pool
        self.values = values
        self.balance = balance
        self.healthy = healthy
        self.rows = rows

    def summarize(self, process: str | None, rank: str, peered: bool) -> StreamStretch:
        names = self.columns.kernel.pools
        pool = self.pool
        first_pool = names[int(pool[0])]
        codes = np.flatnonzero(np.bincount(pool, minlength=len(names))).tolist()
        opens = pool == (names.index("full") if "full" in names else -1)
        # A record of the other pool opens a check of its own where the record before it is of its kind.
        opens[1:] |= pool[1:] == pool[:-1]
        joins = None if first_pool == "full" else first_pool
        opens[0] = joins is None
        iteration = np.cumsum(opens)
        last_open = np.flatnonzero(opens)
        since = int(last_open[-1]) if len(last_open) else 0
        open_after = frozenset(names[int(code)] for code in pool[since:])
        whole = len(codes) == 1
        pools = [
            self._pool(names[code], np.arange(len(pool)) if whole else np.flatnonzero(pool == code), iteration, peered)
            for code in codes
        ]
        last = (names[int(pool[-1])], self._row(len(pool) - 1, iteration))
        return StreamStretch(process, rank, joins, int(iteration[-1]), open_after, pools, last)

    def _row(self, at: int, iteration: Array) -> Row:
        return self.columns.row(int(self.order[at]), int(iteration[at]))

    def _pool(self, name: str, places: Array, iteration: Array, peered: bool) -> PoolStretch:
        balance = self.balance[places]
        n = len(balance)

        def row(at: int) -> Row:
            return self._row(int(places[at]), iteration)

        totals = self.values[0][places]
        with_total = "total" in self.reading.printed
        first_total = int(totals[0]) if with_total else None
        changed = None
        odd: tuple[tuple[Row, str, int], ...] = ()
        borders = [0, n]
        if with_total and (totals != first_total).any():
            changed = row(int((totals != first_total).argmax()))
        if not self.healthy:
            borders = [0, *(np.flatnonzero(balance[1:] != balance[:-1]) + 1).tolist(), n]
            if with_total:
                odd = self._odd_terms(self.values[1:6][:, places], totals, row)
        pieces = []
        balanced: Row | None = None
        unbalanced = 0
        for lo, hi in pairwise(borders):
            here = int(balance[lo])
            last = row(hi - 1)
            pieces.append(Piece(here, "", row(lo), last, hi - lo, balanced))
            if here:
                unbalanced += hi - lo
            elif with_total:
                balanced = last
        peers = None
        if peered:
            source = self.order[places]
            values = np.ascontiguousarray(self.values[:6, places])
            columns = self.columns
            peers = (iteration[places], digests(values), columns.offset[source], columns.line[source])
        extra = self.reading.extra
        closing = self._closing(extra, balance, places) if extra else None
        rows = (self.order[places], iteration[places]) if self.rows else None
        return PoolStretch(
            name, n, unbalanced, pieces, first_total, changed, odd, balanced, extra or None, closing, peers, rows
        )

    def _closing(self, names: tuple[str, ...], balance: Array, places: Array) -> set[Combination]:
        """The signed combinations of further terms under which all these records balance."""
        counted = [(name, self.values[6 + i][places]) for i, name in enumerate(names) if name not in NO_SLOTS]
        found = set()
        for signs in product((0, 1, -1), repeat=len(counted)):
            gap = balance.copy()
            for sign, (_, value) in zip(signs, counted, strict=True):
                if sign:
                    gap += sign * value
            if not gap.any():
                found.add(tuple(sorted((name, sign) for sign, (name, _) in zip(signs, counted, strict=True) if sign)))
        return found

    @staticmethod
    def _odd_terms(terms: Array, totals: Array, row: Callable[[int], Row]) -> tuple[tuple[Row, str, int], ...]:
        """The first record with a term below zero, and the first with one above the total, in the order of the log."""
        found = []
        for wrong in (terms < 0, terms > totals):
            if wrong.any():
                at = int(wrong.any(axis=0).argmax())
                found.append((at, int(wrong[:, at].argmax())))
        return tuple((row(at), TERMS[term], int(terms[term, at])) for at, term in sorted(found))
