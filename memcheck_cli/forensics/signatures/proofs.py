"""Small words that conditions are written with."""

from __future__ import annotations

from memcheck_cli.forensics.evidence import Evidence
from memcheck_cli.forensics.signatures.model import Condition, Fact, Proof
from memcheck_cli.ledger import Row
from memcheck_cli.ledger.window import Event

QUOTED = 110
"""Characters of a log line that are quoted."""


def holds(truth: object, *facts: Fact) -> Proof | None:
    """The facts where something is true."""
    return facts if truth else None


def either(*conditions: Condition) -> Condition:
    """The first of the conditions that holds."""

    def one_of(e: Evidence) -> Proof | None:
        for condition in conditions:
            proof = condition(e)
            if proof is not None:
                return proof
        return None

    return one_of


def absent(condition: Condition) -> Condition:
    """Holds where the condition does not."""

    def inverted(e: Evidence) -> Proof | None:
        return () if condition(e) is None else None

    return inverted


def quote(event: Event) -> Fact:
    """A line of the log as it stands there."""
    text = event.text.strip()
    return Fact(event.line, f"`{text[: QUOTED - 1]}…`" if len(text) > QUOTED else f"`{text}`")


def terms_of(row: Row) -> str:
    """`available=89, evictable=2159`, as printed."""
    return ", ".join(f"{name}={value}" for name, value in row.named_terms().items())
