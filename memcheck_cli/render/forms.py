"""The checker's texts, and how a line was understood: as a document, and for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from memcheck_cli.ledger.rows import accounted
from memcheck_cli.log.dialects import DIALECTS, NAMES, Dialect
from memcheck_cli.log.form_of import form_of
from memcheck_cli.log.records import (
    TERMS,
    Busy,
    BusyAssertion,
    Context,
    Idle,
    Line,
    Message,
    PageReport,
    PoolLine,
    PoolParts,
    PoolText,
    RequestPool,
    Torn,
    Unnumbered,
)
from memcheck_cli.render.paragraphs import hanging
from memcheck_cli.render.safe import safe

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "memcheck.forms/1"

KINDS = {
    "busy": "Busy check",
    "assertion": "Assertion after a busy check",
    "pages": "Page check",
    "idle": "Idle check, token pools",
    "pool": "A pool on its own line",
    "parts": "Part of the report before it",
    "requests": "Idle check, request slots",
    "leak": "Leak report without numbers",
    "bare": "Told by its traceback only",
    "crash": "The checker itself failed: no leak",
    "tree-sanity": "Sanity check of the tree",
    "tree-sanity-passed": "Sanity check of the tree: nothing is wrong",
    "pool-bytes": "Unified allocator's own check",
    "unsupported": "No check",
    "env-warning": "No check: a variable has no valid value",
    "watchdog": "Watchdog: no check",
    "release-assertion": "Assertion of another part of the server",
}
"""The kinds of forms, in the order they are listed, with their headings."""

MARKS = {
    "tolerated": "the server forgives this imbalance",
    "reported": "the server reports this as a leak, even if it balances",
    "skipped": "the server does not check this pool",
    "available_holds_evictable": "the printed available already contains evictable",
    "protected_not_summed": "protected is printed and not summed",
    "protected_if_hierarchical": "some releases sum protected only with hierarchical cache",
    "session_unprinted": "0.5.10 sums session_held without printing it",
}
_MEANINGS = {name.name: name.meaning for name in NAMES}


# Documents


def list_document(forms: Iterable[Dialect] = DIALECTS) -> dict[str, Any]:
    """All forms and further names as a document."""
    return {
        "schema": SCHEMA,
        "forms": [form_document(form) for form in forms],
        "names": [name._asdict() for name in NAMES],
    }


def form_document(form: Dialect) -> dict[str, Any]:
    """One form. `text` is its template: what stands in braces varies."""
    return {
        "id": form.id,
        "releases": form.releases,
        "kind": form.kind,
        "text": form.template.text.replace(":word}", "}").replace(":text}", "}").replace(":value}", "}"),
        "behind": [name for name in form.behind if name],
        "pool": form.pool or None,
        "terms": {printed: field for printed, field in form.body.pairs if field in TERMS or field == "total"},
        "equation": form.equation or None,
        "marks": sorted(form.marks),
        "notes": form.notes or None,
        "samples": list(form.samples),
    }


def reading_document(lines: Iterable[tuple[Line, Message | None]]) -> dict[str, Any]:
    """How lines were understood. Those that are no text of the checker have `form` null."""
    return {"schema": SCHEMA, "lines": [_line_document(line, message) for line, message in lines]}


def is_read(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of a reading document is a text of the checker that was read whole."""
    return entry["form"] is not None


def _line_document(line: Line, message: Message | None) -> dict[str, Any]:
    form = form_of(line.text, message)
    torn = message if isinstance(message, Torn) else None
    pools, values = _contents(message)
    return {
        "line": line.number,
        "form": form.id if form else None,
        "kind": form.kind if form else "torn" if torn else None,
        "releases": form.releases if form else None,
        "process": line.process,
        "rank": line.rank,
        "time": line.time,
        "copied": line.copied or bool(getattr(message, "copied", False)),
        "whole": line.whole,
        "pools": [_pool_document(pool) for pool in pools],
        "values": values,
        "equation": form.equation or None if form else None,
        "notes": form.notes or None if form else None,
        "reason": torn.reason if torn else None,
        "context": message.kind if isinstance(message, Context) and form is None else None,
    }


def _contents(message: Message | None) -> tuple[Sequence[PoolText], dict[str, Any]]:
    """The pool texts of a message and its other values."""
    if isinstance(message, Busy):
        return message.pools, {}
    if isinstance(message, Idle):
        return message.pools, {**message.extra, **({"label": message.label} if message.label else {})}
    if isinstance(message, PoolLine):
        return (message.pool,), {}
    if isinstance(message, BusyAssertion):
        numbers = {"accounted": message.accounted, "total": message.total}
        if message.text is not None:
            return (message.text,), {}
        return (), {name: value for name, value in numbers.items() if value is not None}
    if isinstance(message, RequestPool):
        terms = {"available": message.available}
        if message.session_held is not None:
            terms["session_held"] = message.session_held
        return (PoolText("req", message.total, terms, message.extra),), {}
    if isinstance(message, PageReport):
        return (), {"pool": message.pool, "pages": message.pages, "sample": list(message.sample)}
    if isinstance(message, PoolParts):
        return (), {**message.parts, **message.extra, **({"label": message.label} if message.label else {})}
    if isinstance(message, Unnumbered):
        return (), {"what": message.what}
    if isinstance(message, Context):
        return (), dict(message.values)
    return (), {}


def _pool_document(pool: PoolText) -> dict[str, Any]:
    total = accounted(tuple(pool.terms.get(term) for term in TERMS), pool.marks)
    skipped = "skipped" in pool.marks
    return {
        "pool": pool.pool,
        "total": pool.total,
        "terms": dict(pool.terms),
        "accounted": None if skipped else total,
        "delta": None if skipped or pool.total is None else total - pool.total,
        "extra_terms": dict(pool.extra),
        "marks": sorted(pool.marks),
    }


# For a person


def print_list(forms: Sequence[Dialect], output: IO[str]) -> None:
    """All forms by kind, one line each, and the further names."""
    from memcheck_cli.render.console import console_for

    with console_for(output) as console:
        for kind, heading in KINDS.items():
            chosen = [form for form in forms if form.kind == kind]
            if chosen:
                console.print(heading, style="bold")
            for form in chosen:
                console.print(f"  {form.id}  ({form.releases})", soft_wrap=True)
                console.print(f"      {safe(form_document(form)['text'], console.width - 6)}", soft_wrap=True)
        console.print("Further names in pool texts", style="bold")
        for name in NAMES:
            hanging(console, "  ", f"{name.name} ({name.releases}): {name.meaning}", 6)
        console.print("`memcheck forms NAME` shows one form; `memcheck forms TEXT` says how a line is read.")


def print_form(form: Dialect, output: IO[str]) -> None:
    """Everything about one form."""
    from memcheck_cli.render.console import console_for

    document = form_document(form)
    with console_for(output) as console:
        console.print(f"{form.id}  {KINDS[form.kind]}", style="bold")
        hanging(console, "  releases  ", form.releases)
        hanging(console, "  text      ", document["text"] or "(empty)")
        if document["behind"]:
            hanging(console, "  suffixes  ", ", ".join(document["behind"]))
        if form.pool:
            hanging(console, "  pool      ", form.pool)
        renamed = {printed: term for printed, term in document["terms"].items() if printed != term}
        for printed, term in renamed.items():
            hanging(console, "  read as   ", f"{printed} is {term}")
        _print_meaning(console, form.equation, form.notes, form.marks)
        for sample in form.samples:
            hanging(console, "  sample    ", safe(sample, 2000))


def print_reading(document: Mapping[str, Any], output: IO[str]) -> None:
    """How lines were understood, from a reading document."""
    from memcheck_cli.render.console import console_for

    several = len(document["lines"]) > 1
    told: set[str] = set()
    with console_for(output) as console:
        for entry in document["lines"]:
            if several and entry["kind"] is None and entry["context"] is None:
                continue
            _print_entry(console, entry, several, entry["form"] not in told)
            told.add(entry["form"])
        skipped = sum(entry["kind"] is None and entry["context"] is None for entry in document["lines"])
        if several and skipped:
            console.print(f"{skipped} {'line says' if skipped == 1 else 'lines say'} nothing about the pools.")


def _print_entry(console: Console, entry: Mapping[str, Any], several: bool, explain: bool) -> None:
    place = f"line {entry['line']}: " if several else ""
    if entry["kind"] == "torn":
        console.print(f"{place}Torn: it bears the checker's tag and cannot be read whole.", style="bold")
        hanging(console, "  why       ", safe(entry["reason"]))
        return
    if entry["form"] is None:
        known = f"; it is read as context: {entry['context']}" if entry["context"] else ""
        console.print(f"{place}No text of the checker{known}.", style="bold")
        return
    console.print(f"{place}{entry['form']}  {KINDS[entry['kind']]}", style="bold")
    if explain:
        hanging(console, "  releases  ", entry["releases"])
    said_by = [entry["process"], entry["rank"] if entry["rank"] != "-" else None, entry["time"]]
    if any(said_by):
        hanging(console, "  from      ", ", ".join(safe(part) for part in said_by if part))
    for pool in entry["pools"]:
        _print_pool(console, pool)
    for name, value in entry["values"].items():
        if value is not None and value != []:
            hanging(console, f"  {safe(name, 40):<9} ", safe(str(value)))
    marks = {mark for pool in entry["pools"] for mark in pool["marks"]}
    _print_meaning(console, entry["equation"] if explain else None, entry["notes"] if explain else None, marks)


def _print_pool(console: Console, pool: Mapping[str, Any]) -> None:
    console.print(f"  pool      {safe(pool['pool'])}")
    numbers = {"total": pool["total"], **pool["terms"], "accounted": pool["accounted"], "delta": pool["delta"]}
    for name, number in numbers.items():
        if number is not None:
            says = f"   {_conclusion(pool)}" if name == "delta" else ""
            console.print(f"    {name:<13} {number:>19}{says}", soft_wrap=True)
    if pool["total"] is None and pool["accounted"] is not None:
        console.print("    no total is printed: the assertion after it or the start-up banner has it")
    for name, value in pool["extra_terms"].items():
        meaning = f"  ({_MEANINGS[name]})" if name in _MEANINGS else "  (no SGLang release prints this name)"
        hanging(console, "    also ", f"{safe(name, 40)}={safe(str(value))}{meaning}")


def _conclusion(pool: Mapping[str, Any]) -> str:
    delta, marks = pool["delta"], pool["marks"]
    if "reported" in marks:
        return "reported by the server"
    if delta == 0:
        return "balanced"
    if "tolerated" in marks:
        return "tolerated by the server"
    return "nobody owns them (leak)" if delta < 0 else "owned twice (overcount)"


def _print_meaning(console: Console, equation: str | None, notes: str | None, marks: Iterable[str]) -> None:
    if equation:
        hanging(console, "  equation  ", equation)
    for mark in sorted(marks):
        hanging(console, "  mark      ", MARKS[mark])
    if notes:
        hanging(console, "  note      ", notes)
