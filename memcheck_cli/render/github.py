"""What GitHub shows of a bundle: the summary of a step, in Markdown, and annotations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import IO

from memcheck_cli.artifacts.known import describe
from memcheck_cli.artifacts.model import BROKEN, UNDECIDED, Bundle, Group, Test
from memcheck_cli.artifacts.silence import counted_reasons
from memcheck_cli.counting import counted
from memcheck_cli.render.artifacts_words import (
    attempt_of,
    before_word,
    delta_of,
    green,
    group_counts,
    known_word,
    named,
    pages_of,
    place_of,
    pool_of,
    test_name,
    told_in_pages,
    unlike,
    what_broke,
)
from memcheck_cli.render.safe import safe

MOST_BYTES = 1 << 20
"""GitHub takes so many bytes of summary from a step."""

MOST_ANNOTATIONS = 10
"""GitHub shows so many of a step."""

MARGIN = 512
# Underscores between letters, parentheses and single dashes mean nothing to Markdown, so names stay readable.
_SPECIAL = re.compile(
    r"[\\`*\[\]<>#|~&@$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=\bwww)\.|\A[-+=](?=[\s=-]|\Z)|(?<=\A\d)[.)]|(?<=\A\d\d)[.)]"
)
_COMMAND = re.compile(r"^(\s*)(?=::)", re.MULTILINE)


def summary(bundle: Bundle, room: int = MOST_BYTES) -> str:
    """The summary, in at most `room` bytes: what does not fit is counted."""
    text = ""
    size = 0
    room -= MARGIN
    for block in _blocks(bundle):
        for number, line in enumerate(block):
            length = len(line.encode("utf-8", "replace")) + 1
            if size + length > room:
                left = len(block) - number
                return text + f"\n… cut here: {counted(left, 'line')} of this part and all after it did not fit.\n"
            text += line + "\n"
            size += length
    return text


def _blocks(bundle: Bundle) -> Iterator[list[str]]:
    mark = {BROKEN: "❌", UNDECIDED: "❔"}.get(bundle.verdict, "✅")
    yield [f"## {mark} KV pool check: {bundle.verdict}", "", f"{markdown(bundle.reason)}.", ""]
    broken = [test for test in bundle.tests if test.verdict == BROKEN]
    hidden = [test for test in broken if test.hidden_by_retry and not test.accepted]
    yield _table("Hidden by a retry that passed", hidden)
    yield _table("Broken", [test for test in broken if not test.hidden_by_retry and not test.accepted])
    yield _groups("Ways to break", [group for group in bundle.groups if not group.accepted])
    yield _comparison(bundle)
    yield _cases(bundle)
    yield _table("Broken in accepted ways", [test for test in broken if test.accepted])
    yield _groups("Accepted", [group for group in bundle.groups if group.accepted])
    undecided = [test for test in bundle.tests if test.verdict == UNDECIDED]
    if undecided:
        yield ["### Undecided", "", *(f"- {_who(test)}: {markdown(test.reason or '')}" for test in undecided), ""]
    yield _checked(bundle)
    yield _unchecked(bundle)


def _table(title: str, tests: Sequence[Test]) -> list[str]:
    if not tests:
        return []
    in_pages = told_in_pages(tests)
    lines = [
        f"### {title}",
        "",
        f"| job | test | attempt | pool | delta |{' pages |' if in_pages else ''} ended | job ended | where |",
        f"| --- | --- | --- | --- | ---: |{' ---: |' if in_pages else ''} --- | --- | --- |",
    ]
    for test in tests:
        for seen, ranks in unlike(test):
            on = f" on {', '.join(ranks)}" if ranks else ""
            cells = [
                test.job or "",
                test_name(test),
                attempt_of(test),
                f"{pool_of(seen)}{on}",
                delta_of(seen),
                *([pages_of(seen)] if in_pages else []),
                test.ended or "-",
                green(test),
                place_of(seen),
            ]
            lines.append("| " + " | ".join(markdown(cell) for cell in cells) + " |")
    return [*lines, ""]


def _groups(title: str, groups: Sequence[Group]) -> list[str]:
    if not groups:
        return []
    lines = [f"### {title}", ""]
    for group in groups:
        known = f" ({markdown(known_word(group.known, group.accepted))})" if group.known is not None else ""
        lines.append(f"- `{group.fingerprint.id}`: {markdown(describe(group))}; {markdown(group_counts(group))}{known}")
    return [*lines, ""]


def _comparison(bundle: Bundle) -> list[str]:
    comparison = bundle.comparison
    if comparison is None:
        return []
    lines = [f"### Beside {markdown(comparison.name)}", ""]
    lines += [f"- new: `{group.fingerprint.id}`" for group in comparison.new]
    lines += [f"- still there: `{group.fingerprint.id}`" for group in comparison.still]
    lines += [
        f"- gone: {markdown(before.fingerprint.id)}, {markdown(before_word(before))}" for before in comparison.gone
    ]
    if len(lines) == 2:
        lines.append("Nothing broke then, and nothing breaks now.")
    return [*lines, ""]


def _cases(bundle: Bundle) -> list[str]:
    if not bundle.cases:
        return []
    lines = [f"### Failing cases of JUnit files ({len(bundle.cases)} of {bundle.junit_cases})", ""]
    for case in bundle.cases:
        name = markdown(named(case.file.rpartition("/")[2] if case.file else None, case.cls, case.method))
        if case.seen is None:
            lines.append(f"- {name}: no break explains it")
        else:
            lines.append(f"- {name}: `{case.seen.fingerprint.id}` ({markdown(case.how or '')})")
    return [*lines, ""]


def _checked(bundle: Bundle) -> list[str]:
    verdicts: dict[str, int] = {}
    for test in bundle.tests:
        if test.verdict not in (BROKEN, UNDECIDED, "unchecked"):
            verdicts[test.verdict] = verdicts.get(test.verdict, 0) + 1
    if not verdicts:
        return []
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    return [f"Nothing broke in {counted(sum(verdicts.values()), 'test')}: {told}.", ""]


def _unchecked(bundle: Bundle) -> list[str]:
    reasons = counted_reasons(bundle.tests)
    if not reasons:
        return []
    count = sum(map(len, reasons.values()))
    lines = ["<details>", f"<summary>Unchecked: {counted(count, 'test')}</summary>", ""]
    for reason, tests in reasons.items():
        lines.append(f"- {markdown(reason)}")
        lines += [f"  - {_who(test)}" for test in tests]
    return [*lines, "", "</details>", ""]


def _who(test: Test) -> str:
    return markdown(f"{test_name(test)} in {test.job}" if test.job is not None else test_name(test))


def markdown(text: str) -> str:
    """Text that Markdown shows as it stands, on one line, also in a cell of a table."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", safe(text, 300).replace("\t", " "))


# Annotations


def annotation_lines(bundle: Bundle) -> list[str]:
    """At most ten workflow commands, the worst first: what is hidden by a retry, then every other way to break."""
    found = []
    told: set[str] = set()
    for group in bundle.groups:
        if not group.accepted:
            found.append(_annotation(group))
            told.add(group.fingerprint.id)
    if bundle.verdict == UNDECIDED:
        found.append(f"::warning title={_property('KV pool check: undecided')}::{_data(bundle.reason)}")
    if len(found) > MOST_ANNOTATIONS:
        more = len(found) - MOST_ANNOTATIONS + 1
        found = found[: MOST_ANNOTATIONS - 1]
        found.append(f"::error title={_property('KV pool check')}::{more} more ways to break are in the summary")
    return found


def _annotation(group: Group) -> str:
    test, seen = group.seen[0]
    ranks = next(ranks for one, ranks in unlike(test) if one.fingerprint == seen.fingerprint)
    hidden = " (hidden by a retry that passed)" if test.hidden_by_retry else ""
    lines = [
        f"{what_broke(seen, ranks)}{hidden}",
        f"{test_name(test)}{f' in {test.job}' if test.job else ''}: {place_of(seen)}",
        f"{describe(group)}; {group_counts(group)}",
    ]
    properties = [f"title={_property(f'KV pool check: {group.fingerprint.id}')}"]
    file = _in_repository(test.file)
    if file is not None:
        properties.insert(0, f"file={_property(file)}")
    return f"::error {','.join(properties)}::{_data(chr(10).join(safe(line, 300) for line in lines))}"


def _in_repository(file: str | None) -> str | None:
    """The path of a test file in the checkout, where it can be told."""
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    if file is None:
        return None
    if workspace and file.startswith(workspace.rstrip("/") + "/"):
        return file[len(workspace.rstrip("/")) + 1 :]
    return None if file.startswith("/") else file


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(safe(text, 200)).replace(":", "%3A").replace(",", "%2C")


class Harmless:
    """Writes text so that no line of it is a workflow command: logs can hold anything."""

    def __init__(self, output: IO[str]) -> None:
        self._output = output

    def write(self, text: str) -> int:
        """Write whole lines."""
        text = _COMMAND.sub(r"\1. ", text.replace("##[", "## ["))
        return self._output.write(text)
