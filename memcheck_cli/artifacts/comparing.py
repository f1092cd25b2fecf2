"""This run beside an earlier one: which breaks are new, which are still there, which are gone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from memcheck_cli.artifacts.attempts import short_file
from memcheck_cli.artifacts.fingerprints import fingerprint
from memcheck_cli.artifacts.model import (
    BALANCED,
    BROKEN,
    NEW,
    SILENT,
    STILL,
    Before,
    Bundle,
    Comparison,
    Fingerprint,
    Test,
)
from memcheck_cli.errors import UsageError

SCHEMA = "memcheck.artifacts/1"
MOST_BYTES = 256 << 20
Item = TypeVar("Item")
Who = tuple[str | None, str | None, str | None, str | None]


def who(test: Test) -> Who:
    """What names a test in another run too: job, file without its directories, class, method."""
    return test.job, short_file(test.file), test.cls, test.method


def before_of(bundle: Bundle) -> list[Before]:
    """The groups of a bundle as another run looks at them."""
    return [Before(group.fingerprint, [who(test) for test in group.tests]) for group in bundle.groups]


def saved_groups(path: str) -> list[Before] | None:
    """The groups of an answer that was saved with `--format json`, or None where the file is no such answer. Raises
    UsageError where it is one and is damaged."""
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            return None
        with file.open("rb") as opened:
            if SCHEMA.encode() not in opened.read(200):
                return None
        data = json.loads(file.read_bytes())
        tests = data["tests"]
        return [_group(group, tests) for group in data["groups"]]
    except OSError:
        return None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise UsageError(
            f"--baseline {path} is cut off, or not as `memcheck artifacts --format json` wrote it: write it again, "
            "or name what the earlier run left"
        ) from None


def _group(group: dict[str, object], tests: Sequence[dict[str, object]]) -> Before:
    """A group as it was written. Raises what any other shape leads to: KeyError, TypeError, IndexError, ..."""
    numbers = _listed(group["tests"], int)
    multiple = group["page_multiple"]
    read: Fingerprint = fingerprint(
        _text(group["pool"]),
        _word(group["kind"]),
        multiple if isinstance(multiple, bool) else None,
        tuple(_listed(group["moved"], str)),
        _text(group["signature"]),
        tuple(_listed(group["flags"], str)),
    )
    named = read._replace(id=_word(group["fingerprint"]))
    return Before(named, [_who(tests[number]) for number in numbers])


def _who(test: dict[str, object]) -> Who:
    return _text(test["job"]), short_file(_text(test["file"])), _text(test["class"]), _text(test["method"])


def _listed(value: object, kind: type[Item]) -> list[Item]:
    if not isinstance(value, list):
        raise TypeError(value)
    if not all(isinstance(item, kind) for item in value):
        raise TypeError(value)
    return value


def _text(value: object) -> str | None:
    return None if value is None else _word(value)


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def compare(bundle: Bundle, name: str, earlier: Iterable[Before]) -> Comparison:
    """Compare, and say of every group of the bundle whether it is new."""
    known = {before.fingerprint.id: before for before in earlier}
    result = Comparison(name)
    for group in bundle.groups:
        there = group.fingerprint.id in known
        group.compared = STILL if there else NEW
        (result.still if there else result.new).append(group)
    here = {group.fingerprint.id for group in bundle.groups}
    checked = {who(test)[1:] for test in bundle.tests if test.verdict in (BALANCED, BROKEN, SILENT)}
    for before in known.values():
        if before.fingerprint.id not in here:
            result.gone.append(before._replace(checked_again=any(one[1:] in checked for one in before.tests)))
    return result
