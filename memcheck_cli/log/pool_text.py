"""One pool's accounting, read from the part of a text that holds it: `[full] total=…, available=…, …` and its kin.

The forms are data (`dialects`); a text fits one of them or is damaged. Further `name=value` pairs are kept by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memcheck_cli.checker.messages import RING
from memcheck_cli.log.dialects.form import Dialect
from memcheck_cli.log.pairs import read_pairs
from memcheck_cli.log.records import TERMS, PoolText, Value
from memcheck_cli.patterns import pattern

POOLS = frozenset({"full", "swa", "mamba", "mamba-active", "mamba-int8"})
"""The labels that SGLang itself prints."""

LABEL = pattern(r"\[([A-Za-z][A-Za-z0-9_-]{0,31})\](?: +|\Z)", re.ASCII)

_RING_WORDS = RING.text.partition("] ")[2].partition("available=")[0]
_NO_MARKS: frozenset[str] = frozenset()
_TERMS = frozenset(TERMS)
_TOTAL_AND_TERMS = frozenset({"total", *TERMS})

# A word cut short by the line's end must not pass for another word.
_CUT_WORDS = frozenset(word[:end] for word in ("True", "False", "None", "set()") for end in range(1, len(word)))

# Other printed names of a term, for labelled texts that call it so.
_ALIASES = {"total_size": "total"} | {f"{term}_size": term for term in TERMS}


class Fit(NamedTuple):
    """A whole pool text and the form it has."""

    form: Dialect
    pool: PoolText


class Damage(NamedTuple):
    """A pool text that is not whole. label: its pool where certain. wrapped: it ends right behind a pair and its comma,
    so the rest may stand on the next line."""

    reason: str
    label: str | None = None
    wrapped: bool = False


def read_pool(body: str, forms: Sequence[Dialect]) -> Fit | Damage:
    """The pool text that `body` is, nothing before or behind it. forms: what it may be; the first that fits wins."""
    match = LABEL.match(body)
    label = match[1] if match else None
    start = match.end() if match else 0
    ring = body.startswith(_RING_WORDS, start)
    if ring:
        start += len(_RING_WORDS)
    pairs, _, whole = read_pairs(body, start)
    if not whole:
        wrapped = body.endswith(",") and read_pairs(body[:-1], start).whole
        if not pairs:
            return Damage("no whole value stands behind the tag", label, wrapped)
        return Damage(f"cut or torn behind {pairs[-1][0]}", label, wrapped)
    known = {name for name, _ in pairs}
    if len(known) != len(pairs):
        return Damage("a name is printed twice", label)
    for form in forms:
        if _fits(form, label, ring, pairs[0][0], known):
            return _fill(form, label, pairs)
    if label is not None and not ring and not known.isdisjoint(_ALIASES):
        pairs = [(_ALIASES.get(name, name), value) for name, value in pairs]
        known = {name for name, _ in pairs}
        for form in forms if len(known) == len(pairs) else ():
            if _fits(form, label, False, pairs[0][0], known):
                return _fill(form, label, pairs)
    missing = [term for term in ("total", *TERMS) if term not in known]
    return Damage(f"{', '.join(missing)} missing" if label and missing else "not a whole text of any known form", label)


def _fits(form: Dialect, label: str | None, ring: bool, first: str, known: set[str]) -> bool:
    names = form.names
    if not names or form.is_labelled != (label is not None) or ("skipped" in form.marks) != ring:
        return False
    if not known.issuperset(names):
        return False
    if label is None:
        # Their names have a fixed order, so the first one tells a whole text from the rest of a cut one.
        return first == names[0]
    # A text that goes on behind the short form's last name must go on to the end.
    return ring or known.isdisjoint(_TOTAL_AND_TERMS.difference(names))


_LONGEST_SPLICE = 80
"""Characters of two known names, at most."""


@lru_cache(maxsize=64)
def _pieces(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """All beginnings and all ends of the names, without the whole names."""
    return (
        frozenset(name[:at] for name in names for at in range(len(name))),
        frozenset(name[at:] for name in names for at in range(1, len(name))),
    )


def _is_spliced(name: str, names: tuple[str, ...]) -> bool:
    """Whether `name` is the beginning of one known name with the end of another, as where a piece of a line is lost:
    `proctable` of `protected` and `evictable`."""
    if len(name) > _LONGEST_SPLICE:
        return False
    begins, ends = _pieces(names)
    return any(
        name[at:] in ends and (name[:at] in begins or (name[:at] in names and name[at : at + 1].isalpha()))
        for at in range(len(name))
    ) or (name in begins)


def _fill(form: Dialect, label: str | None, pairs: Sequence[tuple[str, Value]]) -> Fit | Damage:
    fields = dict(form.body.pairs)
    last = max((at for at, (name, _) in enumerate(pairs) if name in fields), default=0)
    # Forks add names; between the known ones such a name may also be what a tear left over.
    for name, _ in pairs[:last]:
        if name not in fields and name not in _TERMS and _is_spliced(name, form.names):
            return Damage(f"{name} is what is left of two names", label)
    total: int | None = None
    terms: dict[str, int] = {}
    extra: dict[str, Value] = {}
    for name, value in pairs:
        field = fields.get(name)
        if field is None and name in _TERMS and name not in fields.values():
            field = name
        if field == "total":
            if type(value) is not int and not (value is None and "skipped" in form.marks):
                return Damage("total is no number", label)
            total = value
        elif field in _TERMS:
            if type(value) is not int:
                return Damage(f"{name} is no number", label)
            terms[field] = value
        elif isinstance(value, str) and value in _CUT_WORDS:
            return Damage(f"the value of {name} is cut", label)
        else:
            extra[name] = value
    marks = form.marks
    if extra:
        marks |= marks_of(extra)
    if "session_held" in terms:
        marks -= {"session_unprinted"}
    return Fit(form, PoolText(label or form.pool or "full", total, terms, extra, marks))


def marks_of(extra: Mapping[str, Value]) -> frozenset[str]:
    """What the further names of a pool text say about how the server takes it: `tolerated`, `reported`."""
    marks = set()
    if extra.get("dcp_physical_page_slack_allowed") is True:
        marks.add("tolerated")
    duplicates = extra.get("free_list_duplicates")
    if "unaligned_sharded_counts" in extra or (type(duplicates) is int and duplicates > 0):
        marks.add("reported")
    return frozenset(marks) if marks else _NO_MARKS
