"""The answer of `memcheck analyze`: the conclusions of every source put together, with the verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memcheck_cli.counting import counted
from memcheck_cli.forensics.breaks import Break, Item, Judged, Settings, judge
from memcheck_cli.forensics.notes import CHECKER_CRASH, add_notes
from memcheck_cli.ledger import Stream
from memcheck_cli.ledger.dumps import second_of
from memcheck_cli.ledger.reading import SourceReading

if TYPE_CHECKING:
    from memcheck_cli.forensics.asked import Missing
    from memcheck_cli.forensics.explanation import Explanation
    from memcheck_cli.forensics.signatures.model import Hit
    from memcheck_cli.forensics.trends import Trends

BALANCED, BROKEN, UNDECIDED = "balanced", "broken", "undecided"
EXIT_CODES = {BALANCED: 0, BROKEN: 1, UNDECIDED: 3}
EVENT_SECONDS = 5


class Scope(NamedTuple):
    """What the verdict speaks about. Empty collections mean everything. checked_level: the caller's word that the
    server ran the busy check at that level."""

    ranks: Collection[str] = ()
    pools: Collection[str] = ()
    checked_level: int | None = None

    def covers(self, rank: str | None, pool: str | None) -> bool:
        """Whether a rank and pool are spoken about; unknown ones are."""
        return (not self.ranks or rank is None or rank in self.ranks) and (
            not self.pools or pool is None or pool in self.pools
        )


@dataclass(slots=True)
class Analysis:
    """Everything `analyze` found. reason: one sentence that says why the verdict is what it is. explanation: None where
    there is nothing to explain. checked_elsewhere: not what was asked for was checked, but other ranks or pools."""

    verdict: str
    reason: str
    breaks: list[Break]
    streams: list[tuple[str, Stream]]
    undetermined: list[Item]
    unchecked: list[Item]
    findings: list[Item]
    sources: list[SourceReading]
    breaking: dict[tuple[str, int, str | None, str, str], int] = field(default_factory=dict)
    explanation: Explanation | None = None
    checked_elsewhere: bool = False

    @property
    def first_break(self) -> Break | None:
        """The first of the breaks."""
        return self.breaks[0] if self.breaks else None

    @property
    def signatures(self) -> list[Hit]:
        """What the evidence points to, strongest first."""
        return list(self.explanation.hits) if self.explanation is not None else []

    @property
    def exit_code(self) -> int:
        """What the process ends with: by verdict, or 4 where nothing of the input could be read."""
        return 4 if _unread(self.sources) else EXIT_CODES[self.verdict]


def analyze_readings(
    readings: Sequence[SourceReading], settings: Settings, scope: Scope, trends: Mapping[str, Trends] | None = None
) -> Analysis:
    """Judge what was read of all sources, in the order given. trends: by source, of those that were watched."""
    whole = Judged()
    streams: list[tuple[str, Stream]] = []
    breaking: dict[tuple[str, int, str | None, str, str], int] = {}
    records = decided = 0
    parts: list[tuple[SourceReading, Judged, int]] = []
    for reading in readings:
        ledger = reading.ledger
        if ledger is None:
            continue
        judged = judge(ledger, settings, reading)
        add_notes(reading, judged)
        watched = trends.get(reading.name) if trends is not None else None
        if watched is not None:
            judged.findings += watched.findings()
        part = _in_scope(judged, scope)
        whole.breaks += part.breaks
        whole.undetermined += part.undetermined
        whole.unchecked += part.unchecked
        whole.findings += part.findings
        decided += sum(part.decided.values())
        found = 0
        for key, count in judged.breaking.items():
            breaking[(reading.name, *key)] = count
        for stream in ledger.in_order():
            if scope.covers(stream.rank, None) and (
                stream.checks or stream.idle_reports or stream.lone_assertions or stream.pages
            ):
                streams.append((reading.name, stream))
                found += _records(stream, scope)
        records += found
        parts.append((reading, part, found))
    _number_events(whole.breaks)
    absent = _missing(scope, readings)
    if records:
        first = next(reading.name for reading in readings if reading.ledger is not None)
        whole.unchecked += [Item(first, None, None, one.rank, one.pool, None, one.reason) for one in absent]
    verdict, reason = _verdict(whole, records, decided, scope, readings, absent)
    if verdict != BROKEN:
        reason += _unread_rest(readings)
    if verdict == BALANCED and len(parts) > 1:
        verdict, reason = _undecided_source(parts, scope) or (verdict, reason)
    return Analysis(
        verdict,
        reason,
        whole.breaks,
        streams,
        whole.undetermined,
        whole.unchecked,
        whole.findings,
        list(readings),
        breaking,
        _explained(whole, readings, trends or {}),
        not records and bool(absent),
    )


def _unread_rest(readings: Sequence[SourceReading]) -> str:
    """What a verdict other than broken must not pass over: records that were not read, and a source of which only the
    beginning was read."""
    strange = _strange(readings)
    records = any(reading.records for reading in readings)
    rest = f"; {strange}" if strange and records else ""
    parts = [reading for reading in readings if reading.error is not None and reading.lines]
    if not parts:
        return rest
    others = f" (and {len(parts) - 1} more)" if len(parts) > 1 else ""
    return f"{rest}; {parts[0].name} was not read to its end: {parts[0].error}{others}"


def _strange(readings: Sequence[SourceReading]) -> str:
    """Which records stand behind heads that are not known, or nothing."""
    first = next((reading for reading in readings if reading.strange), None)
    if first is None:
        return ""
    lines = counted(sum(reading.strange for reading in readings), "line holds", "lines hold")
    where = f"line {first.strange_line}" + (f" of {first.name}" if len(readings) > 1 else "")
    return f"{lines} a record of the checker behind a head that is not known, {where} first"


def _missing(scope: Scope, readings: Sequence[SourceReading]) -> list[Missing]:
    if not (scope.ranks or scope.pools):
        return []
    from memcheck_cli.forensics.asked import checked_in, missing

    ledgers = [reading.ledger for reading in readings if reading.ledger is not None]
    silent = {rank for ledger in ledgers for _, _, rank in ledger.ranks}
    return missing(scope.ranks, scope.pools, checked_in(ledgers), silent)


def _in_scope(judged: Judged, scope: Scope) -> Judged:
    """What the verdict speaks about of what one source says."""
    return Judged(
        [b for b in judged.breaks if scope.covers(b.stream.rank, b.pool)],
        [i for i in judged.undetermined if scope.covers(i.rank, i.pool)],
        [i for i in judged.unchecked if scope.covers(i.rank, i.pool)],
        [i for i in judged.findings if scope.covers(i.rank, i.pool)],
        {who: count for who, count in judged.decided.items() if scope.covers(*who)},
    )


def _undecided_source(parts: Sequence[tuple[SourceReading, Judged, int]], scope: Scope) -> tuple[str, str] | None:
    """The verdict of the first source that is undecided by itself; it wins over those that are balanced.

    A source without any trace of a scheduler (a client's log, another part of a bundle) has nothing to decide, nor has
    one without a record of the ranks and pools asked for.
    """
    for reading, part, records in parts:
        if not records and (scope.ranks or scope.pools or not _scheduled(reading)):
            continue
        verdict, reason = _verdict(part, records, sum(part.decided.values()), scope, [reading], ())
        if verdict == UNDECIDED:
            return verdict, f"{reading.name}: {reason}"
    return None


def _scheduled(reading: SourceReading) -> bool:
    """A scheduler left a banner, a batch line or a check in this source."""
    if reading.strange:
        return True
    runs = reading.ledger.runs.values() if reading.ledger is not None else ()
    return any(start.holds for run in runs for start in run.starts.values())


def _explained(judged: Judged, readings: Sequence[SourceReading], trends: Mapping[str, Trends]) -> Explanation | None:
    """The explanation, where there is anything to explain: a healthy log must not pay for it."""
    if not (judged.breaks or judged.findings or judged.undetermined):
        return None
    from memcheck_cli.forensics.explanation import explain

    started = {name: watched.started_at for name, watched in trends.items()}
    return explain(judged.breaks, judged.findings, judged.undetermined, readings, started)


def _records(stream: Stream, scope: Scope) -> int:
    pools = [*stream.busy.items(), *stream.idle.items()]
    count = sum(series.records for pool, series in pools if scope.covers(None, pool))
    if stream.requests is not None and scope.covers(None, "req"):
        count += stream.requests.records
    others = [page.pool for page in stream.pages]
    others += [asserted.pool for asserted, _, _ in stream.lone_assertions]
    others += stream.skipped
    return count + sum(scope.covers(None, pool) for pool in others)


def _number_events(breaks: list[Break]) -> None:
    """Give one number to breaks that are one event: same source, run, pool, check, total, delta, within 5 seconds."""
    number = 0
    seen: dict[tuple[object, ...], list[tuple[int, int | None, set[tuple[str | None, str]]]]] = {}
    for found in breaks:
        key = (found.source, found.stream.run, found.pool, found.check, found.total, found.delta, found.kind)
        second = second_of(found.row.time)
        who = (found.stream.process, found.stream.rank)
        for event, first, ranks in seen.setdefault(key, []):
            near = second is None or first is None or abs(second - first) <= EVENT_SECONDS
            if near and who not in ranks:
                found.event = event
                ranks.add(who)
                break
        else:
            number += 1
            found.event = number
            seen[key].append((number, second, {who}))


def _unread(readings: Sequence[SourceReading]) -> bool:
    """Nothing of the input could be read."""
    return all(one.ledger is None for one in readings) and any(one.error for one in readings)


def _verdict(
    judged: Judged,
    records: int,
    decided: int,
    scope: Scope,
    readings: Sequence[SourceReading],
    absent: Sequence[Missing],
) -> tuple[str, str]:
    if judged.breaks:
        count = len({found.event for found in judged.breaks})
        return BROKEN, f"{counted(count, 'event')} where the sum does not hold"
    reported = [item for item in judged.undetermined if item.reported]
    if reported:
        return UNDECIDED, f"the server reported a leak that its printed numbers do not show: {reported[0].reason}"
    if records == 0:
        if _unread(readings):
            return UNDECIDED, "nothing of the input could be read"
        if scope.checked_level is not None and scope.checked_level >= 1 and any(r.ledger is not None for r in readings):
            return BALANCED, f"no record, and the caller says that the check ran at level {scope.checked_level}"
        if absent:
            return UNDECIDED, "; ".join(one.reason for one in absent)
        crash = next((item.reason for item in judged.findings if item.kind == CHECKER_CRASH), None)
        if crash is not None:
            return UNDECIDED, f"no check was printed: {crash}"
        strange = _strange(readings)
        if strange:
            return UNDECIDED, strange
        if judged.unchecked:
            return UNDECIDED, f"no line of the pool checker was found: {judged.unchecked[0].reason}"
        return UNDECIDED, "no line of the pool checker was found: silence is not health"
    if not decided:
        first = judged.undetermined[0].reason if judged.undetermined else "the pools found are skipped by the server"
        none = "the record found could not" if records == 1 else f"none of the {records} records found could"
        return UNDECIDED, f"{none} be decided: {first}"
    if decided == 1:
        return BALANCED, "the one record that could be decided balances"
    return BALANCED, f"all {decided} records that could be decided balance"
