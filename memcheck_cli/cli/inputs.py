"""What the verbs that read logs do with their PATH arguments."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memcheck_cli.cli.telling import tell
from memcheck_cli.counting import counted
from memcheck_cli.errors import UsageError

if TYPE_CHECKING:
    from memcheck_cli.sources import Limits, Source, Unreadable

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size_of(text: str) -> int:
    """Bytes from `100GB`, `1.5G`, `4096`; raises UsageError for anything else."""
    number = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    try:
        size = int(float(number.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, OverflowError):
        raise UsageError(f"'{text}' is no size; write for example 100GB") from None
    if size <= 0:
        raise UsageError(f"'{text}' is no size; write for example 100GB")
    return size


def limits_of(max_expanded: str | None, max_nesting: int | None) -> Limits:
    """The bounds on what archives and compressed files unfold to."""
    from memcheck_cli.sources import Limits

    given: dict[str, int] = {}
    if max_expanded is not None:
        given = {"member_bytes": size_of(max_expanded), "total_bytes": size_of(max_expanded)}
        given["ratio"] = 1 << 40  # who names a size means it
    if max_nesting is not None:
        given["depth"] = max_nesting
    return Limits(**given)


def found_in(paths: tuple[str, ...], limits: Limits) -> Iterator[Source | Unreadable]:
    """The texts behind the paths, stdin where none is named and something is piped in; what is passed over is told."""
    from memcheck_cli.sources import Skipped, find_sources

    if not paths:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("name a log, directory or archive, or pipe one in: memcheck analyze server.log")
        paths = ("-",)
    skipped = nothing = 0
    stdin = sys.stdin.buffer if "-" in paths and sys.stdin is not None else None
    for found in find_sources(paths, limits=limits, stdin=stdin):
        if isinstance(found, Skipped):
            skipped += 1
            if skipped <= 5 and len(paths) == 1 and found.name == paths[0]:
                tell(f"{found.name}: passed over: {found.reason}")
            continue
        nothing += 1
        yield found
    if not nothing:
        where = ", ".join(map(click.format_filename, paths))
        entries = f"{counted(skipped, 'entry', 'entries')} {'was' if skipped == 1 else 'were'}"
        more = f" ({entries} passed over: binary, hidden or links)" if skipped else ""
        tell(f"no text was found in {where}{more}")
