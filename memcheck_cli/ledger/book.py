"""The ledger of one source: folds its lines, in order, into runs and streams.

`fold` takes every line that may mean something; a fast reader may leave out the others as long as it honours
`wants_batches` and `wants_every_line`, which say what the ledger's state depends on at the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from memcheck_cli.ledger import bounds
from memcheck_cli.ledger.captured import Captured
from memcheck_cli.ledger.cuts import may_be
from memcheck_cli.ledger.idle_reports import IdleReport, go_on, stands_beside
from memcheck_cli.ledger.peered import Peered, all_fit, compare
from memcheck_cli.ledger.peers import Group, Member, Peers
from memcheck_cli.ledger.rows import NO_MARKS, Row, Segment, Series, accounted, row_of, terms_of
from memcheck_cli.ledger.starts import STARTING, STARTS, Starts
from memcheck_cli.ledger.stream import EMPTY, Asserted, Page, Stream, Watcher
from memcheck_cli.ledger.stretch import Pairs, Stretch
from memcheck_cli.ledger.tracebacks import Tracebacks
from memcheck_cli.log.batch_lines import BATCH_KINDS
from memcheck_cli.log.context import STRUCTURAL_MARKERS
from memcheck_cli.log.lines import read_message, settle_bare
from memcheck_cli.log.records import (
    TERMS,
    Busy,
    BusyAssertion,
    Context,
    Idle,
    Line,
    Message,
    PageReport,
    PoolLine,
    PoolParts,
    RequestPool,
    Torn,
    Unnumbered,
)

PROTECTED = TERMS.index("protected")
StreamKey = tuple[int, str | None, str]


class Opening(NamedTuple):
    """A series just stopped balancing: the stream, its pool, the row, and the row before it if there was one."""

    stream: Stream
    check: str
    pool: str
    row: Row


class Note(NamedTuple):
    """A report of the checker, or a crash of it, that carries no numbers."""

    run: int
    process: str | None
    rank: str
    line: int
    time: str | None
    kind: str
    what: str
    detail: str


_STRUCTURAL = tuple(mark.decode("ascii") for mark in STRUCTURAL_MARKERS)
CURRENT_FORMS = ("b3", "b4", "B3", "B4")
ALWAYS_HEEDED = frozenset({"server-args", "command", "banner", "exception", "flush"})
"""Kinds of context lines that a reader never leaves out."""

UNHEEDED_FORM = "exception-ray"
"""The one form of these kinds that a reader may leave out: it would be dear to look for."""

TORN_REPORT = "torn"
"""Kind of the note on a report that is cut or torn."""

DUMP_MARK = "batch_size()="
"""Stands in the head of a watchdog's dump, behind which it prints pools that are no checks."""

TAGS = ("[Mem Check", "etected!", "KV double free: ", "KV page use-after-free: ")
"""The checker's tags. Pool texts on lines of their own bear none."""

TELLING = (
    "etected!",
    "UserWarning: ",
    "Sanity check FAILED",
    "Radix tree sanity check failed",
    "RadixTree sanity check failed",
)
"""Reports without numbers hold one of these where they tell by themselves what they are."""


class Ledger:
    """Everything the checker said in one source, by run and stream.

    head: bytes at its beginning of which every line that tells something counts.
    """

    def __init__(self, source: str, watcher: Watcher | None = None, head: int = 0) -> None:
        self.source = source
        self.head = head
        self.watcher = watcher
        self.told_in_columns = False  # the watcher's owner is told of stretches by whoever hands them over
        self.starts = Starts()
        self.runs = self.starts.runs
        self.run_number = self.starts.run_number
        self.run_of = self.starts.run_of
        self.streams: dict[StreamKey, Stream] = {}
        self.rejected_count = 0
        self.rejecting: Callable[[Line, str], None] | None = None  # is told of rejected lines, with the reason
        self.records = 0
        self.notes: list[Note] = []
        self._noted: set[tuple[int, str | None, str, str]] = set()
        self.openings: list[Opening] = []  # series that stopped balancing since the reader last took them
        self.watchdog_pools = 0  # pool texts of watchdog dumps, which are no checks
        self.watchdog_line: int | None = None  # the first of them
        self.peers = Peers()
        self.joint: Stream | None = None  # what was beyond the bounds, once there was something
        self._processes: set[str] = set()
        self._looks = 0
        # Ranks that a line in the head has named, or one that no reader leaves out, with the first such line: they
        # exist, checked or not.
        self.ranks: dict[tuple[int, str | None, str], int] = {}
        self._reports: dict[str | None, list[IdleReport]] = {}
        self._tracebacks = Tracebacks()
        self._origin = self._tracebacks.origin
        self._wrapped: dict[str | None, tuple[Line, Torn, str]] = {}  # reports an editor may have wrapped
        self._dumps: set[str | None] = set()  # processes whose watchdog is printing
        self._captured = Captured(self._latest)
        self._young: dict[StreamKey, None] = {}  # streams that may still be dumps, in order
        self._last: tuple[str | None, str, Stream] | None = None

    # What a fast reader must know

    @property
    def wants_batches(self) -> bool:
        """Batch lines matter now: for telling dumps from streams, or for the border of the next run."""
        if not self.starts.held:
            return True
        return bool(self._young) and any(self.streams[key].burst.wants_batches for key in self._young)

    @property
    def settled(self) -> bool:
        """One more record of a known stream changes nothing of what is wanted."""
        return self.starts.surely_held and not self._young

    @property
    def wants_startup(self) -> bool:
        """Start-up lines matter now: what the server was started with is not told yet, or it is still starting."""
        return not self.starts.told

    @property
    def wants_every_line(self) -> bool:
        """Every line matters now: an idle report may go on, a traceback is being read, or a server is starting."""
        return bool(
            self._reports or self._tracebacks or self._wrapped or self._captured or self._dumps or self.starts.starting
        )

    def heeds(self, line: Line, message: Message) -> bool:
        """Whether a line counts now. Others may be left out by a reader, so none of them may change an answer."""
        if self.wants_every_line:
            return True
        if isinstance(message, Context):
            kind = message.kind
            if kind in ALWAYS_HEEDED and message.form != UNHEEDED_FORM:
                return True
            if kind in BATCH_KINDS:
                return self.wants_batches
            if line.offset < self.head or (kind == "watchdog" and DUMP_MARK in line.text):
                return True
            return self.wants_startup and any(mark in line.text for mark in _STRUCTURAL)
        if isinstance(message, Unnumbered):
            return any(mark in line.text for mark in TELLING)
        if isinstance(message, Torn):
            return any(tag in line.text for tag in TAGS)  # else the torn line of a report that is not open
        return not isinstance(message, PoolLine | PoolParts)

    # Folding

    def saw(self, line: Line) -> None:
        """A line of any kind from the head of the source: the rank that printed it exists."""
        if line.rank != "-" and line.prefixed and len(self.ranks) < bounds.STREAMS:
            self.ranks.setdefault((self.run_number(line.process), line.process, line.rank), line.number)

    def fold(self, line: Line, message: Message | None) -> None:
        """Take the next line; `message` is what its text means, None for any other line."""
        if self.starts.starting:
            self.starts.starting -= 1
        if line.process is not None and line.process not in self._processes:
            if len(self._processes) < bounds.PROCESSES:
                self._processes.add(line.process)
            elif message is None or isinstance(message, Context):
                return
            else:
                line = line._replace(process=bounds.FURTHER_RANKS)  # a writer that is not told apart
        if (line.captured or self._captured) and self._captured.repeats(line):
            return
        if self._wrapped:
            joined = self._unwrap(line, message)
            if joined is None:
                return
            line, message = joined
        if self._reports:
            self._continue_report(line, message)
        if self._tracebacks and not isinstance(message, Unnumbered):
            self._tracebacks.follow(line)
        if self._dumps and line.prefixed:
            self._dumps.discard(line.process)
        if message is None:
            return
        if isinstance(message, Busy):
            self._busy(line, message)
        elif isinstance(message, Context):
            self._context(line, message)
        elif isinstance(message, Torn):
            if message.continues and len(self._wrapped) < 64:
                self._wrapped[line.process] = (line, message, message.continues)
            else:
                self._reject(line, message)
        elif isinstance(message, Idle):
            self._idle(line, message)
        elif isinstance(message, BusyAssertion):
            self._assertion(line, message)
        elif isinstance(message, RequestPool):
            self._requests(line, message)
        elif isinstance(message, PageReport):
            self._pages(line, message)
        elif isinstance(message, Unnumbered):
            self._unnumbered(line, message)
        elif isinstance(message, PoolLine) and line.process not in self._reports:
            self.watchdog_pools += 1
            self.watchdog_line = self.watchdog_line or line.number

    def takes(self, streams: Iterable[tuple[str | None, str]]) -> bool:
        """Whether stretches of these streams may be taken now: they are known, no dumps, and nobody watches who must be
        told of every record by itself."""
        if (self.watcher is not None and not self.told_in_columns) or self.wants_every_line:
            return False
        for process, rank in streams:
            stream = self.streams.get((self.run_number(process), process, rank))
            if stream is None or not stream.burst.over or not stream.checks:
                return False
        return True

    def peered(self, process: str | None, rank: str) -> bool:
        """Whether the records of a stream are still compared with those of its peers."""
        stream = self.streams.get((self.run_number(process), process, rank))
        return stream is not None and stream.peers is not None and not stream.peers.idle

    def peering(self) -> list[tuple[Member, list[Member]]]:
        """Of every group of peers that are still compared the first member and those compared with it."""
        groups: dict[int, Group] = {}
        for (run, process, _), stream in self.streams.items():
            if stream.peers is not None and run == self.run_number(process) and not stream.peers.idle:
                groups[id(stream.peers)] = stream.peers
        return [(group.first, group.unsettled()) for group in groups.values() if group.first is not None]

    def fits(self, stretch: Stretch, pairs: Pairs) -> bool:
        """Whether a stretch with only the ends of its records left for comparing may be taken: see `all_fit`."""
        return all_fit(self._peered(stretch), pairs)

    def _peered(self, stretch: Stretch) -> list[Peered]:
        """The parts of a stretch whose streams have peers."""
        found = []
        for part in stretch:
            stream = self.stream_of(part.process, part.rank)
            if stream.peers is not None:
                found.append(Peered(stream.peers, stream.member, part, stream.base_of(part)))
        return found

    def take(self, stretch: Stretch, lines: int = 0) -> None:
        """A stretch of busy records of streams that it `takes`. lines: those before the stretch's first line."""
        openings = []
        peered = self._peered(stretch)
        for part in stretch:
            stream = self.stream_of(part.process, part.rank)
            openings += [Opening(stream, "busy", *entry) for entry in stream.take(part, lines)]
            self.records += sum(pool.records for pool in part.pools)
        self.openings += sorted(openings, key=lambda opening: opening.row.offset)
        compare(peered, lines)

    def finish(self) -> None:
        """No more lines."""
        for line, torn, _ in self._wrapped.values():
            self._reject(line, torn)
        self._wrapped.clear()
        for process in list(self._reports):
            self._close_reports(process)
        for stream in self.streams.values():
            self._opened(stream, "busy", stream.settle())
        self.peers.settle()

    # Lines that repeat or continue others

    def _latest(self, process: str | None, rank: str, before: int) -> str | None:
        """The latest time of any checker line of a stream, or of the start of its process before a line."""
        times: list[str] = []
        run = self.run_number(process)
        stream = self.streams.get((run, process, rank))
        if stream is not None:
            times += [s.segments[-1].last.time or "" for s in (*stream.busy.values(), *stream.idle.values())]
        start = self.runs[run].starts.get(process) if run in self.runs else None
        if start is not None and (start.args_line or 0) < before:
            times.append(start.time or "")
        return max(times, default="") or None

    def _unwrap(self, line: Line, message: Message | None) -> tuple[Line, Message | None] | None:
        """Join a report that ends behind a comma with the unprefixed line after it, where that makes it whole."""
        waiting = self._wrapped.pop(line.process, None)
        if waiting is None:
            return line, message
        first, torn, text = waiting
        if line.prefixed or not line.text.strip() or isinstance(message, Context):
            self._reject(first, torn)
            return line, message
        text = f"{text} {line.text.strip()}"
        joined = read_message(text, first.prefixed)
        if isinstance(joined, Torn):
            if joined.continues:
                self._wrapped[line.process] = (first, torn, joined.continues)
                return None
            self._reject(first, torn)
            return line, message
        whole = Line(
            first.number,
            first.offset,
            first.process,
            first.rank,
            first.time,
            first.prefixed,
            text,
            line.whole,
            first.copies,
        )
        return whole, joined

    # Streams and runs

    def stream_of(self, process: str | None, rank: str) -> Stream:
        """The stream of one rank of one process in its current run, made when it is first named."""
        last = self._last
        if last is not None and last[0] == process and last[1] == rank:
            return last[2]
        key = (self.run_number(process), process, rank)
        stream = self.streams.get(key)
        if stream is None and (len(self.streams) >= bounds.STREAMS or process == bounds.FURTHER_RANKS):
            stream = self._joint_stream()
        elif stream is None:
            stream = self.streams[key] = Stream(*key)
            stream.watcher = self.watcher
            stream.peers = self.peers.group_of(*key)
            for other in self.peers.apart():
                known = self.streams.get((key[0], *other))
                if known is not None:
                    known.peers = self.peers.group_of(key[0], *other)
        self._last = (process, rank, stream)
        return stream

    def _joint_stream(self) -> Stream:
        """Where the records of all streams go that are not told apart any more."""
        if self.joint is None:
            key = (self.run_number(None), None, bounds.FURTHER_RANKS)
            self.joint = self.streams[key] = Stream(*key)
            self.joint.joint = True
            self.joint.burst.over = True
            self.joint.watcher = self.watcher
        return self.joint

    def _start(self, process: str | None, line: int) -> None:
        """A server start on `line`."""
        starts = self.starts
        if starts.holds(process):
            number = starts.run_number(process)
            for key in list(self._young):
                if key[0] == number and (key[1] == process or (process is None and not starts.has_own(key[1]))):
                    stream = self.streams[key]
                    self._opened(stream, "busy", stream.settle())
                    stream.burst.over = True
                    del self._young[key]
            self._last = None
        starts.begin(process, line)

    def _context(self, line: Line, message: Context) -> None:
        kind = message.kind
        if kind in STARTS:
            self._close_reports(line.process)
            self._start(line.process, line.number)
        if kind in STARTING:
            self.starts.learn(line, message)
        elif kind in BATCH_KINDS:
            self.starts.hold(line.process)
            for key in list(self._young):
                stream = self.streams[key]
                self._opened(stream, "busy", stream.batch_line())
                if stream.burst.over:
                    del self._young[key]
        elif kind == "watchdog" and DUMP_MARK in line.text:
            self._dumps.add(line.process)
        elif kind == "exception" and line.text.startswith("Scheduler hit"):
            self._tracebacks.begin(line)
        if line.rank != "-" and kind in ALWAYS_HEEDED and len(self.ranks) < bounds.STREAMS:
            self.ranks.setdefault((self.run_number(line.process), line.process, line.rank), line.number)

    # Busy records

    def _busy(self, line: Line, message: Busy) -> None:
        stream = self.stream_of(line.process, line.rank)
        if line.copied and _repeats(stream, line):
            return
        if not stream.checks:
            stream.copied = line.copied
            self.starts.hold(line.process)
            stream.first_line = stream.first_line or line.number
        current = message.form.startswith(CURRENT_FORMS)
        if not message.pools:
            row = row_of(line, line.time, {}, None, NO_MARKS, message.form, None)
            self._opened(stream, "busy", stream.add(EMPTY, row, current))
        for pool in message.pools:
            self.records += 1
            row = row_of(line, line.time, pool.terms, pool.total, pool.marks, message.form, pool.extra)
            self._opened(stream, "busy", stream.add(_label(stream.busy, pool.pool), row, current))
        if not stream.burst.over or self._young:
            self._grow(stream)

    def _grow(self, stream: Stream) -> None:
        """Note whether a stream may still be a dump, now that it has got a record."""
        key = (stream.run, stream.process, stream.rank)
        if not stream.burst.over and key not in self._young:
            if len(self._young) < bounds.BURSTS:
                self._young[key] = None
            else:
                self._opened(stream, "busy", stream.burst_over())
        elif stream.burst.over:
            self._young.pop(key, None)

    def add(self, process: str | None, rank: str, pool: str, row: Row) -> None:
        """One busy record of a stream that is known already, apart from its line."""
        stream = self.stream_of(process, rank)
        self.records += 1
        self._opened(stream, "busy", stream.add(_label(stream.busy, pool), row, row.form.startswith(CURRENT_FORMS)))

    def record(
        self, rank: str, pool: str, line: int, offset: int, time: str, total: int, terms: tuple[int, ...]
    ) -> bool:
        """A record of a whole bare line in the current form: `fold` in fewer steps. Answers whether breaks were opened.

        To be used while nothing is wanted but marked lines.
        """
        last = self._last
        if last is not None and last[1] == rank and last[0] is None:
            stream = last[2]
        else:
            known = self.streams.get((self.run_number(None), None, rank))
            if known is None:
                known = self.stream_of(None, rank)
            stream = known
            self._last = (None, rank, stream)
        self.records += 1
        if not stream.burst.over or pool not in stream.busy:
            return self._early(stream, pool, Row(line, offset, None, time, total, terms, None, NO_MARKS, "B3"))
        row = stream.record(pool, line, offset, time, total, terms)
        if row is None:
            return False
        self.openings.append(Opening(stream, "busy", pool, row))
        return True

    def _early(self, stream: Stream, pool: str, row: Row) -> bool:
        """A record of a stream that may still be a dump, or that is new. Answers whether breaks were opened."""
        if not stream.checks:
            self.starts.hold(None)
            stream.first_line = stream.first_line or row.line
        self._opened(stream, "busy", stream.add(_label(stream.busy, pool), row, True))
        if not stream.burst.over or self._young:
            self._grow(stream)
        return bool(self.openings)

    def _opened(self, stream: Stream, check: str, entries: list[tuple[str, Row]]) -> None:
        for pool, row in entries:
            self.openings.append(Opening(stream, check, pool, row))

    def _reject(self, line: Line, message: Torn) -> None:
        self.rejected_count += 1
        if self.rejecting is not None:
            self.rejecting(line, message.reason)
        if message.busy:
            stream = self.streams.get((self.run_number(line.process), line.process, line.rank))
            if stream is not None:
                stream.torn()
        elif message.report == "idle":
            self._idle(line, Idle("torn", (), message.raised, message.copied, crashed=message.crashed))
            self._reports[line.process][-1].torn = True
        elif message.report:
            self._note_torn(line, self._reported(line, message), message.copied)

    def _assertion(self, line: Line, message: BusyAssertion) -> None:
        rank, time = self._origin(line, message.crashed)
        text = message.text
        total = text.total if text else message.total
        sum_of_terms = accounted(terms_of(text.terms), text.marks) if text else message.accounted
        pool = message.pool or "full"
        asserted = Asserted(pool, total, sum_of_terms, line.number)
        run = self.run_number(line.process)
        own = self.streams.get((run, line.process, rank))
        terms = text.terms if text else {}
        row = row_of(
            line, time, terms, total, text.marks if text else NO_MARKS, message.form, text.extra if text else None
        )
        if own is not None:
            self._opened(own, "busy", own.settle())
            if row.cut and pool in own.busy:
                repeated = own.busy[pool].segments[-1].last
                if may_be(row, sum_of_terms, repeated):
                    total, sum_of_terms = repeated.total, repeated.accounted
                    asserted = Asserted(pool, total, sum_of_terms, line.number)
        for stream in self._near(own, run):
            if stream is not own:
                self._opened(stream, "busy", stream.settle())
            series = stream.busy.get(pool)
            if series is not None and _shows(series, total, sum_of_terms):
                if len(stream.asserted) < bounds.ASSERTIONS and asserted[:3] not in [a[:3] for a in stream.asserted]:
                    stream.asserted.append(asserted)
                if stream.burst.complete:
                    stream.asserted_dump = True
                    stream.burst.over = True
                return
        if (message.copied or line.copied) and any(
            asserted[:3] == known[:3] for other in self._near(own, run) for known, *_ in other.lone_assertions
        ):
            return
        if own is not None and text is None and sum_of_terms is not None:
            completed = own.complete(pool, sum_of_terms)
            if completed is not None:
                held, completed_row = completed
                own.asserted.append(asserted._replace(unprinted=held))
                self.openings.append(Opening(own, "busy", pool, completed_row))
                return
        stream = self.stream_of(line.process, rank)
        lone = stream.lone_assertions
        if len(lone) < bounds.ASSERTIONS and asserted[:3] not in [known[:3] for known, *_ in lone]:
            stream.first_line = stream.first_line or line.number
            stream.lone_assertions.append((asserted, row, stream.last_balanced.get(pool)))
            self.records += 1 if text else 0
            self.openings.append(Opening(stream, "busy", pool, row))

    def _reported(self, line: Line, message: Idle | RequestPool | PageReport | Torn) -> tuple[str, str | None]:
        """Rank and time that a report counts for: one that was raised has those of the exception."""
        return self._origin(line, message.crashed) if message.raised else (line.rank, line.time)

    def _near(self, own: Stream | None, run: int) -> Iterator[Stream]:
        """The streams of a run in which to look for something, the likeliest first; the others only so often."""
        if own is not None:
            yield own
        if self._looks < bounds.LOOKS:
            self._looks += len(self.streams)
            yield from [stream for key, stream in self.streams.items() if key[0] == run]

    # Idle reports

    def _idle(self, line: Line, message: Idle) -> None:
        origin = self._reported(line, message)
        if not stands_beside(self._reports.get(line.process, ()), origin[0]):
            self._close_reports(line.process)
        self._reports.setdefault(line.process, []).append(IdleReport(line, origin, message))

    def _continue_report(self, line: Line, message: Message | None) -> None:
        opened = self._reports.get(line.process)
        if opened is None:
            return
        for report in go_on(opened, line, message):
            self._count_report(line.process, report)
        if not opened:
            del self._reports[line.process]

    def _close_reports(self, process: str | None) -> None:
        for report in self._reports.pop(process, ()):
            self._count_report(process, report)

    def _count_report(self, process: str | None, report: IdleReport) -> None:
        rank, time = report.origin
        if report.torn and not report.pools:
            self._note_torn(report.line, report.origin, report.copied)
            return
        stream = self.stream_of(process, rank)
        self._holds_check(stream, report.line)
        rows = []
        for pool, row in report.rows(stream.checks, lambda form, marks: self._idle_marks(process, form, marks)):
            if "skipped" in row.marks:
                stream.skipped.setdefault(pool, row)
            else:
                rows.append((pool, row))
        if report.copied and rows and self._is_known(stream, rows, report.line.rank != "-"):
            return
        stream.idle_reports += 1
        balanced = True
        for name, row in rows:
            self.records += 1
            name = _label(stream.idle, name)
            series = stream.idle.get(name)
            if series is None:
                series = stream.idle[name] = Series(name)
            if stream.enter(series, row):
                self.openings.append(Opening(stream, "idle", name, row))
            if (row.terms[PROTECTED] or 0) > 0:
                detail = f"protected is {row.terms[PROTECTED]} while the server is idle: locks that nobody gave back"
                series.oddities.setdefault("protected-at-idle", (row, detail))
            # What the server lets pass is not what it reported.
            passes = row.total == row.accounted or "tolerated" in row.marks
            balanced = balanced and passes and "reported" not in row.marks
        if balanced and len(stream.balanced_reports) < 100:
            empty = row_of(report.line, time, {}, None, NO_MARKS, "", None)
            stream.balanced_reports.append(rows[0][1] if rows else empty)

    def _idle_marks(self, process: str | None, form: str, marks: frozenset[str]) -> frozenset[str]:
        """Settle whether an old form sums protected: forms B to F only with hierarchical cache."""
        if "protected_if_hierarchical" not in marks:
            return marks
        marks = marks - {"protected_if_hierarchical"}
        if form.startswith("G"):
            return marks  # 0.5.2 on always sums it, and which release printed this is not told
        hierarchical = self.run_of(process).flag("enable_hierarchical_cache", process)
        return marks if hierarchical is True else marks | {"protected_not_summed"}

    def _is_known(self, stream: Stream, rows: list[tuple[str, Row]], own: bool) -> bool:
        """Whether a copied report repeats one of its run: the same pools with the same numbers.

        own: the copy names its rank, so it repeats a report of that rank.
        """
        for other in (stream,) if own else self._near(stream, stream.run):
            self._looks += sum(len(other.idle[pool].segments) for pool, _ in rows if pool in other.idle)
            if self._looks < bounds.LOOKS and all(
                (series := other.idle.get(pool)) is not None
                and any(
                    (seen.terms, seen.total) == (row.terms, row.total)
                    for s in series.segments
                    for seen in (s.first, s.last)
                )
                for pool, row in rows
            ):
                return True
        return False

    def _holds_check(self, stream: Stream, line: Line) -> None:
        # A dump is printed in one go: what was held back before this report is settled, and counts before it.
        self._opened(stream, "busy", stream.settle())
        self.starts.hold(line.process)
        stream.first_line = stream.first_line or line.number

    def _requests(self, line: Line, message: RequestPool) -> None:
        rank, time = self._reported(line, message)
        stream = self.stream_of(line.process, rank)
        self._holds_check(stream, line)
        terms = {"available": message.available}
        if message.session_held is not None:
            terms["session_held"] = message.session_held
        row = row_of(line, time, terms, message.total, NO_MARKS, message.form, None)
        row = row._replace(iteration=stream.checks or None, check="idle")
        if (message.copied or line.copied) and stream.requests is not None:
            last = stream.requests.segments[-1].last
            if (last.terms, last.total) == (row.terms, row.total):
                return
        if stream.requests is None:
            stream.requests = Series("req")
        stream.idle_reports += 1
        self.records += 1
        if stream.enter(stream.requests, row):
            self.openings.append(Opening(stream, "idle", "req", row))

    def _pages(self, line: Line, message: PageReport) -> None:
        rank, time = self._reported(line, message)
        stream = self.stream_of(line.process, rank)
        if (message.copied or line.copied) and any(
            (p.kind, p.pool, p.pages) == (message.kind, message.pool, message.pages) for p in stream.pages
        ):
            return
        self._holds_check(stream, line)
        page = Page(
            message.kind,
            message.pool,
            message.pages,
            message.sample,
            line.number,
            line.offset,
            time,
            stream.checks or None,
            stream.last_balanced.get(message.pool) if message.pool else None,
        )
        stream.pages.append(page)
        if len(stream.pages) > 10_000:
            del stream.pages[5_000]
        row = row_of(line, time, {}, None, NO_MARKS, message.form, None)
        self.openings.append(Opening(stream, "pages", message.pool or "", row))

    def _unnumbered(self, line: Line, message: Unnumbered) -> None:
        function = self._tracebacks.function(line.process)
        if not self._tracebacks.end(line.process) and not any(mark in line.text for mark in TELLING):
            return  # the last line of a traceback without the traceback says nothing of this checker
        settled = settle_bare(message, function)
        if settled is None or settled.continuation:
            return
        copied = settled.copied or line.copied
        self._note(line, self._origin(line), settled.kind, settled.what, settled.detail, copied)

    def _note_torn(self, line: Line, origin: tuple[str, str | None], copied: bool) -> None:
        """The server reported a leak in a line that cannot be read."""
        self._note(line, origin, TORN_REPORT, "cut or torn", line.text.strip()[:300], copied)

    def _note(
        self, line: Line, origin: tuple[str, str | None], kind: str, what: str, detail: str, copied: bool
    ) -> None:
        """Keep a note, unless it is a copy of one. origin: rank and time that it counts for."""
        rank, time = origin
        run = self.run_number(line.process)
        key = (run, line.process, rank, what)
        if len(self.notes) < bounds.NOTES and not (key in self._noted and copied):
            self._noted.add(key)
            self.notes.append(Note(run, line.process, rank, line.number, time, kind, what, detail))

    # Reading the result

    def in_order(self) -> Iterator[Stream]:
        """All streams, by run, then by the order in which they first spoke."""
        return iter(sorted(self.streams.values(), key=lambda stream: stream.run))


def _repeats(stream: Stream, line: Line) -> bool:
    """Whether a copied busy line (quoted in a reply, annotated) was read before as it was printed."""
    if not stream.checks or stream.copied or stream.joint or stream.last_busy is None:
        return False
    last = stream.last_busy[1].time
    return line.time is None or last is None or line.time <= last


def _label(known: Mapping[str, Series], pool: str) -> str:
    """The pool of a record, or what stands for all further ones."""
    return pool if pool in known or len(known) < bounds.POOLS else bounds.FURTHER_POOLS


def _shows(series: Series, total: int | None, sum_of_terms: int | None) -> bool:
    """Whether a record of the series has these sums (the record an assertion repeats)."""
    segment: Segment
    for segment in reversed(series.segments):
        for row in (segment.last, segment.first):
            if row.accounted == sum_of_terms and (row.total is None or row.total == total):
                return True
            # Rows between the two have the same delta; where their totals differ the sums do too.
            if row.total is not None and total == row.total and segment.balance == (sum_of_terms or 0) - total:
                return True
    return False
