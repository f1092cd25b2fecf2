"""Sides of a comparison made of texts, and the mirror image of an answer."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from made_logs import assertion, busy

import memcheck_cli
from memcheck_cli.compare import Comparison, Options, ReadSide, Side, compare
from memcheck_cli.compare.tracks import Kept
from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.render.diff_json import document
from memcheck_cli.sources import find_sources

TOTAL = 100_000
Check = tuple[int, int, int, int, int]
"""available, evictable, protected, session_held, uncached."""


@cache
def validator() -> jsonschema.Draft202012Validator:
    """Of the shipped schema."""
    schema = Path(memcheck_cli.__file__).parent / "schemas" / "diff.json"
    return jsonschema.Draft202012Validator(json.loads(schema.read_text("utf-8")))


def side_of(
    lines: str | Iterable[str], name: str = "made.log", settings: Settings | None = None, kept: Kept | None = None
) -> Side:
    """One side from the lines of one log."""
    text = lines if isinstance(lines, str) else "".join(line + "\n" for line in lines)
    read = ReadSide(name, kept=kept)
    read.read(find_sources(["-"], stdin=io.BytesIO(text.encode("utf-8", "surrogateescape"))))  # type: ignore[arg-type]
    return read.judged(settings or Settings(), Scope())


def side_at(path: Path) -> Side:
    """One side from a file, directory or archive."""
    read = ReadSide(str(path))
    read.read(find_sources([str(path)]))  # type: ignore[arg-type]
    return read.judged(Settings(), Scope())


def compared(a: str | Iterable[str], b: str | Iterable[str], options: Options | None = None) -> Comparison:
    """Compare two logs; the document of the answer is held to its schema."""
    comparison = compare(side_of(a), side_of(b), options)
    validator().validate(document(comparison))
    return comparison


def steps(count: int, seed: int = 1, total: int = TOTAL) -> list[Check]:
    """A balanced walk whose every check differs from the others: what a deterministic workload prints."""
    state = seed
    checks = []
    for number in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        evictable = (state >> 33) % (total // 4)
        protected = (state >> 13) % (total // 4)
        uncached = number + 1
        checks.append((total - evictable - protected - uncached, evictable, protected, 0, uncached))
    return checks


def clock_at(number: int, per_second: int) -> str:
    """The time of a check."""
    second = number // per_second
    return f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"


def log_of(
    checks: Sequence[Check],
    rank: str = "",
    total: int = TOTAL,
    pool: str = "full",
    per_second: int = 10,
    crash: bool = True,
) -> list[str]:
    """A level-2 log of these checks; behind one that does not balance stands the server's assertion."""
    lines = []
    for number, check in enumerate(checks):
        clock = clock_at(number, per_second)
        lines.append(busy(pool, total, *check, rank=rank, clock=clock))
        if sum(check) != total and crash:
            lines += assertion(pool, total, *check, rank=rank, clock=clock)
            break
    return lines


def changed(checks: Sequence[Check], at: int, term: int, by: int, onwards: bool = True) -> list[Check]:
    """The same checks, off by `by` in one term from check `at` (from 1) on, or there alone."""
    return [
        tuple(value + by * (place == term) for place, value in enumerate(check))  # type: ignore[misc]
        if number == at or (onwards and number > at)
        else check
        for number, check in enumerate(checks, 1)
    ]


TEXTS = {"reason", "why_not", "not_comparable"}
SIGNED = {"by", "shift", "cliffs_delta", "last_by", "offset"}
SWAPPED = {"a": "b", "b": "a", "fixed": "introduced", "introduced": "fixed"}


def mirrored(data: Any) -> Any:
    """What the answer must be with its sides swapped."""
    return _walk(data, _swap)


def without_texts(data: Any) -> Any:
    """The answer as far as it can be mirrored."""
    return _walk(data, lambda name, value: (name, value))


def _swap(name: str, value: Any) -> tuple[str, Any]:
    if name in SIGNED and value is not None:
        return name, -value
    if name in ("outcome", "higher_on", "more_on"):
        return name, SWAPPED.get(value, value)
    return SWAPPED.get(name, name), value


def _walk(data: Any, change: Callable[[str, Any], tuple[str, Any]]) -> Any:
    if isinstance(data, dict):
        changed = [change(name, value) for name, value in data.items() if name not in TEXTS]
        found = {name: _walk(value, change) for name, value in changed}
        if "series" in found:  # first those of matched streams, then A's, then B's
            found["series"] = sorted(json.dumps(one, sort_keys=True) for one in found["series"])
        return found
    return [_walk(item, change) for item in data] if isinstance(data, list) else data
