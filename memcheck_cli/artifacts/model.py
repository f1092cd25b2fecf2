"""What `memcheck artifacts` answers: plain data, one class per thing that a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from memcheck_cli.forensics.breaks import Break, Item

BALANCED, BROKEN, UNDECIDED = "balanced", "broken", "undecided"
UNCHECKED = "unchecked"
SILENT = "checked, silent"
"""Verdict of a test that ran under a check that prints nothing as long as nothing breaks."""

NEW, STILL, GONE = "new", "still there", "gone"


class Fingerprint(NamedTuple):
    """What makes two breaks the same one. page_multiple: whether the delta is whole pages, None where pages say nothing
    (slots, a page size of 1 or none told). moved: the terms whose change no move between terms explains, each behind
    its sign. flags: features that were switched on. id: a short name of all of it."""

    id: str
    pool: str | None
    kind: str
    page_multiple: bool | None
    moved: tuple[str, ...]
    signature: str | None
    flags: tuple[str, ...]


class Known(NamedTuple):
    """An accepted fingerprint. expires: the last day on which it is accepted, None: for ever."""

    fingerprint: str
    reason: str
    expires: date | None

    def holds_on(self, day: date) -> bool:
        """Whether it is still accepted."""
        return self.expires is None or day <= self.expires


class Server(NamedTuple):
    """A server that a test used. run: see `ledger`; None where the log shows nothing of the server but its command.
    line: where it was started. command: as the test suite printed it, or None. reasons: why it cannot have run, or
    cannot have printed, a check. dumped: it dumped a ring, so it ran at level 1."""

    run: int | None
    line: int
    command: str | None
    reasons: tuple[str, ...] = ()
    dumped: bool = False


@dataclass(slots=True)
class Seen:
    """A break, as a test saw it. run: counted over the whole source. known: the entry that accepts it."""

    found: Break
    run: int
    fingerprint: Fingerprint
    known: Known | None = None


@dataclass(slots=True)
class Test:
    """One attempt of one test.

    source, line: where it begins. file, cls, method: as the marks name them. verdict: see above; reason: one sentence,
    None where the breaks say it. ended, file_ended, job_ended: how this test, its attempt of the whole file and its job
    ended: `passed`, `failed`, None. hidden_by_retry: it is broken and a later attempt of its file passed.
    checker_lines: lines of the checker in it. level, level_line: the busy level that the log gives the variable, and
    where.
    """

    __test__ = False

    source: str
    line: int
    job: str | None
    step: str | None
    file: str | None
    cls: str | None
    method: str | None
    attempt: int | None
    attempts: int | None
    verdict: str = UNCHECKED
    reason: str | None = None
    ended: str | None = None
    file_ended: str | None = None
    job_ended: str | None = None
    hidden_by_retry: bool = False
    checker_lines: int = 0
    level: int | None = None
    level_line: int | None = None
    breaks: list[Seen] = field(default_factory=list)
    undetermined: list[Item] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """It is broken, and every break of it is known."""
        return bool(self.breaks) and all(seen.known is not None for seen in self.breaks)

    @property
    def fails(self) -> bool:
        """It is broken by something that is not accepted."""
        return self.verdict == BROKEN and not self.accepted


@dataclass(slots=True)
class Group:
    """Breaks with one fingerprint, in the order of the tests. known: the entry that names it, accepted or expired.
    compared: `new` or `still there`, None without a baseline."""

    fingerprint: Fingerprint
    seen: list[tuple[Test, Seen]]
    known: Known | None = None
    accepted: bool = False
    compared: str | None = None

    @property
    def jobs(self) -> list[str]:
        """The jobs that saw it, each once."""
        return list(dict.fromkeys(test.job for test, _ in self.seen if test.job is not None))

    @property
    def tests(self) -> list[Test]:
        """The tests that saw it, each once."""
        unique: list[Test] = []
        for test, _ in self.seen:
            if not unique or unique[-1] is not test:
                unique.append(test)
        return unique


@dataclass(slots=True)
class Case:
    """A failing case of a JUnit file. status: `failed` or `error`. test, seen: the break that explains it, and how that
    is told: `same test`, `same file`, `same numbers`, `only break of the job`; None where none does."""

    source: str
    job: str | None
    suite: str | None
    file: str | None
    cls: str | None
    method: str
    status: str
    message: str
    test: Test | None = None
    seen: Seen | None = None
    how: str | None = None


class Before(NamedTuple):
    """A group of an earlier run. checked_again: in this run one of its tests ran under the check, so that its absence
    says something."""

    fingerprint: Fingerprint
    tests: Sequence[tuple[str | None, str | None, str | None, str | None]]
    checked_again: bool = False


@dataclass(slots=True)
class Comparison:
    """This run beside an earlier one. name: where that was read from."""

    name: str
    new: list[Group] = field(default_factory=list)
    still: list[Group] = field(default_factory=list)
    gone: list[Before] = field(default_factory=list)


@dataclass(slots=True)
class SourceNote:
    """A source as it was read. kind: a kind of `places`, `columns` (`gh run view --log`) or `junit`. tests: how many
    of the tests come from it. repeats: the source that says all of it already, or None."""

    name: str
    kind: str
    job: str | None
    step: str | None
    lines: int = 0
    records: int = 0
    rejected: int = 0
    tests: int = 0
    cases: int = 0
    error: str | None = None
    repeats: str | None = None
    read: bool = True


@dataclass(slots=True)
class Bundle:
    """Everything that was found in a CI run. junit_cases: cases of all JUnit files together."""

    verdict: str
    reason: str
    tests: list[Test]
    groups: list[Group]
    cases: list[Case]
    sources: list[SourceNote]
    known: list[Known]
    today: date
    junit_cases: int = 0
    comparison: Comparison | None = None

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        if self.sources and not any(source.read for source in self.sources):
            return 4
        return {BALANCED: 0, BROKEN: 1, UNDECIDED: 3}[self.verdict]

    @property
    def unused(self) -> list[Known]:
        """Accepted fingerprints that nothing in this run has."""
        there = {group.fingerprint.id for group in self.groups}
        return [known for known in self.known if known.fingerprint not in there]
