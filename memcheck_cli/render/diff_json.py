"""`memcheck.diff/1`: the comparison as one JSON document. The keys are a promise to callers."""

from __future__ import annotations

from typing import Any

from memcheck_cli.compare.breaking import BreakComparison, signature_of
from memcheck_cli.compare.comparison import Compared, Comparison, FirstDifference
from memcheck_cli.compare.distributions import Distribution, Level
from memcheck_cli.compare.laid import Lost, Walk
from memcheck_cli.compare.pace import Pace
from memcheck_cli.compare.setting import Setting, Told
from memcheck_cli.compare.sides import Lane, Side
from memcheck_cli.forensics.breaks import Break
from memcheck_cli.render.analysis_json import source_data

SCHEMA = "memcheck.diff/1"


def document(comparison: Comparison) -> dict[str, Any]:
    """The whole answer as plain data, ready for `json.dumps`. Every `by` and `shift` is B minus A."""
    a, b = comparison.a, comparison.b
    main = comparison.main
    return {
        "schema": SCHEMA,
        "outcome": comparison.outcome,
        "reason": comparison.reason,
        "same": comparison.same,
        "a": side_data(a),
        "b": side_data(b),
        "breaks_compared": None if comparison.breaks is None else breaks_data(comparison.breaks),
        "series": [
            {
                "a": None if pair.a is None else break_data(pair.a, a),
                "b": None if pair.b is None else break_data(pair.b, b),
                "relation": pair.relation,
            }
            for pair in comparison.series
        ],
        "setting": setting_data(comparison.setting),
        "not_comparable": list(comparison.setting.not_comparable),
        "workload": None if main is None else workload_data(main),
        "first_difference": (
            None if comparison.first_difference is None else difference_data(comparison.first_difference, a, b)
        ),
        "streams": [compared_data(one, a, b) for one in comparison.compared],
        "unmatched": {
            "a": [lane_data(lane) for lane in comparison.matching.only_a],
            "b": [lane_data(lane) for lane in comparison.matching.only_b],
        },
    }


def side_data(side: Side) -> dict[str, Any]:
    """One side."""
    analysis = side.analysis
    first = analysis.first_break
    return {
        "name": side.name,
        "verdict": analysis.verdict,
        "reason": analysis.reason,
        "first_break": None if first is None else break_data(first, side),
        "breaks": len(analysis.breaks),
        "busy_checks": sum(lane.stream.checks for lane in side.lanes),
        "idle_reports": sum(lane.stream.idle_reports for lane in side.lanes),
        "not_kept": side.forgotten,
        "events": dict(sorted(side.events.items())),
        "sources": [source_data(reading) for reading in analysis.sources],
    }


def break_data(found: Break, side: Side) -> dict[str, Any]:
    """One break, in short. member: of a rotated set, the file in which `line` counts; null for any other source."""
    member, line = side.place(found.source, found.row.line)
    return {
        "source": found.source,
        "member": member,
        "run": found.stream.run,
        "process": found.stream.process,
        "rank": found.stream.rank,
        "pool": found.pool,
        "check": found.check,
        "iteration": found.iteration,
        "after_iteration": found.after_iteration,
        "from_end": found.from_end,
        "line": line,
        "time": found.row.time,
        "kind": found.kind,
        "total": found.total,
        "accounted": found.accounted,
        "delta": found.delta,
        "page_size": found.page_size,
        "pages": found.pages,
        "series_breaks": found.series_breaks,
        "last_delta": found.last_delta,
        "signature": signature_of(side.analysis, found),
    }


def breaks_data(breaks: BreakComparison) -> dict[str, Any]:
    """The two first breaks: `relation` is `same`, `alike` or `another`."""
    return {
        "relation": breaks.relation,
        **{facet.name: {"a": facet.a, "b": facet.b, "same": facet.same} for facet in breaks.facets},
    }


def setting_data(setting: Setting) -> dict[str, Any]:
    """What the sides ran with: `differs` is null where it is not told. Values are of all runs, each once."""
    return {
        "flags": [told_data(told) for told in setting.flags],
        "flags_told": {"a": setting.flags_told[0], "b": setting.flags_told[1]},
        "flags_only": {"a": list(setting.flags_only[0]), "b": list(setting.flags_only[1])},
        "release": told_data(setting.release),
        "page_size": told_data(setting.page_size),
        "totals": [told_data(told) for told in setting.totals],
        "pools": told_data(setting.pools),
        "ranks": told_data(setting.ranks),
        "mode": told_data(setting.modes),
    }


def told_data(told: Told) -> dict[str, Any]:
    """One thing that both sides tell. A release is a pair of the oldest and the newest that fit."""

    def plain(values: tuple[object, ...]) -> list[object]:
        return [list(value) if isinstance(value, tuple) else value for value in values]

    return {"name": told.name, "a": plain(told.a), "b": plain(told.b), "differs": told.differs}


def lane_data(lane: Lane) -> dict[str, Any]:
    """One stream of a side."""
    stream = lane.stream
    return {
        "source": lane.source,
        "run": stream.run,
        "process": stream.process,
        "rank": stream.rank,
        "mode": stream.mode,
        "busy_checks": stream.checks,
        "idle_reports": stream.idle_reports,
    }


def compared_data(one: Compared, a: Side, b: Side) -> dict[str, Any]:
    """Two streams and what came of them."""
    after = one.after
    return {
        "a": lane_data(one.match.a),
        "b": lane_data(one.match.b),
        "matched_by": one.match.by,
        "same": one.same,
        "align": {
            "method": one.alignment.method,
            "offset": one.alignment.offset,
            "reason": one.alignment.reason,
        },
        "workload": workload_data(one),
        "out_of_step": [lost_data(lost) for lost in one.walk.lost],
        "checks_with_gaps": one.walk.gaps,
        "ended": ended_data(one.walk) if one.walk.parted is None else None,
        "first_difference": None if one.difference is None else difference_data(one.difference, a, b),
        "after": None if after is None else after._asdict(),
        "distributions": [distribution_data(found) for found in one.distributions],
        "pace": {"a": pace_data(one.pace[0]), "b": pace_data(one.pace[1])},
    }


def workload_data(one: Compared) -> dict[str, Any]:
    """Which kind of comparison it is, and why. leading_equal: of `compared` checks, those before the first that
    differs."""
    workload = one.workload
    return {
        "kind": workload.kind,
        "reason": workload.reason,
        "compared": workload.compared,
        "leading_equal": workload.leading,
        "leading_states": workload.states,
    }


def lost_data(lost: Lost) -> dict[str, Any]:
    """From these iterations on the same numbers stand further on in the side that has `checks` more."""
    return {"iteration": {"a": lost.a, "b": lost.b}, "more_on": lost.side, "checks": lost.checks}


def ended_data(walk: Walk) -> dict[str, int]:
    """The first iterations behind what both sides have."""
    return {"a": walk.ended[0], "b": walk.ended[1]}


def difference_data(difference: FirstDifference, side_a: Side, side_b: Side) -> dict[str, Any]:
    """The first check that differs. `iteration` is of busy checks; `report` counts idle reports."""
    named = difference.named
    a, b = difference.match.a, difference.match.b
    member_a, line_a = side_a.place(a.source, difference.lines[0])
    member_b, line_b = side_b.place(b.source, difference.lines[1])
    at = {"a": difference.at[0], "b": difference.at[1]}
    busy = difference.check == "busy"
    return {
        "rank": {"a": a.rank, "b": b.rank},
        "source": {"a": a.source, "b": b.source},
        "check": difference.check,
        "iteration": at if busy else None,
        "report": None if busy else at,
        "member": {"a": member_a, "b": member_b},
        "line": {"a": line_a, "b": line_b},
        "pool": named.pool,
        "term": named.name,
        "by": named.by,
        "terms": [
            {"pool": one.pool, "term": one.name, "a": one.a, "b": one.b, "by": one.by} for one in difference.differing
        ],
    }


def distribution_data(found: Distribution) -> dict[str, Any]:
    """One term on both sides, as shares of the total."""
    return {
        "pool": found.pool,
        "term": found.term,
        "a": level_data(found.a),
        "b": level_data(found.b),
        "shift": found.shift,
        "cliffs_delta": found.cliff,
        "effect": found.effect,
        "higher_on": found.higher,
        "claim": found.claim,
        "why_not": found.why,
    }


def level_data(level: Level) -> dict[str, Any]:
    """One term on one side. slope: change of the share per 1000 checks."""
    return {
        "checks": level.checks,
        "median": level.median,
        "quartiles": [level.low, level.high],
        "range": [level.least, level.most],
        "slope_per_1000_checks": level.slope,
        "drifts": level.drifts,
        "wander": level.wander,
    }


def pace_data(pace: Pace) -> dict[str, Any]:
    """The pace of one stream."""
    return {
        "checks": pace.checks,
        "seconds": pace.seconds,
        "checks_per_second": pace.per_second,
        "why_not": pace.why,
        "checks_to_break": pace.break_check,
        "seconds_to_break": pace.break_seconds,
    }
