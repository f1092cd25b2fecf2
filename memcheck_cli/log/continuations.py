"""Lines without prefix that go on with a report before them: further pools, parts of a sum, violations."""

from __future__ import annotations

from memcheck_cli.log.dialects import foreign, pool_lines
from memcheck_cli.log.dialects.form import Dialect
from memcheck_cli.log.dialects.notes import CONTINUATIONS, NOTES
from memcheck_cli.log.pairs import read_pairs
from memcheck_cli.log.pool_text import LABEL, POOLS, Damage, read_pool
from memcheck_cli.log.records import Message, PoolLine, PoolParts
from memcheck_cli.log.reports import exact_pool, read_exact, torn

_PART_FORMS = (*pool_lines.PARTS, *foreign.FORK_PARTS)
_POOL_STARTS = tuple({f"{form.names[0]}=" for form in pool_lines.POOL_LINES if not form.is_labelled})
_NOTE_LINES = tuple(form for form in NOTES if form.id in CONTINUATIONS)
_MISMATCH = " pool size mismatch: "
_STARTS = (
    "[",
    *_POOL_STARTS,
    *(form.body.start for form in (*_PART_FORMS, *foreign.EXACT_POOL_LINES) if form.body.start),
)


def read_continuation(text: str) -> Message | None:
    """A line without prefix that may belong to a report before it."""
    if not text.startswith(_STARTS) and _MISMATCH not in text[:60]:
        return None
    label = LABEL.match(text)
    if label is not None and label.end() == len(text):
        return PoolParts("I-empty", {}, {}, label[1]) if label[1] in POOLS else None
    if label is not None:
        for form in _NOTE_LINES:
            if text.startswith(form.body.start) and (message := read_exact(form, text, False, False, "")) is not None:
                return message
    for form in _PART_FORMS:
        if text.startswith(form.body.start):
            return _read_parts(form, text)
    for form in foreign.EXACT_POOL_LINES:
        if text.startswith(form.body.start) and (form.body.start or _MISMATCH in text[:60]):
            values = form.body.read(text)
            if values is not None:
                return PoolLine(form.id, exact_pool(form, values))
    if label is None and not text.startswith(_POOL_STARTS):
        return None
    found = read_pool(text, pool_lines.POOL_LINES)
    if not isinstance(found, Damage):
        return PoolLine(found.form.id, found.pool, found.form.id != "pool-unlabelled")
    if label is not None and label[1] in POOLS and text.startswith("total=", label.end()):
        return torn(found.reason, False, label[1], text if found.wrapped else "")
    return None


def _read_parts(form: Dialect, text: str) -> Message | None:
    if form in pool_lines.PARTS:
        values = form.body.read(text)
        return None if values is None else PoolParts(form.id, {name: int(value) for name, value in values.items()})
    pairs, _, whole = read_pairs(text.removeprefix("allocator_debug: "))
    return PoolParts(form.id, {}, dict(pairs)) if whole else None
