"""Drift that no sum shows: terms that grow while requests do not, and locks that are never given back.

Needs every record and every batch line, so it is asked for (`--trends`). Memory is bounded: of each series a sample of
points is kept, chosen evenly over the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from memcheck_cli.counting import counted
from memcheck_cli.forensics.around import rank_group
from memcheck_cli.forensics.breaks import Item, in_slots
from memcheck_cli.forensics.slopes import Slope, slope_of
from memcheck_cli.ledger import Row, Stream
from memcheck_cli.log.batch_lines import BATCH_KINDS
from memcheck_cli.log.context import BATCH_MARKERS
from memcheck_cli.log.records import TERMS, Context, Line, Value

SAMPLE = 1024
"""Points of a series that are kept."""

LEAST_POINTS = 500
"""Fewer records allow no statement."""

SMALLEST_SHARE = 0.01
"""A rise below this share of the pool is none worth telling."""

MOST_SERIES = 4096

PROTECTED, SESSION, UNCACHED = TERMS.index("protected"), TERMS.index("session_held"), TERMS.index("uncached")


class Point(NamedTuple):
    """One record of a sample. x: iteration. running: requests at that time, None where no batch line told. started:
    sequences that were prefilled before it."""

    x: int
    line: int
    terms: tuple[int | None, ...]
    running: int | None
    started: int


class _Sample:
    """A sample of fixed size of a sequence of unknown length, every item as likely as any other."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.seen = 0
        self._random = Random(20260101)

    def add(self, point: Point) -> None:
        self.seen += 1
        if len(self.points) < SAMPLE:
            self.points.append(point)
            return
        at = self._random.randrange(self.seen)
        if at < SAMPLE:
            self.points[at] = point


class _Series:
    """What is kept of one pool of one stream."""

    def __init__(self, stream: Stream, pool: str) -> None:
        self.stream = stream
        self.pool = pool
        self.total = 0
        self.sample = _Sample()


class Trends:
    """Watches one source while it is read (an `Observer`); `findings` says what drifts."""

    markers: tuple[bytes, ...] = BATCH_MARKERS

    def __init__(self, source: str) -> None:
        self.source = source
        self._series: dict[tuple[int, str | None, str, str], _Series] = {}
        self._running: dict[tuple[int, str | None, tuple[str, ...]], int] = {}
        self._started: dict[tuple[int, str | None, tuple[str, ...]], int] = {}
        self._usage: dict[tuple[int, str | None, str], tuple[_Sample, list[int]]] = {}
        self.started_at: dict[int, int] = {}  # by line of an unbalanced record: sequences prefilled before it

    def record(self, stream: Stream, check: str, pool: str, row: Row, /) -> None:
        """Take one record."""
        if not pool or in_slots(pool) or "skipped" in row.marks:
            return
        group = (stream.run, stream.process, rank_group(stream.rank))
        if row.total is not None and row.accounted != row.total and len(self.started_at) < 100_000:
            started = self._started.get(group, self._started.get((stream.run, None, ())))
            if started is not None:
                self.started_at[row.line] = started
        if check != "busy" or row.iteration is None:
            return
        key = (stream.run, stream.process, stream.rank, pool)
        series = self._series.get(key)
        if series is None:
            if len(self._series) >= MOST_SERIES:
                return
            series = self._series[key] = _Series(stream, pool)
        series.total = max(series.total, row.total or 0)
        running = self._running.get(group)
        started = self._started.get(group, 0)
        series.sample.add(Point(row.iteration, row.line, row.terms, running, started))

    def context(self, run: int, line: Line, message: Context, /) -> None:
        """Take one context line."""
        if message.kind not in BATCH_KINDS:
            return
        values = message.values
        group = (run, line.process, rank_group(line.rank))
        running, new = values.get("running_req"), values.get("new_seq")
        if isinstance(new, int) and message.kind == "prefill":
            self._started[group] = self._started.get(group, 0) + new
        if not isinstance(running, int):
            return
        self._running[group] = running + (new if isinstance(new, int) else 0)
        token = values.get("token", values.get("full_token"))
        usage = values.get("usage", values.get("full_usage"))
        if message.kind == "decode" and isinstance(token, int):
            key = (run, line.process, line.rank)
            if key not in self._usage:
                if len(self._usage) >= MOST_SERIES:
                    return
                self._usage[key] = (_Sample(), [0])
            sample, total = self._usage[key]
            if isinstance(usage, int | float) and usage >= 0.05:
                total[0] = max(total[0], round(token / usage))
            sample.add(Point(sample.seen + 1, line.number, (token,), running, self._started.get(group, 0)))

    # What drifts

    def findings(self) -> list[Item]:
        """One item for everything that drifts, in the order of the lines on which it begins."""
        items = [item for series in self._series.values() for item in self._of_series(series)]
        checked = {(run, process) for run, process, _, _ in self._series}
        for (run, process, rank), (sample, total) in self._usage.items():
            if (run, process) not in checked and sample.seen >= LEAST_POINTS:
                found = self._grows(sample.points, 0, total[0])
                if found is not None:
                    slope, running = found
                    text = f"#token grows from about {slope.start:.0f} to {slope.end:.0f}"
                    items.append(
                        self._item(run, process, rank, None, "usage-creeps", text, slope, running, sample.points)
                    )
        return sorted(items, key=lambda item: item.line or 0)

    def _of_series(self, series: _Series) -> Iterable[Item]:
        stream, sample = series.stream, series.sample
        where = (stream.run, stream.process, stream.rank, series.pool)
        if sample.seen < LEAST_POINTS:
            return
        for term, kind in ((UNCACHED, "uncached-grows"), (SESSION, "session-held-grows")):
            found = self._grows(sample.points, term, series.total)
            if found is not None:
                slope, running = found
                text = f"{TERMS[term]} grows from about {slope.start:.0f} to {slope.end:.0f}"
                yield self._item(*where, kind, text, slope, running, sample.points)
        few = _at_low_load(sample.points)
        found = self._grows(few, PROTECTED, series.total)
        if found is not None:
            slope, running = found
            most = counted(max(point.running or 0 for point in few), "request")
            text = f"with at most {most} running, protected grows from about {slope.start:.0f} to {slope.end:.0f}"
            yield self._item(*where, "protected-never-falls", text, slope, running, few)

    @staticmethod
    def _grows(points: list[Point], term: int, total: int) -> tuple[Slope, Slope] | None:
        """The slopes of a term and of the running requests, where the first is surely up and the second is not."""
        known = [point for point in points if point.running is not None and point.terms[term] is not None]
        most = _lifetimes(known)
        slope = slope_of([(point.x, point.terms[term] or 0) for point in known], most)
        running = slope_of([(point.x, point.running or 0) for point in known], most)
        each = slope_of([(point.x, (point.terms[term] or 0) / max(1, point.running or 0)) for point in known], most)
        if slope is None or running is None or each is None:
            return None
        enough = slope.rise >= max(SMALLEST_SHARE * total, 16) and slope.rise >= 0.5 * max(1.0, slope.start)
        steady = running.low <= 0 or running.rise <= 0.1 * max(1.0, running.start)
        return (slope, running) if slope.low > 0 and each.low > 0 and enough and steady else None

    def _item(
        self,
        run: int,
        process: str | None,
        rank: str,
        pool: str | None,
        kind: str,
        text: str,
        slope: Slope,
        running: Slope,
        points: list[Point],
    ) -> Item:
        first, last = min(points), max(points)
        unit = "iterations" if kind != "usage-creeps" else "Decode lines"
        reason = (
            f"{text} between line {first.line} and line {last.line}: {1000 * slope.per_unit:+.3g} per 1000 {unit} (99% "
            f"between {1000 * slope.low:+.3g} and {1000 * slope.high:+.3g}), while running requests go from about "
            f"{running.start:.0f} to {running.end:.0f}"
        )
        more: dict[str, Value] = {
            "per_iteration": slope.per_unit,
            "low": slope.low,
            "high": slope.high,
            "from": slope.start,
            "to": slope.end,
            "points": len(points),
            "blocks": slope.blocks,
            "lines": [first.line, last.line],
        }
        return Item(self.source, run, process, rank, pool, last.line, reason, kind, more=more)


def _lifetimes(points: list[Point]) -> int:
    """How many times over the running requests were replaced by others between the first and the last point.

    What a request does while it grows longer is no drift, so points within one lifetime count as one.
    """
    if len(points) < 2:
        return 0
    started = max(points).started - min(points).started
    mean = sum(point.running or 0 for point in points) / len(points)
    return int(started / max(1.0, mean))


def _at_low_load(points: list[Point]) -> list[Point]:
    """The quarter of the points with the fewest running requests, without the first eighth of the run: what is locked
    then is not locked by load."""
    known = sorted(point for point in points if point.running is not None)
    known = known[len(known) // 8 :]
    if len(known) < LEAST_POINTS // 4:
        return []
    limit = sorted(point.running or 0 for point in known)[len(known) // 4]
    return [point for point in known if (point.running or 0) <= limit]
