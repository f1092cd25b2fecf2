"""The marks of a CI run, read from raw lines: what test suites, test runners and GitHub say between a server's lines.

A line is looked at without what collectors put before it: the columns of `gh run view --log`, GitHub's times, colours.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memcheck_cli.log.ci_lines import read_ci
from memcheck_cli.log.context import CI_MARKERS
from memcheck_cli.log.records import Value
from memcheck_cli.log.startup_lines import read_command
from memcheck_cli.log.trouble_lines import CHECK_VARIABLES, check_variables
from memcheck_cli.log.wrappers.pytest_output import split_progress
from memcheck_cli.log.wrappers.terminal import clean

LONGEST = 1 << 14
"""Bytes of a line that are looked at for a mark."""

CHECKER: tuple[bytes, ...] = (b"[Mem Check", b"etected!", b"KV double free: ", b"KV page use-after-free: ")
"""Lines of the checker hold one of these."""

STARTS: tuple[bytes, ...] = (b"server_args=", b"command=")
BANNER = b"max_total_num_tokens="
RUNNERS: tuple[bytes, ...] = (
    b"FAIL: ",
    b"ERROR: ",
    b".py::",
    b"- Captured std",
    b"=====",
    b"____ ",
)
GITHUB: tuple[bytes, ...] = (b"##[error]", b"Time elapsed: ", b"Post job cleanup.", b"Cleaning up orphan processes")
MARKERS: tuple[bytes, ...] = (
    *CHECKER,
    *STARTS,
    BANNER,
    *CI_MARKERS,
    *RUNNERS,
    *GITHUB,
    *(name.encode() for name in CHECK_VARIABLES),
)
"""Every line that `read_mark` reads, and every line of the checker, holds one of these."""

COLUMNS = re.compile(
    rb"([^\t\n]{1,300})\t([^\t\n]{0,300})\t(?:\xef\xbb\xbf)?(?=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z[ \n\r])"
)
"""Job and step before a line of `gh run view --log`."""

_STAMP = re.compile(rb"(?:\xef\xbb\xbf)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z ")
_ENDED_BADLY = re.compile(
    r"##\[error\](?:Process completed with exit code (?!0\b)-?\d|The operation was cancell?ed"
    r"|The action .{1,200} has timed out|The job .{0,200}exceeded the maximum execution time"
    r"|The runner has received a shutdown signal|The self-hosted runner.{0,200} lost communication)",
    re.ASCII,
)
_SUITE = re.compile(r"(Success|Fail)\. Time elapsed: [0-9.]{1,20}s")
# unittest: `FAIL: test_a (__main__.TestB.test_a)`, before 3.11 `(__main__.TestB)`; `ERROR: setUpClass (__main__.TestB)`
_UNITTEST = re.compile(r"(?:FAIL|ERROR): (\w{1,200}) \(([\w.-]{1,400})\)", re.ASCII)
# pytest: `FAILED a/test_b.py::TestC::test_d - Error`, `a/test_b.py::TestC::test_d PASSED [ 50%]`
_NODE = r"(\S{1,400}\.py)::(?:(\w{1,200})::)?(\w{1,200})(?:\[\S{0,300}\])?"
_PYTEST_SUMMARY = re.compile(rf"(PASSED|FAILED|ERROR) {_NODE}(?= |\Z)", re.ASCII)
_PYTEST_VERBOSE = re.compile(rf"{_NODE} (PASSED|FAILED|ERROR)(?= |\Z)", re.ASCII)
_PYTEST_RUNNING = re.compile(rf"{_NODE} ", re.ASCII)
_SECTION = re.compile(
    r"_{3,} (?:(?:ERROR at (?:setup|teardown) of )?(?:(\w{1,200})\.)?(test\w{0,200})(?:\[.{0,300}\])?) _{3,}", re.ASCII
)


TEXT = "command text"
"""Under this name a `command` mark has the command itself beside its flags."""

LONGEST_COMMAND = 2000
LEVEL = CHECK_VARIABLES[0]


class Mark(NamedTuple):
    """kind: a kind `ci-*` of `log.context`, `ci-ended` for the line behind `End`; `command` (flags, TEXT),
    `server-args`, `banner`; `level` (the busy level is given a value); `outcome` of a test (class, method, file,
    passed); `section` (pytest prints a failure: class, method); `suite` (passed); `job` (passed)."""

    kind: str
    values: dict[str, Value]


def bare(raw: bytes) -> bytes:
    """A line without columns and times before it, and without its line end."""
    at = 0
    columns = COLUMNS.match(raw)
    if columns is not None:
        at = columns.end()
    stamp = _STAMP.match(raw, at)
    return raw[stamp.end() if stamp is not None else at :].rstrip(b"\r\n")


def identity(raw: bytes) -> bytes:
    """What is the same of a line wherever it is printed: no progress of a test runner, no sign of a copied error."""
    line = bare(raw)
    if line.startswith(b"["):
        return line
    if line.startswith(b"E   "):
        return line[4:].lstrip()
    head, _ = split_progress(line[:LONGEST].decode("utf-8", "replace"))
    return line[len(head.encode()) :] if head else line


def text_of(raw: bytes) -> str:
    """The text of a line as a person sees it, cut to a sane length."""
    return clean(bare(raw[:LONGEST]).decode("utf-8", "replace"))[0]


def read_running(text: str) -> Mark | None:
    """The test that a runner names before the first line of its output (pytest -sv), as a `ci-method` with its file."""
    head, _ = split_progress(text)
    found = _PYTEST_RUNNING.match(head)
    return None if found is None else Mark("ci-method", {"file": found[1], "class": found[2], "method": found[3]})


def read_mark(text: str) -> Mark | None:
    """The mark that a line is, or None. Raises nothing."""
    _, text = split_progress(text)
    found = read_ci(text)
    if found is not None:
        return Mark(found.form if found.form == "ci-ended" else found.kind, dict(found.values))
    first = text[:1]
    if first == "c":
        command = read_command(text)
        if command is not None:
            given = check_variables(text)
            return Mark("command", {**command.values, **given, TEXT: text.removeprefix("command=")[:LONGEST_COMMAND]})
    elif first == "[" or text.startswith("server_args="):
        if "server_args=" in text:
            return Mark("server-args", {})
    elif first == "_":
        section = _SECTION.fullmatch(text)
        if section is not None:
            return Mark("section", {"class": section[1], "method": section[2]})
    if "max_total_num_tokens=" in text:
        return Mark("banner", {})
    return _read_outcome(text) or _read_github(text) or _read_level(text)


def _read_outcome(text: str) -> Mark | None:
    found = _UNITTEST.match(text)
    if found is not None:
        parts = found[2].split(".")
        name = parts[-2] if len(parts) > 1 and parts[-1] == found[1] else parts[-1]
        return Mark("outcome", {"class": name, "method": found[1], "passed": False})
    found = _PYTEST_SUMMARY.match(text)
    if found is not None:
        return Mark(
            "outcome", {"file": found[2], "class": found[3], "method": found[4], "passed": found[1] == "PASSED"}
        )
    found = _PYTEST_VERBOSE.match(text)
    if found is not None:
        return Mark(
            "outcome", {"file": found[1], "class": found[2], "method": found[3], "passed": found[4] == "PASSED"}
        )
    return None


def _read_github(text: str) -> Mark | None:
    if text.startswith("##[error]"):
        return Mark("job", {"passed": False}) if _ENDED_BADLY.match(text) else None
    if text.startswith(("Post job cleanup.", "Cleaning up orphan processes")):
        return Mark("job", {"passed": True})
    found = _SUITE.match(text)
    return Mark("suite", {"passed": found[1] == "Success"}) if found is not None else None


def _read_level(text: str) -> Mark | None:
    given = check_variables(text) if "SGLANG_" in text else {}
    level = given.get(LEVEL)
    return Mark("level", {"value": level}) if isinstance(level, int) else None
