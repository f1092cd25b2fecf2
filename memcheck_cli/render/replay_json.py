"""`memcheck.replay/1`: the replay as one JSON document. The keys are a promise to callers."""

from __future__ import annotations

from typing import Any

from memcheck_cli.checker.invariant import Verdict
from memcheck_cli.replaying.changes import WhatIf
from memcheck_cli.replaying.judgements import Judgement, LogReplay
from memcheck_cli.replaying.parting import LogPlace, Parting
from memcheck_cli.replaying.recordings import Against, Difference, Place, RecordingReplay
from memcheck_cli.replaying.run import Options, Replay

SCHEMA = "memcheck.replay/1"


def document(replay: Replay, options: Options) -> dict[str, Any]:
    """The whole answer as plain data, ready for `json.dumps`."""
    results = replay.results
    disagree: list[dict[str, Any]] = []
    reasons: dict[str, int] = {}
    for result in results:
        if isinstance(result, LogReplay):
            disagree += [disagreement(result.name, one, reason) for one, reason in result.disagree]
        else:
            disagree += [difference(result.name, one) for one in result.disagree]
        for reason, count in result.unknown_reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    firsts = [first for first in (first_break(result) for result in results) if first is not None]
    return {
        "schema": SCHEMA,
        "verdict": replay.verdict,
        "rules": options.rules or ", ".join(sorted({rule for result in results for rule in rules_of(result)})) or None,
        "records": sum(result.records for result in results),
        "agree": sum(result.agree for result in results),
        "disagree": disagree,
        "disagreements": sum(result.disagreements for result in results),
        "unknown": sum(result.unknown for result in results),
        "unknown_reasons": reasons,
        "breaks": sum(plain_breaks(result) for result in results),
        "first_break": firsts[0] if firsts else None,
        "sources": [source(result) for result in results]
        + [
            empty_source(one.name, one.reason) for one in replay.unreadable if one.name not in {r.name for r in results}
        ],
    }


def plain_breaks(result: LogReplay | RecordingReplay) -> int:
    """Records that break under the rules, what-ifs left aside."""
    return result.breaks if isinstance(result, LogReplay) else sum(pool.breaks for pool in result.pools.values())


def rules_of(result: LogReplay | RecordingReplay) -> set[str]:
    """The releases whose rules were used."""
    if isinstance(result, LogReplay):
        return result.rules
    return {result.rules} if result.rules is not None else result.releases


def source(result: LogReplay | RecordingReplay) -> dict[str, Any]:
    """One source with its counts, what-ifs and the other rules."""
    log = isinstance(result, LogReplay)
    data: dict[str, Any] = {
        "name": result.name,
        "kind": "log" if log else "recording",
        "rules": ", ".join(sorted(rules_of(result))) or None,
        "records": result.records,
        "agree": result.agree,
        "disagreements": result.disagreements,
        "unknown": result.unknown,
        "breaks": plain_breaks(result),
        "first_break": first_break(result),
        "pools": pools(result),
        "what_if": [what_if(result.name, one) for one in result.what_if],
        "against": against(result),
        "error": result.error,
    }
    if isinstance(result, RecordingReplay):
        data["raises"] = dict(result.raises)
        data["assumed_absent"] = sorted(result.assumed)
        data["releases"] = sorted(result.releases)
    else:
        data["lines"] = result.lines
        data["rejected"] = result.rejected
        data["reports_without_sums"] = result.unsummed
    return data


def empty_source(name: str, reason: str) -> dict[str, Any]:
    """A source that could not be read."""
    return {"name": name, "kind": None, "records": 0, "error": reason}


def pools(result: LogReplay | RecordingReplay) -> dict[str, dict[str, int]]:
    """Records and breaks by pool."""
    if isinstance(result, LogReplay):
        return {name: {"records": records, "breaks": breaks} for name, (records, breaks) in result.pools.items()}
    return {name: {"records": one.records, "breaks": one.breaks} for name, one in result.pools.items()}


def place(name: str, at: LogPlace | Place) -> dict[str, Any]:
    """Where a record stands."""
    if isinstance(at, Place):
        return {"source": name, "iteration": at.iteration, "line": at.line, "pool": at.pool}
    return {
        "source": name,
        "run": at.run,
        "process": at.process,
        "rank": at.rank,
        "pool": at.pool,
        "check": at.check,
        "iteration": at.iteration,
        "line": at.line,
        "time": at.time,
    }


def sums(verdict: Verdict, total: int | None, terms: dict[str, int]) -> dict[str, Any]:
    """A verdict with its numbers."""
    return {
        "kind": verdict.kind,
        "total": total,
        "accounted": verdict.accounted,
        "delta": verdict.delta,
        "terms": terms,
    }


def first_break(result: LogReplay | RecordingReplay) -> dict[str, Any] | None:
    """The first record that breaks under the rules."""
    if isinstance(result, LogReplay):
        one = result.first_break
        if one is None or one.ours is None:
            return None
        return {**place(result.name, one.place), **sums(one.ours, one.pool.total, dict(one.pool.terms))}
    if result.first_break is None:
        return None
    at, verdict, terms, total = result.first_break
    return {**place(result.name, at), **sums(verdict, total, terms)}


def word(verdict: Verdict) -> str:
    """The verdict in one word."""
    return verdict.kind or ("tolerated" if verdict.tolerated else "balanced")


def disagreement(name: str, one: Judgement, reason: str) -> dict[str, Any]:
    """A record on which the server and the rules differ."""
    assert one.ours is not None
    return {
        **place(name, one.place),
        "rules": one.rules,
        "ours": word(one.ours),
        "server": one.server,
        "delta": one.ours.delta,
        "reason": reason,
    }


def difference(name: str, one: Difference) -> dict[str, Any]:
    """A check whose recomputed sizes are not the recorded ones."""
    return {**place(name, one.place), "recomputed": one.ours, "recorded": one.theirs, "reason": one.reason}


def what_if(name: str, one: WhatIf) -> dict[str, Any]:
    """One what-if."""
    first = None
    if one.first is not None:
        at, verdict = one.first
        assert isinstance(at, LogPlace | Place)
        first = {**place(name, at), "kind": verdict.kind, "delta": verdict.delta}
    return {
        "change": [str(change) for change in one.changes],
        "first_break": first,
        "breaks": one.breaks,
        "breaks_without": one.before,
        "cured": one.cured,
        "new": one.new,
        "explains_every_break": one.explains,
    }


def against(result: LogReplay | RecordingReplay) -> dict[str, Any] | None:
    """Where the other release's rules part from the ones used."""
    other: Against | Parting | None = result.against
    if other is None:
        return None
    first: dict[str, Any] | None = None
    if isinstance(other, Against):
        if other.first is not None:
            one = other.first
            first = {**place(result.name, one.place), "ours": one.ours, "against": one.theirs, "reason": one.reason}
    elif other.first is not None:
        at, ours, theirs = other.first
        first = {**place(result.name, at), "ours": ours, "against": theirs}
    return {
        "rules": other.rules,
        "differ": other.differ,
        "first": first,
        "stops": stop(result.name, other.stops_ours),
        "against_stops": stop(result.name, other.stops),
    }


def stop(name: str, at: tuple[Place, str] | tuple[LogPlace, str] | None) -> dict[str, Any] | None:
    """Where a server under some rules would have stopped, None where nowhere."""
    return None if at is None else {**place(name, at[0]), "because": at[1]}
