"""`memcheck.analysis/1`: the analysis as one JSON document. The keys are a promise to callers."""

from __future__ import annotations

from typing import Any

from memcheck_cli.forensics.analysis import Analysis
from memcheck_cli.forensics.breaks import Break, Item
from memcheck_cli.ledger import Row, Stream
from memcheck_cli.ledger.reading import SourceReading
from memcheck_cli.render.explanation_json import advice_data, evidence_data, signatures_data

SCHEMA = "memcheck.analysis/1"


def document(analysis: Analysis) -> dict[str, Any]:
    """The whole answer as plain data, ready for `json.dumps`."""
    breaks = [break_data(found) for found in analysis.breaks]
    explanation = analysis.explanation
    told: set[int] = set()
    for found, data in zip(analysis.breaks, breaks, strict=True):
        if explanation is not None and found.event in explanation.evidence and found.event not in told:
            told.add(found.event)
            data["explanation"] = evidence_data(explanation.evidence[found.event])
    answer = {
        "schema": SCHEMA,
        "verdict": analysis.verdict,
        "reason": analysis.reason,
        "first_break": breaks[0] if breaks else None,
        "breaks": breaks,
        "signatures": signatures_data(explanation),
        "advice": advice_data(explanation),
        "streams": [stream_data(source, stream, analysis) for source, stream in analysis.streams],
        "undetermined": [item_data(item) for item in analysis.undetermined],
        "unchecked": [item_data(item) for item in analysis.unchecked],
        "findings": [item_data(item) for item in analysis.findings],
        "sources": [source_data(reading) for reading in analysis.sources],
    }
    _tell_members(answer, analysis)
    return answer


def _tell_members(answer: dict[str, Any], analysis: Analysis) -> None:
    """For rotated sets: lines count in the member they stand in, and `member` names it."""
    readings = {reading.name: reading for reading in analysis.sources if len(reading.parts) > 1}
    if not readings:
        return
    for hit in answer["signatures"]:
        for fact in (*hit["evidence"], *hit["against"]):
            if hit["source"] in readings:
                fact["member"], fact["line"] = readings[hit["source"]].place(fact["line"])
    for name in ("breaks", "undetermined", "unchecked", "findings"):
        for item in answer[name]:
            reading = readings.get(item["source"])
            if reading is None:
                continue
            for holder in (item, item.get("last_balanced") or {}):
                if holder.get("line") is not None:
                    holder["member"], holder["line"] = reading.place(holder["line"])
            if "asserted_line" in item:
                item["asserted_member"], item["asserted_line"] = reading.place(item["asserted_line"])


def break_data(found: Break) -> dict[str, Any]:
    """One break."""
    row = found.row
    data: dict[str, Any] = {
        "source": found.source,
        "run": found.stream.run,
        "process": found.stream.process,
        "rank": found.stream.rank,
        "pool": found.pool,
        "check": found.check,
        "iteration": found.iteration,
        "from_end": found.from_end,
        "line": row.line,
        "time": row.time,
        "kind": found.kind,
        "total": found.total,
        "accounted": found.accounted,
        "delta": found.delta,
        "page_size": found.page_size,
        "pages": found.pages,
        "terms": row.named_terms(),
        "extra_terms": dict(row.extra or {}),
        "last_balanced": None if found.witness is None else witness_data(found.witness),
        "gap": found.gap,
        "moved": found.moved,
        "series_breaks": found.series_breaks,
        "last_delta": found.last_delta,
        "event": found.event,
    }
    if found.check == "idle":
        data["after_iteration"] = found.after_iteration
    if found.asserted is not None:
        data["asserted_line"] = found.asserted
    if found.total_from is not None:
        data["total_from"] = found.total_from
    return data


def witness_data(row: Row) -> dict[str, Any]:
    """The last balanced record."""
    return {
        "check": row.check,
        "iteration": row.iteration if row.check == "busy" else None,
        "line": row.line,
        "time": row.time,
        "terms": row.named_terms(),
    }


def stream_data(source: str, stream: Stream, analysis: Analysis) -> dict[str, Any]:
    """One stream with its pools."""
    where = (source, stream.run, stream.process, stream.rank)
    pools = {
        pool: {"records": records, "breaks": analysis.breaking.get((*where, pool), 0)}
        for pool, records in stream.records().items()
    }
    return {
        "source": source,
        "run": stream.run,
        "process": stream.process,
        "rank": stream.rank,
        "mode": stream.mode,
        "busy_checks": stream.checks,
        "idle_reports": stream.idle_reports,
        "pools": pools,
    }


def source_data(reading: SourceReading) -> dict[str, Any]:
    """One source as it was read."""
    return {
        "name": reading.name,
        "lines": reading.lines,
        "records": reading.records,
        "rejected": reading.rejected,
        "error": reading.error,
    }


def item_data(item: Item) -> dict[str, Any]:
    """An undetermined, unchecked or found item."""
    data: dict[str, Any] = {
        "source": item.source,
        "run": item.run,
        "process": item.process,
        "rank": item.rank,
        "pool": item.pool,
        "line": item.line,
        "reason": item.reason,
    }
    if item.kind is not None:
        data["kind"] = item.kind
    data.update(item.more)
    return data
