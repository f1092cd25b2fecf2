"""Ranks and pools that were asked for and have no check in what was read, beside those that have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from memcheck_cli.ledger import Ledger, Stream

SHOWN = 16
"""Ranks, or pools, that are named."""

NO_RANK = "-"


class Missing(NamedTuple):
    """What was asked for in vain. rank, pool: None where all are meant. reason: one sentence."""

    rank: str | None
    pool: str | None
    reason: str


def checked_in(ledgers: Iterable[Ledger]) -> dict[str, list[str]]:
    """The pools that were checked, by rank, each in the order of the log."""
    found: dict[str, dict[str, None]] = {}
    for ledger in ledgers:
        for stream in ledger.in_order():
            pools = list(_pools(stream))
            if pools or stream.checks or stream.idle_reports:
                found.setdefault(stream.rank, {}).update(dict.fromkeys(pools))
    return {rank: list(pools) for rank, pools in found.items()}


def _pools(stream: Stream) -> Iterable[str]:
    yield from (pool for pool in (*stream.busy, *stream.idle, *stream.skipped) if pool)
    if stream.requests is not None:
        yield stream.requests.pool
    yield from (asserted.pool for asserted, _, _ in stream.lone_assertions)
    yield from (page.pool for page in stream.pages if page.pool is not None)


def missing(
    ranks: Collection[str], pools: Collection[str], checked: Mapping[str, Sequence[str]], silent: Collection[str] = ()
) -> list[Missing]:
    """What of the ranks and pools asked for was not checked; nothing where nothing at all was.

    checked: see `checked_in`. silent: ranks that print other lines.
    """
    if not checked:
        return []
    found = []
    others = f", only of {_named(checked)}" if list(checked) != [NO_RANK] else ": the log names no rank"
    for rank in sorted(set(ranks) - checked.keys()):
        why = f"{rank} prints other lines; no check of it" if rank in silent else f"no check of {rank}"
        found.append(Missing(rank, None, f"{why} was found{others}"))
    every = dict.fromkeys(pool for known in checked.values() for pool in known)
    for pool in sorted(set(pools) - every.keys()):
        found.append(Missing(None, pool, f"no check of the pool {pool} was found, only of {_named(every)}"))
    if found or not (ranks and pools):
        return found
    for rank in sorted(ranks):
        for pool in sorted(set(pools) - set(checked[rank])):
            why = f"no check of the pool {pool} by {rank} was found, only of {_named(checked[rank])}"
            found.append(Missing(rank, pool, why))
    return found


def _named(names: Iterable[str]) -> str:
    """`full`, `TP0, TP1 and 3 more`."""
    every = list(names) or ["none"]
    shown = every[:SHOWN]
    if len(every) > SHOWN:
        shown.append(f"{len(every) - SHOWN} more")
    *most, last = shown
    return f"{', '.join(most)} and {last}" if most else last
