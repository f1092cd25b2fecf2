"""`memcheck.artifacts/1`: a CI run's bundle as one JSON document. The keys are a promise to callers."""

from __future__ import annotations

from typing import Any

from memcheck_cli.artifacts.comparing import SCHEMA
from memcheck_cli.artifacts.known import describe
from memcheck_cli.artifacts.model import Before, Bundle, Case, Comparison, Fingerprint, Group, Known, Seen, Test
from memcheck_cli.render.analysis_json import break_data, item_data


def document(bundle: Bundle) -> dict[str, Any]:
    """The whole answer as plain data, ready for `json.dumps`."""
    numbers = {id(test): number for number, test in enumerate(bundle.tests)}
    return {
        "schema": SCHEMA,
        "verdict": bundle.verdict,
        "reason": bundle.reason,
        "tests": [test_data(test) for test in bundle.tests],
        "groups": [group_data(group, numbers) for group in bundle.groups],
        "known": [known_data(known, bundle) for known in bundle.known],
        "baseline": None if bundle.comparison is None else comparison_data(bundle.comparison),
        "junit": {
            "cases": bundle.junit_cases,
            "failures": [case_data(case, numbers) for case in bundle.cases],
        },
        "sources": [
            {
                "name": source.name,
                "kind": source.kind,
                "job": source.job,
                "step": source.step,
                "lines": source.lines,
                "records": source.records,
                "rejected": source.rejected,
                "tests": source.tests,
                "cases": source.cases,
                "repeats": source.repeats,
                "error": source.error,
            }
            for source in bundle.sources
        ],
    }


def test_data(test: Test) -> dict[str, Any]:
    """One attempt of one test."""
    return {
        "job": test.job,
        "step": test.step,
        "file": test.file,
        "class": test.cls,
        "method": test.method,
        "attempt": test.attempt,
        "attempts": test.attempts,
        "verdict": test.verdict,
        "reason": test.reason,
        "ended": test.ended,
        "job_ended": test.job_ended,
        "hidden_by_retry": test.hidden_by_retry,
        "known": test.accepted,
        "source": test.source,
        "line": test.line,
        "checker_lines": test.checker_lines,
        "breaks": [seen_data(seen) for seen in test.breaks],
        "undetermined": [item_data(item) for item in test.undetermined],
        "servers": [
            {"run": server.run, "line": server.line, "command": server.command, "unchecked": list(server.reasons)}
            for server in test.servers
        ],
    }


def seen_data(seen: Seen) -> dict[str, Any]:
    """A break as `memcheck analyze` tells it, with its run counted over the whole source and its fingerprint."""
    return {
        **break_data(seen.found),
        "run": seen.run,
        "fingerprint": seen.fingerprint.id,
        "known": seen.known is not None,
    }


def _fingerprint(fingerprint: Fingerprint) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint.id,
        "pool": fingerprint.pool,
        "kind": fingerprint.kind,
        "page_multiple": fingerprint.page_multiple,
        "moved": list(fingerprint.moved),
        "signature": fingerprint.signature,
        "flags": list(fingerprint.flags),
    }


def group_data(group: Group, numbers: dict[int, int]) -> dict[str, Any]:
    """Breaks with one fingerprint. `tests` are places in the list of tests."""
    deltas = [seen.found.delta for _, seen in group.seen if seen.found.delta is not None]
    return {
        **_fingerprint(group.fingerprint),
        "summary": describe(group),
        "jobs": group.jobs,
        "tests": [numbers[id(test)] for test in group.tests],
        "breaks": len(group.seen),
        "deltas": [min(deltas), max(deltas)] if deltas else None,
        "hidden_by_retry": sum(test.hidden_by_retry for test in group.tests),
        "known": group.accepted,
        "baseline": group.compared,
    }


def known_data(known: Known, bundle: Bundle) -> dict[str, Any]:
    """An accepted fingerprint. `seen`: this run has it."""
    return {
        "fingerprint": known.fingerprint,
        "reason": known.reason,
        "expires": None if known.expires is None else known.expires.isoformat(),
        "expired": not known.holds_on(bundle.today),
        "seen": any(group.fingerprint.id == known.fingerprint for group in bundle.groups),
    }


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """This run beside an earlier one."""
    return {
        "name": comparison.name,
        "new": [group.fingerprint.id for group in comparison.new],
        "still": [group.fingerprint.id for group in comparison.still],
        "gone": [_gone(before) for before in comparison.gone],
    }


def _gone(before: Before) -> dict[str, Any]:
    tests = [{"job": job, "file": file, "class": cls, "method": method} for job, file, cls, method in before.tests]
    return {**_fingerprint(before.fingerprint), "tests": tests, "checked_again": before.checked_again}


def case_data(case: Case, numbers: dict[int, int]) -> dict[str, Any]:
    """A failing case of a JUnit file, and the break that explains it."""
    explained = None
    if case.test is not None and case.seen is not None:
        explained = {
            "test": numbers[id(case.test)],
            "fingerprint": case.seen.fingerprint.id,
            "line": case.seen.found.row.line,
            "how": case.how,
        }
    return {
        "source": case.source,
        "job": case.job,
        "suite": case.suite,
        "file": case.file,
        "class": case.cls,
        "method": case.method,
        "status": case.status,
        "message": case.message,
        "explained_by": explained,
    }
