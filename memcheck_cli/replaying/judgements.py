"""Records of a log with both verdicts: the data that the replay of a log hands on.

Numbers are tokens (slots for the mamba and request pools).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memcheck_cli.checker.invariant import Verdict
from memcheck_cli.checker.printing import PoolCheck
from memcheck_cli.checker.terms import TERMS
from memcheck_cli.ledger import Row
from memcheck_cli.replaying.changes import WhatIf
from memcheck_cli.replaying.parting import LogPlace, Parting


class Judgement(NamedTuple):
    """One record with both verdicts. ours: None where it cannot be recomputed, and why says so. server: see
    `server_word`. summed: the terms that its equation sums."""

    place: LogPlace
    pool: PoolCheck
    rules: str
    ours: Verdict | None
    server: str
    why: str = ""
    summed: Sequence[str] = TERMS


@dataclass(slots=True)
class LogReplay:
    """The replay of one server log. Names as in `recordings.RecordingReplay`.

    unsummed: reports of the server on the ranks and pools asked for that carry no sums (page checks, where the rules
    have one; bare or torn reports): nothing can be recomputed.
    checked: the pools by rank, whatever was asked for.
    """

    name: str
    rules: set[str] = field(default_factory=set)
    records: int = 0
    agree: int = 0
    unknown: int = 0
    decided: int = 0
    breaks: int = 0
    disagreements: int = 0
    disagree: list[tuple[Judgement, str]] = field(default_factory=list)
    first_break: Judgement | None = None
    unknown_reasons: dict[str, int] = field(default_factory=dict)
    pools: dict[str, list[int]] = field(default_factory=dict)
    what_if: list[WhatIf] = field(default_factory=list)
    against: Parting | None = None
    lines: int = 0
    rejected: int = 0
    unsummed: int = 0
    checked: dict[str, list[str]] = field(default_factory=dict)
    error: str | None = None

    @property
    def broken(self) -> int:
        """Records that break under the rules and, where there are any, all changes."""
        return self.what_if[-1].breaks if self.what_if else self.breaks


def sum_breaks(row: Row) -> bool:
    """The record does not balance by its own form's equation (or is reported), and is not forgiven."""
    if "reported" in row.marks:
        return True
    return "tolerated" not in row.marks and row.total is not None and row.accounted != row.total


def summed_terms(row: Row, summed: Sequence[str]) -> Sequence[str]:
    """Those of `summed` that the form of a record sums: one prints protected without summing it."""
    if "protected_not_summed" not in row.marks:
        return summed
    return tuple(term for term in summed if term != "protected")


def pool_check(pool: str, row: Row) -> PoolCheck:
    """A record of a log as the checker's input."""
    marks = row.marks
    terms = row.named_terms()
    if not row.extra and not marks:
        return PoolCheck(pool, row.total, terms)
    extra: dict[str, object] = dict(row.extra or {})
    classes = extra.pop("class_free_pages", None)
    unaligned = extra.pop("unaligned_sharded_counts", None)
    page_size = extra.pop("page_size", None) if unaligned is not None else None
    extra.pop("dcp_physical_page_slack_allowed", None)
    duplicates = extra.get("free_list_duplicates")
    return PoolCheck(
        pool,
        row.total,
        terms,
        class_free_pages=[n for n in classes if isinstance(n, int)] if isinstance(classes, list) else None,
        unaligned=_counts(unaligned),
        page_size=page_size if isinstance(page_size, int) else None,
        dcp_slack_allowed="tolerated" in marks,
        ring="skipped" in marks,
        duplicates=type(duplicates) is int and duplicates > 0,
        extra=extra,
        extra_sum=row.accounted - sum(terms.get(term, 0) for term in summed_terms(row, TERMS)),
    )


def _counts(value: object) -> Mapping[str, int] | None:
    if not isinstance(value, dict):
        return None
    return {str(name): count for name, count in value.items() if isinstance(count, int)}
