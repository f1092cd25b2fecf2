"""The exact reader: what one text of a log says about the checker's accounting.

`read_message` takes the message part of a line (wrapping and prefix off) and gives a `records.Message`, or None where
the line is none of the checker's. It defines what is right: a faster reader must give the same answers. A text is
read whole or not at all. One that bears the checker's tag and is damaged becomes `Torn`; no part of it becomes a
value. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memcheck_cli.checker import messages
from memcheck_cli.log.dialects import ASSERTIONS, BUSY, IDLE, PAGES, PARTS, POOL_LINES, REQUESTS, Dialect
from memcheck_cli.log.pairs import read_pairs
from memcheck_cli.log.records import (
    TERMS,
    Busy,
    BusyAssertion,
    Idle,
    Message,
    PageReport,
    PoolLine,
    PoolParts,
    PoolText,
    RequestPool,
    Torn,
    Value,
)

TAG = "[Mem Check"
_BOTH_HEAD = "[Mem Check (BUSY/SWA)] "
_NOTHING: dict[str, Value] = {}
_NO_MARKS: frozenset[str] = frozenset()
_DIGITS = 18

_standard = messages.BUSY.pattern.fullmatch
_LABEL = re.compile(r"\[([A-Za-z][A-Za-z0-9_-]{0,31})\](?: +|\Z)", re.ASCII)
_RING = "unified ring (leak-check skipped): "
_ERROR = re.compile(r"(E {1,8})?(ValueError|AssertionError): ", re.ASCII)
_CRASHED = re.compile(r"Scheduler(?: [A-Z_]{1,16}[0-9]{1,6})*+ crashed: ", re.ASCII)
_SUB_POOLS = {0: "full", 1: "swa"}

# Printed name -> (pool it tells or None, canonical name). For texts that name a term in another way than the dialect.
_ALIASES: dict[str, tuple[str | None, str]] = {"total": (None, "total"), "total_size": (None, "total")}
for _term in TERMS:
    for _name in (_term, f"{_term}_size"):
        _ALIASES[_name] = (None, _term)
        for _pool in ("full", "swa", "mamba"):
            _ALIASES[f"{_pool}_{_name}"] = (_pool, _term)
            _ALIASES[f"{_name}_{_pool}"] = (_pool, _term)
for _pool in ("full", "swa", "mamba"):
    _ALIASES[f"{_pool}_total"] = (_pool, "total")


def read_message(text: str, prefixed: bool) -> Message | None:
    """What `text`, the message part of a line, says; None where it is none of the checker's texts.

    prefixed: a time and rank prefix stood before it. Never raises.
    """
    match = _standard(text)
    if match is not None:
        pool, total, available, evictable, protected, held, uncached = match.groups()
        terms = {
            "available": int(available),
            "evictable": int(evictable),
            "protected": int(protected),
            "session_held": int(held),
            "uncached": int(uncached),
        }
        return Busy("B3", (PoolText(pool, int(total), terms, _NOTHING, _NO_MARKS),))
    text = text.rstrip()
    if text.endswith(" across cluster]"):
        text = re.sub(r" {0,8}\[repeated [0-9]{1,9}x across cluster\]\Z", "", text)
    if not prefixed:
        text = text.lstrip(" \t")
    at = text.find(TAG)
    if at == 0:
        return _read_busy(text)
    if at > 0 and _is_torn_into(text, at):
        return _torn("the busy tag stands behind the fragment of another line")
    error, start, copied = "", 0, False
    head = (_CRASHED if prefixed else _ERROR).match(text)
    if head is not None:
        start = head.end()
        error = "" if prefixed else head[2]
        copied = not prefixed and head[1] is not None
        return _read_report(text, start, error or "crashed", copied)
    if not prefixed:
        warning = text.find("UserWarning: ", 0, 4096)
        if warning == 0 or (warning > 0 and _is_warning_head(text, warning)):
            return _read_report(text, warning + len("UserWarning: "), "UserWarning", False)
    return _read_report(text, 0, "", False) or (None if prefixed else _read_continuation(text))


def _torn(reason: str, busy: bool = True, pool: str | None = None, continues: str = "") -> Torn:
    return Torn("torn", reason, busy, pool, continues)


def _is_warning_head(text: str, at: int) -> bool:
    path, _, number = text[: at - 2].rpartition(":")
    return text.startswith(": ", at - 2) and path.endswith(".py") and number.isascii() and number.isdigit()


# Busy lines


def _read_busy(text: str) -> Message:
    if text == messages.BUSY_HEAD.rstrip():
        return Busy("B3-empty", ())
    if text.startswith(messages.BUSY_HEAD):
        found = _read_pool(text[len(messages.BUSY_HEAD) :], BUSY)
        if isinstance(found, _Damage):
            return _torn(found.reason, True, found.label)
        return Busy(found[0].id, (found[1],))
    if text.startswith(_BOTH_HEAD):
        return _read_both(text)
    return _torn("the busy tag is damaged")


def _read_both(text: str) -> Message:
    values = messages.BUSY_BOTH_POOLS.read(text)
    if values is None:
        return _torn("the line of both pools is cut or torn")
    pools = []
    for pool in ("full", "swa"):
        terms = {term: int(values[f"{pool}_{term}"]) for term in TERMS}
        if sum(terms.values()) != values[f"{pool}_sum"]:
            return _torn("the printed sum is not the sum of the printed terms", pool=pool)
        pools.append(PoolText(pool, None, terms))
    return Busy("B2", tuple(pools))


_TORN_PREFIX = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,6})?(?: [A-Z_]{1,16}[0-9]{1,6})*+\] \Z", re.ASCII)
_QUOTED = ("obj=", "text=", "prompt", "content", "messages", "`")


def _is_torn_into(text: str, at: int) -> bool:
    """Whether the tag at index `at` was torn into the line by another writer (a whole prefix stands before it), and is
    not quoted by a user's text."""
    before = text[:at]
    prefix = _TORN_PREFIX.search(before, max(0, at - 120))
    if prefix is None:
        return False
    start = before.rfind("[", 0, prefix.start())
    return start <= 0 or not (before[start - 1] in "'\"`>" or any(word in before for word in _QUOTED))


# Pool texts


class _Damage:
    """A pool text that is not whole. label: its pool where certain. rest: text that an editor may have wrapped."""

    __slots__ = ("label", "reason", "wrapped")

    def __init__(self, reason: str, label: str | None = None, wrapped: bool = False) -> None:
        self.reason = reason
        self.label = label
        self.wrapped = wrapped


def _read_pool(body: str, forms: Sequence[Dialect]) -> tuple[Dialect, PoolText] | _Damage:
    """One pool's text. forms: the dialects it may be, the first that fits wins."""
    label = _LABEL.match(body)
    start = label.end() if label else 0
    name = label[1] if label else None
    ring = body.startswith(_RING, start)
    pairs = read_pairs(body, start + len(_RING) if ring else start)
    if not pairs.whole:
        last = pairs.pairs[-1][0] if pairs.pairs else None
        reason = f"the text is cut or torn behind {last}" if last else "no whole value stands behind the tag"
        return _Damage(reason, name, bool(last) and body.endswith(",") and pairs.rest == len(body))
    printed = [pair[0] for pair in pairs.pairs]
    known = set(printed)
    if len(known) != len(printed):
        return _Damage("a name is printed twice", name)
    for form in forms:
        if _fits(form, name, ring, printed, known):
            return _fill(form, name, pairs.pairs)
    for form in forms:
        if name and not ring and form.body.text.startswith("[") and "skipped" not in form.marks:
            renamed = [(_ALIASES.get(printed, (None, printed))[1], value) for printed, value in pairs.pairs]
            known = {pair[0] for pair in renamed}
            if len(known) == len(renamed) and known.issuperset(form.names):
                return _fill(form, name, renamed)
    missing = [term for term in ("total", *TERMS) if term not in known]
    return _Damage(f"{', '.join(missing) or 'the known form'} missing", name)


def _fits(form: Dialect, label: str | None, ring: bool, printed: Sequence[str], known: set[str]) -> bool:
    names = form.names
    if not names or ("skipped" in form.marks) != ring or form.body.text.startswith("[") != (label is not None):
        return False
    # Old forms have their names in a fixed order; the first one tells a whole text from the rest of a cut one.
    return known.issuperset(names) and (label is not None or printed[0] == names[0])


def _fill(form: Dialect, label: str | None, pairs: Sequence[tuple[str, Value]]) -> tuple[Dialect, PoolText] | _Damage:
    fields = dict(form.body.pairs)
    total: int | None = None
    terms: dict[str, int] = {}
    extra: dict[str, Value] = {}
    for name, value in pairs:
        field = fields.get(name)
        if field not in TERMS and field != "total":
            extra[name] = value
        elif type(value) is int:
            if field == "total":
                total = value
            else:
                terms[field] = value
        elif not (field == "total" and value is None and "skipped" in form.marks):
            return _Damage(f"{name} is no number", label)
    return form, PoolText(label or form.pool or "full", total, terms, extra, form.marks | _marks(extra))


def _marks(extra: Mapping[str, Value]) -> frozenset[str]:
    """What the further names of a text say about how the server takes it."""
    if not extra:
        return _NO_MARKS
    marks = set()
    if extra.get("dcp_physical_page_slack_allowed") is True:
        marks.add("tolerated")
    duplicates = extra.get("free_list_duplicates")
    if "unaligned_sharded_counts" in extra or (type(duplicates) is int and duplicates > 0):
        marks.add("reported")
    return frozenset(marks)


# Reports


def _read_report(text: str, start: int, error: str, copied: bool) -> Message | None:
    """A report that begins at index `start`, behind the name of `error` if there is one."""
    raised = error not in ("", "UserWarning")
    mark = text.find("etected!", start, start + 80)
    if mark >= 0:
        head, behind = text[start : mark + len("etected!")], mark + len("etected!")
        if head in _IDLE_HEADS and error != "AssertionError":
            return _read_idle(text, start, behind, raised, copied)
        if head in _REQUEST_HEADS and error != "AssertionError":
            return _read_requests(text[start:], raised, copied)
        if head.endswith("Mem Leak Detected!") and error in ("AssertionError", "crashed"):
            return _read_assertion(text, start, behind, copied)
        return None
    if text.startswith("KV ", start):
        return _read_pages(text[start:], raised, copied)
    return None


_IDLE_HEADS = {form.head.rstrip() for form in IDLE}
_REQUEST_HEADS = {form.body.text.partition("!")[0] + "!" for form in REQUESTS}


def _read_idle(text: str, start: int, behind: int, raised: bool, copied: bool) -> Message:
    body = text[behind:].lstrip(" ")
    if not body:
        return Idle("I-empty", (), raised, copied)
    label = _LABEL.match(body)
    if label is not None and label.end() == len(body):
        return Idle("I-empty", (), raised, copied, {}, label[1])
    head = text[start:behind]
    blank = text.startswith(" ", behind)
    forms = [form for form in IDLE if form.head.rstrip() == head and (form.head.endswith(" ") == blank)]
    found = _read_pool(body, forms or [form for form in IDLE if form.head.rstrip() == head])
    if isinstance(found, _Damage):
        return _torn(found.reason, False, found.label, text if found.wrapped else "")
    form, pool = found
    if pool.total is None and not pool.terms:
        return Idle(form.id, (), raised, copied, pool.extra)
    return Idle(form.id, (pool,), raised, copied)


def _read_requests(text: str, raised: bool, copied: bool) -> Message:
    for form in REQUESTS:
        values = form.body.read(text.replace("! ", "!", 1))
        if values is not None:
            held = values.get("session_held")
            return RequestPool(
                form.id,
                int(values["available"]),
                None if held is None else int(held),
                int(values["total"]),
                raised,
                copied,
            )
    return _torn("the request-pool report is cut or torn", False, "req")


def _read_assertion(text: str, start: int, behind: int, copied: bool) -> Message | None:
    said = text[start:]
    for form in ASSERTIONS:
        if form.head:
            continue
        values = form.body.read(said)
        if values is not None:
            accounted, total = int(values["accounted"]), int(values["total"])
            if form.id == "assert-sum":
                return BusyAssertion(form.id, None, None, accounted, total, copied)
            terms = {term: int(values[term]) for term in TERMS}
            return BusyAssertion(form.id, form.pool, PoolText(form.pool, total, terms), accounted, total, copied)
    for form in ASSERTIONS:
        if form.head and said.startswith(form.head):
            found = _read_pool(said[len(form.head) :], [form])
            if isinstance(found, _Damage):
                return _torn(found.reason, False, form.pool, text if found.wrapped else "")
            return BusyAssertion(form.id, form.pool, found[1], None, found[1].total, copied)
    if said[behind - start :].startswith(" ") or behind == len(text):
        return _torn("the assertion is cut or torn", False)
    return None


def _read_pages(text: str, raised: bool, copied: bool) -> Message | None:
    for form in PAGES:
        if not text.startswith(form.body.text.partition(":")[0] + ":"):
            continue
        values = form.body.read(text)
        if values is None:
            return _torn("the page report is cut or torn", False)
        sample: tuple[int, ...] = ()
        if "sample" in values:
            sample = tuple(int(page) for page in re.findall(r"-?[0-9]{1,18}(?![0-9])", str(values["sample"])))
        number = values.get("sub_pool")
        pool = None if number is None else _SUB_POOLS.get(int(number), f"sub-pool {number}")
        return PageReport(form.id, form.what, pool, int(values["pages"]), sample, raised, copied)
    return None


# Continuation lines


def _read_continuation(text: str) -> Message | None:
    """A line without prefix that may belong to a report before it."""
    for form in PARTS:
        values = form.body.read(text)
        if values is not None:
            return PoolParts(form.id, {name: int(value) for name, value in values.items()})
    label = _LABEL.match(text)
    if label is not None and label.end() == len(text):
        return PoolParts("I-empty", {}, {}, label[1]) if label[1] in _POOLS else None
    if label is None and not text.startswith(_POOL_LINE_STARTS):
        return None
    found = _read_pool(text, POOL_LINES)
    if not isinstance(found, _Damage):
        return PoolLine(found[0].id, found[1], found[0].id != "pool-unlabelled")
    if (label is None or label[1] in _POOLS) and "total=" in text:
        return _torn(found.reason, False, found.label, text if found.wrapped else "")
    return None


_POOLS = frozenset({"full", "swa", "mamba", "mamba-active", "mamba-int8"})
_POOL_LINE_STARTS = tuple({form.names[0] + "=" for form in POOL_LINES if not form.body.text.startswith("[")})
