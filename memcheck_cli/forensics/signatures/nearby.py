"""Conditions on what stands around the break: troubles, batches, counts that match."""

from __future__ import annotations

from memcheck_cli.counting import counted
from memcheck_cli.forensics.around import Nearby
from memcheck_cli.forensics.evidence import Evidence
from memcheck_cli.forensics.signatures.model import Condition, Fact, Proof
from memcheck_cli.forensics.signatures.proofs import either, quote


def _where(e: Evidence, near: Nearby) -> str:
    if e.surroundings.dump_line is not None:
        return ", before the dump"
    if near.after_witness:
        return ", between the last balanced record and the break"
    if near.checks:
        return f", {counted(near.checks, 'check')} before the break"
    return f", {counted(near.batches, 'batch line')} before the break" if near.batches else ", just before the break"


def event_near(*kinds: str) -> Condition:
    """A trouble of these kinds between the last balanced record and the break, or just before."""

    def near(e: Evidence) -> Proof | None:
        found = e.surroundings.last(*kinds)
        if found is None or not found.near:
            return None
        return (Fact(found.event.line, quote(found.event).text + _where(e, found)),)

    return near


def event_before(*kinds: str) -> Condition:
    """A trouble of these kinds somewhere before, where no balanced record stands between it and the break."""

    def before(e: Evidence) -> Proof | None:
        found = e.surroundings.last(*kinds)
        witness = e.found.witness
        if found is None or found.near or (witness is not None and found.event.line < witness.line):
            return None
        return (Fact(found.event.line, quote(found.event).text + _where(e, found)),)

    return before


def session_aborted(e: Evidence) -> Proof | None:
    """A request of a session was aborted near the break."""
    found = e.surroundings.last("session")
    if found is None or not found.near or found.event.values.get("what") != "aborted":
        return None
    return (Fact(found.event.line, quote(found.event).text + _where(e, found)),)


def session_changed(e: Evidence) -> Proof | None:
    """A session was closed, released or lost a request near the break."""
    found = e.surroundings.last("session")
    if found is None or not found.near or found.event.values.get("what") in ("opened", "refused"):
        return None
    return (Fact(found.event.line, quote(found.event).text + _where(e, found)),)


def device_out_of_memory(e: Evidence) -> Proof | None:
    """The device or a pool had no room, or a scheduler hit an exception, before the break."""
    return either(
        event_near("out-of-memory", "exception", "error"), event_before("out-of-memory", "exception", "error")
    )(e)


def nearly_full(e: Evidence) -> Proof | None:
    """The pool had little left."""
    for row in (e.found.witness, e.row):
        available = row.named_terms().get("available") if row is not None else None
        total = e.found.total
        if row is not None and available is not None and total and available * 50 <= total:
            return (Fact(row.line, f"available={available} of {total}: the pool was nearly full"),)
    for batch in reversed(e.surroundings.batches):
        usage = batch.event.values.get("usage")
        if isinstance(usage, int | float) and usage >= 0.95:
            return (quote(batch.event),)
    return None


def running_equals(e: Evidence) -> Proof | None:
    """As many slots are off as requests were running."""
    running = e.surroundings.running
    slots = next((b for b in (e.found, *e.siblings) if b.pool == "req"), None)
    if running is None or slots is None or slots.delta is None or abs(slots.delta) != running[0]:
        return None
    return (Fact(running[1], f"#running-req: {running[0]}, as many as slots are missing (line {slots.row.line})"),)


def matches_prefill(e: Evidence) -> Proof | None:
    """What is off equals the new tokens of a prefill batch just before."""
    for match in e.surroundings.matches:
        if match.what.startswith("new tokens"):
            return (Fact(match.line, f"#new-token: {match.value}, as much as is off"),)
    return None


def matches_uncached_before(e: Evidence) -> Proof | None:
    """What is off is all that was uncached before, and uncached fell: where it rose, the two are equal by chance."""
    if (e.found.moved or {}).get("uncached", 0) >= 0:
        return None
    for match in e.surroundings.matches:
        if match.what == "uncached before":
            return (Fact(match.line, f"{match.what}: {match.value}, as much as is off"),)
    return None


def chunked(e: Evidence) -> Proof | None:
    """A prompt was being prefilled in chunks just before."""
    for batch in reversed(e.surroundings.batches):
        values = batch.event.values
        if batch.event.kind != "prefill":
            continue
        size = e.flag("chunked_prefill_size")
        pending, new = values.get("pending_token"), values.get("new_token")
        if (isinstance(pending, int) and pending > 0) or (isinstance(size, int) and size > 0 and new == size):
            return (quote(batch.event),)
    return None


def near_context_limit(e: Evidence) -> Proof | None:
    """A running request is about as long as the context allows."""
    run = e.run
    limit = e.flag("context_length")
    line = e.flags_line
    if run is not None:
        for start in run.starts.values():
            if isinstance(start.banner.get("context_len"), int):
                limit, line = start.banner["context_len"], start.banner_line
    if not isinstance(limit, int) or limit <= 0:
        return None
    for batch in reversed(e.surroundings.batches):
        tokens, running = batch.event.values.get("token"), batch.event.values.get("running_req")
        if isinstance(tokens, int) and isinstance(running, int) and running > 0 and tokens * 10 >= running * limit * 9:
            return (quote(batch.event), Fact(line or e.line, f"context_len={limit}"))
    return None


def only_before(*kinds: str) -> Condition:
    """A trouble of these kinds stands before the break, but not near it."""

    def far(e: Evidence) -> Proof | None:
        found = e.surroundings.last(*kinds)
        if found is None or found.near:
            return None
        return (Fact(found.event.line, f"line {found.event.line} stands {_distance(found)} before the break"),)

    return far


def _distance(near: Nearby) -> str:
    return counted(near.checks, "check") if near.checks else counted(near.batches, "batch line")
