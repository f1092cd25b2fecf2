"""What a signature is: conditions on the evidence, and what it points to when all of them hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from memcheck_cli.counting import counted
from memcheck_cli.forensics.breaks import Break
from memcheck_cli.forensics.evidence import Evidence

CAPACITY = "capacity"
CORRUPTION = "corruption possible"
HARMLESS = "none: false alarm"

REPO = "https://github.com/sgl-project/sglang"


class Fact(NamedTuple):
    """One thing that was seen, and the line it was seen on."""

    line: int
    text: str


Proof = tuple[Fact, ...]
Condition = Callable[[Evidence], Proof | None]
"""A predicate on the evidence: None where it does not hold, else the facts that show it (possibly none)."""


class Signature(NamedTuple):
    """A pattern in the numbers that earlier reports have shown, as data.

    needs: all of them hold. unless: none of them holds. firmer, weaker: conditions that add to or take from the
    strength when they hold; the facts of the weaker ones speak against it. strength: 0 to 100, how specific it is.
    points_to: a sentence; `{amount}` and `{pool}` are filled in. against: what would speak against it. harm: CAPACITY,
    CORRUPTION or HARMLESS (a known false alarm). separate: the flag or check that tells its hypotheses apart.
    fix: what a report says fixed it. urls: the reports it rests on. kind: the finding that names it where it is no
    break. seen: what is seen, in words. counts: what the amount is of, where no case tells: tokens, slots or pages.
    """

    id: str
    title: str
    seen: str
    points_to: str
    against: str
    harm: str
    separate: str
    strength: int
    needs: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()
    firmer: tuple[tuple[Condition, int], ...] = ()
    weaker: tuple[tuple[Condition, int], ...] = ()
    fix: str | None = None
    urls: tuple[str, ...] = ()
    kind: str | None = None
    counts: str = "tokens"

    @property
    def in_general(self) -> str:
        """What it points to, without the numbers of a case."""
        return self.points_to.format(amount=f"N {self.counts}", pool="the pool")

    @property
    def false_alarm(self) -> bool:
        """Nothing is lost: the check is wrong or was read wrongly."""
        return self.harm == HARMLESS


class Hit(NamedTuple):
    """A signature that holds. event: of the breaks it explains, None where it is about no break. found: the first of
    them. evidence: what shows it. against: what was seen that speaks against it. source: the log it is about."""

    signature: Signature
    event: int | None
    points_to: str
    evidence: Proof
    against: Proof
    strength: int
    source: str
    found: Break | None = None


def try_on(signature: Signature, evidence: Evidence) -> Hit | None:
    """The signature on this evidence, or None where it does not hold."""
    if not signature.needs:
        return None
    facts: list[Fact] = []
    for need in signature.needs:
        proof = need(evidence)
        if proof is None:
            return None
        facts += proof
    if any(condition(evidence) is not None for condition in signature.unless):
        return None
    strength = signature.strength
    for condition, change in signature.firmer:
        proof = condition(evidence)
        if proof is not None:
            facts += proof
            strength += change
    doubts: list[Fact] = []
    for condition, change in signature.weaker:
        proof = condition(evidence)
        if proof is not None:
            doubts += proof
            strength -= change
    found = evidence.found
    text = signature.points_to.format(
        amount=amount_of(evidence), pool=f"the {found.pool} pool" if found.pool else "the pool"
    )
    return Hit(
        signature,
        found.event,
        text,
        tuple(dict.fromkeys(facts)),
        tuple(dict.fromkeys(doubts)),
        max(0, min(100, strength)),
        found.source,
        found,
    )


def amount_of(evidence: Evidence) -> str:
    """What is off, in words: `1 page (64 tokens)`, `107 tokens`, `3 slots`."""
    found = evidence.found
    if found.check == "pages" and found.pages is not None:
        return counted(found.pages, "page")
    off = abs(evidence.delta)
    if found.pages and found.page_size and found.page_size > 1:
        return f"{counted(abs(found.pages), 'page')} ({counted(off, 'token')})"
    return counted(off, evidence.unit)
