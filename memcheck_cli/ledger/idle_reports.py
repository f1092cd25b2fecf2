"""Idle reports, which are printed over several lines: the pool texts behind the head belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from memcheck_cli.ledger.cuts import cut_mark
from memcheck_cli.ledger.rows import Row, terms_of
from memcheck_cli.log.records import Idle, Line, Message, PoolLine, PoolParts, PoolText, Value

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
    was read of it. torn: what stands behind its head cannot be read; further pools may follow.
    """

    __slots__ = ("_blank", "_extra", "_label", "copied", "line", "origin", "pools", "torn")

    def __init__(self, line: Line, origin: tuple[str, str | None], message: Idle) -> None:
        self.line = line
        self.origin = origin
        self.copied = message.copied or line.copied
        self.torn = False
        self.pools = [_Printed(line.number, line.offset, cut_mark(line), message.form, pool) for pool in message.pools]
        self._extra = message.extra
        self._label = message.label  # a pool label that still waits for its numbers
        self._blank = False  # the last line was blank: another one may have been put behind every line

    def goes_on(self, line: Line, message: Message | None) -> bool:
        """Take the next line of its process; False where the report ended before it."""
        if line.prefixed:
            # Else it is a line of another stream of the same process.
            return not (line.rank == self.origin[0] or self._blank)
        if not line.text.strip():
            self._blank = True
            return True
        self._blank = False
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
                    terms_of(pool),
                    {**self._extra, **pool.extra} or None,
                    marks_of(printed.form, pool.marks) | printed.cut,
                    printed.form,
                    bool(printed.cut),
                    "idle",
                ),
            )


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
