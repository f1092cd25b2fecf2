"""A CI run's bundle as a JUnit file: one suite per job, one case per test, attempt and pool."""

from __future__ import annotations

import re
from typing import IO, Any

from memcheck_cli.artifacts.model import BALANCED, BROKEN, SILENT, UNCHECKED, Bundle, Seen, Test
from memcheck_cli.render.artifacts_words import place_of, test_name, unlike, what_broke

_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def write_junit(bundle: Bundle, output: IO[str]) -> None:
    """Write the file. Accepted breaks and tests that were not checked are skipped cases, with the reason."""
    from xml.etree import ElementTree

    root = junit_of(bundle)._elem
    ElementTree.indent(root)
    output.write('<?xml version="1.0" encoding="utf-8"?>\n')
    output.write(ElementTree.tostring(root, encoding="unicode"))
    output.write("\n")


def junit_of(bundle: Bundle) -> Any:
    """The bundle as junitparser's document."""
    from junitparser import JUnitXml, TestSuite

    suites: dict[str | None, Any] = {}
    for test in bundle.tests:
        if test.job not in suites:
            suites[test.job] = TestSuite(_clean(test.job or "no job"))
        suites[test.job].extend(_cases(test))
    document: Any = JUnitXml("memcheck artifacts")
    for suite in suites.values():
        document.append(suite)
    document.update_statistics()
    document._elem.attrib.pop("skipped", None)  # the schema knows it for suites only
    return document


def _cases(test: Test) -> list[Any]:
    by_pool: dict[str, list[tuple[Seen, list[str]]]] = {}
    for seen, ranks in unlike(test):
        by_pool.setdefault(seen.found.pool or "", []).append((seen, ranks))
    if not by_pool:
        return [_case(test, None, [])]
    return [_case(test, pool, found) for pool, found in by_pool.items()]


def _case(test: Test, pool: str | None, found: list[tuple[Seen, list[str]]]) -> Any:
    from junitparser import Error, Failure, Skipped, TestCase

    case = TestCase(_name(test, pool), _class(test), 0.0)
    if found:
        first, ranks = found[0]
        message = _clean(what_broke(first, ranks))
        open_ones = [seen for seen, _ in found if seen.known is None]
        if open_ones:
            kind = open_ones[0].fingerprint.id
            failure = Failure(message, kind)
            failure.text = "\n".join(_clean(line) for line in _lines(test, found))
            case.result = [failure]
        elif first.known is not None:
            case.result = [Skipped(_clean(f"accepted ({first.known.reason}): {message}"), first.fingerprint.id)]
    elif test.verdict == UNCHECKED:
        case.result = [Skipped(_clean(test.reason or "not checked"), "unchecked")]
    elif test.verdict not in (BALANCED, SILENT, BROKEN):
        case.result = [Error(_clean(test.reason or "undecided"), "undecided")]
    return case


def _lines(test: Test, found: list[tuple[Seen, list[str]]]) -> list[str]:
    lines = []
    for seen, ranks in found:
        lines.append(f"{what_broke(seen, ranks)} ({place_of(seen)})")
        lines.append(f"fingerprint {seen.fingerprint.id}")
        if seen.found.moved is not None:
            moved = ", ".join(f"{name} {change:+d}" for name, change in seen.found.moved.items() if change)
            lines.append(f"moved since the last balanced record: {moved or 'nothing'}")
    if test.hidden_by_retry:
        lines.append("hidden: a later attempt of the file passed")
    for server in test.servers:
        if server.command is not None:
            lines.append(f"server: {server.command}")
    return lines


def _name(test: Test, pool: str | None) -> str:
    name = test.method or test.cls or test_name(test)
    if test.attempt is not None and (test.attempt > 1 or test.attempts is not None):
        name += f" (attempt {test.attempt})"
    return _clean(f"{name} [{pool}]" if pool else name)


def _class(test: Test) -> str:
    """What JUnit readers sort by: the file as a module, then the class."""
    module = (test.file or "").removesuffix(".py").strip("/").rpartition("/")[2]
    return _clean(".".join(part for part in (module, test.cls) if part) or test.source)


def _clean(text: str) -> str:
    """The text without what XML cannot hold, cut to a sane length."""
    return _NO_XML.sub("\ufffd", text[:4000])
