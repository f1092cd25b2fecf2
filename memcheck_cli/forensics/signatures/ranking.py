"""Which signatures hold, strongest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memcheck_cli.forensics.breaks import Item
from memcheck_cli.forensics.evidence import Evidence
from memcheck_cli.forensics.signatures.model import Fact, Hit, Signature, try_on
from memcheck_cli.forensics.signatures.table import BY_ID, BY_KIND, SIGNATURES
from memcheck_cli.ledger import Note

NOTES: tuple[tuple[str, str], ...] = (
    ("SWA free list larger", "allocator-overfull"),
    ("a request's lengths do not fit", "lengths-do-not-fit"),
    ("duplicate pages", "page-freed-twice"),
    ("foreign page", "page-in-use-freed"),
    ("unified allocator", "allocator-bookkeeping"),
)
"""How what a note says begins, and the signature it shows; any other leak report without numbers shows the next."""

WITHOUT_NUMBERS = "report-without-numbers"


def hits_on(evidence: Evidence) -> list[Hit]:
    """Every signature that holds for one break, strongest first."""
    found = [hit for signature in SIGNATURES if (hit := try_on(signature, evidence)) is not None]
    return strongest_first(found)


def strongest_first(hits: Iterable[Hit]) -> list[Hit]:
    """By strength; of equal ones the first event first."""
    return sorted(hits, key=lambda hit: (-hit.strength, hit.event or 0))


def hits_on_notes(source: str, notes: Sequence[Note]) -> list[Hit]:
    """Signatures of the checker's reports without numbers in one source, once each."""
    seen: dict[str, list[Fact]] = {}
    for note in notes:
        if note.kind in ("leak", "pool-bytes"):
            name = next((name for start, name in NOTES if note.what.startswith(start)), WITHOUT_NUMBERS)
            seen.setdefault(name, []).append(Fact(note.line, f"{note.what}: `{note.detail[:110]}`"))
    return [_without_break(BY_ID[name], source, facts) for name, facts in seen.items()]


def hits_on_items(items: Sequence[Item], alarms: bool) -> list[Hit]:
    """Signatures of what is no break: ranks that part, drift; with `alarms` also what closes or explains a gap."""
    seen: dict[tuple[str, str], list[Fact]] = {}
    for item in items:
        signature = BY_KIND.get(item.kind or "")
        if signature is not None and (alarms or not signature.false_alarm):
            seen.setdefault((signature.id, item.source), []).append(Fact(item.line or 0, item.reason))
    return [_without_break(BY_ID[name], source, facts) for (name, source), facts in seen.items()]


def _without_break(signature: Signature, source: str, facts: Sequence[Fact]) -> Hit:
    """A signature that is about no break; of many facts the first few are kept."""
    text = signature.points_to.format(amount=signature.counts, pool="the pool")
    return Hit(signature, None, text, tuple(facts[:3]), (), signature.strength, source)
