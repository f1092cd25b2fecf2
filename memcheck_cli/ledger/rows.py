"""Records as the ledger keeps them: rows, and runs of rows with one and the same delta.

Of a healthy log the ledger keeps one segment a series, so its memory does not grow with the log. Numbers are tokens
(slots for the mamba and request pools), iterations count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memcheck_cli.ledger.cuts import could_go_on, cut_mark
from memcheck_cli.log.dialects import names
from memcheck_cli.log.records import TERMS, Line, Value


class Row(NamedTuple):
    """One record. terms: the five accounting terms in the order of TERMS, None where not printed.

    line, offset: where its own text stands. iteration: the check it belongs to (after which it came, for an idle
    report), None where there is none. time: the server's own, or None. marks: see `log.records.PoolText`. form: the
    dialect that was read. cut: the line was the last one and had no line end, so its last number may be cut.
    check: `busy` or `idle`.
    """

    line: int
    offset: int
    iteration: int | None
    time: str | None
    total: int | None
    terms: tuple[int | None, ...]
    extra: Mapping[str, Value] | None
    marks: frozenset[str]
    form: str
    cut: bool = False
    check: str = "busy"

    def named_terms(self) -> dict[str, int]:
        """The printed terms by name."""
        return {name: value for name, value in zip(TERMS, self.terms, strict=True) if value is not None}

    @property
    def accounted(self) -> int:
        """Sum of the printed terms that the form's equation sums."""
        return accounted(self.terms, self.marks)

    def with_unprinted(self, session_held: int) -> Row:
        """The row with the session_held that its line leaves out (0.5.10)."""
        terms = dict(zip(TERMS, self.terms, strict=True)) | {"session_held": session_held}
        return self._replace(terms=tuple(terms.values()), marks=self.marks - {SESSION_UNPRINTED} | {SESSION_ASSERTED})


SESSION_UNPRINTED = "session_unprinted"
"""Mark of a form whose equation may have a session_held that is not printed."""

SESSION_ASSERTED = "session_asserted"
"""Mark of a row of that form whose session_held is what the assertion behind it counts more."""

NO_MARKS: frozenset[str] = frozenset()
Combination = tuple[tuple[str, int], ...]
"""A signed sum of extra terms: names in order, each with +1 or -1."""
_PROTECTED = TERMS.index("protected")


def accounted(terms: tuple[int | None, ...], marks: frozenset[str]) -> int:
    """Sum of the terms the equation of the form sums: all that were printed, except where a mark takes one out."""
    total = sum(value for value in terms if value is not None)
    if "protected_not_summed" in marks:
        total -= terms[_PROTECTED] or 0
    return total


class Segment:
    """Consecutive rows of one series with one delta (or one accounted sum, where no total is known)."""

    __slots__ = ("balance", "count", "first", "last", "status", "witness")

    def __init__(self, balance: int, status: str, row: Row) -> None:
        self.balance = balance
        self.status = status  # "", "tolerated", "reported" or "cut" (its rows may be cut in their last number)
        self.first = row
        self.last = row
        self.count = 1
        self.witness: Row | None = None  # the last balanced row of the pool before `first`, busy or idle

    def __repr__(self) -> str:
        return f"Segment({self.balance}, {self.status}, {self.count} rows, lines {self.first.line}..{self.last.line})"


class Series:
    """All rows of one pool of one stream and kind of check, as segments.

    `balance` of a segment is delta where the total is printed, else the accounted sum (`open_total`). More than
    `LIMIT` segments are not kept: those between the first and the last half are counted by balance and forgotten.
    """

    LIMIT = 4096
    __slots__ = (
        "combinations",
        "dropped",
        "extra_names",
        "first_total",
        "oddities",
        "open_total",
        "pool",
        "records",
        "segments",
        "unbalanced",
    )

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.records = 0
        self.segments: list[Segment] = []
        self.dropped: dict[tuple[int, str], int] = {}
        self.open_total = False
        self.first_total: int | None = None
        # Findings of single rows, kept at their first occurrence: kind -> (row, detail)
        self.oddities: dict[str, tuple[Row, str]] = {}
        # Signed combinations of extra terms that close every row so far; None before the first extra term.
        self.combinations: set[Combination] | None = None
        self.extra_names: tuple[str, ...] = ()
        self.unbalanced = 0

    def add(self, row: Row) -> bool:
        """Take one more row; True when it opens a segment that does not balance."""
        self.records += 1
        total = row.total
        marks = row.marks
        terms = row.terms
        whole = None not in terms
        balance = sum(terms) if whole and not marks else accounted(terms, marks)  # type: ignore[arg-type]
        if total is None:
            self.open_total = True
        else:
            balance -= total
            if total != self.first_total:
                self.saw_total(row, total)
            if not whole or min(terms) < 0 or max(terms) > total:  # type: ignore[type-var,operator]
                for name, value in zip(TERMS, terms, strict=True):
                    if value is not None and not 0 <= value <= total:
                        self.saw_odd_term(row, name, value, total)
        status = "" if not marks else _status(marks)
        if row.cut and not status and (total is None or could_go_on(row, balance)):
            return self.extend(balance, "cut", row, row, 1)
        if (balance and status != "tolerated") or status == "reported":
            self.unbalanced += 1
        if row.extra or self.combinations is not None:
            self._filter_combinations(row, balance)
        return self.extend(balance, status, row, row, 1)

    def goes_on(self, row: Row) -> bool:
        """Take a row that is like the ones before it in every respect: `add` in fewer steps. False where it is not, or
        where they do not balance."""
        terms, total = row.terms, self.steady_total()
        if total is None or row.total != total or sum(terms) != total or min(terms) < 0:  # type: ignore[arg-type,type-var,operator]
            return False
        self.go_on(row, 1)
        return True

    def steady_total(self) -> int | None:
        """The total with which a record `goes_on` where its terms, none below zero, sum up to it. None where none
        does."""
        segment = self.segments[-1]
        if segment.balance or segment.status or self.combinations is not None or segment.last.total is None:
            return None
        return self.first_total

    def go_on(self, row: Row, count: int) -> None:
        """Take so many rows that are like the ones before them in every respect, the last of which is `row`."""
        segment = self.segments[-1]
        self.records += count
        segment.last = row
        segment.count += count

    def extend(self, balance: int, status: str, first: Row, last: Row, count: int) -> bool:
        """Append `count` rows of one balance; True when that opens a segment that does not balance."""
        segments = self.segments
        if segments:
            segment = segments[-1]
            if segment.balance == balance and segment.status == status:
                segment.last = last
                segment.count += count
                return False
        segment = Segment(balance, status, first)
        segment.last = last
        segment.count = count
        segments.append(segment)
        if len(segments) > self.LIMIT:
            # Forget the oldest segment of the second half; its rows still count.
            gone = segments.pop(self.LIMIT // 2)
            key = (gone.balance, gone.status)
            if key not in self.dropped and len(self.dropped) >= self.LIMIT:
                key = (1 if gone.balance > 0 else -1 if gone.balance else 0, gone.status)
            self.dropped[key] = self.dropped.get(key, 0) + gone.count
        return (balance != 0 and status != "cut") or status == "reported"

    def complete_last(self, session_held: int) -> Row:
        """The last row counts with this session_held, which its line leaves out. Answers it as it counts now."""
        segment = self.segments[-1]
        row = segment.last.with_unprinted(session_held)
        segment.count -= 1
        segment.last = segment.first  # which row stood before the last one is not kept
        if not segment.count:
            self.segments.pop()
        self.segments.append(Segment(row.accounted - (row.total or 0), "", row))
        return row

    def saw_total(self, row: Row, total: int) -> None:
        """A record with another total than the ones before."""
        if self.first_total is None:
            self.first_total = total
        else:
            self.oddities.setdefault("total-changed", (row, f"total was {self.first_total}, here it is {total}"))

    def saw_odd_term(self, row: Row, name: str, value: int, total: int) -> None:
        """A record with a term below zero or above its total."""
        if value < 0:
            self.oddities.setdefault("negative-term", (row, f"{name} is {value}: a count below zero is impossible"))
        else:
            detail = f"{name} is {value}, more than the whole pool ({total})"
            self.oddities.setdefault("term-above-total", (row, detail))

    def _filter_combinations(self, row: Row, balance: int) -> None:
        """Keep the signed combinations of extra terms under which this row balances, as every earlier one did."""
        numbers = extra_numbers(row)
        self._open_combinations(numbers, self.unbalanced - (1 if balance else 0))
        self.combinations = {
            c for c in self.combinations or () if balance + sum(sign * numbers.get(name, 0) for name, sign in c) == 0
        }

    def keep_closing(self, names: Iterable[str], closing: set[Combination] | None, unbalanced: int) -> None:
        """The same for many rows at once: `closing` are the combinations of `names` that close all of them."""
        self._open_combinations([name for name in names if name not in NO_SLOTS], self.unbalanced)
        if closing is None:
            closing = set() if unbalanced else {()}
        known = set(names)
        self.combinations = {
            c for c in self.combinations or () if tuple(sorted(t for t in c if t[0] in known)) in closing
        }

    def _open_combinations(self, names: Iterable[str], unbalanced: int) -> None:
        """Make room for names not seen before. unbalanced: rows before, which such names cannot have closed."""
        if self.combinations is None:
            self.combinations = set() if unbalanced else {()}
        for name in names:
            if name not in self.extra_names and len(self.extra_names) < 6:
                self.extra_names += (name,)
                self.combinations |= {tuple(sorted((*c, (name, sign)))) for c in self.combinations for sign in (1, -1)}

    def explained_by(self) -> tuple[tuple[str, int], ...] | None:
        """The smallest signed combination of extra terms that closes the gap of every row, or None."""
        if not self.combinations or not self.unbalanced or self.open_total:
            return None
        real = [c for c in self.combinations if c]
        return min(real, key=lambda c: (len(c), sum(sign < 0 for _, sign in c), c)) if real else None


NO_SLOTS = names.NO_SLOTS
"""Extra numbers that count no slots, so they never close a gap."""


def extra_numbers(row: Row) -> dict[str, int]:
    """The extra terms of a row that may count slots."""
    return {
        name: value
        for name, value in (row.extra or {}).items()
        if isinstance(value, int) and not isinstance(value, bool) and name not in NO_SLOTS
    }


def closes(row: Row) -> bool:
    """Whether some signed combination of its extra terms closes the gap of a row by itself."""
    numbers = [value for value in extra_numbers(row).values() if value][:6]
    gaps = {row.accounted - (row.total or 0)}
    for value in numbers:
        gaps |= {gap + sign * value for gap in gaps for sign in (1, -1)}
    return bool(numbers) and 0 in gaps


def _status(marks: frozenset[str]) -> str:
    for status in ("tolerated", "reported"):
        if status in marks:
            return status
    return ""


def terms_of(printed: Mapping[str, int]) -> tuple[int | None, ...]:
    """The five terms in the order of TERMS, of those that were printed by name."""
    get = printed.get
    return (get("available"), get("evictable"), get("protected"), get("session_held"), get("uncached"))


def row_of(
    line: Line,
    time: str | None,
    terms: Mapping[str, int],
    total: int | None,
    marks: frozenset[str],
    form: str,
    extra: Mapping[str, Value] | None,
) -> Row:
    """The row that numbers printed on a line make, of no check yet."""
    cut = cut_mark(line)
    numbers = terms_of(terms)
    return Row(line.number, line.offset, None, time, total, numbers, extra or None, marks | cut, form, bool(cut))
