"""Whether two streams ran the same deterministic workload, told by their numbers, with the reason.

A server that gets the same requests in the same order prints the same numbers, so a good stretch of equal checks shows
it; then the first check that differs means something. A warm-up request alone makes a handful of equal checks in any
two runs of one model, so a handful proves nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.compare.laid import Laid, Walk
from memcheck_cli.counting import counted

DETERMINISTIC, LIVE, UNDETERMINED = "deterministic", "live", "undetermined"

LEADING = 32
"""So many equal checks before the parting show one workload, whatever follows."""

STATES = 8
"""So many of them must be different: a server that stands still is like any other."""

LEAST = 8
"""So many do where they are at least half of all checks compared."""

FEW = 64
"""With fewer checks to compare nothing tells that two workloads are not the same."""

ECHOES = 16
"""So many checks that still agree in two moving terms behind the parting, and half of all there, show one workload."""

RULE = (
    f"{LEADING} equal checks before they part, or {LEAST} that are half of all, or half of those behind still agreeing "
    "in two terms that move"
)


class Workload(NamedTuple):
    """kind: `deterministic`, `live` or `undetermined`. reason: one sentence. compared: checks both sides have."""

    kind: str
    reason: str
    compared: int
    leading: int
    states: int


def told_by_caller(kind: str, walk: Walk, compared: int) -> Workload:
    """The caller says which of the two it is."""
    return Workload(kind, "so it was asked for (--workload)", compared, walk.leading, walk.states)


def decide(laid: Laid, walk: Walk, noun: str = "check") -> Workload:
    """What the numbers of two streams tell about their workloads. noun: what is compared."""
    behind = laid.overlap(*walk.ended) if walk.parted is not None else 0
    compared = walk.leading + behind
    kind, reason = _decided(laid, walk, compared, noun)
    return Workload(kind, reason, compared, walk.leading, walk.states)


def _decided(laid: Laid, walk: Walk, compared: int, noun: str) -> tuple[str, str]:
    leading = walk.leading
    if compared == 0:
        return UNDETERMINED, f"no {noun} stands on both sides"
    if walk.parted is None:
        longer = max(laid.last_a, laid.last_b)
        if leading >= LEAST or leading * 2 >= longer:
            return DETERMINISTIC, (
                f"all {leading} {noun}s that both sides have are equal"
                if leading > 1
                else f"the only {noun} that both sides have is equal"
            )
        stand = counted(leading, f"of {longer} {noun}s stands", f"of {longer} {noun}s stand")
        return UNDETERMINED, f"only {stand} on both sides, and what stands there is equal"
    if leading >= LEADING and walk.states >= STATES:
        return DETERMINISTIC, f"{leading} {noun}s in a row are equal before the first one that differs"
    if leading >= LEAST and leading * 2 >= compared and walk.states >= LEAST // 2:
        return (
            DETERMINISTIC,
            f"{leading} of the {compared} {noun}s compared are equal before the first one that differs",
        )
    echoes, looked_at = laid.echoes(*walk.parted)
    if echoes >= ECHOES and echoes * 2 >= looked_at:
        return DETERMINISTIC, (
            f"behind the first that differs, {echoes} of {looked_at} {noun}s still agree in two terms or more that move"
        )
    if compared < FEW:
        return UNDETERMINED, (
            f"only {counted(compared, f'{noun} stands', f'{noun}s stand')} on both sides, {leading} of them equal "
            "before the first that differs: too few to tell"
        )
    if leading:
        return LIVE, (
            f"of {compared} {noun}s only the first {counted(leading, 'agrees', 'agree')}, as after a warm-up request "
            "alone, and the others do not go on alike"
        )
    return LIVE, f"the very first of {compared} {noun}s differs, and the others do not go on alike"
