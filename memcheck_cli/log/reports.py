"""Reports of the checker beside its busy lines: idle reports, assertions, page reports, notes without numbers.

`read_report` reads one that begins at an index of a text, behind the name of the exception or warning it came in.
"""

from __future__ import annotations

from collections.abc import Sequence

from memcheck_cli.checker import messages
from memcheck_cli.log.dialects import busy, foreign, idle
from memcheck_cli.log.dialects.form import Dialect
from memcheck_cli.log.dialects.notes import CONTINUATIONS, NOTES
from memcheck_cli.log.pairs import read_literal, read_pairs
from memcheck_cli.log.pool_text import LABEL, Damage, read_pool
from memcheck_cli.log.records import (
    TERMS,
    BusyAssertion,
    Idle,
    Message,
    PageReport,
    PoolParts,
    PoolText,
    RequestPool,
    Torn,
    Unnumbered,
    Value,
)

_DETAIL = 300
"""Characters of a note's text that are kept."""

_SUB_POOLS = {0: "full", 1: "swa"}
_IDLE_FORMS: dict[str, list[Dialect]] = {}
for _form in idle.IDLE:
    _IDLE_FORMS.setdefault(_form.head.rstrip(), []).append(_form)
_EXACT_IDLE = {form.head.rstrip(): form for form in foreign.EXACT_IDLE if form.head}
_EMPTY = {messages.IDLE_HEAD.rstrip(): "I-empty"}
_ALONE = frozenset({messages.IDLE_OLDEST_HEAD, "Memory pool leak detected!"})
_REQUEST_HEADS = frozenset(form.body.text.partition("!")[0] + "!" for form in idle.REQUESTS)
_POOL_BYTES = "pool-bytes memory leak detected!"

# The other reports, by the first four characters of their text.
_BY_START: dict[str, list[Dialect]] = {}
for _form in (*busy.PAGES, *foreign.EXACT_IDLE, *foreign.EXACT_REQUESTS, *NOTES):
    if not _form.head and _form.id not in CONTINUATIONS and _form.kind != "env-warning":
        _BY_START.setdefault(_form.body.start[:4], []).append(_form)


def torn(reason: str, busy: bool = True, pool: str | None = None, continues: str = "") -> Torn:
    """A tagged text that cannot be read whole."""
    return Torn("torn", reason, busy, pool, continues)


def read_report(text: str, start: int, error: str, copied: bool, crashed: str = "") -> Message | None:
    """A report that begins at index `start`. error: the exception or warning class named before it, `crashed` behind
    a crash line of Ray, or empty."""
    mark = text.find("etected!", start, start + 80)
    if mark >= 0:
        behind = mark + len("etected!")
        head = text[start:behind]
        raised = error not in ("", "UserWarning")
        if error in ("", "UserWarning", "ValueError", "crashed"):
            if not error and behind == len(text) and head in _ALONE:
                return PoolParts("2024-head", {})
            if head in _IDLE_FORMS or head in _EXACT_IDLE:
                idle_report = _read_idle(text, start, behind, raised, copied, crashed)
                return _reported(idle_report, "idle", raised, copied, crashed)
            if head in _REQUEST_HEADS:
                requests = _read_requests(text, start, behind, raised, copied, crashed)
                return _reported(requests, "requests", raised, copied, crashed)
            if head == _POOL_BYTES:
                return Unnumbered("pool-bytes", "pool-bytes", _note("pool-bytes").what, text[start:][:_DETAIL], copied)
        if head.endswith("Mem Leak Detected!") and error in ("AssertionError", "crashed"):
            return _reported(_read_assertion(text, start, copied, crashed), "assertion", True, copied, crashed)
        return None
    for form in _BY_START.get(text[start : start + 4], ()):
        if (error in form.behind or error == "crashed") and text.startswith(form.body.start, start):
            message = read_exact(form, text[start:], error not in ("", "UserWarning"), copied, crashed)
            if message is not None:
                return message
            if form.kind == "pages":
                damaged = torn("the page report is cut or torn", False)
                return _reported(damaged, "pages", error not in ("", "UserWarning"), copied, crashed)
    return None


def _reported(message: Message, report: str, raised: bool, copied: bool, crashed: str) -> Message:
    """A damaged text still says that the server reported something."""
    if not isinstance(message, Torn):
        return message
    return message._replace(report=report, raised=raised, copied=copied, crashed=crashed)


def _note(name: str) -> Dialect:
    return next(form for form in NOTES if form.id == name)


def read_exact(form: Dialect, text: str, raised: bool, copied: bool, crashed: str) -> Message | None:
    """The message of a text that has to be `form.body` exactly, or None."""
    values = form.body.read(text)
    if values is None:
        return None
    if form.kind == "pages":
        literal = read_literal(f"[{values['sample']}]", 0) if "sample" in values else None
        pages = literal[0] if literal is not None and isinstance(literal[0], list) else []
        sample = tuple(page for page in pages if type(page) is int)
        number = values.get("sub_pool")
        pool = None if number is None else _SUB_POOLS.get(int(number), f"sub-pool {number}")
        return PageReport(form.id, form.what, pool, int(values["pages"]), sample, raised, copied, crashed)
    if form.kind == "idle":
        if (
            "excess" in values
            and int(values["available"]) + int(values["evictable"]) - int(values["total"]) != values["excess"]
        ):
            return torn("the printed excess is not that of the printed numbers", False, form.pool)
        return Idle(form.id, (exact_pool(form, values),), raised, copied, crashed=crashed)
    if form.kind == "requests":
        return RequestPool(form.id, int(values["available"]), None, int(values["total"]), raised, copied)
    return Unnumbered(form.id, form.kind, form.what, text[:_DETAIL], copied, form.id in CONTINUATIONS)


def exact_pool(form: Dialect, values: dict[str, int | float | str]) -> PoolText:
    """The pool text that the fields of `form.body` make up."""
    terms = {term: int(values[term]) for term in TERMS if term in values}
    extra: dict[str, Value] = {
        name: value for name, value in values.items() if name not in terms and name not in ("total", "pool")
    }
    total = int(values["total"]) if "total" in values else None
    return PoolText(str(values.get("pool", form.pool or "full")), total, terms, extra, form.marks)


def _read_idle(text: str, start: int, behind: int, raised: bool, copied: bool, crashed: str) -> Message:
    head = text[start:behind]
    body = text[behind:].lstrip(" ")
    label = LABEL.match(body)
    if not body or (label is not None and label.end() == len(body)):
        form_id = _EMPTY.get(head, "old-empty")
        return Idle(form_id, (), raised, copied, {}, label[1] if label else None, crashed)
    exact = _EXACT_IDLE.get(head)
    if exact is not None:
        values = exact.body.read(body)
        if values is not None and exact.id == "diff":
            return Idle(exact.id, (), raised, copied, {"diff": values["diff"]}, None, crashed)
        if values is not None:
            return Idle(exact.id, (exact_pool(exact, values),), raised, copied, crashed=crashed)
    found = read_pool(body, _idle_forms(head, text.startswith(" ", behind)))
    if isinstance(found, Damage):
        return torn(found.reason, False, found.label, text if found.wrapped else "")
    form, pool = found
    if pool.total is None and not pool.terms:
        return Idle(form.id, (), raised, copied, pool.extra, None, crashed)
    return Idle(form.id, (pool,), raised, copied, crashed=crashed)


def _idle_forms(head: str, blank: bool) -> Sequence[Dialect]:
    """The forms with this head; B and C differ by the blank behind it, which a copy may have changed."""
    forms = _IDLE_FORMS.get(head, [])
    exact = [form for form in forms if form.head.endswith(" ") == blank]
    return [*exact, *(form for form in forms if form not in exact)]


def _read_requests(text: str, start: int, behind: int, raised: bool, copied: bool, crashed: str) -> Message:
    body = text[behind:].lstrip(" ")
    pairs, _, whole = read_pairs(body)
    values = dict(pairs)
    if not whole or len(values) != len(pairs):
        return torn("the request-pool report is cut or torn", False, "req")
    head = text[start:behind]
    for form in idle.REQUESTS:
        if form.body.start.startswith(head) and values.keys() >= set(form.names):
            numbers = [values.pop(name) for name in form.names]
            if not all(type(number) is int for number in numbers):
                break
            known = dict(zip(form.body.fields, numbers, strict=True))
            return RequestPool(
                form.id,
                known["available"],  # type: ignore[arg-type]
                known.get("session_held"),  # type: ignore[arg-type]
                known["total"],  # type: ignore[arg-type]
                raised,
                copied,
                values,
                crashed,
            )
    return torn("the request-pool report lacks a number", False, "req")


def _read_assertion(text: str, start: int, copied: bool, crashed: str) -> Message:
    said = text[start:]
    for form in busy.ASSERTIONS:
        if form.head or not said.startswith(form.body.start):
            continue
        values = form.body.read(said)
        if values is not None:
            accounted, total = int(values["accounted"]), int(values["total"])
            pool = None if form.id == "assert-sum" else exact_pool(form, values)
            return BusyAssertion(form.id, pool.pool if pool else None, pool, accounted, total, copied, crashed)
    for form in busy.ASSERTIONS:
        if form.head and said.startswith(form.head):
            found = read_pool(said[len(form.head) :], (form,))
            if isinstance(found, Damage):
                return torn(found.reason, False, form.pool, text if found.wrapped else "")
            return BusyAssertion(form.id, form.pool, found.pool, None, found.pool.total, copied, crashed)
    return torn("the assertion is cut or torn", False)
