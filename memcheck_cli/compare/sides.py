"""One side of a comparison: its logs read and judged, its streams with their columns, and what its runs tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memcheck_cli.compare.ranks import role_of
from memcheck_cli.compare.tracks import ABSENT, Collector, Kept, Track, TrackKey
from memcheck_cli.forensics.analysis import Analysis, Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings, in_slots
from memcheck_cli.ledger import Run, Stream
from memcheck_cli.ledger.reading import SourceReading, read_source
from memcheck_cli.log.records import Value

if TYPE_CHECKING:
    from memcheck_cli.log.release_hints import ReleaseRange
    from memcheck_cli.sources import Source, Unreadable


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """One stream of a side. place: of its source on the side, from 0. turn: of its run among those of its source that
    hold checks, from 0. run: None where nothing is told of it."""

    source: str
    place: int
    turn: int
    stream: Stream
    run: Run | None
    tracks: Mapping[TrackKey, Track]
    settings: Settings

    @property
    def rank(self) -> str:
        """As printed; `-` where the prefix has none."""
        return self.stream.rank

    def page_size(self, pool: str | None = None) -> int | None:
        """In tokens; None where nothing tells it, or the pool is counted in slots."""
        if in_slots(pool):
            return None
        if self.settings.page_size is not None:
            return self.settings.page_size
        return self.run.page_size(self.stream.process) if self.run else None

    def total(self, pool: str) -> int | None:
        """Of a pool: what its first record prints, else what the assertion, the banner or the caller says."""
        for track in self.tracks.values():
            if track.pool == pool and len(track):
                first = int(track.total.numbers()[0])
                if first != ABSENT:
                    return first
        for known in self.stream.asserted:
            if known.pool == pool and known.total is not None:
                return known.total
        if pool == "full" and self.run is not None:
            banner = self.run.banner_total(self.stream.process)
            if banner is not None:
                return banner[0]
        return self.settings.totals.get(pool)

    def pools(self) -> list[str]:
        """The pools it has records of, in the order of their names, `full` first."""
        return sorted({pool for _, pool in self.tracks}, key=lambda pool: (pool != "full", pool))


@dataclass(frozen=True, slots=True)
class RunTold:
    """What one run of a side tells of its setting."""

    source: str
    number: int
    flags: Mapping[str, Value]
    release: ReleaseRange | None
    page_sizes: Collection[int]


@dataclass(slots=True)
class Side:
    """What is known of one side. name: as the caller wrote it. forgotten: records that were not kept to compare."""

    name: str
    analysis: Analysis
    lanes: list[Lane]
    runs: list[RunTold]
    events: Mapping[str, int] = field(default_factory=dict)
    forgotten: int = 0

    @property
    def unreadable(self) -> bool:
        """Nothing of it could be read."""
        sources = self.analysis.sources
        return bool(sources) and all(source.ledger is None for source in sources)

    def place(self, source: str, line: int) -> tuple[str | None, int]:
        """Where a line of a source stands: the member of a rotated set (None for any other source), the line in it."""
        for reading in self.analysis.sources:
            if reading.name == source and len(reading.parts) > 1:
                return reading.place(line)
        return None, line


class ReadSide:
    """A side that was read and not judged yet."""

    def __init__(self, name: str, pools: frozenset[str] = frozenset(), kept: Kept | None = None) -> None:
        self.name = name
        self.readings: list[SourceReading] = []
        self.collector = Collector(pools, kept)

    def read(self, found: Iterable[Source | Unreadable]) -> None:
        """Read sources to their ends."""
        from memcheck_cli.sources import Unreadable

        for source in found:
            if isinstance(source, Unreadable):
                self.readings.append(SourceReading(source.name, error=source.reason))
            else:
                self.readings.append(read_source(source, self.collector))
        self.collector.settle()

    def ranks(self) -> set[str]:
        """The ranks that hold checks."""
        return {s.rank for r in self.readings if r.ledger is not None for s in r.ledger.in_order() if _speaks(s)}

    def judged(self, settings: Settings, scope: Scope) -> Side:
        """The side with its verdict."""
        analysis = analyze_readings(self.readings, settings, scope)
        lanes = []
        runs = []
        for place, reading in enumerate(self.readings):
            if reading.ledger is None:
                continue
            turns: dict[int, int] = {}
            for stream in reading.ledger.in_order():
                if not _speaks(stream) or not scope.covers(stream.rank, None):
                    continue
                turn = turns.setdefault(stream.run, len(turns))
                run = reading.ledger.runs.get(stream.run)
                tracks = self.collector.tracks.get(stream, {})
                lanes.append(Lane(reading.name, place, turn, stream, run, tracks, settings))
            runs += [_told(reading, run, settings) for run in reading.ledger.runs.values()]
        forgotten = sum(track.forgotten for lane in lanes for track in lane.tracks.values())
        events = dict(self.collector.events)
        return Side(self.name, analysis, lanes, runs, events, forgotten + self.collector.dropped_tracks)


def _speaks(stream: Stream) -> bool:
    return bool(stream.checks or stream.idle_reports or stream.lone_assertions or stream.pages)


def _told(reading: SourceReading, run: Run, settings: Settings) -> RunTold:
    flags: dict[str, Value] = {}
    for process in run.starts:
        flags = {**run.flags(process), **flags}
    hints = reading.hints.get(run.number)
    sizes = {settings.page_size} if settings.page_size else {run.page_size(process) for process in run.starts}
    told = sorted(size for size in sizes if size is not None)
    return RunTold(reading.name, run.number, flags, hints.best() if hints is not None else None, told)


def scope_of(asked: Iterable[str], present: Collection[str], partners: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The ranks of one side that are meant by ranks asked for on either.

    partners: (rank of the other side, rank of this one) as named by the caller. A rank that this side lacks stands for
    the one of the same role.
    """
    found: set[str] = set()
    for rank in asked:
        mapped = {mine for theirs, mine in partners if theirs == rank}
        if rank in present or mapped:
            found |= mapped | ({rank} if rank in present else set())
        else:
            found |= {other for other in present if role_of(other) == role_of(rank)} or {rank}
    return frozenset(found)
