"""`name=value, name=value` as Python's f-strings print it, with lists, sets and dicts inside the values.

Read in one pass, so the time is linear in the text. Nothing is guessed: a name without its value, an open bracket, an
integer of more than 18 digits or anything but `, ` between two pairs ends the reading, and `Pairs.rest` says where.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memcheck_cli.log.records import Value
from memcheck_cli.patterns import pattern

MAX_DEPTH = 8
"""Brackets nested deeper than this are no value."""

_NAME = r"[A-Za-z_][A-Za-z0-9_.]*+(?:\(\))?"
_PLAIN = pattern(
    rf"({_NAME})=(?:(-?[0-9]{{1,18}})|(-?[0-9]{{1,18}}\.[0-9]{{1,18}})|([A-Za-z_][A-Za-z0-9_./-]*+(?:\(\))?))(?=, |\Z)",
    re.ASCII,
)
_HEAD = pattern(rf"({_NAME})=(?=[\[{{('\"])", re.ASCII)
_NUMBERS = pattern(r"[\[{(]((?:-?[0-9]{1,18}, )*+-?[0-9]{1,18},?)[\]})]", re.ASCII)
_TOKEN = pattern(
    r"\s*+(?:((?:-?[0-9]{1,18}, )++)|([\[{(])|([\]})])|([,:])|(-?[0-9]+(?![0-9A-Za-z_.]))|(-?[0-9]{1,18}\.[0-9]{1,18})"
    r"|'([^'\\]*+)'|\"([^\"\\]*+)\"|([A-Za-z_][A-Za-z0-9_.]*+))",
    re.ASCII,
)
_WORDS: dict[str, Value] = {"None": None, "True": True, "False": False, "set()": []}
_CLOSES = {"[": "]", "{": "}", "(": ")"}


class Pairs(NamedTuple):
    """pairs: the whole pairs, in order. rest: index of the first character that belongs to none of them. whole: the
    text held nothing but pairs (a trailing comma counts as something more)."""

    pairs: list[tuple[str, Value]]
    rest: int
    whole: bool


def read_pairs(text: str, start: int = 0) -> Pairs:
    """All pairs of `text` from index `start`. The text must not end in blanks."""
    pairs: list[tuple[str, Value]] = []
    at = start
    end = len(text)
    while True:
        match = _PLAIN.match(text, at)
        if match is not None:
            name, whole, broken, word = match.groups()
            value: Value
            if whole is not None:
                value = int(whole)
            elif broken is not None:
                value = float(broken)
            else:
                value = _WORDS.get(word, word)
            after = match.end()
        else:
            match = _HEAD.match(text, at)
            if match is None:
                return Pairs(pairs, at, False)
            name = match[1]
            found = read_literal(text, match.end())
            if found is None:
                return Pairs(pairs, at, False)
            value, after = found
        pairs.append((name, value))
        if after == end:
            return Pairs(pairs, end, True)
        if not text.startswith(", ", after):
            return Pairs(pairs[:-1], at, False)
        at = after + 2


def read_literal(text: str, start: int) -> tuple[Value, int] | None:
    """The list, set (as a list), tuple (as a list), dict or quoted string at index `start` and the index behind it;
    None where there is none or where it is not whole."""
    flat = _NUMBERS.match(text, start)
    if flat is not None and text[flat.end() - 1] == _CLOSES[text[start]]:
        return [int(number) for number in flat[1].rstrip(",").split(", ")], flat.end()
    # The open brackets, innermost last: (closing character, what it holds, the key before a colon).
    open_: list[tuple[str, list[object], list[object]]] = []
    at = start
    ready: Value | list[object] | dict[str, object] = None
    filled = False
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        at = match.end()
        many, opens, closes, mark, number, broken, single, double, word = match.groups()
        if many:
            if filled or not open_:
                return None
            open_[-1][1].extend(map(int, many[:-2].split(", ")))
            continue
        if opens:
            if filled or len(open_) >= MAX_DEPTH:
                return None
            open_.append((_CLOSES[opens], [], []))
            continue
        if not open_ and not (single is not None or double is not None):
            return None
        if closes or mark == ",":
            if filled:
                open_[-1][1].append(ready)
                filled = False
            elif mark or (open_[-1][2] and len(open_[-1][2]) != len(open_[-1][1])):
                return None
            if mark:
                continue
            closing, values, keys = open_.pop()
            if closes != closing or (keys and (closing != "}" or len(keys) != len(values))):
                return None
            empty_dict = closing == "}" and not values
            ready = {str(key): held for key, held in zip(keys, values, strict=True)} if keys or empty_dict else values
            filled = True
        elif mark == ":":
            if not filled or len(open_[-1][2]) != len(open_[-1][1]) or isinstance(ready, list | dict):
                return None
            open_[-1][2].append(ready)
            filled = False
        else:
            if filled:
                return None
            if number:
                if len(number.lstrip("-")) > 18:
                    return None
                ready = int(number)
            elif broken:
                ready = float(broken)
            elif word:
                ready = _WORDS.get(word, word)
            else:
                ready = single if single is not None else double
            filled = True
        if not open_ and filled:
            return ready, at
