"""The explanation of an analysis: evidence and signatures of every event, and what to do now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memcheck_cli.forensics.advice import Advice, advise
from memcheck_cli.forensics.around import of_this_start
from memcheck_cli.forensics.breaks import Break, Item
from memcheck_cli.forensics.evidence import Evidence, around_of, gather
from memcheck_cli.forensics.signatures.model import Hit
from memcheck_cli.forensics.signatures.ranking import hits_on, hits_on_items, hits_on_notes, strongest_first
from memcheck_cli.forensics.signatures.table import BY_KIND
from memcheck_cli.ledger.reading import SourceReading
from memcheck_cli.log.records import Context

MOST_EVENTS = 256
"""Events that are explained, in order; more of them say nothing new."""


@dataclass(slots=True)
class Explanation:
    """Why it broke, as far as the log tells.

    evidence: by event number, of the first break of the event. hits: all signatures that hold, strongest first.
    advice: what to do now. left_out: events that were not looked at.
    """

    evidence: dict[int, Evidence] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)
    left_out: int = 0

    def of_event(self, event: int) -> list[Hit]:
        """The signatures of one event, strongest first."""
        return [hit for hit in self.hits if hit.event == event]


def explain(
    breaks: Sequence[Break],
    findings: Sequence[Item],
    undetermined: Sequence[Item],
    readings: Sequence[SourceReading],
    started: Mapping[str, Mapping[int, int]],
) -> Explanation:
    """Explain breaks, reports without numbers, and drift. started: by source and line of a record, the sequences
    prefilled before it, where somebody counted them."""
    explanation = Explanation()
    for item in findings:
        signature = BY_KIND.get(item.kind or "")
        if signature is not None:
            item.more = {**item.more, "signature": signature.id}
    by_name: dict[str, SourceReading] = {}
    for reading in readings:
        by_name.setdefault(reading.name, reading)
    hits: list[Hit] = []
    first_of: dict[int, Break] = {}
    for found in breaks:
        first_of.setdefault(found.event, found)
    explained = list(first_of.values())[:MOST_EVENTS]
    explanation.left_out = len(first_of) - len(explained)
    _narrow_releases(explained, by_name)
    for found in explained:
        evidence = gather(found, by_name[found.source], breaks, findings, started.get(found.source, {}))
        explanation.evidence[found.event] = evidence
        hits += hits_on(evidence)
    notes = [note for reading in readings if reading.ledger is not None for note in reading.ledger.notes]
    for reading in readings:
        if reading.ledger is not None:
            hits += hits_on_notes(reading.name, reading.ledger.notes)
    told = {hit.signature.id for hit in hits}
    hits += [
        hit
        for hit in hits_on_items(findings, alarms=False)
        if not (hit.signature.kind == "peer-divergence" and "one-rank-only" in told)
    ]
    # Where a gap is explained away but cannot be decided, the known false alarm is what it points to.
    hits += hits_on_items([item for item in undetermined if item.kind is not None], alarms=True)
    explanation.hits = strongest_first(hits)
    explanation.advice = advise(list(explanation.evidence.values()), explanation.hits, notes)
    return explanation


def _narrow_releases(breaks: Sequence[Break], by_name: Mapping[str, SourceReading]) -> None:
    """Take the lines around the breaks as further hints at the release of their runs."""
    seen: set[tuple[str, int]] = set()
    for found in breaks:
        reading = by_name[found.source]
        around = around_of(found, reading)
        hints = reading.hints.get(found.stream.run)
        if around is None or hints is None:
            continue
        for event in of_this_start(around.events, found.stream.process):
            if (found.source, event.line) not in seen:
                seen.add((found.source, event.line))
                hints.add(Context(event.form, event.kind, event.values), event.text)
