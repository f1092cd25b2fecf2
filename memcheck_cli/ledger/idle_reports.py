"""Idle reports, which are printed over several lines: the pool texts behind the head belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memcheck_cli.ledger.cuts import cut_mark
from memcheck_cli.ledger.rows import Row, terms_of
from memcheck_cli.log.records import Idle, Line, Message, PoolLine, PoolParts, PoolText, Value

MOST_OPEN = 64
"""Reports of one process that are open at a time."""

MOST_SKIPPED = 1000
"""Lines of other streams behind which a report has ended: its rank may have nothing more to print for hours, and
while it is open every line is read."""

_ASIDE = "printed "
"""Before the name of a part of a printed sum whose other part was not seen: it is kept among the extra values."""


class _Printed(NamedTuple):
    """A pool text and where it stands. cut: the marks of a number at the end that may go on."""

    line: int
    offset: int
    cut: frozenset[str]
    form: str
    pool: PoolText


class IdleReport:
    """One that is still being read.

    line: its head. origin: rank and time that it counts for. copied: it repeats one, where there was one. pools: what
    was read of it. torn: what stands behind its head cannot be read; further pools may follow. blank: the last line was
    blank, since another one may have been put behind every line.
    """

    __slots__ = ("_extra", "_label", "_skipped", "blank", "copied", "line", "origin", "pools", "torn")

    def __init__(self, line: Line, origin: tuple[str, str | None], message: Idle) -> None:
        self.line = line
        self.origin = origin
        self.copied = message.copied or line.copied
        self.torn = False
        self.pools = [_Printed(line.number, line.offset, cut_mark(line), message.form, pool) for pool in message.pools]
        self._extra = message.extra
        self._label = message.label  # a pool label that still waits for its numbers
        self.blank = False
        self._skipped = 0

    def goes_on(self, line: Line, message: Message | None) -> bool:
        """Take the next line of its process; False where the report ended before it."""
        if line.prefixed:
            # Else it is a line of another stream of the same process.
            self._skipped += 1
            return not (line.rank == self.origin[0] or self.blank or self._skipped > MOST_SKIPPED)
        if not line.text.strip():
            self.blank = True
            return True
        self.blank = False
        if isinstance(message, PoolLine):
            pool = message.pool
            if not message.labelled and self._label:
                pool = pool._replace(pool=self._label)
            self._label = None
            self.pools.append(_Printed(line.number, line.offset, cut_mark(line), message.form, pool))
        elif isinstance(message, PoolParts):
            self._label = message.label
            if self.pools and not message.label:
                last = self.pools[-1]
                pool = _with_parts(last.pool, message.parts, message.extra)
                self.pools[-1] = last._replace(pool=pool, cut=cut_mark(line))
        else:
            return False
        return True

    def has(self, pool: PoolText) -> bool:
        """Whether that pool was printed in it already (of sgl-jax: that pool of that data-parallel rank)."""
        return any((p.pool.pool, p.pool.extra.get("dp")) == (pool.pool, pool.extra.get("dp")) for p in self.pools)

    def rows(self, checks: int, marks_of: Callable[[str, frozenset[str]], frozenset[str]]) -> Iterator[tuple[str, Row]]:
        """Its pools with their rows. checks: busy checks of its stream before it. marks_of: what the marks of a form
        come to in this run."""
        for printed in self.pools:
            pool = printed.pool
            yield (
                pool.pool,
                Row(
                    printed.line,
                    printed.offset,
                    checks or None,
                    self.origin[1],
                    pool.total,
                    terms_of(pool.terms),
                    {**self._extra, **pool.extra} or None,
                    marks_of(printed.form, pool.marks) | printed.cut,
                    printed.form,
                    bool(printed.cut),
                    "idle",
                ),
            )


def stands_beside(opened: Sequence[IdleReport], rank: str) -> bool:
    """Whether a report of `rank` may begin while those of other ranks of its process are still open: two ranks wrote
    theirs line by line."""
    return len(opened) < MOST_OPEN and not any(report.blank or report.origin[0] == rank for report in opened)


def go_on(opened: list[IdleReport], line: Line, message: Message | None) -> list[IdleReport]:
    """Give the next line of their process to the open reports; answers those that ended before it, no longer open.

    A pool text continues the last report that has not printed this pool yet: none prints a pool twice.
    """
    if line.prefixed and not opened[-1].blank:
        ended = [report for report in opened if not report.goes_on(line, message)]
    else:
        takes: IdleReport | None = opened[-1]
        if isinstance(message, PoolLine) and message.labelled:
            takes = next((report for report in reversed(opened) if not report.has(message.pool)), None)
        ended = [] if takes is not None and takes.goes_on(line, message) else list(opened)
    opened[:] = [report for report in opened if report not in ended]
    return ended


def _with_parts(pool: PoolText, parts: Mapping[str, int], extra: Mapping[str, Value]) -> PoolText:
    """A pool text with terms from its continuation line; a printed sum gives way to both of its parts."""
    terms = dict(pool.terms)
    marks = pool.marks
    held = {**pool.extra, **extra}
    given = dict(parts)
    total = given.pop("total", pool.total)
    if "available_holds_evictable" in marks:
        # The parts come on two lines: the first is kept aside until the other is there too.
        aside = {name: held.pop(_ASIDE + name) for name in ("available", "evictable") if _ASIDE + name in held}
        both = {**aside, **given}
        if "available" in both and "evictable" in both:
            terms.update(both)  # type: ignore[arg-type]
            marks = marks - {"available_holds_evictable"}
        else:
            held.update({_ASIDE + name: value for name, value in both.items()})
    else:
        terms.update(given)
    return PoolText(pool.pool, total, terms, held, marks)
