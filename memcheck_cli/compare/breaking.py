"""The breaks of both sides beside each other: the same break, one like it, or another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from memcheck_cli.compare.matching import Match, Matching
from memcheck_cli.compare.sides import Lane, Side
from memcheck_cli.forensics.analysis import Analysis
from memcheck_cli.forensics.breaks import Break

SAME, ALIKE, ANOTHER = "same", "alike", "another"


class Facet(NamedTuple):
    """One thing that two breaks are compared by. same: None where a side does not tell it."""

    name: str
    a: object
    b: object
    same: bool | None


class BreakComparison(NamedTuple):
    """Two first breaks. relation: `same` (pool, kind and amount agree), `alike` (pool and kind do), else `another`.
    facets: pool, check, kind, delta, pages, signature, position, rank. moved_alike: whether the same terms moved by the
    same numbers since the last balanced record, None where a side has none."""

    relation: str
    facets: tuple[Facet, ...]
    a: Break
    b: Break

    @property
    def position(self) -> Facet:
        """Where they are."""
        return next(facet for facet in self.facets if facet.name == "position")


class SeriesPair(NamedTuple):
    """The breaks of matched series; None on the side where it does not break."""

    a: Break | None
    b: Break | None
    relation: str | None


def compare_breaks(a: Break, b: Break, sides: tuple[Analysis, Analysis]) -> BreakComparison:
    """Two breaks, facet by facet. Amounts agree in tokens, or in pages where the page sizes differ."""
    signatures = tuple(signature_of(side, found) for side, found in zip(sides, (a, b), strict=True))
    places = tuple(found.after_iteration if found.check == "idle" else found.iteration for found in (a, b))
    dumped = "ring-dump" in (a.stream.mode, b.stream.mode) and "idle" not in (a.check, b.check)
    facets = (
        _facet("pool", a.pool, b.pool),
        _facet("check", a.check, b.check),
        _facet("kind", a.kind, b.kind),
        _facet("delta", a.delta, b.delta),
        _facet("pages", a.pages, b.pages),
        _facet("moved", a.moved, b.moved),
        _facet("signature", *signatures),
        # What a ring dump's iterations count from is lost, so they say nothing of another log's.
        Facet("position", places[0], places[1], None if dumped or None in places else places[0] == places[1]),
        _facet("rank", a.stream.rank, b.stream.rank),
    )
    if (a.pool, a.kind) != (b.pool, b.kind):
        relation = ANOTHER
    elif (a.delta, a.pages) == (b.delta, b.pages) or same_amount(a, b):
        relation = SAME
    else:
        relation = ALIKE
    return BreakComparison(relation, facets, a, b)


def same_amount(a: Break, b: Break) -> bool:
    """Whether two breaks are off by the same tokens, or by the same number of pages of another size."""
    if a.delta is not None and a.delta == b.delta:
        return True
    return a.page_size != b.page_size and a.pages is not None and a.pages == b.pages


def _facet(name: str, a: object, b: object) -> Facet:
    return Facet(name, a, b, None if a is None or b is None else a == b)


def signature_of(analysis: Analysis, found: Break) -> str | None:
    """The id of the strongest signature of a break; None where none holds."""
    if analysis.explanation is None:
        return None
    hits = analysis.explanation.of_event(found.event)
    return hits[0].signature.id if hits else None


def series_pairs(a: Side, b: Side, matching: Matching) -> list[SeriesPair]:
    """The breaks of every series, those of matched streams beside each other, in the order of the matches."""
    ones, twos = _by_lane(a), _by_lane(b)
    pairs: list[SeriesPair] = []
    for match in matching.matches:
        mine, theirs = ones.pop(match.a, {}), twos.pop(match.b, {})
        pairs += _matched(mine, theirs)
    pairs += [SeriesPair(found, None, None) for series in ones.values() for found in series.values()]
    pairs += [SeriesPair(None, found, None) for series in twos.values() for found in series.values()]
    return pairs


Series = Mapping[tuple[str, str, str], Break]


def _matched(mine: Series, theirs: Series) -> list[SeriesPair]:
    pairs = []
    for key in sorted({*mine, *theirs}):
        one, two = mine.get(key), theirs.get(key)
        relation = None
        if one is not None and two is not None:
            relation = SAME if one.kind == two.kind and same_amount(one, two) else ALIKE
            relation = relation if one.kind == two.kind else ANOTHER
        pairs.append(SeriesPair(one, two, relation))
    return pairs


def _by_lane(side: Side) -> dict[Lane, dict[tuple[str, str, str], Break]]:
    lanes = {(lane.source, id(lane.stream)): lane for lane in side.lanes}
    found: dict[Lane, dict[tuple[str, str, str], Break]] = {}
    for one in side.analysis.breaks:
        lane = lanes.get((one.source, id(one.stream)))
        if lane is not None:
            kind = one.kind if one.check == "pages" else ""
            found.setdefault(lane, {})[(one.pool or "", one.check, kind)] = one
    return found


def first_busy_break(side: Side, match: Match, lane: Lane) -> Break | None:
    """The first busy break of one stream that has an iteration."""
    for found in side.analysis.breaks:
        if found.stream is lane.stream and found.check == "busy" and found.iteration is not None:
            return found
    return None
