"""Words that every rendering of a CI run's bundle shares. They hold text from logs as it stands: escape it."""

from __future__ import annotations

from collections.abc import Iterable

from memcheck_cli.artifacts.attempts import PASSED, short_file
from memcheck_cli.artifacts.model import Before, Group, Known, Seen, Test
from memcheck_cli.counting import counted
from memcheck_cli.forensics.breaks import unit_of


def test_name(test: Test) -> str:
    """`test_eagle.py TestEagle.test_gsm8k`; the source's name where no mark names anything."""
    return named(short_file(test.file), test.cls, test.method) or test.source.rpartition("/")[2]


def named(file: str | None, cls: str | None, method: str | None) -> str:
    """File, class and method, as far as they are known."""
    inner = ".".join(part for part in (cls, method) if part)
    return " ".join(part for part in (file, inner) if part)


def attempt_of(test: Test) -> str:
    """`1/2`, `1`, or nothing where no file is named."""
    if test.attempt is None:
        return ""
    return f"{test.attempt}/{test.attempts}" if test.attempts is not None else str(test.attempt)


def green(test: Test) -> str:
    """Whether its job ended green, in a word."""
    return {None: "-", PASSED: "green"}.get(test.job_ended, "red")


def pool_of(seen: Seen) -> str:
    """The pool of a break."""
    return seen.found.pool or "?"


def delta_of(seen: Seen) -> str:
    """`-16`, or the kind of a break that has no delta."""
    return f"{seen.found.delta:+d}" if seen.found.delta is not None else seen.found.kind


def pages_of(seen: Seen) -> str:
    """The delta in pages where it is whole pages; `no multiple` where it is none; nothing where pages say nothing."""
    found = seen.found
    if found.check == "pages":
        return str(found.pages) if found.pages is not None else ""
    if found.page_size is None or found.page_size == 1:
        return ""
    return f"{found.pages:+d}" if found.pages is not None else "no multiple"


def told_in_pages(tests: Iterable[Test]) -> bool:
    """Whether pages say something of any break of the tests."""
    return any(pages_of(seen) for test in tests for seen in test.breaks)


def unlike(test: Test) -> list[tuple[Seen, list[str]]]:
    """The breaks of a test, those of several ranks that say the same put together: each with its ranks."""
    found: dict[tuple[object, ...], tuple[Seen, list[str]]] = {}
    for seen in test.breaks:
        key = (seen.run, seen.fingerprint.id, seen.found.pool, seen.found.check, seen.found.delta)
        _, ranks = found.setdefault(key, (seen, []))
        if seen.found.stream.rank not in ("-", *ranks):
            ranks.append(seen.found.stream.rank)
    return list(found.values())


def what_broke(seen: Seen, ranks: list[str]) -> str:
    """`swa on TP1: overcount of 256 tokens, 1 page of 256`."""
    found = seen.found
    where = f" on {', '.join(ranks)}" if ranks else ""
    if found.check == "pages":
        return f"{pool_of(seen)}{where}: {found.kind}, {counted(found.pages or 0, 'page')}"
    if found.delta is None:
        return f"{pool_of(seen)}{where}: {found.kind}"
    if not found.delta:
        return f"{pool_of(seen)}{where}: the sum balances, but the server reports a leak"
    pages = ""
    if found.page_size is not None and found.page_size > 1:
        whole = found.pages is not None
        pages = f", {counted(abs(found.pages or 0), 'page')} of {found.page_size}" if whole else ", no page multiple"
    return f"{pool_of(seen)}{where}: {found.kind} of {counted(abs(found.delta), unit_of(found.pool))}{pages}"


def place_of(seen: Seen) -> str:
    """`iteration 38, 0_job.txt:71`."""
    found = seen.found
    at = f"{found.source.rpartition('/')[2]}:{found.row.line}"
    if found.check == "idle":
        return f"idle check, {at}"
    return f"iteration {found.iteration}, {at}" if found.iteration is not None else at


def group_counts(group: Group) -> str:
    """`3 tests in 2 jobs, 1 hidden by a retry`."""
    tests = group.tests
    told = counted(len(tests), "test")
    if group.jobs:
        told += f" in {counted(len(group.jobs), 'job')}"
    hidden = sum(test.hidden_by_retry for test in tests)
    if hidden:
        told += f", {hidden} hidden by a retry"
    if group.compared is not None:
        told += f", {group.compared}"
    return told


def known_word(known: Known, accepted: bool) -> str:
    """`accepted until 2026-12-31: reason`, or that it has expired."""
    if not accepted:
        return f"accepted until {known.expires}, which is over: {known.reason}"
    return f"accepted{f' until {known.expires}' if known.expires else ''}: {known.reason}"


def before_word(before: Before) -> str:
    """Where a break that is gone was seen."""
    tests = [named(file, cls, method) for _, file, cls, method in before.tests]
    told = next((test for test in tests if test), "a run without marks")
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    again = "" if before.checked_again else "; none of them ran under the check in this run"
    return f"was in {told}{more}{again}"
