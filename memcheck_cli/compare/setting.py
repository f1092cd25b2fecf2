"""What the two sides ran with: launch flags, release, page size, pool totals, ranks and modes, and what follows for
what can be compared at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memcheck_cli.checker.releases import Release
from memcheck_cli.compare.ranks import order_of
from memcheck_cli.compare.sides import Lane, Side
from memcheck_cli.counting import counted
from memcheck_cli.log.records import Value

INCIDENTAL = frozenset({"model_path", "node_rank", "log_level", "decode_log_interval", "watchdog_timeout", "killed"})
"""Flags that do not touch the accounting; named after the others."""


class Told(NamedTuple):
    """What either side tells of one thing: all its runs' values, each once. differs: None where a side tells nothing,
    or where what is told leaves it open."""

    name: str
    a: tuple[object, ...]
    b: tuple[object, ...]
    differs: bool | None


@dataclass(frozen=True, slots=True)
class Setting:
    """flags: those that differ. flags_told: how many either side tells. flags_only: names that one side alone tells.
    releases: (oldest, newest) of each side's runs. totals: by pool. not_comparable: sentences, for a person."""

    flags: tuple[Told, ...]
    flags_told: tuple[int, int]
    flags_only: tuple[tuple[str, ...], tuple[str, ...]]
    release: Told
    page_size: Told
    totals: tuple[Told, ...]
    pools: Told
    ranks: Told
    modes: Told
    not_comparable: tuple[str, ...] = ()

    @property
    def differing(self) -> list[Told]:
        """Everything that differs, flags last."""
        rest = [self.release, self.page_size, *self.totals, self.pools, self.ranks, self.modes]
        return [told for told in (*rest, *self.flags) if told.differs]


def compare_settings(a: Side, b: Side) -> Setting:
    """What differs between two sides."""
    flags_a, flags_b = _flags(a), _flags(b)
    both = [name for name in flags_a if name in flags_b]
    flags = [_told(name, flags_a[name], flags_b[name]) for name in both]
    differing = [told for told in flags if told.differs]
    differing.sort(key=lambda told: (told.name in INCIDENTAL, told.name))
    only = (
        tuple(sorted(name for name in flags_a if name not in flags_b)),
        tuple(sorted(name for name in flags_b if name not in flags_a)),
    )
    pools_a, pools_b = _pools(a.lanes), _pools(b.lanes)
    totals = tuple(
        _told(f"total of {pool}", _totals(a.lanes, pool), _totals(b.lanes, pool)) for pool in pools_a if pool in pools_b
    )
    page_size = _told("page size", _page_sizes(a), _page_sizes(b))
    setting = Setting(
        tuple(differing),
        (len(flags_a), len(flags_b)),
        only,
        _releases(a, b),
        page_size,
        totals,
        _told("pools", pools_a, pools_b),
        _told("ranks", _ranks(a), _ranks(b)),
        _told("mode", _modes(a), _modes(b)),
    )
    return replace(setting, not_comparable=tuple(_not_comparable(a, b, setting)))


def _told(name: str, a: Sequence[object], b: Sequence[object]) -> Told:
    differs = None if not a or not b else sorted(map(repr, a)) != sorted(map(repr, b))
    return Told(name, tuple(a), tuple(b), differs)


def _flags(side: Side) -> dict[str, tuple[Value, ...]]:
    """By name, the values of all runs, each once."""
    found: dict[str, dict[str, Value]] = {}
    for run in side.runs:
        for name, value in run.flags.items():
            found.setdefault(name, {}).setdefault(repr(value), value)
    return {name: tuple(values.values()) for name, values in found.items()}


def _page_sizes(side: Side) -> tuple[object, ...]:
    return tuple(sorted({size for run in side.runs for size in run.page_sizes}))


def _pools(lanes: Iterable[Lane]) -> tuple[str, ...]:
    found = {pool for lane in lanes for pool in lane.pools()}
    return tuple(sorted(found, key=lambda pool: (pool != "full", pool)))


def _totals(lanes: Iterable[Lane], pool: str) -> tuple[object, ...]:
    return tuple(sorted({total for lane in lanes if (total := lane.total(pool)) is not None}))


def _ranks(side: Side) -> tuple[str, ...]:
    return tuple(sorted({lane.rank for lane in side.lanes}, key=order_of))


MODES = {"stream": "level 2 (stream)", "ring-dump": "level 1 (ring dump)", None: "idle reports only"}


def _modes(side: Side) -> tuple[str, ...]:
    return tuple(sorted({MODES[lane.stream.mode] for lane in side.lanes}))


Span = tuple[str | None, str | None]
"""Oldest and newest release that fit, None where open."""


def _releases(a: Side, b: Side) -> Told:
    known_a, known_b = _spans(a), _spans(b)
    differs: bool | None = None
    if known_a and known_b:
        if all(_apart(one, two) for one in known_a for two in known_b):
            differs = True
        elif set(known_a) == set(known_b) and all(low == high for low, high in known_a):
            differs = False
    return Told("release", known_a, known_b, differs)


def _spans(side: Side) -> tuple[Span, ...]:
    spans = [(run.release.low, run.release.high) for run in side.runs if run.release is not None]
    return tuple(dict.fromkeys(span for span in spans if span != (None, None)))


def _apart(one: Span, two: Span) -> bool:
    """Whether two spans of releases have none in common."""

    def before(high: str | None, low: str | None) -> bool:
        return high is not None and low is not None and Release.parse(high) < Release.parse(low)

    return before(one[1], two[0]) or before(two[1], one[0])


def _not_comparable(a: Side, b: Side, setting: Setting) -> Iterable[str]:
    for told in setting.totals:
        if told.differs:
            yield (
                f"{told.name.removeprefix('total of ')}: tokens, since the totals differ; shares of the total are "
                "compared, and check by check what is taken (total - available) in place of available"
            )
    if setting.page_size.differs:
        yield "amounts in tokens, since the page sizes differ; breaks are compared in pages"
    for pool in setting.pools.a:
        if pool not in setting.pools.b and setting.pools.b:
            yield f"{pool}: B has no record of it"
    for pool in setting.pools.b:
        if pool not in setting.pools.a and setting.pools.a:
            yield f"{pool}: A has no record of it"
    for letter, side in (("A", a), ("B", b)):
        if any(lane.stream.mode == "ring-dump" for lane in side.lanes):
            yield f"times and paces of {letter}: a ring dump is printed at once, and what came before it is lost"
        if not side.lanes:
            yield f"records: {letter} holds none"
    told_a, told_b = setting.flags_told
    for letter, mine, others in (("A", told_a, told_b), ("B", told_b, told_a)):
        if not mine and others:
            yield f"launch flags: {letter} prints none"
    yield from _terms(a.lanes, b.lanes)
    for letter, side in (("A", a), ("B", b)):
        if side.forgotten:
            records = f"{counted(side.forgotten, 'record')} of {letter}"
            yield f"{records}: more than are kept to compare (the verdict speaks of all)"


def _terms(a: Sequence[Lane], b: Sequence[Lane]) -> Iterable[str]:
    """Terms that one side alone prints."""
    printed: list[dict[str, set[str]]] = []
    for lanes in (a, b):
        terms: dict[str, set[str]] = {}
        for lane in lanes:
            for (_, pool), track in lane.tracks.items():
                terms.setdefault(pool, set()).update(track.names())
        printed.append(terms)
    for pool in sorted(printed[0].keys() & printed[1].keys()):
        for letter, mine, theirs in (("A", printed[0], printed[1]), ("B", printed[1], printed[0])):
            if more := mine[pool] - theirs[pool]:
                yield f"{pool}: {', '.join(sorted(more))}, which {letter} alone prints"
