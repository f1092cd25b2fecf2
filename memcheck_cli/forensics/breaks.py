"""From a ledger's series to breaks with their witness: what broke first, and what moved since the last good record.

Nothing here reads a log; it judges what the ledger kept. Units: tokens (slots for the mamba and request pools).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memcheck_cli.ledger import Ledger, Page, Row, Segment, Series, Stream
from memcheck_cli.ledger.cuts import could_go_on
from memcheck_cli.ledger.rows import SESSION_ASSERTED
from memcheck_cli.log.records import Value

if TYPE_CHECKING:
    from memcheck_cli.ledger.reading import SourceReading

SLOT_POOLS = ("req", "mamba")
"""Pools counted in slots: they have no pages."""


def in_slots(pool: str | None) -> bool:
    """The pool counts slots, not tokens."""
    return pool is not None and pool.startswith(SLOT_POOLS)


def unit_of(pool: str | None) -> str:
    """What the pool counts: `token` or `slot`."""
    return "slot" if in_slots(pool) else "token"


EXPLAINED = "gap-explained-by-extra-terms"

FIRST_WITH_UNPRINTED = "0.5.10rc0"
"""From this release on session_held is summed, at first without being printed."""


@dataclass(slots=True)
class Break:
    """The first break of a series.

    check: `busy`, `idle` or `pages`. kind: `leak`, `overcount`, `reported`, `double-free`, `use-after-free`.
    row: the broken record; witness: the last balanced record of that stream and pool before it, or None. total and
    delta may differ from the row's where the total was not printed. series_breaks: records of the series that break.
    event: number shared by the breaks that are one event seen by several ranks. steps: every change of the delta as
    (row, delta), first to last, at most as many as the ledger keeps. last: the last record of the series. asserted: the
    line of the server's own assertion that repeats it, or None.
    """

    source: str
    stream: Stream
    check: str
    pool: str | None
    kind: str
    row: Row
    total: int | None
    accounted: int | None
    delta: int | None
    page_size: int | None
    pages: int | None
    witness: Row | None = None
    gap: int | None = None
    series_breaks: int = 1
    last_delta: int | None = None
    event: int = 0
    from_end: int | None = None
    asserted: int | None = None
    total_from: str | None = None
    steps: list[tuple[Row, int]] = field(default_factory=list)
    last: Row | None = None

    @property
    def iteration(self) -> int | None:
        """The busy check that broke, from 1; None for an idle report, an assertion without a record, and where the
        records of many ranks were counted together."""
        return None if self.check == "idle" or self.stream.joint else self.row.iteration

    @property
    def after_iteration(self) -> int | None:
        """For an idle report, the rank's last busy check before it."""
        return self.row.iteration if self.check == "idle" and not self.stream.joint else None

    @property
    def held_from_assertion(self) -> bool:
        """session_held is not printed: it is what the assertion counts more than the record (0.5.10)."""
        return SESSION_ASSERTED in self.row.marks

    @property
    def moved(self) -> dict[str, int] | None:
        """Broken minus balanced, for every term that both records print; None without a witness."""
        if self.witness is None:
            return None
        before = self.witness.named_terms()
        return {name: value - before[name] for name, value in self.row.named_terms().items() if name in before}


@dataclass(slots=True)
class Item:
    """Something that is no break: undetermined, unchecked, or a finding (with `kind`).

    reason: one sentence. reported: the server itself called it a leak. Extra keys for a finding are in `more`.
    """

    source: str
    run: int | None
    process: str | None
    rank: str | None
    pool: str | None
    line: int | None
    reason: str
    kind: str | None = None
    reported: bool = False
    more: Mapping[str, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Judged:
    """What one ledger says: its breaks, and what is undetermined, unchecked or worth knowing."""

    breaks: list[Break] = field(default_factory=list)
    undetermined: list[Item] = field(default_factory=list)
    unchecked: list[Item] = field(default_factory=list)
    findings: list[Item] = field(default_factory=list)
    decided: dict[tuple[str, str | None], int] = field(default_factory=dict)  # (rank, pool) -> records that are certain
    breaking: dict[tuple[int, str | None, str, str], int] = field(default_factory=dict)  # (stream..., pool) -> records


class Settings(NamedTuple):
    """What the caller knows better than the log. page_size in tokens; totals by pool; release as text, or None."""

    page_size: int | None = None
    totals: Mapping[str, int] = {}


def judge(ledger: Ledger, settings: Settings, reading: SourceReading | None = None) -> Judged:
    """Breaks and other conclusions of one source, in the order of their lines. reading: what tells the release."""
    judged = Judged()
    for stream in ledger.in_order():
        _Judge(ledger, stream, settings, judged, reading).everything()
    judged.findings += divergences(ledger)
    judged.breaks.sort(key=lambda found: found.row.line)
    for items in (judged.undetermined, judged.unchecked, judged.findings):
        items.sort(key=lambda item: item.line or 0)
    return judged


def divergences(ledger: Ledger) -> list[Item]:
    """Where tensor-parallel peers part, one finding a group: the first check, and the terms that differ."""
    items = []
    for (run, _, _), group in ledger.peers.groups.items():
        parted = group.parted or group.lost_lines
        if parted is None:
            continue
        one, two = parted.sights
        before = one.row.named_terms() if one.row else {}
        after = two.row.named_terms() if two.row else {}
        terms = {name: [before.get(name), after.get(name)] for name in {**before, **after}}
        differing: dict[str, object] = {name: pair for name, pair in terms.items() if pair[0] != pair[1]}
        process, ranks = parted.members[1][0], [member[1] for member in parted.members]
        if group.parted is None:
            kind, start = (
                "peers-out-of-step",
                "the same numbers stand some checks apart: the log lost lines of one rank",
            )
        else:
            told = ", ".join(f"{name} {pair[0]} and {pair[1]}" for name, pair in terms.items() if pair[0] != pair[1])
            kind, start = "peer-divergence", f"{ranks[0]} and {ranks[1]} print different numbers: {told}"
        more: dict[str, Value] = {
            "iteration": parted.iteration,
            "ranks": list(ranks),
            "lines": [one.line, two.line],
            "terms": differing,
        }
        reason = f"{start} (iteration {parted.iteration}, lines {one.line} and {two.line})"
        items.append(
            Item(
                ledger.source,
                run,
                process,
                ranks[1],
                parted.pool,
                max(one.line, two.line),
                reason,
                kind,
                more=more,
            )
        )
    return items


class _Judge:
    """Judges one stream."""

    def __init__(
        self, ledger: Ledger, stream: Stream, settings: Settings, out: Judged, reading: SourceReading | None
    ) -> None:
        self.ledger = ledger
        self.stream = stream
        self.settings = settings
        self.out = out
        self.run = ledger.runs.get(stream.run)
        self.reading = reading
        self.explained_reports: list[Item] = []

    def everything(self) -> None:
        stream = self.stream
        for series in stream.busy.values():
            self.series(series, "busy")
        breaks = len(self.out.breaks)
        for series in stream.idle.values():
            self.series(series, "idle")
        if len(self.out.breaks) == breaks:  # else the report is about the pool that breaks
            self.out.undetermined += self.explained_reports
        self.idle_reports()
        if stream.requests is not None:
            self.requests(stream.requests)
        self.lone_assertions()
        self.page_reports()
        for pool, row in stream.skipped.items():
            self.out.unchecked.append(
                self.item(pool, row.line, "the server prints this pool but skips its check (unified ring)")
            )

    # Helpers

    def item(self, pool: str | None, line: int | None, reason: str, **keys: object) -> Item:
        stream = self.stream
        return Item(self.ledger.source, stream.run, stream.process, stream.rank, pool, line, reason, **keys)  # type: ignore[arg-type]

    def page_size(self, pool: str | None) -> int | None:
        if in_slots(pool):
            return None
        if self.settings.page_size is not None:
            return self.settings.page_size
        return self.run.page_size(self.stream.process) if self.run else None

    def count(self, pool: str, records: int) -> None:
        key = (self.stream.run, self.stream.process, self.stream.rank, pool)
        self.out.breaking[key] = self.out.breaking.get(key, 0) + records

    def decide(self, pool: str | None, records: int) -> None:
        """So many more records of the stream are certain, or fewer."""
        key = (self.stream.rank, pool)
        self.out.decided[key] = self.out.decided.get(key, 0) + records

    def make(self, check: str, pool: str, row: Row, total: int | None, delta: int | None) -> Break:
        size = self.page_size(pool)
        kind = "reported" if delta == 0 else "leak" if delta is not None and delta < 0 else "overcount"
        return Break(
            source=self.ledger.source,
            stream=self.stream,
            check=check,
            pool=pool,
            kind=kind,
            row=row,
            total=total,
            accounted=None if delta is None or total is None else total + delta,
            delta=delta,
            page_size=size,
            pages=delta // size if size and delta is not None and delta % size == 0 else None,
        )

    # Series

    def series(self, series: Series, check: str) -> bool:
        """Judge one series; True when all its unbalanced records are explained by extra terms."""
        for kind, (row, detail) in series.oddities.items():
            self.out.findings.append(self.item(series.pool, row.line, detail, kind=kind))
        for segment in series.segments:
            if segment.status == "tolerated" and segment.balance:
                detail = f"the sum is off by {segment.balance:+} and the server lets it pass (DCP page slack)"
                more = {"delta": segment.balance, "iteration": segment.first.iteration, "records": segment.count}
                finding = self.item(series.pool, segment.first.line, detail, kind="tolerated-imbalance", more=more)
                self.out.findings.append(finding)
                break
        total, total_from = self.total_of(series)
        if series.open_total and total is None:
            reason = (
                "this form prints no total, and neither an assertion nor the start-up lines tell it; "
                f"name it with --total {series.pool}=N"
            )
            self.out.undetermined.append(self.item(series.pool, series.segments[0].first.line, reason))
            return False
        if self.explained(series, check):
            return True
        sure: list[Segment] = []
        doubtful: list[Segment] = []
        for segment in series.segments:
            may_go_on = segment.status == "cut" and could_go_on(segment.first, self.delta(segment, series, total))
            (doubtful if may_go_on else sure).append(segment)
        if doubtful:
            count = sum(segment.count for segment in doubtful)
            reason = "this line may end" if count == 1 else f"this line, and {count - 1} more, may end"
            reason += " within a number: more digits could balance it"
            item = self.item(series.pool, doubtful[0].first.line, reason, reported=check == "idle")
            self.out.undetermined.append(item)
            self.decide(series.pool, -count)
        broken = []
        for segment in sure:
            part = self.breaks(series, segment, self.delta(segment, series, total), check)
            if part is not None:
                broken.append(part)
        records = sum(segment.count for segment in broken)
        records += sum(
            count
            for (balance, status), count in series.dropped.items()
            if status == "reported"
            or (status not in ("tolerated", "cut") and (balance - (total or 0) if series.open_total else balance))
        )
        self.decide(series.pool, series.records)
        if not broken:
            return False
        first = broken[0]
        delta = self.delta(first, series, total)
        found = self.make(check, series.pool, first.first, total if series.open_total else first.first.total, delta)
        found.total_from = total_from
        found.witness, found.gap = self.witness(series, first, total, check)
        found.series_breaks = records
        found.last_delta = self.delta(sure[-1], series, total)
        found.steps = [(s.first, self.delta(s, series, total)) for s in sure if s.first.line >= first.first.line]
        found.last = sure[-1].last
        found.asserted = self.asserted_line(series.pool, found)
        if check == "busy" and found.iteration is not None and first.first.iteration is not None:
            found.from_end = first.first.iteration - self.stream.checks
        self.out.breaks.append(found)
        self.count(series.pool, records)
        return False

    @staticmethod
    def delta(segment: Segment, series: Series, total: int | None) -> int:
        return segment.balance - (total or 0) if series.open_total else segment.balance

    def total_of(self, series: Series) -> tuple[int | None, str | None]:
        """The total of a pool whose text prints none, and where it was found."""
        if not series.open_total:
            return None, None
        for known in self.stream.asserted:
            if known.pool == series.pool and known.total is not None:
                return known.total, f"the assertion on line {known.line}"
        if self.run is not None and series.pool == "full":
            banner = self.run.banner_total(self.stream.process)
            if banner is not None:
                return banner[0], f"the start-up banner on line {banner[1]}"
        if self.run is not None:
            sized = self.run.layer_tokens(series.pool, self.stream.process)
            if sized is not None:
                return sized[0], f"the pool sizes on line {sized[1]}"
        if series.pool in self.settings.totals:
            return self.settings.totals[series.pool], "--total"
        return None, None

    def explained(self, series: Series, check: str) -> bool:
        """Extra terms close the gap of every unbalanced record: no break, but worth knowing."""
        combination = series.explained_by()
        if combination is None:
            return False
        text = " ".join(f"{'+' if sign > 0 else '-'} {name}" for name, sign in combination)
        unbalanced = [segment for segment in series.segments if segment.balance]
        row = unbalanced[0].first if unbalanced else series.segments[0].first
        asserted = check == "busy" and any(known.pool == series.pool for known in self.stream.asserted)
        if series.unbalanced == 1 or asserted:
            doubted = unbalanced[-1] if unbalanced else series.segments[-1]
            tail = "the server asserted on it" if asserted else "one record alone proves nothing"
            why = f"the gap of {doubted.balance:+} closes with {text}, but {tail}"
            self.out.undetermined.append(
                self.item(series.pool, doubted.last.line, why, kind=EXPLAINED, reported=asserted or check == "idle")
            )
            self.decide(series.pool, series.records - series.unbalanced)
        if series.unbalanced > 1:
            detail = f"{text} closes the gap of all {series.unbalanced} records that do not balance without it"
            more: dict[str, Value] = {"terms": dict(combination), "records": series.unbalanced}
            if check == "idle":
                reason = f"the server reported a leak, but {text} closes its gap"
                self.explained_reports.append(self.item(series.pool, row.line, reason, kind=EXPLAINED, reported=True))
            self.out.findings.append(self.item(series.pool, row.line, detail, kind=EXPLAINED, more=more))
            if not asserted:
                self.decide(series.pool, series.records)
        return True

    def breaks(self, series: Series, segment: Segment, delta: int, check: str) -> Segment | None:
        """The part of a segment whose records are breaks; what the others are instead is told."""
        if segment.status == "reported":
            return segment
        if segment.status == "tolerated" or delta == 0:
            return None
        if delta < 0 and "session_unprinted" in segment.first.marks and not self.sessions_off_or_not_summed():
            return self.unprinted(series, segment, delta, check)
        return segment

    def sessions_off_or_not_summed(self, weakly: bool = False) -> bool:
        """The log shows that session_held was 0 or is not summed by its release: a deficit is a deficit.

        weakly: what batch lines and the like look like counts too.
        """
        if self.run is not None and self.run.flag("enable_streaming_session", self.stream.process) is False:
            return True
        high = self.newest_release(weakly)
        if high is None:
            return False
        from memcheck_cli.checker.releases import Release

        return Release.parse(high) < Release.parse(FIRST_WITH_UNPRINTED)

    def newest_release(self, weakly: bool) -> str | None:
        """The newest release that the start-up lines and those kept around the records of this stream allow."""
        hints = self.reading.hints.get(self.stream.run) if self.reading is not None else None
        if self.reading is None or hints is None:
            return None
        if not weakly:
            return hints.certain()[1]
        from memcheck_cli.forensics.around import of_this_start
        from memcheck_cli.log.records import Context

        stream = self.stream
        for pool in stream.busy:
            for kept in self.reading.around.get((stream.run, stream.process, stream.rank, "busy", pool), [])[:1]:
                for event in of_this_start(kept.events, stream.process):
                    hints.add(Context(event.form, event.kind, event.values), event.text)
        return hints.best().high

    def unprinted(self, series: Series, segment: Segment, delta: int, check: str) -> Segment | None:
        """A deficit in the form that may leave session_held out: a break only with the assertion behind it."""
        why = f"off by {delta:+}, but 0.5.10 sums session_held without printing it and the release is not known"
        if check == "idle":
            item = self.item(series.pool, segment.first.line, why, kind="unprinted-term", reported=True)
            self.out.undetermined.append(item)
            self.decide(series.pool, -segment.count)
            return None
        is_last = segment.last is series.segments[-1].last
        # No later check speaks against what only the looks of other lines say of the release.
        asserted = is_last and (
            self.asserted_line(series.pool, None, segment.last) is not None or self.sessions_off_or_not_summed(True)
        )
        passed = segment.count - (1 if is_last else 0)
        if passed:
            detail = (
                f"off by {delta:+}, and later checks of this rank show that the server let it pass: "
                "this release sums session_held without printing it"
            )
            more = {"delta": delta, "records": passed}
            self.out.findings.append(
                self.item(series.pool, segment.first.line, detail, kind="unprinted-term", more=more)
            )
        if asserted:
            last = Segment(segment.balance, segment.status, segment.last)
            last.witness = segment.witness
            return last
        if is_last:
            reason = f"{why}; neither an assertion nor a later check follows"
            self.out.undetermined.append(self.item(series.pool, segment.last.line, reason, kind="unprinted-term"))
            self.decide(series.pool, -1)
        return None

    def asserted_line(self, pool: str, found: Break | None, row: Row | None = None) -> int | None:
        row = row or (found.row if found else None)
        for known in self.stream.asserted:
            if known.pool == pool and row is not None and known.accounted == row.accounted and known.line > row.line:
                return known.line
        return None

    def witness(self, series: Series, broken: Segment, total: int | None, check: str) -> tuple[Row | None, int | None]:
        """The last balanced record before a broken segment, and how many iterations between lack a record."""
        if self.stream.joint:
            return None, None
        row = broken.witness
        if row is None or series.open_total:
            before = [
                s for s in series.segments if s.first.line < broken.first.line and s.last.line < broken.first.line
            ]
            row = next((s.last for s in reversed(before) if self.delta(s, series, total) == 0), None)
        if row is None:
            return None, None
        if broken.first.iteration is None:
            return row, 0
        last = broken.first.iteration - (1 if check == "busy" else 0)
        return row, self.without_record(series.pool, row.iteration or 0, last)

    def without_record(self, pool: str, after: int, last: int) -> int:
        """How many of the busy checks from `after` + 1 to `last` have no record of a pool."""
        busy = self.stream.busy.get(pool)
        present = 0
        for segment in busy.segments if busy is not None else ():
            first, end = segment.first.iteration, segment.last.iteration
            if first is None or end is None:
                continue
            end = max(end, first + segment.count - 1)  # every record of a pool stands in a check of its own
            if end <= after or first > last:
                continue
            # Of a segment that goes on behind `last` at most so many records stand before.
            inside = min(end, last) - max(first, after + 1) + 1
            present += min(segment.count, inside)
        return max(0, last - after - present)

    # Reports that are not series of sums

    def idle_reports(self) -> None:
        if self.stream.balanced_reports:
            row = self.stream.balanced_reports[0]
            reason = "the server reported a leak, but every pool it printed balances: what it compared is not printed"
            self.out.undetermined.append(self.item(None, row.line, reason, reported=True))

    def requests(self, series: Series) -> None:
        mode = self.run.flag("disaggregation_mode", self.stream.process) if self.run else None
        broken: list[Segment] = []
        told: set[str] = set()
        for segment in series.segments:
            row = segment.first
            why = None
            if mode == "decode":
                why = "request slots are compared with a size that is not printed (a decode-disaggregated server)"
            elif could_go_on(row, segment.balance):
                why = "this line may end within a number: more digits could balance it"
            elif mode is None and row.total is not None and (row.terms[0] or 0) > row.total:
                why = "request slots are compared with a size that may not be printed (the server's mode is not known)"
            elif segment.balance == 0:
                why = "the server reported lost request slots, but the printed numbers balance"
            if why is None:
                broken.append(segment)
                self.decide("req", segment.count)
            elif why not in told:
                told.add(why)
                self.out.undetermined.append(self.item("req", row.line, why, reported=True))
        if not broken:
            return
        first = broken[0]
        found = self.make("idle", "req", first.first, first.first.total, first.balance)
        found.witness, found.gap = self.witness(series, first, None, "idle")
        found.series_breaks = sum(s.count for s in broken)
        found.last_delta = series.segments[-1].balance
        found.steps = [(s.first, s.balance) for s in series.segments if s.first.line >= first.first.line]
        found.last = series.segments[-1].last
        self.out.breaks.append(found)
        self.count("req", found.series_breaks)

    def lone_assertions(self) -> None:
        """Assertions without a record: their own numbers make the break."""
        by_pool: dict[str, Break] = {}
        for asserted, row, witness in self.stream.lone_assertions:
            if asserted.pool in by_pool:
                by_pool[asserted.pool].series_breaks += 1
                continue
            known = asserted.total is not None and asserted.accounted is not None
            delta = (asserted.accounted or 0) - (asserted.total or 0) if known else None
            if delta is not None and could_go_on(row, delta):
                why = "the log ends within a number of the server's assertion: more digits could balance it"
                self.out.undetermined.append(self.item(asserted.pool, row.line, why, reported=True))
                continue
            found = self.make("busy", asserted.pool, row, asserted.total, delta)
            found.accounted = asserted.accounted
            found.asserted = asserted.line
            found.last_delta = delta
            found.witness = witness
            found.gap = 0 if found.witness else None
            by_pool[asserted.pool] = found
            self.out.breaks.append(found)
            self.decide(asserted.pool, 1)
        for pool, found in by_pool.items():
            self.count(pool, found.series_breaks)

    def page_reports(self) -> None:
        series: dict[tuple[str, str | None], Break] = {}
        for page in self.stream.pages:
            key = (page.kind, page.pool)
            self.decide(page.pool, 1)
            if key in series:
                series[key].series_breaks += 1
                continue
            found = self.page_break(page)
            series[key] = found
            self.out.breaks.append(found)
        for found in series.values():
            if found.pool is not None:
                self.count(found.pool, found.series_breaks)

    def page_break(self, page: Page) -> Break:
        extra: dict[str, Value] = {"sample_pages": list(page.sample)} if page.sample else {}
        row = Row(
            page.line, page.offset, page.iteration, page.time, None, (None,) * 5, extra or None, frozenset(), page.kind
        )
        return Break(
            source=self.ledger.source,
            stream=self.stream,
            check="pages",
            pool=page.pool,
            kind=page.kind,
            row=row,
            total=None,
            accounted=None,
            delta=None,
            page_size=self.page_size(page.pool),
            pages=page.pages,
            witness=page.witness,
            from_end=None if page.iteration is None or self.stream.joint else page.iteration - self.stream.checks,
        )
