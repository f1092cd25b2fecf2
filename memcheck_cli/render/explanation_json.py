"""The explanation as plain data: signatures, what to do, and for every event what moved and what stands around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memcheck_cli.forensics.around import Nearby, Surroundings
    from memcheck_cli.forensics.evidence import Evidence
    from memcheck_cli.forensics.explanation import Explanation
    from memcheck_cli.forensics.moves import Moves
    from memcheck_cli.forensics.signatures import Fact, Hit, Signature
    from memcheck_cli.ledger.window import Event


def signatures_data(explanation: Explanation | None) -> list[dict[str, Any]]:
    """`signatures`: strongest first."""
    return [] if explanation is None else [hit_data(hit) for hit in explanation.hits]


def advice_data(explanation: Explanation | None) -> list[dict[str, Any]]:
    """`advice`: what to do now."""
    if explanation is None:
        return []
    return [{"topic": one.topic, "text": one.text, "lines": list(one.lines)} for one in explanation.advice]


def hit_data(hit: Hit) -> dict[str, Any]:
    """One signature that holds."""
    signature = hit.signature
    return {
        "id": signature.id,
        "title": signature.title,
        "points_to": hit.points_to,
        "event": hit.event,
        "source": hit.source,
        "strength": hit.strength,
        "harm": signature.harm,
        "false_alarm": signature.false_alarm,
        "evidence": [fact_data(fact) for fact in hit.evidence],
        "against": [fact_data(fact) for fact in hit.against],
        "would_speak_against": signature.against,
        "separate": signature.separate,
        "fix": signature.fix,
        "urls": list(signature.urls),
    }


def signature_data(signature: Signature) -> dict[str, Any]:
    """One signature of the table."""
    return {
        "id": signature.id,
        "title": signature.title,
        "seen": signature.seen,
        "points_to": signature.in_general,
        "harm": signature.harm,
        "false_alarm": signature.false_alarm,
        "would_speak_against": signature.against,
        "separate": signature.separate,
        "fix": signature.fix,
        "urls": list(signature.urls),
        "strength": signature.strength,
        "finding": signature.kind,
    }


def fact_data(fact: Fact) -> dict[str, Any]:
    """A line and what it shows."""
    return {"line": fact.line, "text": fact.text}


def evidence_data(evidence: Evidence) -> dict[str, Any]:
    """`explanation` of the first break of an event."""
    growth = evidence.growth
    return {
        "moves": None if evidence.moves is None else moves_data(evidence.moves),
        "page_sizes_that_fit": list(evidence.sizes) if evidence.found.page_size is None else None,
        "printed_sets": [
            {
                "name": one.name,
                "size": one.size,
                "sample": list(one.sample),
                "reports": one.reports,
                "same_in_reports": one.same_in_reports,
                "ranks": one.ranks,
                "same_on_ranks": one.same_on_ranks,
                "new": list(one.new),
                "lines": list(one.lines),
            }
            for one in evidence.sets
        ],
        "over_time": {
            "kind": growth.kind,
            "text": growth.text,
            "lines": list(growth.lines),
            "step": growth.step,
            "per_iteration": growth.per_iteration,
            "per_sequence": growth.per_sequence,
            "left": growth.left,
            "iterations_left": growth.iterations_left,
            "seconds_left": growth.seconds_left,
        },
        "around": surroundings_data(evidence.surroundings),
        "release": {"low": evidence.low, "high": evidence.high, "reasons": list(evidence.release_reasons)},
    }


def moves_data(moves: Moves) -> dict[str, Any]:
    """What moved, and what no move explains."""
    wrong = moves.wrong
    return {
        "moves": [
            {"name": move.name, "from": move.source, "to": move.target, "amount": move.amount} for move in moves.moves
        ],
        "remainder": dict(moves.remainder),
        "wrong_term": None
        if wrong is None
        else {"term": wrong.term, "how": wrong.how, "text": wrong.text, "lines": list(wrong.lines)},
        "lines": list(moves.lines),
    }


def surroundings_data(around: Surroundings) -> dict[str, Any]:
    """What stands around a break."""
    return {
        "troubles": [_nearby_data(one) for one in around.troubles],
        "batches": [{**_event_data(one.event), "check_line": one.belongs_to, "why": one.why} for one in around.batches],
        "matches": [{"what": one.what, "value": one.value, "line": one.line} for one in around.matches],
        "dump_line": around.dump_line,
        "known": around.known,
    }


def _nearby_data(one: Nearby) -> dict[str, Any]:
    return {
        **_event_data(one.event),
        "checks_before": one.checks,
        "batch_lines_before": one.batches,
        "after_last_balanced": one.after_witness,
        "near": one.near,
    }


def _event_data(event: Event) -> dict[str, Any]:
    return {
        "line": event.line,
        "rank": event.rank,
        "time": event.time,
        "kind": event.kind,
        "text": event.text,
        "values": dict(event.values),
    }
