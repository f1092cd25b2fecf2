"""What happened to the tokens between two records: bookkeeping moves from term to term, and what no move explains.

A record says how many tokens each term holds, not which. So the moves are the fewest that explain most of the change,
taken in the order in which SGLang's scheduler makes them; other moves may have cancelled each other out in between.
Units: tokens (slots for the mamba and request pools).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

KINDS: tuple[tuple[str, str, str], ...] = (
    ("uncached", "protected", "cached"),
    ("protected", "evictable", "unlocked"),
    ("available", "uncached", "allocated"),
    ("evictable", "protected", "locked"),
    ("uncached", "session_held", "lent to a session"),
    ("session_held", "uncached", "taken back from a session"),
    ("protected", "session_held", "lent to a session"),
    ("session_held", "protected", "taken back from a session"),
    ("uncached", "evictable", "cached and unlocked"),
    ("uncached", "available", "freed"),
    ("evictable", "available", "evicted"),
    ("session_held", "available", "freed by a session"),
    ("session_held", "evictable", "given to the tree by a session"),
    ("available", "protected", "allocated and cached"),
    ("protected", "available", "unlocked and freed"),
    ("available", "session_held", "allocated for a session"),
    ("evictable", "uncached", "evicted and allocated"),
    ("protected", "uncached", "uncached again"),
    ("available", "evictable", "allocated, cached and unlocked"),
    ("evictable", "session_held", "lent to a session"),
)
"""From, to, and the name of the move. Every pair of terms is here, so nothing that two terms exchange is left over."""

LOOK_BACK = 4
"""Steps before a break that are compared with it."""


class Move(NamedTuple):
    """`amount` tokens went from one term to another."""

    name: str
    source: str
    target: str
    amount: int


class Reason(NamedTuple):
    """Why one term is taken to be the wrong one. how: `peer`, `step` or `only`. lines: what it rests on."""

    term: str
    how: str
    text: str
    lines: tuple[int, ...]


class Moves(NamedTuple):
    """What moved between two records.

    remainder: by term, what no move explains: below zero it left the term and arrived in none, above zero it appeared
    in the term out of none. wrong: the term that is off, where something tells it. lines: the two records.
    """

    moves: tuple[Move, ...]
    remainder: Mapping[str, int]
    wrong: Reason | None
    lines: tuple[int, int]


def pair_up(changes: Mapping[str, int]) -> tuple[list[Move], dict[str, int]]:
    """The moves that explain the changes of terms, and what is left. Their amounts and the rest sum to the changes;
    the rest has one sign only."""
    left = dict(changes)
    moves: list[Move] = []
    for source, target, name in KINDS:
        amount = min(-left.get(source, 0), left.get(target, 0))
        if amount > 0:
            moves.append(Move(name, source, target, amount))
            left[source] += amount
            left[target] -= amount
    return moves, {name: change for name, change in left.items() if change}


def wrong_by_step(
    changes: Mapping[str, int], delta: int, history: Sequence[tuple[int, int, Mapping[str, int]]]
) -> Reason | None:
    """The term that is off, told by an earlier step that agrees in all other terms.

    history: (line, line, changes) of the steps before, latest first. The latest step that agrees in all terms but one,
    and differs there by delta, decides. Only of use where pages have one token: then every running request takes one
    token per step, and a step without requests coming or finishing is like the one before.
    """
    for line, next_line, step in history[:LOOK_BACK]:
        differing = {
            name: change - step.get(name, 0) for name, change in changes.items() if change != step.get(name, 0)
        }
        if len(differing) == 1 and set(changes) == set(step):
            ((term, difference),) = differing.items()
            if difference == delta:
                told = spell(step) or "nothing"
                text = f"the step from line {line} to line {next_line} moved {told}: this one differs in {term} alone"
                return Reason(term, "step", text, (line, next_line))
    return None


def wrong_alone(changes: Mapping[str, int], delta: int, lines: tuple[int, int]) -> Reason | None:
    """The term that is off, because it alone moved, and by just what is off.

    Not uncached that rose: it does so at every allocation, and an available that did not fall may be what is off.
    """
    moved = {name: change for name, change in changes.items() if change}
    if len(moved) != 1:
        return None
    ((term, change),) = moved.items()
    if change != delta or (term == "uncached" and change > 0):
        return None
    return Reason(term, "only", f"{term} alone moved from line {lines[0]} to line {lines[1]}, by {delta:+}", lines)


def wrong_by_peer(
    pool: str | None, line: int, delta: int, divergences: Sequence[Mapping[str, object]]
) -> Reason | None:
    """The term that is off, told by a lock-step peer whose record of the same check balances.

    divergences: per divergence `pool`, `lines`, `ranks` and `terms` (name to the pair of numbers).
    """
    for found in divergences:
        lines, ranks, terms = found.get("lines"), found.get("ranks"), found.get("terms")
        if found.get("pool") != pool or not isinstance(lines, list) or line not in lines or not isinstance(terms, dict):
            continue
        own = lines.index(line)
        if not isinstance(ranks, list) or len(terms) != 1:
            continue
        ((term, pair),) = terms.items()
        if isinstance(pair, list) and None not in pair and pair[own] - pair[1 - own] == delta:
            text = f"{ranks[1 - own]} printed {term}={pair[1 - own]} for the same check (line {lines[1 - own]})"
            return Reason(term, "peer", f"{text}; all else is equal", (line, lines[1 - own]))
    return None


def spell(changes: Mapping[str, int]) -> str:
    """`available -7, uncached +6`; empty where nothing moved."""
    return ", ".join(f"{name} {change:+d}" for name, change in changes.items() if change)
