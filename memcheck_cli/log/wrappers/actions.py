"""GitHub Actions: `gh run view --log` columns, and the heads of groups and annotations."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

_COLUMNS = pattern(
    r"([^\t]{1,300})\t[^\t]{0,300}\t\ufeff?(?=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z(?: |\Z))", re.ASCII
)
_HEAD = pattern(r"##\[(group|endgroup|section|command|error|warning|notice|debug)\]", re.ASCII)


def _columns(text: str, stretch: Stretch) -> Peeled | None:
    """Job, step and time, told apart by tabs. The job is the process."""
    if "\t" not in text[:302]:
        return None
    found = _COLUMNS.match(text)
    return Peeled("gh-run-view", text[found.end() :], found[1].strip()) if found else None


def _head(text: str, stretch: Stretch) -> Peeled | None:
    found = _HEAD.match(text)
    if not found:
        return None
    # An annotation is made by somebody who repeats what a program said.
    return Peeled("github-head", text[found.end() :], copied=found[1] in ("error", "warning", "notice"))


PEELERS: Peelers = (("", _columns), ("#", _head))
