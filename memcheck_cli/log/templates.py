"""What one exactly read busy line teaches: the bytes that the next lines like it will have, and where they differ.

A busy line is a head (wrapping, time, rank, tag, pool, first name), numbers with a fixed text between two of them, and
a tail (line end, a collector's closing text). Of head and tail only the digits of clock times may change; dates,
rank tokens, pids and names are learnt as they stand. The kernel takes a line for read only where all of it is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from memcheck_cli.log.records import TERMS, Busy, Line, PoolText, Value
from memcheck_cli.patterns import pattern

FIELDS = ("total", *TERMS)
"""The numbers that every reading has a column for; further terms follow."""

LONGEST_PIECE = 240
"""Bytes of a head or tail; longer ones are not learnt."""

MOST_FIELDS = 14
_LONGEST_GAP = 48
# A value of this name decides how the server takes the record, so its lines are told apart by it.
_FIXED = frozenset({b"free_list_duplicates"})

_CLOCK = pattern(rb"(?<![0-9:.,])[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?![0-9:])")
_VALID = pattern(rb"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)")
_FIRST = pattern(rb"([A-Za-z_][A-Za-z0-9_]*+)=(?=-?[0-9])")
_NUMBER = pattern(rb"(-?[0-9]{1,16})(?![0-9])")
_GAP = pattern(rb", ([A-Za-z_][A-Za-z0-9_]*+)=(?=-?[0-9])")


class Piece(NamedTuple):
    """A head or tail. text: its bytes, clock digits as `0`. mask: 0 where a clock digit stands, else 255."""

    text: bytes
    mask: bytes


class Reading(NamedTuple):
    """All that a recognised line says beside its numbers and its time.

    form, process, rank, pool, marks: as in `records`. printed: which of FIELDS the line has, in printed order.
    extra: names of the further integer terms, in printed order. fixed: further pairs whose values are the same in
    every such line. dated, fraction: whether the printed time has a date, and milliseconds; clock: whether it has any.
    """

    form: str
    process: str | None
    rank: str
    pool: str
    printed: tuple[str, ...]
    extra: tuple[str, ...]
    fixed: Mapping[str, Value]
    marks: frozenset[str]
    clock: bool
    dated: bool
    fraction: bool


class Learnt(NamedTuple):
    """One line taken apart.

    head, tail: around the numbers; the tail ends in the line feed. anchor: index in the head of the tag. clock: index
    in the head of the server's own clock time, or -1. day: its date as days since 1970-01-01, 0 where none is printed.
    columns: for every number the row it goes to: an index in FIELDS, or len(FIELDS) + index in `reading.extra`.
    gaps: the text before every number but the first.
    """

    head: Piece
    anchor: int
    clock: int
    day: int
    columns: tuple[int, ...]
    gaps: tuple[bytes, ...]
    tail: Piece
    reading: Reading


def take_apart(raw: bytes, line: Line, message: Busy, tag: bytes) -> Learnt | None:
    """What `raw`, a physical line with its line feed, teaches; None where it cannot be generalised safely.

    line, message: what the exact reader made of it, alone and whole.
    """
    at = raw.find(tag)
    if at < 0 or raw.find(tag, at + 1) >= 0 or not raw.endswith(b"\n") or not line.whole or line.copies != 1:
        return None
    if len(message.pools) != 1:
        return None
    first = _FIRST.search(raw, at)
    if first is None or first.end() > LONGEST_PIECE:
        return None
    names, numbers, gaps, end = _numbers(raw, first)
    if len(names) > MOST_FIELDS or end == 0:
        return None
    pool = message.pools[0]
    placed = _place(names, numbers, gaps, pool)
    if placed is None:
        return None
    columns, kept_gaps, extra, fixed, glued = placed
    head, tail = _masked(raw[: first.end()]), _masked(raw[end:])
    # Digits of a tail that are no time belong to values, and those change.
    stray = b'"time":"' not in tail.text and any(
        keep and byte in b"0123456789" for byte, keep in zip(tail.text, tail.mask, strict=True)
    )
    if stray or len(tail.text) + len(glued) > LONGEST_PIECE:
        return None
    tail = Piece(glued + tail.text, b"\xff" * len(glued) + tail.mask)
    if line.process is not None and _CLOCK.search(line.process.encode()):
        return None
    time = _own_time(raw[: first.end()], line.time, at)
    if time is None:
        return None
    clock, day, fraction = time
    printed = tuple(FIELDS[column] for column in columns if column < len(FIELDS))
    reading = Reading(
        message.form,
        line.process,
        line.rank,
        pool.pool,
        printed,
        extra,
        fixed,
        pool.marks,
        clock >= 0,
        clock >= 0 and line.time is not None and "T" in line.time,
        fraction,
    )
    return Learnt(head, at, clock, day, columns, kept_gaps, tail, reading)


def _numbers(raw: bytes, first: re.Match[bytes]) -> tuple[list[bytes], list[int], list[bytes], int]:
    """Names, values, and the texts between them; and the index behind the last digit (0 if a number is too long)."""
    names, numbers, gaps = [first[1]], list[int](), list[bytes]()
    at = first.end()
    while True:
        number = _NUMBER.match(raw, at)
        if number is None:
            return names, numbers, gaps, 0
        numbers.append(int(number[1]))
        gap = _GAP.match(raw, number.end())
        if gap is None:
            return names, numbers, gaps, number.end()
        names.append(gap[1])
        gaps.append(gap[0])
        at = gap.end()


def _place(
    names: list[bytes], numbers: list[int], gaps: list[bytes], pool: PoolText
) -> tuple[tuple[int, ...], tuple[bytes, ...], tuple[str, ...], Mapping[str, Value], bytes] | None:
    """Which number is which of the record's values. All of the record must be accounted for by exactly one name.

    Returns columns, gaps, extra names, fixed pairs, and the text of fixed pairs at the end.
    """
    left: dict[str, Value] = dict(pool.extra)
    known: dict[str, int | None] = {**pool.terms, "total": pool.total}
    columns: list[int] = []
    kept: list[bytes] = []
    extra: list[str] = []
    fixed: dict[str, Value] = {}
    glued = b""
    for index, (raw_name, number) in enumerate(zip(names, numbers, strict=True)):
        name = raw_name.decode("ascii")
        gap = gaps[index - 1] if index else b""
        if name in left and type(left[name]) is int and left[name] == number:
            del left[name]
            if raw_name in _FIXED:
                if not index:
                    return None
                fixed[name] = number
                glued += gap + str(number).encode()
                continue
            columns.append(len(FIELDS) + len(extra))
            extra.append(name)
        else:
            term = name if name in known else name.removesuffix("_size")
            if known.get(term) != number or known.get(term) is None:
                return None
            del known[term]
            columns.append(FIELDS.index(term))
        if index:
            kept.append(glued + gap)
            glued = b""
    if any(value is not None for value in known.values()) or any(len(gap) > _LONGEST_GAP for gap in kept):
        return None
    fixed.update(left)
    return tuple(columns), tuple(kept), tuple(extra), fixed, glued


def _masked(text: bytes) -> Piece:
    """The text with the digits of all clock times in it masked."""
    out, mask = bytearray(text), bytearray(b"\xff" * len(text))
    for found in _CLOCK.finditer(text):
        for index in range(found.start(), found.end()):
            if text[index] in b"0123456789":
                out[index], mask[index] = 48, 0
    return Piece(bytes(out), bytes(mask))


def _own_time(head: bytes, time: str | None, anchor: int) -> tuple[int, int, bool] | None:
    """Where in the head the server's own time stands, its day, and whether milliseconds are printed. (-1, 0, False)
    where the line has no time of its own; None where its time cannot be found or computed with."""
    clocks = [found for found in _CLOCK.finditer(head) if found.end() <= anchor]
    if time is None:
        # A clock that is none (25:00:00) may be the only reason why there is no time.
        return None if any(not _VALID.match(found[0]) for found in clocks) else (-1, 0, False)
    day_text, _, clock = time.rpartition("T")
    if not clocks or len(clock) not in (8, 12):
        return None
    found = clocks[-1]
    if found[0].replace(b",", b".").decode("ascii") != clock:
        return None
    if not day_text:
        return found.start(), 0, len(clock) == 12
    if head[found.start() - 11 : found.start() - 1] != day_text.encode("ascii"):
        return None
    try:
        day = date.fromisoformat(day_text).toordinal() - 719163
    except ValueError:
        return None
    return (found.start(), day, len(clock) == 12) if day >= 0 else None
