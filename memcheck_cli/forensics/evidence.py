"""Everything that is known about one break, gathered once: what the conditions of the signatures look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memcheck_cli.checker.releases import Release
from memcheck_cli.forensics.around import NOTHING, Surroundings, look_around
from memcheck_cli.forensics.breaks import Break, Item, in_slots, unit_of
from memcheck_cli.forensics.growth import Growth, growth_of
from memcheck_cli.forensics.moves import Moves, pair_up, wrong_alone, wrong_by_peer, wrong_by_step
from memcheck_cli.forensics.sizes import PrintedSet, fitting_sizes, printed_sets
from memcheck_cli.ledger import Ledger, Note, Row, Run, Stream
from memcheck_cli.ledger.reading import SourceReading
from memcheck_cli.ledger.window import WINDOW, Around, Seen
from memcheck_cli.log.batch_lines import BATCH_KINDS
from memcheck_cli.log.records import TERMS, Value


@dataclass(slots=True)
class Evidence:
    """One break with all that is known about it.

    siblings: breaks of other pools in the same check of the same stream. peers: breaks of other ranks that are the
    same event. sheet: the last row of every pool of that check, by pool. sizes: page sizes that all numbers seen fit.
    low, high: the range of the release with its reasons, None where open. notes: reports of the checker without
    numbers in the same run. parted: findings of lock-step peers that part, of the same run.
    """

    found: Break
    reading: SourceReading
    ledger: Ledger
    run: Run | None
    siblings: list[Break]
    peers: list[Break]
    sheet: dict[str, Row]
    flags: Mapping[str, Value]
    flags_line: int | None
    low: str | None
    high: str | None
    release_reasons: tuple[str, ...]
    surroundings: Surroundings
    moves: Moves | None
    sizes: tuple[int, ...]
    sets: list[PrintedSet]
    growth: Growth
    checks: list[Seen]
    notes: list[Note]
    parted: list[Item]
    every: Sequence[Break] = field(default_factory=list)

    # Short words for the conditions

    @property
    def row(self) -> Row:
        """The broken record."""
        return self.found.row

    @property
    def line(self) -> int:
        """Where it stands."""
        return self.found.row.line

    @property
    def delta(self) -> int:
        """What is off; 0 where it is not known."""
        return self.found.delta or 0

    @property
    def in_slots(self) -> bool:
        """The pool counts slots, not tokens."""
        return in_slots(self.found.pool)

    @property
    def unit(self) -> str:
        """`token` or `slot`."""
        return unit_of(self.found.pool)

    def term(self, name: str) -> int | None:
        """A term of the broken record."""
        return self.row.terms[TERMS.index(name)]

    def before(self, name: str) -> int | None:
        """A term of the last balanced record."""
        return None if self.found.witness is None else self.found.witness.terms[TERMS.index(name)]

    def flag(self, name: str) -> Value:
        """A launch flag, None where it is not told."""
        return self.flags.get(name)

    def surely_before(self, release: str) -> bool:
        """The log comes from an older release than this."""
        return self.high is not None and Release.parse(self.high) < Release.parse(release)

    def surely_from(self, release: str) -> bool:
        """The log comes from this release or a newer one."""
        return self.low is not None and Release.parse(self.low) >= Release.parse(release)


def gather(
    found: Break,
    reading: SourceReading,
    every: Sequence[Break],
    findings: Sequence[Item],
    started: Mapping[int, int] | None = None,
) -> Evidence:
    """All evidence about one break. every, findings: of the whole analysis. started: by line of a record, the sequences
    prefilled before it."""
    ledger = reading.ledger
    assert ledger is not None
    stream = found.stream
    run = ledger.runs.get(stream.run)
    flags = run.flags(stream.process) if run else {}
    hints = reading.hints.get(stream.run)
    best = hints.best() if hints is not None else None
    low, high = (best.low, best.high) if best else (None, None)
    around = around_of(found, reading)
    checks = [seen for seen in (around.checks if around else []) if seen.pool == found.pool]
    parted = [
        item
        for item in findings
        if item.kind == "peer-divergence" and item.source == found.source and item.run == stream.run
    ]
    sizes = _sizes(found, checks)
    return Evidence(
        found=found,
        reading=reading,
        ledger=ledger,
        run=run,
        siblings=[other for other in every if other is not found and _same_check(found, other)],
        peers=[other for other in every if other is not found and other.event == found.event],
        sheet=_sheet(found),
        flags=flags,
        flags_line=_flags_line(run, stream),
        low=low,
        high=high,
        release_reasons=best.reasons if best else (),
        surroundings=look_around(found, around, flags, low, high, sizes) if around else NOTHING,
        moves=_moves(found, checks, parted, sizes),
        sizes=sizes,
        sets=_sets(found, every),
        growth=growth_of(found, [flush.line for flush in reading.flushes if flush.run == stream.run], started or {}),
        checks=checks,
        notes=[note for note in ledger.notes if note.run == stream.run],
        parted=parted,
        every=every,
    )


def around_of(found: Break, reading: SourceReading) -> Around | None:
    """What was kept before the broken record; a lone assertion and a page report have keys of their own."""
    stream = found.stream
    kept = reading.around.get((stream.run, stream.process, stream.rank, found.check, found.pool or ""), [])
    exact = next((one for one in kept if one.line == found.row.line), None)
    if exact is not None:
        return exact
    # The surroundings of a later record reach back some way too; what stands behind the break is left out of them.
    for one in kept:
        if one.line > found.row.line and any(event.line < found.row.line for event in one.events):
            return one
    return None


def _same_check(one: Break, other: Break) -> bool:
    if one.stream is not other.stream or one.check != other.check:
        return False
    if one.check == "busy":
        return one.row.iteration is not None and one.row.iteration == other.row.iteration
    return abs(one.row.line - other.row.line) <= 40 and (
        one.row.time == other.row.time or "req" in (one.pool, other.pool)
    )


def _sheet(found: Break) -> dict[str, Row]:
    """The rows of all pools in the check that broke; of pools that did not break only what the ledger still has."""
    sheet: dict[str, Row] = {}
    series = found.stream.idle if found.check == "idle" else found.stream.busy
    for pool, one in series.items():
        for segment in reversed(one.segments):
            row = next((r for r in (segment.last, segment.first) if _in_check(r, found)), None)
            if row is not None:
                sheet[pool] = row
                break
    return sheet


def _in_check(row: Row, found: Break) -> bool:
    if found.check == "idle":
        return abs(row.line - found.row.line) <= 8 and row.time == found.row.time
    return row.iteration is not None and row.iteration == found.row.iteration


def balances(pool: str, evidence: Evidence) -> tuple[bool, int | None]:
    """Whether another pool balanced in the check that broke, and a line that says so.

    Its record may be inside a stretch of balanced records of which only the first and the last are kept.
    """
    stream, found = evidence.found.stream, evidence.found
    row = evidence.sheet.get(pool)
    if row is not None:
        return row.total is not None and row.accounted == row.total and "reported" not in row.marks, row.line
    if any(other.pool == pool and _same_check(found, other) for other in evidence.every):
        return False, None
    series = (stream.idle if found.check == "idle" else stream.busy).get(pool)
    if series is None:
        return False, None
    for segment in series.segments:
        if segment.first.line <= found.row.line <= segment.last.line + 1:
            return segment.balance == 0 and not series.open_total, None
    return False, None


def _flags_line(run: Run | None, stream: Stream) -> int | None:
    if run is None:
        return None
    starts = [run.starts[stream.process]] if stream.process in run.starts else []
    starts += [start for key, start in run.starts.items() if key != stream.process]
    return next((start.args_line for start in starts if start.args_line is not None), None)


def _moves(found: Break, checks: Sequence[Seen], parted: Sequence[Item], sizes: Sequence[int]) -> Moves | None:
    changes = found.moved
    if changes is None or found.witness is None or found.check == "pages":
        return None
    wrong = None
    if found.delta:
        divergences = [{"pool": item.pool, **item.more} for item in parted]
        wrong = wrong_by_peer(found.pool, found.row.line, found.delta, divergences)
        if wrong is None and found.check == "busy" and found.witness.check == "busy" and not found.gap:
            wrong = wrong_alone(changes, found.delta, (found.witness.line, found.row.line))
            if wrong is None and max(sizes, default=1) == 1 and (found.page_size or 1) == 1:
                wrong = wrong_by_step(changes, found.delta, _history(checks, found.witness.line))
    if wrong is None:
        moves, rest = pair_up(changes)
    else:
        # With the term that is off set right, the moves are those of a check that balances.
        moves, _ = pair_up({**changes, wrong.term: changes[wrong.term] - (found.delta or 0)})
        rest = {wrong.term: found.delta or 0}
    return Moves(tuple(moves), rest, wrong, (found.witness.line, found.row.line))


def _history(checks: Sequence[Seen], until: int) -> list[tuple[int, int, Mapping[str, int]]]:
    """Steps from check to check before the last balanced one, latest first."""
    seen = [one for one in checks if one.line <= until]
    steps: list[tuple[int, int, Mapping[str, int]]] = []
    for index in range(len(seen) - 1, 0, -1):
        old, new = seen[index - 1], seen[index]
        change = {
            name: after - before
            for name, before, after in zip(TERMS, old.terms, new.terms, strict=True)
            if before is not None and after is not None
        }
        steps.append((old.line, new.line, change))
    return steps


def _sizes(found: Break, checks: Sequence[Seen]) -> tuple[int, ...]:
    if found.pool is None or in_slots(found.pool) or not found.delta:
        return ()
    numbers: list[int | None] = [found.delta, found.total]
    rows = [found.row.terms, *([found.witness.terms] if found.witness else []), *(seen.terms for seen in checks)]
    for terms in rows:
        # session_held is left out: sessions may hold a part of a page
        numbers += [value for name, value in zip(TERMS, terms, strict=True) if name != "session_held"]
    return fitting_sizes(numbers)


def _sets(found: Break, every: Sequence[Break]) -> list[PrintedSet]:
    own = [row for row, _ in found.steps] or [found.row]
    if found.last is not None and found.last is not own[-1]:
        own.append(found.last)
    others = [other.row for other in every if other.event == found.event and other is not found]
    return printed_sets(own, others)


def no_request_before(evidence: Evidence) -> bool:
    """The log shows the start of the server, and no batch between it and the break."""
    found, run = evidence.found, evidence.run
    if run is None or all(start.banner_line is None for start in run.starts.values()):
        return False
    around = around_of(found, evidence.reading)
    if around is None or found.row.offset > WINDOW or found.stream.run > 1 or found.stream.checks:
        return False
    return not any(event.kind in BATCH_KINDS and event.line < found.row.line for event in around.events)
