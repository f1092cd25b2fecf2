"""What-ifs: a change of the equation, and what breaks under it.

A change leaves a term out of the sum, adds one to it, or replaces a pool's total. Numbers are tokens (slots for the
mamba and request pools).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcheck_cli.checker.invariant import EXTRA_SIGNS, Verdict, verdict
from memcheck_cli.checker.printing import PoolCheck
from memcheck_cli.checker.server import Server
from memcheck_cli.checker.terms import TERMS
from memcheck_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Change:
    """One what-if. kind: `without` or `with` (a term name, sign +1 or -1), or `total` (a pool name and its tokens)."""

    kind: str
    name: str
    value: int = 1

    def __str__(self) -> str:
        if self.kind == "total":
            return f"total {self.name}={self.value}"
        return f"{self.kind} {'-' if self.value < 0 else ''}{self.name}"


def without(term: str) -> Change:
    """Leave `term` out of the sum. Raises UsageError for a name that no equation sums."""
    if term not in TERMS:
        raise UsageError(f"--without {term!r}: the equations sum {', '.join(TERMS)}")
    return Change("without", term)


def with_term(term: str) -> Change:
    """Add `term`, or subtract it where it is written `-term` or known to be subtracted (`double_owned`)."""
    sign = EXTRA_SIGNS.get(term, 1)
    name = term
    if term[:1] in "+-":
        sign, name = (-1 if term[0] == "-" else 1), term[1:]
    if not name or not name.replace("_", "a").isalnum():
        raise UsageError(f"--with {term!r}: a term name is expected, for example withheld or -double_owned")
    return Change("with", name, sign)


def total_of(pool: str, total: int) -> Change:
    """Compare `pool` with `total`."""
    return Change("total", pool, total)


def judge_with(
    server: Server, pool: PoolCheck, changes: Sequence[Change], terms: Sequence[str] | None = None
) -> Verdict | None:
    """The verdict on one pool under the equation of `server` and `changes`; None where the total is not known.

    terms: those that are summed without the changes, where it is not the busy check's equation that counts.
    """
    total = pool.total
    if terms is None:
        terms = server.equation.summed if server.equation is not None else ()
    summed = list(terms)
    extra = pool.extra_sum
    for change in changes:
        if change.kind == "total":
            total = change.value if change.name == pool.pool else total
        elif change.kind == "without":
            summed = [term for term in summed if term != change.name]
        elif change.name in TERMS:
            if change.name not in summed:
                summed.append(change.name)
        else:
            value = pool.extra.get(change.name)
            extra += change.value * value if type(value) is int else 0
    if total is None:
        return None
    return verdict(
        pool.terms,
        total,
        summed=summed,
        tolerated=server.tolerates(pool),
        reported=server.reports(pool),
        extra=extra,
    )


class WhatIf:
    """Folds records under one or several changes: what breaks then, and does that explain what broke before?

    first: the place (any value) of the first record that breaks under the changes, with its verdict. breaks, before:
    records that break with and without them. cured: broke before and do not now. new: the other way round. met: a
    record has the term or is of the pool that a change names.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = tuple(changes)
        self.first: tuple[object, Verdict] | None = None
        self.breaks = self.before = self.cured = self.new = 0
        self.met = False

    @property
    def label(self) -> str:
        """The changes in words."""
        return ", ".join(str(change) for change in self.changes)

    @property
    def explains(self) -> bool:
        """Every record that broke balances under the changes, and none breaks anew."""
        return self.before > 0 and self.breaks == 0

    def add(
        self,
        place: object,
        server: Server,
        pool: PoolCheck,
        plain: Verdict | None,
        terms: Sequence[str] | None = None,
    ) -> Verdict | None:
        """One more record; `plain` is its verdict without the changes. Answers the one with them. terms: see
        `judge_with`."""
        changed = judge_with(server, pool, self.changes, terms)
        self.met = self.met or any(_meets(change, pool) for change in self.changes)
        broke = plain is not None and plain.leak
        breaks = changed is not None and changed.leak
        self.before += broke
        self.breaks += breaks
        self.cured += broke and not breaks
        self.new += breaks and not broke
        if changed is not None and breaks and self.first is None:
            self.first = (place, changed)
        return changed


def _meets(change: Change, pool: PoolCheck) -> bool:
    if change.kind == "total":
        return change.name == pool.pool
    return change.name in pool.terms or change.name in pool.extra


def questions(changes: Sequence[Change]) -> list[WhatIf]:
    """One what-if for each change alone and, with several, one for all together (last)."""
    alone = [WhatIf([change]) for change in changes]
    return [*alone, WhatIf(changes)] if len(changes) > 1 else alone
