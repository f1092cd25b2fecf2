"""Reads one source of a bundle: its attempts, each with what the checker said in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from memcheck_cli.artifacts.attempts import Attempt
from memcheck_cli.artifacts.cutting import Cutter
from memcheck_cli.artifacts.fingerprints import fingerprint_of
from memcheck_cli.artifacts.jobs import JobLog
from memcheck_cli.artifacts.model import Seen
from memcheck_cli.artifacts.places import Place
from memcheck_cli.errors import UnreadableError
from memcheck_cli.forensics.analysis import Analysis, Scope, analyze_readings
from memcheck_cli.forensics.breaks import Item, Settings
from memcheck_cli.ledger import Ledger
from memcheck_cli.ledger.reading import SourceReading, read_source
from memcheck_cli.log.records import Value
from memcheck_cli.log.release_hints import why_unchecked
from memcheck_cli.sources import Source

COLUMNS = "columns"


class RunTold(NamedTuple):
    """One server run of an attempt. number: counted over the source. line: the first that is known of it. flags, and
    reasons why it cannot have run, or cannot have printed, a check. dumped: it dumped a ring, so it ran at level 1."""

    number: int
    line: int
    flags: Mapping[str, Value]
    reasons: tuple[str, ...]
    dumped: bool


@dataclass(slots=True)
class AttemptRead:
    """One attempt with what the checker said in it. verdict, reason: of all of it. decided: a record of it could be
    decided. records: pool texts."""

    attempt: Attempt
    source: str
    place: Place
    breaks: list[Seen] = field(default_factory=list)
    undetermined: list[Item] = field(default_factory=list)
    runs: list[RunTold] = field(default_factory=list)
    verdict: str = "undecided"
    reason: str = ""
    records: int = 0


@dataclass(slots=True)
class SourceRead:
    """One source. lines, records, rejected, error: as in `SourceReading`."""

    name: str
    place: Place
    kind: str
    attempts: list[AttemptRead] = field(default_factory=list)
    jobs: dict[str | None, JobLog] = field(default_factory=dict)
    lines: int = 0
    records: int = 0
    rejected: int = 0
    error: str | None = None
    read: bool = True


def read_log(source: Source, place: Place, settings: Settings, scope: Scope) -> SourceRead:
    """Read a source as a log. Damage ends the reading, what came before it counts."""
    done = SourceRead(source.name, place, place.kind)
    try:
        stream = source.open()
    except UnreadableError as error:
        done.error, done.read = str(error), False
        return done
    runs: dict[str | None, int] = {}
    with stream:
        cutter = Cutter(source, stream, place.job, place.step)
        try:
            for attempt, piece in cutter:
                _read_attempt(done, attempt, piece, runs, settings, scope)
        except UnreadableError as error:
            done.error = str(error)
    cutter.finish(done.error is None)
    done.jobs = cutter.jobs
    if cutter.columns:
        done.kind = COLUMNS
    return done


def _read_attempt(
    done: SourceRead,
    attempt: Attempt,
    piece: Source,
    runs: dict[str | None, int],
    settings: Settings,
    scope: Scope,
) -> None:
    reading = read_source(piece, lines_before=attempt.first_line - 1)
    done.lines = max(done.lines, reading.lines)
    done.records += reading.records
    done.rejected += reading.rejected
    done.error = done.error or reading.error
    read = AttemptRead(attempt, piece.name, done.place, records=reading.records)
    if reading.ledger is not None and (reading.ledger.streams or reading.ledger.notes or reading.ledger.runs):
        analysis = analyze_readings([reading], settings, scope)
        before = runs.get(attempt.job, 0)
        _take(read, analysis, reading, reading.ledger, before)
        runs[attempt.job] = max([before, *(run.number for run in read.runs)])
    done.attempts.append(read)


def _take(read: AttemptRead, analysis: Analysis, reading: SourceReading, ledger: Ledger, before: int) -> None:
    """Keep the conclusions; the ledger itself is let go."""
    read.verdict, read.reason = analysis.verdict, analysis.reason
    read.undetermined = analysis.undetermined
    for item in read.undetermined:
        item.run = None if item.run is None else item.run + before
    for found in analysis.breaks:
        stream = found.stream
        run = ledger.runs.get(stream.run)
        flags = run.flags(stream.process) if run is not None else {}
        hits = analysis.explanation.of_event(found.event) if analysis.explanation is not None else []
        signature = hits[0].signature.id if hits else None
        read.breaks.append(Seen(found, stream.run + before, fingerprint_of(found, flags, signature)))
    read.runs = _runs(reading, ledger, before)


def _runs(reading: SourceReading, ledger: Ledger, before: int) -> list[RunTold]:
    told = []
    for number in sorted({*ledger.runs, *(key[0] for key in ledger.streams)}):
        run = ledger.runs.get(number)
        streams = [stream for key, stream in ledger.streams.items() if key[0] == number]
        starts = list(run.starts.values()) if run is not None else []
        lines = [start.args_line for start in starts] + [start.banner_line for start in starts]
        known = [line for line in [*lines, *(stream.first_line for stream in streams)] if line is not None]
        if not known:
            continue  # nothing but the command that a test suite printed
        flags = run.flags(None) if run is not None else {}
        hints = reading.hints.get(number)
        low, high, _ = hints.best() if hints is not None else (None, None, ())
        dumped = any(stream.mode == "ring-dump" for stream in streams)
        told.append(RunTold(number + before, min(known), flags, tuple(why_unchecked(flags, low, high)), dumped))
    return told
