"""What to do now, by release: keep the server alive or not, what that risks, and what to record for a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memcheck_cli.checker.releases import Release, ReleaseError, Span
from memcheck_cli.counting import counted
from memcheck_cli.forensics.evidence import Evidence
from memcheck_cli.forensics.growth import CONSTANT, SINGLE
from memcheck_cli.forensics.signatures.model import CORRUPTION, Hit, amount_of
from memcheck_cli.ledger import Note
from memcheck_cli.log.release_hints import spoken, why_unchecked

BUSY_SWITCH = "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY"
IDLE_SWITCH = "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE"
PAGE_SWITCH = "SGLANG_CHECK_KV_PAGE_INVARIANTS"
OLD_SWITCH = "SGLANG_ENABLE_RUNTIME_MEM_LEAK_CHECK"


class Advice(NamedTuple):
    """One thing to do or to know. topic: `keep-alive`, `risk`, `tell-apart` or `record`. lines: what it rests on."""

    topic: str
    text: str
    lines: tuple[int, ...]


class Rule(NamedTuple):
    """What stops the death in a span of releases."""

    releases: Span
    text: str


IDLE_RULES: tuple[Rule, ...] = (
    Rule(Span.of("0.4.0", "0.4.6.post3"), "it only warns, unless SGLANG_IS_IN_CI is set"),
    Rule(Span.of("0.4.6.post4", "0.5.5.post2"), "it always raises, and no switch turns it into a warning"),
    Rule(Span.of("0.5.5.post3", "0.5.5.post3"), f"{IDLE_SWITCH} exists and has no effect: it always raises"),
    Rule(Span.of("0.5.6", "0.5.6"), f"{IDLE_SWITCH} has no effect: the report dies of a RuntimeError of its own"),
    Rule(
        Span.of("0.5.6.post1", "0.5.6.post1"),
        f"{IDLE_SWITCH}=0 makes it a warning for the token pools; a lost request slot still kills the server",
    ),
    Rule(
        Span.of("0.5.6.post2"),
        f"{IDLE_SWITCH}=0 makes it a warning, printed for the 1st, 1001st, 2001st report and so on; the default raises",
    ),
)
"""The idle check, oldest release first."""

BUSY_RULES: tuple[Rule, ...] = (
    Rule(Span.of("0.5.4", "0.5.5.post3"), f"unset {OLD_SWITCH}"),
    Rule(Span.of("0.5.6"), f"unset {BUSY_SWITCH}"),
)
"""The busy check: there is no warning, only no check."""


def rules_for(rules: Sequence[Rule], low: str | None, high: str | None) -> list[Rule]:
    """The rules whose releases can be the one that printed the log."""
    return [rule for rule in rules if _touches(rule.releases, low, high)]


def advise(evidence: Sequence[Evidence], hits: Sequence[Hit], notes: Sequence[Note]) -> list[Advice]:
    """What to do now; empty where nothing breaks."""
    if not evidence:
        return _for_notes(notes)
    found: list[Advice] = []
    first = evidence[0]
    done: set[str] = set()
    for one in evidence:
        if one.found.check not in done:
            done.add(one.found.check)
            found.append(_keep_alive(one))
    own = [hit for hit in hits if hit.event == first.found.event]
    found.append(_risk(first, own))
    found += _tell_apart(own, hits, first.found.source)
    told = " ".join(one.text for one in found if one.topic == "tell-apart")
    found.append(_record(first, {one.found.check for one in evidence}, told))
    return found


def _keep_alive(one: Evidence) -> Advice:
    found = one.found
    release = f" (this log: {spoken(one.low, one.high)})" if one.low or one.high else ""
    line = found.asserted or one.line
    if found.check == "busy" and found.series_breaks > 1:
        text = f"this server goes on after a busy break ({found.series_breaks} records): its asserts are off"
    elif found.check == "busy":
        rules = rules_for(BUSY_RULES, one.low, one.high) or list(BUSY_RULES[1:])
        how = " or ".join(_said(rule, len(rules)) for rule in rules)
        text = (
            f"the busy assertion has no warning mode; to switch the check off, {how}{release}. {IDLE_SWITCH} has no "
            "effect on it, and the idle check will report the same next"
        )
    elif found.check == "pages":
        text = (
            f"the page check follows the idle check's switch: {IDLE_SWITCH}=0 makes it a warning, "
            f"{PAGE_SWITCH}=0 switches it off{release}"
        )
    elif found.series_breaks > 1 or one.surroundings.warned:
        reports = counted(found.series_breaks, "report")
        text = f"the idle check of this server only warns already ({reports}): nothing dies of it"
    else:
        rules = rules_for(IDLE_RULES, one.low, one.high)
        how = "; ".join(_said(rule, len(rules)) for rule in rules)
        text = f"the idle check: {how}{release}"
    return Advice("keep-alive", text, (line,))


def _said(rule: Rule, among: int) -> str:
    return rule.text if among == 1 else f"{spoken(str(rule.releases.first), _last(rule.releases))}: {rule.text}"


def _last(span: Span) -> str | None:
    return None if span.last is None else str(span.last)


def _risk(one: Evidence, own: Sequence[Hit]) -> Advice:
    found = one.found
    top = own[0] if own else None
    amount = amount_of(one)
    lines = tuple(dict.fromkeys((one.line, *one.growth.lines)))
    if top is not None and top.signature.false_alarm:
        text = f"{top.signature.id} is a known false alarm: if it is right, running on costs nothing"
    elif found.check == "pages" or (found.kind == "overcount" and (top is None or top.signature.harm == CORRUPTION)):
        text = (
            f"wrong output, {amount} may be handed to two requests. A restart, or `/flush_cache` while idle, starts "
            "the accounting anew; output already made is not repaired"
        )
    elif found.kind == "leak":
        growth = {SINGLE: "whether it grows is open", CONSTANT: "it does not grow"}.get(
            one.growth.kind, one.growth.text
        )
        text = f"capacity, {amount} less; {growth}. `/flush_cache` while idle resets the pools"
        if top is not None and top.signature.harm == CORRUPTION:
            text += f". With {top.signature.id} wrong output is possible too"
    else:
        text = "it depends on the cause: a wrong count costs nothing, a page with two owners costs output"
    return Advice("risk", text, lines)


def _tell_apart(own: Sequence[Hit], hits: Sequence[Hit], source: str) -> list[Advice]:
    """By what leads at the first break, and before it by what is stronger at another of its log. own: of the first."""
    leading = own[:1]
    strongest = next((hit for hit in hits if hit.found is not None and hit.source == source), None)
    if strongest is not None and (not own or strongest.strength > own[0].strength):
        leading = [hit for hit in (strongest, *leading) if hit is strongest or hit.signature != strongest.signature]
    return [
        Advice("tell-apart", f"{hit.signature.id}: {hit.signature.separate.rstrip('.')}", (hit.found.row.line,))
        for hit in leading
        if hit.found is not None
    ]


def _record(one: Evidence, checks: set[str], told: str) -> Advice:
    found = one.found
    wishes = []
    cannot = ""
    if "busy" not in checks:
        reasons = why_unchecked(one.flags, one.low, one.high)
        if reasons:
            cannot = f". The busy check cannot help: {reasons[0].rstrip('.')}"
        elif found.check == "idle":
            wishes.append(f"a run with {BUSY_SWITCH}=2 and --log-level info, which names the iteration")
    elif found.stream.mode == "ring-dump":
        wishes.append(f"a run with {BUSY_SWITCH}=2, whose lines carry the time of each check")
    may_have_pages = one.high is None or Release.parse(one.high) >= Release.parse("0.5.15")
    if "pages" not in checks and may_have_pages and PAGE_SWITCH not in told:
        since = "" if one.surely_from("0.5.15") else " (0.5.15 on)"
        wishes.append(f"{PAGE_SWITCH}=1 beside the busy check{since}")
    if one.flags_line is None:
        wishes.append("the `server_args=` line, which is not in this log")
    wishes.append("release, whole command, all ranks' logs, shape of the load")
    return Advice("record", "; ".join(wishes) + cannot, (one.line,))


def _for_notes(notes: Sequence[Note]) -> list[Advice]:
    reports = [note for note in notes if note.kind in ("leak", "pool-bytes")]
    if not reports:
        return []
    text = (
        "The server reported a leak without numbers. For a report: the whole traceback, the release, the command, "
        f"and a run with {BUSY_SWITCH}=2"
    )
    return [Advice("record", text, (reports[0].line,))]


def _touches(span: Span, low: str | None, high: str | None) -> bool:
    try:
        above = low is None or span.last is None or Release.parse(low) <= span.last
        below = high is None or Release.parse(high) >= span.first
    except ReleaseError:
        return True
    return above and below
