"""Rank tokens: their order, and the role they stand for in any parallel layout."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"([A-Za-z_]+)([0-9]{1,9})\Z")


Role = tuple[tuple[str, int], ...]


def role_of(rank: str) -> Role:
    """What a rank does, whatever the layout: its tokens without those of index 0 and without EP, which follows TP.

    `-`, `TP0` and `DP0 TP0` have one role, as have `TP1` and `PP0 TP1 EP1`.
    """
    parts = [_split(token) for token in rank.split(" ") if token not in ("", "-")]
    return tuple(sorted((kind, index) for kind, index in parts if index != 0 and kind != "EP"))


def order_of(rank: str) -> tuple[tuple[str, int], ...]:
    """A sort key: tokens by name, then by number."""
    return tuple(_split(token) for token in rank.split(" "))


def _split(token: str) -> tuple[str, int]:
    match = _TOKEN.match(token)
    return (match[1], int(match[2])) if match else (token, -1)
