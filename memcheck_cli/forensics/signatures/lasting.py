"""Conditions on how the break goes on, how it began, and what other ranks show."""

from __future__ import annotations

from itertools import pairwise

from memcheck_cli.counting import counted
from memcheck_cli.forensics.evidence import Evidence, no_request_before
from memcheck_cli.forensics.growth import CONSTANT, GONE, GROWING, LINEAR, SINGLE
from memcheck_cli.forensics.signatures.model import Condition, Fact, Proof
from memcheck_cli.forensics.signatures.numbers import everything_missing
from memcheck_cli.forensics.signatures.proofs import QUOTED, holds


def grows_alike(e: Evidence) -> Proof | None:
    """The same amount each time."""
    growth = e.growth
    return holds(growth.kind == LINEAR, Fact(growth.lines[-1], growth.text))


def grows(e: Evidence) -> Proof | None:
    """More each time, by another amount."""
    growth = e.growth
    return holds(
        growth.kind == GROWING and len(e.found.steps) > 2,
        Fact(growth.lines[-1], growth.text),
    )


def stays(e: Evidence) -> Proof | None:
    """The same in several records: it happened once."""
    return holds(e.growth.kind == CONSTANT, Fact(e.growth.lines[-1], e.growth.text))


def does_not_grow(e: Evidence) -> Proof | None:
    """One record, or the same in all of them."""
    return holds(e.growth.kind in (CONSTANT, SINGLE))


def gone_again(e: Evidence) -> Proof | None:
    """It balances later."""
    return holds(e.growth.kind == GONE, Fact(e.growth.lines[-1], e.growth.text))


def one_per_iteration(e: Evidence) -> Proof | None:
    """One unit more in every one of at least three iterations that follow each other."""
    steps = e.found.steps
    if e.found.check != "busy" or len(steps) < 3:
        return None
    for (row, delta), (later, next_delta) in pairwise(steps):
        if row.iteration is None or later.iteration != row.iteration + 1 or abs(next_delta - delta) != 1:
            return None
        if (next_delta - delta) * e.delta <= 0:
            return None
    return (Fact(steps[-1][0].line, f"one {e.unit} more in each of {len(steps)} iterations"),)


def from_the_first_check(e: Evidence) -> Proof | None:
    """The first check of all breaks already, or an idle report before any request."""
    found = e.found
    if found.check == "busy" and found.stream.mode == "stream" and found.row.iteration == 1:
        return (Fact(e.line, "the first check of this server breaks already"),)
    if found.check == "idle" and no_request_before(e):
        return (Fact(e.line, "no batch was logged before this report"),)
    return None


def before_any_request(e: Evidence) -> Proof | None:
    """An idle report before any request."""
    return holds(
        e.found.check == "idle" and no_request_before(e), Fact(e.line, "no batch was logged before this report")
    )


def equals_constant(e: Evidence) -> Proof | None:
    """What is off equals a number of the start-up lines, or one page."""
    off = abs(e.delta)
    if off < 2 or e.run is None:
        return None
    for start in e.run.starts.values():
        for values, line in ((start.args, start.args_line), (start.banner, start.banner_line)):
            for name, value in values.items():
                if isinstance(value, int) and not isinstance(value, bool) and value == off:
                    return (Fact(line or e.line, f"{name}={value} equals what is off"),)
    if e.found.pages in (1, -1) and (e.found.page_size or 1) > 1:
        return (Fact(e.line, f"what is off equals one page of {e.found.page_size}, as a reserved page would"),)
    return None


def equals_limit(e: Evidence) -> Proof | None:
    """As many slots are off as a configured limit names."""
    return equals_constant(e) if abs(e.delta) > 1 else None


def only_this_rank(e: Evidence) -> Proof | None:
    """A lock-step peer balances in the same check, or prints other numbers."""
    for item in e.parted:
        lines = item.more.get("lines")
        if isinstance(lines, list) and e.line in lines and item.pool == e.found.pool:
            other = lines[1 - lines.index(e.line)]
            return (Fact(other if isinstance(other, int) else e.line, item.reason),)
    return None


def parted_before(e: Evidence) -> Proof | None:
    """Peers printed different numbers some checks before one of them broke."""
    for item in e.parted:
        iteration = item.more.get("iteration")
        if isinstance(iteration, int) and e.found.iteration is not None and iteration < e.found.iteration:
            text = f"{item.reason}, {counted(e.found.iteration - iteration, 'check')} before the break"
            return (Fact(item.line or e.line, text),)
    return None


def peers_silent(e: Evidence) -> Proof | None:
    """Other ranks of a level-1 server print no check, so their sums held for as long as they ran."""
    stream = e.found.stream
    if stream.mode != "ring-dump":
        return None
    spoken = {s.rank for s in e.ledger.streams.values() if s.run == stream.run and s.checks}
    silent = [
        (rank, line)
        for (run, _, rank), line in e.ledger.ranks.items()
        if run == stream.run and rank not in spoken and "TP" in rank
    ]
    return tuple(Fact(line, f"{rank} printed no check: its ring was not dumped") for rank, line in silent[:4]) or None


def alike_on_ranks(e: Evidence) -> Proof | None:
    """Lock-step peers report the same numbers."""
    ranks = [b for b in e.peers if b.stream.rank != e.found.stream.rank and b.row.terms == e.row.terms]
    if not ranks:
        return None
    return tuple(Fact(b.row.line, f"{b.stream.rank} prints the same numbers") for b in ranks[:4])


def hid_in_uncached(e: Evidence) -> Proof | None:
    """The last busy check before the idle report balances, and what is missing there fits in its uncached."""
    witness = e.found.witness
    if e.found.check != "idle" or witness is None or witness.check != "busy" or witness.iteration != e.row.iteration:
        return None
    uncached = e.before("uncached")
    if uncached is None or uncached < -e.delta:
        return None
    text = f"the last busy check (iteration {witness.iteration}) balances, with uncached={uncached}"
    return (Fact(witness.line, text),)


def large(e: Evidence) -> Proof | None:
    """At least one percent of the pool."""
    total = e.found.total or 0
    share = abs(e.delta) / total if total else 0
    return holds(
        share >= 0.01 and abs(e.delta) >= 64, Fact(e.line, f"{abs(e.delta)} of {total} are {share:.0%} of the pool")
    )


def small(e: Evidence) -> Proof | None:
    """Less than a hundred tokens or two pages."""
    size = e.found.page_size or 1
    return holds(abs(e.delta) <= max(99, 2 * size))


def printed_set(e: Evidence) -> Proof | None:
    """The checker named the pages or slots."""
    facts = []
    for one in e.sets:
        ids = ", ".join(map(str, one.sample)) + (", …" if one.size > len(one.sample) else "")
        facts.append(Fact(one.lines[-1], f"{one.name} names {one.size}: {ids}"))
    return tuple(facts) or None


def note_of(kind: str) -> Condition:
    """The checker said something without numbers in the same run."""

    def said(e: Evidence) -> Proof | None:
        notes = [note for note in e.notes if note.kind == kind]
        return tuple(Fact(note.line, f"`{note.detail[:QUOTED]}`") for note in notes[:2]) or None

    return said


def extra_above_zero(name: str) -> Condition:
    """An extra value is printed and not empty."""

    def above(e: Evidence) -> Proof | None:
        value = (e.row.extra or {}).get(name)
        return holds(bool(value), Fact(e.line, f"{name}={value}"))

    return above


def only_silence(e: Evidence) -> Proof | None:
    """Nothing but the silence of a level-1 server tells about the other ranks."""
    return holds(only_this_rank(e) is None and parted_before(e) is None)


def whole_or_limit(e: Evidence) -> Proof | None:
    """The whole pool is missing, or as much as a limit names."""
    return everything_missing(e) or equals_limit(e)


def flushed_between(e: Evidence) -> Proof | None:
    """A flush explains why it balances again."""
    return holds(e.growth.kind == GONE and len(e.growth.lines) == 3)
