"""One stream: the checks of one rank of one process in one run, as series of rows."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from memcheck_cli.ledger.dumps import Burst, Entry
from memcheck_cli.ledger.peers import Group
from memcheck_cli.ledger.rows import NO_MARKS, SESSION_UNPRINTED, Row, Series, closes
from memcheck_cli.ledger.stretch import StreamStretch, placed, take_pool

EMPTY = ""
"""Stands for the pool of an empty full line (an all-SWA model): it opens a check and holds no record."""


class Asserted(NamedTuple):
    """A busy assertion of the server: the pool it names, its sums, and where it stands.

    unprinted: by how much it sums more than the record it repeats prints (the session_held of 0.5.10).
    """

    pool: str
    total: int | None
    accounted: int | None
    line: int
    unprinted: int = 0


class Page(NamedTuple):
    """A page-invariant report of this stream; iteration is the busy check it followed."""

    kind: str
    pool: str | None
    pages: int
    sample: tuple[int, ...]
    line: int
    offset: int
    time: str | None
    iteration: int | None
    witness: Row | None


class Watcher(Protocol):
    """Is told of every record that counts, in the order in which it is counted: what `replay` is built on.

    check: `busy` or `idle`. pool: EMPTY for the empty full line of an all-SWA model. Skipped pools are told too.
    """

    def __call__(self, stream: Stream, check: str, pool: str, row: Row, /) -> None: ...


class Stream:
    """State of one stream while it is read; memory is bounded however long it runs."""

    __slots__ = (
        "_arriving",
        "asserted",
        "asserted_dump",
        "balanced_reports",
        "burst",
        "busy",
        "checks",
        "copied",
        "first_line",
        "idle",
        "idle_reports",
        "joint",
        "last_balanced",
        "last_busy",
        "lone_assertions",
        "member",
        "opened",
        "pages",
        "peers",
        "process",
        "rank",
        "requests",
        "run",
        "skipped",
        "watcher",
    )

    def __init__(self, run: int, process: str | None, rank: str) -> None:
        self.run = run
        self.process = process
        self.rank = rank
        self.member = (process, rank)
        self.checks = 0
        self.busy: dict[str, Series] = {}
        self.idle: dict[str, Series] = {}
        self.requests: Series | None = None
        self.pages: list[Page] = []
        self.idle_reports = 0
        self.balanced_reports: list[Row] = []
        self.asserted: list[Asserted] = []
        self.asserted_dump = False
        self.lone_assertions: list[tuple[Asserted, Row, Row | None]] = []
        self.skipped: dict[str, Row] = {}
        self.burst = Burst()
        self.copied = False  # its first record was a copy already: the log holds nothing but copies
        self.joint = False  # the records of many ranks stand in it: each is judged by itself
        self.peers: Group | None = None
        self.first_line: int | None = None
        self.last_busy: tuple[str, Row] | None = None
        self.last_balanced: dict[str, Row] = {}  # by pool, busy or idle
        self.watcher: Watcher | None = None
        self.opened: set[str] | None = None  # pools of the open check, as committed
        self._arriving: set[str] | None = None  # the same, as the lines arrive

    @property
    def mode(self) -> str | None:
        """`ring-dump`, `stream`, or None where only idle reports were seen."""
        if not self.checks:
            return None
        return "ring-dump" if self.asserted_dump or self.burst.repeated else "stream"

    def records(self) -> dict[str, int]:
        """Records of every pool, those of assertions without a busy record among them."""
        found: dict[str, int] = {}
        for series in (*self.busy.values(), *self.idle.values(), *([self.requests] if self.requests else [])):
            found[series.pool] = found.get(series.pool, 0) + series.records
        for asserted, row, _ in self.lone_assertions:
            found[asserted.pool] = found.get(asserted.pool, 0) + (row.terms.count(None) < len(row.terms))
        return found

    def add(self, pool: str, row: Row, current_form: bool) -> list[Entry]:
        """One busy record (pool EMPTY for an empty full line). Answers the records that open a break."""
        opens = self._arriving is None or pool in self._arriving or pool in ("full", EMPTY)
        if opens or self._arriving is None:
            self._arriving = set()
        self._arriving.add(pool)
        if self.burst.over:
            return self._commit(pool, row)
        found: list[Entry] = []
        for entry in self.burst.add(pool, row, opens, _breaks(row), current_form):
            found += self._commit(*entry)
        return found

    def record(self, pool: str, line: int, offset: int, time: str, total: int, terms: tuple[int, ...]) -> Row | None:
        """A record of the current form and of a known pool, only once the burst is over; `add` in fewer steps. Answers
        the row if it opens a break."""
        opened = self.opened
        if opened is None or pool == "full" or pool in opened:
            self.checks += 1
            self.opened = {pool}
        else:
            opened.add(pool)
        row = Row(line, offset, self.checks, time, total, terms, None, NO_MARKS, "B3")
        if self.watcher is not None:
            self.watcher(self, "busy", pool, row)
        self.last_busy = (pool, row)
        if self.peers is not None:
            self.peers.add(self.member, pool, row)
        series = self.busy[pool]
        if series.goes_on(row):
            if not self.joint:
                self.last_balanced[pool] = row
            return None
        return row if self.enter(series, row) else None

    def base_of(self, stretch: StreamStretch) -> int:
        """The iteration that 0 stands for in a stretch that comes next."""
        joins = stretch.joins
        return self.checks + (joins is not None and (self.opened is None or joins in self.opened))

    def take(self, stretch: StreamStretch, lines: int = 0) -> list[Entry]:
        """A stretch of records; only once the burst is over. lines: those before it. Answers the records that open a
        break."""
        base = self.base_of(stretch)
        if stretch.joins is not None:
            if self.opened is None or base > self.checks:
                self.opened = set()
            self.opened.add(stretch.joins)
        self.checks = base + stretch.checks
        self.opened = set(stretch.open_after) | (set() if stretch.checks else self.opened or set())
        self._arriving = set(self.opened)
        found: list[Entry] = []
        for pool in stretch.pools:
            series = self.busy.get(pool.pool)
            if series is None:
                series = self.busy[pool.pool] = Series(pool.pool)
            before = self.last_balanced.get(pool.pool)
            found += [(pool.pool, row) for row in take_pool(series, pool, base, lines, before)]
            if pool.last_balanced is not None:
                self.last_balanced[pool.pool] = placed(pool.last_balanced, base, lines)
        last_pool, last = stretch.last
        self.last_busy = (last_pool, placed(last, base, lines))
        return sorted(found, key=lambda entry: entry[1].offset)

    def torn(self) -> None:
        """A torn busy line: it closes the open check."""
        self._arriving = None
        self.opened = None

    def complete(self, pool: str, accounted: int) -> tuple[int, Row] | None:
        """An assertion sums more than the check right before it prints, whose form may leave session_held out: let that
        check's row count with the difference. Answers the difference and the row; None where it is no such check."""
        if self.opened is None or self.last_busy is None or self.last_busy[0] != pool:
            return None
        row = self.last_busy[1]
        held = accounted - row.accounted
        if SESSION_UNPRINTED not in row.marks or held <= 0 or self.joint:
            return None
        whole = self.busy[pool].complete_last(held)
        self.last_busy = (pool, whole)
        return held, whole

    def batch_line(self) -> list[Entry]:
        """A batch line of any rank of the source was printed."""
        return self._commit_all(self.burst.batch_line())

    def settle(self) -> list[Entry]:
        """Nothing more comes before an assertion or the end: decide what is held back."""
        return self._commit_all(self.burst.end())

    def burst_over(self) -> list[Entry]:
        """It is no dump, and is not looked at as one any more."""
        return self._commit_all(self.burst.give_up())

    def _commit_all(self, entries: list[Entry]) -> list[Entry]:
        found: list[Entry] = []
        for entry in entries:
            found += self._commit(*entry)
        return found

    def _commit(self, pool: str, row: Row) -> list[Entry]:
        opened = self.opened
        if opened is None or pool in opened or pool in ("full", EMPTY):
            self.checks += 1
            opened = self.opened = set()
        opened.add(pool)
        row = Row(row[0], row[1], self.checks, row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10])
        if self.watcher is not None:
            self.watcher(self, "busy", pool, row)
        if pool == EMPTY:
            return []
        if "skipped" in row.marks:
            self.skipped.setdefault(pool, row)
            return []
        series = self.busy.get(pool)
        if series is None:
            series = self.busy[pool] = Series(pool)
        self.last_busy = (pool, row)
        if self.peers is not None:
            self.peers.add(self.member, pool, row)
        return [(pool, row)] if self.enter(series, row) else []

    def enter(self, series: Series, row: Row) -> bool:
        """Add a row to one of this stream's series; True when it opens a segment that does not balance."""
        if self.watcher is not None and row.check == "idle":
            self.watcher(self, "idle", series.pool, row)
        opened = series.add(row)
        if self.joint:
            return opened
        if opened:
            series.segments[-1].witness = self.last_balanced.get(series.pool)
        elif row.total is not None and not series.segments[-1].balance:
            self.last_balanced[series.pool] = row
        return opened


def _breaks(row: Row) -> bool:
    if "tolerated" in row.marks or "skipped" in row.marks:
        return False
    if "reported" in row.marks:
        return True
    return row.total is not None and row.accounted != row.total and not closes(row)
