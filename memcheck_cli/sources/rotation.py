"""Which files are one log that was rotated, and in which order.

Told by names alone, and only where they leave no doubt: a file that is wrongly joined would be worse than two that are
read apart. Names are those of logrotate (`.1`, `.2.gz`, `-20261130`, `-20261130.log`), Python's logging handlers (`.1`,
`.2026-11-30`, `.2026-11-30_08-15-05`), Docker (`.1`) and the kubelet (`.20261130-081505.gz`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memcheck_cli.patterns import pattern

_PACKED = pattern(r"\.(?:gz|bz2|xz|zst|zstd)\Z")
_DATE = (
    r"(?P<year>[12]\d{3})(?P<dash>-?)(?P<month>0[1-9]|1[0-2])(?P=dash)(?P<day>0[1-9]|[12]\d|3[01])"
    r"(?:[-_T.]?(?P<hour>[01]\d|2[0-3])(?:[-:]?(?P<minute>[0-5]\d)(?:[-:]?(?P<second>[0-5]\d))?)?)?"
)
_NUMBERED = pattern(r"(.+)\.(0|[1-9]\d{0,2})", re.ASCII)
_DATED = pattern(rf"(.+)[.-]{_DATE}", re.ASCII)
_DATED_INSIDE = pattern(rf"(?P<base>.+)-{_DATE}(?P<end>\.log|\.out|\.err|\.txt)", re.ASCII)
_LOGS = (".log", ".out", ".err", ".txt")


@dataclass(frozen=True, slots=True)
class RotatedSet:
    """base: the path that names the set. order: indices of its files, oldest first."""

    base: str
    order: tuple[int, ...]


def rotated_sets(places: Sequence[str | None]) -> list[RotatedSet]:
    """The rotated sets among paths, each of at least two files of one directory. A path takes part in one at most."""
    directories: dict[str, dict[str, int]] = {}
    for index, place in enumerate(places):
        if place is not None:
            directory, _, name = place.rpartition("/")
            directories.setdefault(directory + "/" if "/" in place else "", {}).setdefault(name, index)
    found = []
    for directory, names in directories.items():
        if len(names) > 1:
            found += [RotatedSet(directory + base, order) for base, order in _sets_of_directory(names)]
    return found


def _sets_of_directory(names: dict[str, int]) -> list[tuple[str, tuple[int, ...]]]:
    plain: dict[str, int] = {}
    for name in sorted(names, key=lambda name: (_PACKED.search(name) is not None, name)):
        # Where a part stands there packed and unpacked, the unpacked one takes part; the other stays by itself.
        plain.setdefault(_PACKED.sub("", name), names[name])
    candidates: dict[str, dict[str, list[tuple[tuple[int, ...], int]]]] = {}
    for name, index in plain.items():
        if read := _read(name):
            base, scheme, key = read
            candidates.setdefault(base, {}).setdefault(scheme, []).append((key, index))
    sets = []
    used: set[int] = set()
    for base in sorted(candidates, key=lambda base: (len(base), base)):
        schemes = candidates[base]
        if len(schemes) > 1:
            continue
        ((scheme, parts),) = schemes.items()
        newest = plain.get(base)
        parts = sorted(part for part in parts if part[1] not in used)
        if newest in used or len({key for key, _ in parts}) < len(parts):
            continue
        if newest is None and not _stands_alone(base, scheme, parts):
            continue
        order = tuple(index for _, index in parts) + (() if newest is None else (newest,))
        if len(order) > 1:
            used.update(order)
            sets.append((base, order))
    return sets


def _stands_alone(base: str, scheme: str, parts: list[tuple[tuple[int, ...], int]]) -> bool:
    """The parts are a set even without the file that is being written: the base is a log's name, and they are not
    numbered from 0 like the ranks of a job or named like the logs of separate days."""
    if scheme == "inside" or not base.endswith(_LOGS):
        return False
    return scheme != "number" or all(key != (0,) for key, _ in parts)


def _read(name: str) -> tuple[str, str, tuple[int, ...]] | None:
    """The base, how it was rotated, and a key that is greater the younger the file."""
    if match := _NUMBERED.fullmatch(name):
        return match[1], "number", (-int(match[2]),)
    if match := _DATED.fullmatch(name):
        return match[1], "date", _moment(match)
    if match := _DATED_INSIDE.fullmatch(name):
        return match["base"] + match["end"], "inside", _moment(match)
    return None


def _moment(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(match[unit] or 0) for unit in ("year", "month", "day", "hour", "minute", "second"))
