"""A CI run as a whole: reads every source, counts what is said twice once, and puts the answer together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from io import BytesIO

from memcheck_cli.artifacts.attempts import FAILED, PASSED, Method
from memcheck_cli.artifacts.jobs import JobLog
from memcheck_cli.artifacts.joining import Explainer, settle_ends
from memcheck_cli.artifacts.junit_files import HEAD, JUnitCase, is_junit, read_junit
from memcheck_cli.artifacts.model import (
    BALANCED,
    BROKEN,
    SILENT,
    UNCHECKED,
    UNDECIDED,
    Bundle,
    Group,
    Known,
    SourceNote,
    Test,
)
from memcheck_cli.artifacts.places import FILE, Place, job_key, places_of
from memcheck_cli.artifacts.reading import SourceRead, read_log
from memcheck_cli.artifacts.repeats import JUNIT, Kept, without_repeats
from memcheck_cli.artifacts.rows import rows_of
from memcheck_cli.artifacts.silence import Audited, explain_silence
from memcheck_cli.counting import counted
from memcheck_cli.errors import UnreadableError
from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.sources import Source, Unreadable

MOST_TEXTS = 1000
"""Cases of JUnit files whose own texts are read as logs."""


def read_bundle(
    found: Iterable[Source | Unreadable],
    roots: Sequence[str],
    settings: Settings,
    scope: Scope,
    *,
    audited: Audited | None = None,
    known: Sequence[Known] = (),
    today: date,
) -> Bundle:
    """Everything that the sources say. roots: the paths that the user gave, as they are shown. today: the day on which
    accepted fingerprints are looked at."""
    listed = list(found)
    places = places_of([one.name for one in listed], roots)
    reads: list[SourceRead] = []
    junit: list[tuple[SourceRead, list[JUnitCase]]] = []
    for one, place in zip(listed, places, strict=True):
        if isinstance(one, Unreadable):
            reads.append(SourceRead(one.name, place, place.kind, error=one.reason, read=False))
            continue
        if _looks_like_junit(one):
            read, cases = _read_cases(one, place, settings, scope)
            reads.append(read)
            junit.append((read, cases))
        else:
            reads.append(read_log(one, place, settings, scope))
    kept, repeats = without_repeats(reads)
    tests = [test for one in kept for test in rows_of(one.read)]
    for read, cases in junit:
        settle_ends(tests, read.place.job, cases)
    _settle_retries(tests)
    _settle_jobs(tests, reads)
    explain_silence(tests, audited)
    tests.sort(key=_order)
    bundle = Bundle(BALANCED, "", tests, _groups(tests), [], _notes(reads, kept, tests, repeats), list(known), today)
    explainer = Explainer(tests)
    cases_of = {read.name: sum(case.status != "suite" for case in cases) for read, cases in junit}
    bundle.junit_cases = sum(cases_of.values())
    for read, cases in junit:
        bundle.cases += explainer.explained(read.name, read.place.job, cases)
    for note in bundle.sources:
        note.cases = cases_of.get(note.name, 0)
    accept(bundle, known)
    return bundle


def accept(bundle: Bundle, known: Sequence[Known]) -> None:
    """Look at the bundle with these accepted fingerprints, and say its verdict anew."""
    bundle.known = list(known)
    entries: dict[str, Known] = {}
    for entry in known:
        # Of several entries one that still holds counts.
        if entry.fingerprint not in entries or entry.holds_on(bundle.today):
            entries[entry.fingerprint] = entry
    for group in bundle.groups:
        named = entries.get(group.fingerprint.id)
        group.known = named
        group.accepted = named is not None and named.holds_on(bundle.today)
        for _, seen in group.seen:
            seen.known = named if group.accepted else None
    bundle.tests.sort(key=_order)
    bundle.groups.sort(key=_group_order)
    bundle.verdict, bundle.reason = _verdict(bundle)


# Reading


def _looks_like_junit(source: Source) -> bool:
    if source.once:
        return False
    try:
        with source.open() as stream:
            return is_junit(stream.read(HEAD) or b"")
    except UnreadableError:
        return False


def _read_cases(source: Source, place: Place, settings: Settings, scope: Scope) -> tuple[SourceRead, list[JUnitCase]]:
    """The cases of a JUnit file, and what servers said in their texts."""
    done = SourceRead(source.name, place, JUNIT)
    try:
        cases = read_junit(source)
    except UnreadableError as error:
        done.error, done.read = str(error), False
        return done, []
    texts = 0
    for case in cases:
        if not case.logs or texts >= MOST_TEXTS:
            continue
        texts += 1
        data = "\n".join(case.logs).encode("utf-8", "replace") + b"\n"
        name = f"{source.name}#{'.'.join(part for part in (case.cls, case.method) if part) or 'suite'}"
        inner = read_log(_in_memory(name, data), Place(FILE, place.job), settings, scope)
        done.records += inner.records
        done.rejected += inner.rejected
        for read in inner.attempts:
            if not read.records:
                continue  # a text that only speaks of leaks
            attempt = read.attempt
            attempt.job = place.job
            if case.method and not attempt.methods:
                attempt.methods.append(Method(1, case.cls, case.method))
                attempt.file = attempt.file or case.file
                attempt.lines_of = {(0, start): count for (_, start), count in attempt.lines_of.items()}
                if case.status in ("passed", "failed", "error"):
                    attempt.results[case.cls, case.method] = case.status == "passed"
            done.attempts.append(read)
        case.logs = []
    return done, cases


def _in_memory(name: str, data: bytes) -> Source:
    return Source(name, lambda _: BytesIO(data))  # type: ignore[arg-type, return-value]


# Putting together


def _settle_retries(tests: Sequence[Test]) -> None:
    """Which broken attempts are hidden: a later attempt of the same file in the same job passed."""
    passed: dict[tuple[str | None, str], int] = {}
    for test in tests:
        if test.file is not None and test.file_ended == PASSED and test.attempt is not None:
            key = (test.job, test.file)
            passed[key] = max(passed.get(key, 0), test.attempt)
    for test in tests:
        if test.verdict == BROKEN and test.file is not None and test.attempt is not None:
            test.hidden_by_retry = passed.get((test.job, test.file), 0) > test.attempt


def _settle_jobs(tests: Sequence[Test], reads: Sequence[SourceRead]) -> None:
    """How the job of each test ended. Tests without a job are one job for each source."""
    logs: dict[tuple[str | None, str | None], list[JobLog]] = {}
    for read in reads:
        for job, log in read.jobs.items():
            logs.setdefault(_job_of(job, read.name), []).append(log)
    of_job: dict[tuple[str | None, str | None], list[Test]] = {}
    for test in tests:
        of_job.setdefault(_job_of(test.job, test.source), []).append(test)
    for key, own in of_job.items():
        ended = _job_end(own, logs.get(key, []))
        for test in own:
            test.job_ended = ended


def _job_of(job: str | None, source: str) -> tuple[str | None, str | None]:
    return (job_key(job), None) if job is not None else (None, source)


def _job_end(tests: Sequence[Test], logs: Sequence[JobLog]) -> str | None:
    """How a job ended: by its own word, else by the last attempts of its files."""
    last: dict[str, int] = {}
    for test in tests:
        if test.file is not None:
            last[test.file] = max(last.get(test.file, 0), test.attempt or 0)
    ends = [test.ended for test in tests if test.file is None or (test.attempt or 0) == last[test.file]]
    if any(log.failed for log in logs) or FAILED in ends:
        return FAILED
    if any(log.passed for log in logs) or (ends and all(end == PASSED for end in ends)):
        return PASSED
    return None


def _order(test: Test) -> int:
    """Leaks that a passing retry hides stand first, then those of green tests, then the others."""
    if test.verdict == BROKEN and not test.accepted:
        return 0 if test.hidden_by_retry else 1 if test.ended == PASSED else 2
    return 3 if test.verdict == BROKEN else 4 if test.verdict == UNDECIDED else 5


def _group_order(group: Group) -> tuple[bool, int, int]:
    return group.accepted, min(_order(test) for test, _ in group.seen), -len(group.tests)


def _groups(tests: Sequence[Test]) -> list[Group]:
    groups: dict[str, Group] = {}
    for test in tests:
        for seen in test.breaks:
            group = groups.setdefault(seen.fingerprint.id, Group(seen.fingerprint, []))
            group.seen.append((test, seen))
    return list(groups.values())


def _notes(
    reads: Sequence[SourceRead], kept: Sequence[Kept], tests: Sequence[Test], repeats: dict[str, str]
) -> list[SourceNote]:
    count: dict[str, int] = {}
    for test in tests:
        name = test.source.partition("#")[0] if test.source not in {read.name for read in reads} else test.source
        count[name] = count.get(name, 0) + 1
    return [
        SourceNote(
            read.name,
            read.kind,
            read.place.job,
            read.place.step,
            read.lines,
            read.records,
            read.rejected,
            count.get(read.name, 0),
            0,
            read.error,
            repeats.get(read.name),
            read.read,
        )
        for read in reads
    ]


def _verdict(bundle: Bundle) -> tuple[str, str]:
    tests = bundle.tests
    failing = [test for test in tests if test.fails]
    accepted = [test for test in tests if test.verdict == BROKEN and not test.fails]
    if failing:
        groups = sum(not group.accepted for group in bundle.groups)
        return BROKEN, f"{counted(len(failing), 'test')} broke, in {counted(groups, 'way')}"
    undecided = [test for test in tests if test.verdict == UNDECIDED]
    if undecided:
        return UNDECIDED, f"{counted(len(undecided), 'test')} cannot be decided: {undecided[0].reason}"
    balanced = sum(test.verdict == BALANCED for test in tests)
    silent = sum(test.verdict == SILENT for test in tests)
    unchecked = sum(test.verdict == UNCHECKED for test in tests)
    if not (balanced or silent or accepted):
        if not tests:
            return UNDECIDED, "neither a test nor a server's line was found"
        none = "the only test did not run" if unchecked == 1 else f"none of {unchecked} tests ran"
        return UNDECIDED, f"{none} under the check: silence is not health"
    told = [f"{counted(balanced, 'test')} with balanced sums"] if balanced else []
    told += [f"{silent} checked and silent"] if silent else []
    told += [f"{len(accepted)} broken in accepted ways"] if accepted else []
    told += [f"{unchecked} unchecked"] if unchecked else []
    return BALANCED, ", ".join(told)
