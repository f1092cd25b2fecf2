"""The marks that SGLang's own test suites leave in a log: which file, class and method runs, and which attempt."""

from __future__ import annotations

from memcheck_cli.log.printed import number
from memcheck_cli.log.records import Context, Value
from memcheck_cli.patterns import pattern

_BEGIN = pattern(r"(Begin|End) \(([0-9]{1,6})/([0-9]{1,6})\):\s*\Z")
_FILE = pattern(r"python3? (?:-[a-zA-Z]{1,3} )?(\S{1,400}\.py)(?:\s|\Z)")
_ENDED = pattern(
    r"filename='([^']{1,400})', elapsed=([0-9.]{1,18}), estimated_time=([0-9.]{1,18})(?=\s|\Z)",
)
_METHOD = pattern(r"\[CI Test Method\] (?:([\w.]{1,300})\.)?(\w{1,200})(?=\s|\Z)")
_ATTEMPT = pattern(r"\[CI Retry\] Attempt ([0-9]{1,4})/([0-9]{1,4}) for (\S{1,400})")
_FAILED_WITH = pattern(r"\[CI Retry\] (\S{1,400}) (failed with .{1,200}|timed out after .{1,200})")
_PASSED = pattern(r".{0,8}?PASSED on retry \(attempt ([0-9]{1,4})\): (\S{1,400})")
_FAILED = pattern(r".{0,8}?FAILED: (\S{1,400}) returned exit code (-?[0-9]{1,6})(?=\s|\Z)")
_TIMEOUT = pattern(r".{0,8}?TIMEOUT: (\S{1,400}) after ([0-9]{1,9}) seconds")


def read_ci(text: str) -> Context | None:
    """The mark that `text` is, or None. Times are seconds."""
    match = _BEGIN.match(text)
    if match is not None:
        kind = "ci-begin" if match[1] == "Begin" else "ci-end"
        return Context(kind, kind, {"index": int(match[2]), "last": int(match[3])})
    match = _ENDED.match(text)
    if match is not None:
        values: dict[str, Value] = {"file": match[1], "elapsed": number(match[2]), "estimated_time": number(match[3])}
        return Context("ci-ended", "ci-end", values)
    match = _METHOD.match(text)
    if match is not None:
        return Context("ci-method", "ci-method", {"class": match[1], "method": match[2]})
    match = _ATTEMPT.match(text)
    if match is not None:
        values = {"attempt": int(match[1]), "attempts": int(match[2]), "file": match[3]}
        return Context("ci-retry", "ci-retry", values)
    match = _FAILED_WITH.match(text)
    if match is not None:
        return Context("ci-attempt-failed", "ci-failed", {"file": match[1], "reason": match[2]})
    match = _FILE.match(text)
    if match is not None and "test" in match[1]:
        return Context("ci-file", "ci-file", {"file": match[1]})
    return read_ci_result(text)


def read_ci_result(text: str) -> Context | None:
    """How a test file ended: `PASSED on retry`, `FAILED: … returned exit code`, `TIMEOUT: …`, each behind a sign."""
    match = _PASSED.match(text)
    if match is not None:
        return Context("ci-passed-on-retry", "ci-passed-on-retry", {"attempt": int(match[1]), "file": match[2]})
    match = _FAILED.match(text)
    if match is not None:
        return Context("ci-failed", "ci-failed", {"file": match[1], "exit_code": int(match[2])})
    match = _TIMEOUT.match(text)
    if match is not None:
        return Context("ci-timeout", "ci-failed", {"file": match[1], "reason": "timeout", "timeout": int(match[2])})
    return None
