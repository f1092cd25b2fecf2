"""This run beside an earlier one: which breaks are new, which are still there, which are gone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

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
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is no answer of memcheck artifacts that can be read: {error!r:.200}") from None


def _group(group: dict[str, object], tests: Sequence[dict[str, str | None]]) -> Before:
    numbers = group["tests"]
    pool, kind, multiple = group["pool"], group["kind"], group["page_multiple"]
    moved, signature, flags = group["moved"], group["signature"], group["flags"]
    assert isinstance(numbers, list) and isinstance(moved, list) and isinstance(flags, list)
    seen = [tests[number] for number in numbers]
    read: Fingerprint = fingerprint(
        None if pool is None else str(pool),
        str(kind),
        multiple if isinstance(multiple, bool) else None,
        tuple(map(str, moved)),
        None if signature is None else str(signature),
        tuple(map(str, flags)),
    )
    named = read._replace(id=str(group["fingerprint"]))
    return Before(named, [(test["job"], short_file(test["file"]), test["class"], test["method"]) for test in seen])


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
