"""What a comparison says in sentences and small tables, for a terminal and for Markdown alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memcheck_cli.compare.aligning import TIME
from memcheck_cli.compare.breaking import ALIKE, ANOTHER, SAME, BreakComparison
from memcheck_cli.compare.comparison import Compared, Comparison, FirstDifference
from memcheck_cli.compare.distributions import CLEAR, LEAST_SHIFT, Distribution
from memcheck_cli.compare.laid import TAKEN
from memcheck_cli.compare.matching import BY_HAND, BY_RANK, BY_ROLE
from memcheck_cli.compare.pace import Pace
from memcheck_cli.compare.setting import Setting, Told
from memcheck_cli.compare.sides import Lane, Side
from memcheck_cli.compare.tracks import EVENTS
from memcheck_cli.compare.workload import DETERMINISTIC, LIVE, RULE
from memcheck_cli.counting import counted, signed
from memcheck_cli.forensics.breaks import Break, unit_of
from memcheck_cli.log.release_hints import spoken


class Sheet(NamedTuple):
    """A table: its heads, and its rows of cells. The cells come from logs and are not made safe yet."""

    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def headline(comparison: Comparison) -> str:
    """The outcome in one sentence."""
    if comparison.same:
        checks = sum(lane.stream.checks for lane in comparison.a.lanes)
        reports = sum(lane.stream.idle_reports for lane in comparison.a.lanes)
        both = {"both-balanced": "neither side breaks", "both-broken": "both sides break"}.get(comparison.outcome)
        every = "all " if checks > 1 else ""
        equal = f"no difference: {every}{counted(checks, 'check')} and {counted(reports, 'idle report')} are equal"
        return f"{both}; {equal}" if both else f"{comparison.reason}; {equal}"
    if comparison.breaks is not None and comparison.outcome == "both-broken":
        return f"both sides break: {relation_words(comparison.breaks)}"
    return comparison.reason


def sides_sheet(comparison: Comparison) -> Sheet:
    """The two sides beside each other."""
    a, b = comparison.a, comparison.b
    rows: list[tuple[str, ...]] = [("verdict", a.analysis.verdict, b.analysis.verdict)]
    rows.append(("busy checks", *(str(sum(lane.stream.checks for lane in side.lanes)) for side in (a, b))))
    reports = [sum(lane.stream.idle_reports for lane in side.lanes) for side in (a, b)]
    if any(reports):
        rows.append(("idle reports", *map(str, reports)))
    if len(a.lanes) != 1 or len(b.lanes) != 1:
        rows.append(("streams", str(len(a.lanes)), str(len(b.lanes))))
    if a.analysis.breaks or b.analysis.breaks:
        rows.append(("first break", *(_break_place(side) for side in (a, b))))
        rows.append(("off by", _break_amount(a), _break_amount(b)))
    for kind in EVENTS:
        counts = [side.events.get(kind, 0) for side in (a, b)]
        if any(counts) and counts[0] != counts[1]:
            rows.append((f"{kind} lines", *map(str, counts)))
    main = comparison.main
    if main is not None:
        if any(pace.per_second is not None for pace in main.pace):
            rows.append(("checks per second", *(pace_words(pace) for pace in main.pace)))
        if any(pace.break_seconds is not None for pace in main.pace):
            rows.append(("time to break", *(until_words(pace) for pace in main.pace)))
    return Sheet(("", "A", "B"), rows)


def pace_words(pace: Pace) -> str:
    """Checks per second, or why there is no rate."""
    return f"{pace.per_second:.4g}" if pace.per_second is not None else f"- ({pace.why})"


def until_words(pace: Pace) -> str:
    """How long it took to break."""
    if pace.break_seconds is None:
        return "-" if pace.break_check is None else f"{counted(pace.break_check, 'check')}"
    checks = f"{counted(pace.break_check, 'check')}, " if pace.break_check is not None else ""
    return f"{checks}{pace.break_seconds} s"


def _break_place(side: Side) -> str:
    found = side.analysis.first_break
    if found is None:
        return "-"
    return break_place(found, side)


def break_place(found: Break, side: Side) -> str:
    """Pool, rank, check and line of a break, with the source where the side has several."""
    pool = f"pool {found.pool}" if found.pool else "a pool not named"
    rank = "" if found.stream.rank == "-" else f" on {found.stream.rank}"
    if found.check == "idle":
        where = f"idle report after check {found.after_iteration}" if found.after_iteration else "idle report"
    elif found.iteration is None:
        where = "assertion without a record"
    else:
        where = f"check {found.iteration}" + (", page check" if found.check == "pages" else "")
    run = f"run {found.stream.run}, " if _several_runs(side, found.source) else ""
    return f"{pool}{rank}, {run}{where}, {_line(side, found.source, found.row.line)}"


def _several_runs(side: Side, source: str) -> bool:
    return len({lane.stream.run for lane in side.lanes if lane.source == source}) > 1


def _break_amount(side: Side) -> str:
    found = side.analysis.first_break
    return "-" if found is None else break_amount(found)


def break_amount(found: Break) -> str:
    """By how much a break is off, and in which direction."""
    if found.check == "pages":
        return f"{found.kind}, {counted(found.pages or 0, 'page')}"
    if found.delta is None:
        return "no sum is printed"
    words = {"leak": "leak", "overcount": "overcount", "reported": "reported, though it balances"}[found.kind]
    amount = signed(found.delta, unit_of(found.pool))
    if found.pages is not None and found.page_size and found.page_size > 1:
        amount += f" = {signed(found.pages, 'page')} of {found.page_size}"
    return f"{amount} ({words})"


# Setting


def told_words(told: Told) -> tuple[str, str]:
    """The values of both sides of one thing."""
    spell = _release if told.name == "release" else _plain
    return spell(told.a), spell(told.b)


def _plain(values: Iterable[object]) -> str:
    found = [str(value) for value in values]
    shown = ", ".join(found[:8])
    return (f"{shown}, … ({len(found)})" if len(found) > 8 else shown) or "not told"


def _release(values: Iterable[object]) -> str:
    return " or ".join(spoken(*span) for span in values) or "not told"  # type: ignore[misc]


def setting_sheet(setting: Setting) -> Sheet:
    """What differs."""
    return Sheet(("", "A", "B"), [(told.name, *told_words(told)) for told in setting.differing])


def setting_sentences(setting: Setting) -> list[str]:
    """What is equal, and what one side alone tells."""
    said = []
    shared = [told for told in (setting.release, setting.page_size, *setting.totals) if told.a == told.b and told.a]
    equal = [f"{told.name} {told_words(told)[0]}" for told in shared]
    compared = min(setting.flags_told) - min(len(only) for only in setting.flags_only) if all(setting.flags_told) else 0
    if compared > 0:
        same = compared - len(setting.flags)
        equal.insert(0, f"{'all ' if not setting.flags else f'{same} of '}{counted(compared, 'launch flag')}")
    if equal:
        said.append(f"Equal: {', '.join(equal)}.")
    for letter, other, names in (("A", "B", setting.flags_only[0]), ("B", "A", setting.flags_only[1])):
        if names and all(setting.flags_told):
            shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
            said.append(f"{counted(len(names), 'flag')} told by {letter} and not by {other}: {shown}.")
    return said


# Streams


def matching_sentences(comparison: Comparison) -> list[str]:
    """Which stream was compared with which."""
    matching = comparison.matching
    said = []
    by_rank = [match for match in matching.matches if match.by == BY_RANK]
    if len(by_rank) > 1 or (by_rank and len(matching.matches) > 1):
        ranks = list(dict.fromkeys(match.a.rank for match in by_rank))
        several = any(match.turn for match in by_rank)
        how = " (several streams of a rank: by the name of the source, then in their order)" if several else ""
        said.append(f"{counted(len(by_rank), 'stream')} matched by rank: {_some(ranks)}{how}.")
    for match in [match for match in matching.matches if match.by in (BY_ROLE, BY_HAND)][:8]:
        how = "by its role in another layout" if match.by == BY_ROLE else "by hand"
        said.append(f"Compared {how}: {_rank(match.a)} of A with {_rank(match.b)} of B.")
    for letter, side, lanes in (("A", comparison.a, matching.only_a), ("B", comparison.b, matching.only_b)):
        if lanes:
            said.append(f"Only in {letter}, compared with nothing: {_some([_lane(side, lane) for lane in lanes])}.")
    return said


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f", … ({len(names)})" if len(names) > 8 else "")


def _rank(lane: Lane) -> str:
    return "the stream without rank" if lane.rank == "-" else lane.rank


def _lane(side: Side, lane: Lane) -> str:
    run = f"run {lane.stream.run} of " if _several_runs(side, lane.source) else ""
    process = f" of {lane.stream.process}" if lane.stream.process else ""
    return f"{run}{_rank(lane)}{process}"


def stream_words(one: Compared) -> str:
    """The two streams of a match, for a table."""
    runs = one.match.a.stream.run, one.match.b.stream.run
    return _ranks(one) if runs == (1, 1) else f"{_ranks(one)}, {_runs(one)}"


def streams_compared(comparison: Comparison, one: Compared) -> str:
    """The streams a heading speaks of, where there is a choice: a rank of several, a run of several."""
    lanes = (comparison.a, one.match.a), (comparison.b, one.match.b)
    several = any(_several_runs(side, lane.source) for side, lane in lanes)
    ranks = _ranks(one) if len(comparison.compared) > 1 else "-"
    return ", ".join([ranks] * (ranks != "-") + [_runs(one)] * several)


def _ranks(one: Compared) -> str:
    a, b = one.match.a.rank, one.match.b.rank
    return a if a == b else f"{a} (A) and {b} (B)"


def _runs(one: Compared) -> str:
    a, b = one.match.a.stream.run, one.match.b.stream.run
    return f"run {a}" if a == b else f"run {a} (A) and {b} (B)"


# Where they part


def workload_words(one: Compared) -> tuple[str, str]:
    """Which of the two kinds of comparison it is, and why."""
    workload = one.workload
    if not workload.compared:
        return "Nothing stands beside each other", workload.reason
    head = {
        DETERMINISTIC: "Same workload, compared check by check",
        LIVE: "Live workload, so distributions are compared",
    }.get(workload.kind, "It is not certain that both ran the same workload")
    return head, workload.reason


RULE_WORDS = f"What shows one workload: {RULE}. --workload overrules it."


def alignment_words(one: Compared) -> str:
    """How the checks are aligned."""
    alignment = one.alignment
    if alignment.method == TIME:
        return "Aligned by time: seconds since the first check of either side."
    offset = alignment.offset or 0
    beside = (1, 1 + offset) if offset > 0 else (1 - offset, 1)
    shift = f": check {beside[0]} of A beside {beside[1]} of B" if offset else ""
    if not one.match.a.stream.checks and not one.match.b.stream.checks:
        return "Idle reports are compared in their order."
    how = {"start": "at the start", "end": "at the end", "break": "at the break", "content": "by their numbers"}
    return f"Aligned {how[alignment.method]}{shift} ({alignment.reason})."


def parting_sentences(comparison: Comparison, one: Compared) -> list[str]:
    """Where two streams part, or how far they are equal."""
    walk, difference = one.walk, one.difference
    said = []
    for lost in walk.lost[:3]:
        side, other = lost.side.upper(), "B" if lost.side == "a" else "A"
        at = lost.a if lost.side == "a" else lost.b
        said.append(
            f"At check {at} {side} has {counted(lost.checks, 'check')} that {other} lacks, and after that both "
            f"go on alike: {other}'s log lost lines, or only {side} ran them."
        )
    if len(walk.lost) > 3:
        said.append(f"… and {len(walk.lost) - 3} more such places.")
    if walk.gaps:
        lack = counted(walk.gaps, "check lacks", "checks lack")
        said.append(f"{lack} a record of a pool on one side; what the others hold is compared.")
    if difference is None:
        if one.workload.kind != LIVE and walk.parted is None and walk.leading:
            said += _ends(one)
        return said
    named = difference.named
    where = f"{'idle report' if difference.check == 'idle' else 'check'} {_both(difference.at)}"
    lines = ", ".join(
        f"{letter} {_line(side, lane.source, line)}"
        for letter, side, lane, line in (
            ("A", comparison.a, one.match.a, difference.lines[0]),
            ("B", comparison.b, one.match.b, difference.lines[1]),
        )
    )
    said.append(f"They part at {where} ({lines}): {_named(difference)}.")
    if named.name == TAKEN:
        said.append("taken is total - available: the totals differ, so available cannot be equal.")
    after = one.after
    if after is not None and after.checks > 1:
        said.append(_after(one))
    return said


def _ends(one: Compared) -> list[str]:
    checks = one.match.a.stream.checks, one.match.b.stream.checks
    behind = [total - at + 1 for total, at in zip(checks, one.walk.ended, strict=True)]
    for letter, other, more in (("A", "B", behind[0]), ("B", "A", behind[1])):
        if more > 0:
            return [f"{letter} has {counted(more, 'check')} more after them, where {other} ends."]
    return []


def _line(side: Side, source: str, line: int) -> str:
    member, line = side.place(source, line)
    where = member or (source if len(side.analysis.sources) > 1 else None)
    return f"line {line} of {where}" if where else f"line {line}"


def _both(at: tuple[int, int]) -> str:
    return str(at[0]) if at[0] == at[1] else f"{at[0]} of A, {at[1]} of B"


def _named(difference: FirstDifference) -> str:
    named = difference.named
    where = f"{named.name} of pool {named.pool}"
    if named.by is None:
        told, silent = ("A", "B") if named.b is None else ("B", "A")
        return f"{where} is {named.a if named.b is None else named.b} in {told} and not printed in {silent}"
    more = "more" if named.by > 0 else "less"
    others = len(difference.differing) - 1
    also = f"; {counted(others, 'other number')} differ{'s' if others == 1 else ''} too" if others else ""
    return f"{where} is {named.a} in A and {named.b} in B, {abs(named.by)} {more} in B{also}"


def _after(one: Compared) -> str:
    assert one.after is not None and one.difference is not None
    after, name = one.after, one.difference.named.name
    said = f"Of the {counted(after.checks, 'check')} from there on, "
    again = counted(after.equal, "is equal again", "are equal again")
    if after.alone:
        by = f"always by {after.last_by:+d}" if after.steady else f"at the end by {after.last_by:+d}"
        if after.alone == after.checks:
            return f"All {counted(after.checks, 'check')} from there on differ in {name} alone ({by})."
        said += f"{counted(after.alone, 'differs', 'differ')} in {name} alone ({by})"
        return f"{said} and {again}." if after.equal else f"{said}."
    return f"{said}{again}." if after.equal else f"{said}none is equal again."


def others_sheet(comparison: Comparison) -> Sheet:
    """The pairs of streams beside the main one, a line each."""
    rows = [
        (stream_words(one), one.workload.kind, str(one.workload.compared), _in_short(one))
        for one in comparison.compared
        if one is not comparison.main
    ]
    return Sheet(("rank", "workload", "checks", ""), rows)


def _in_short(one: Compared) -> str:
    if one.same:
        return "equal"
    if one.difference is not None:
        return f"parts at check {_both(one.difference.at)}: {one.difference.named.name}"
    if not one.workload.compared:
        return "no check stands on both sides"
    if one.walk.parted is None:
        return f"the {counted(one.walk.leading, 'check that both have is', 'checks that both have are')} equal"
    higher = [found.term for found in one.distributions if found.higher is not None]
    return f"clear differences in {', '.join(higher)}" if higher else "no clear difference"


def differing_sheet(difference: FirstDifference) -> Sheet:
    """All numbers that differ at the first check that does."""
    rows = [
        (one.pool, one.name, _number(one.a), _number(one.b), "" if one.by is None else f"{one.by:+d}")
        for one in difference.differing
    ]
    return Sheet(("pool", "term", "A", "B", "B - A"), rows)


def _number(value: int | None) -> str:
    return "not printed" if value is None else str(value)


# Breaks


def relation_words(breaks: BreakComparison) -> str:
    """Whether two breaks are the same one."""
    words = {
        SAME: "the same break (pool, kind and amount agree)",
        ALIKE: "the same pool and kind, another amount",
        ANOTHER: "another break",
    }[breaks.relation]
    if breaks.relation == SAME:
        position = breaks.position.same
        words += ", at the same check" if position else ", at another check" if position is False else ""
    return words


def breaks_sheet(breaks: BreakComparison) -> Sheet:
    """Two breaks facet by facet."""
    rows = []
    for facet in breaks.facets:
        if facet.a is None and facet.b is None:
            continue
        a, b = (_facet(facet.name, value) for value in (facet.a, facet.b))
        rows.append((facet.name, a, b, {True: "same", False: "differs", None: "not told"}[facet.same]))
    return Sheet(("", "A", "B", ""), rows)


def _facet(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{term} {change:+d}" for term, change in value.items() if change) or "nothing"
    if name == "position":
        return f"check {value}"
    return f"{value:+d}" if isinstance(value, int) and name in ("delta", "pages") else str(value)


def series_sheet(comparison: Comparison) -> Sheet:
    """Every series that breaks, both sides beside each other."""
    rows = []
    for pair in comparison.series:
        found = pair.a or pair.b
        assert found is not None
        cells = [f"{break_amount(one)}, {_short_place(one)}" if one is not None else "-" for one in (pair.a, pair.b)]
        rows.append((f"{found.stream.rank} {found.pool or ''} {found.check}".strip(), *cells))
    return Sheet(("series", "A", "B"), rows)


def _short_place(found: Break) -> str:
    if found.check == "idle" or found.iteration is None:
        return f"line {found.row.line}"
    return f"check {found.iteration}"


# Distributions


def distribution_sheet(found: Sequence[Distribution]) -> Sheet:
    """Level, shift and effect of every term, as shares of total."""
    several = len({one.pool for one in found}) > 1
    rows = []
    for one in found:
        name = f"{one.pool} {one.term}" if several else one.term
        rows.append(
            (
                name,
                _level(one.a.low, one.a.median, one.a.high),
                _level(one.b.low, one.b.median, one.b.high),
                f"{100 * one.shift:+.1f}",
                f"{one.cliff:+.2f}",
                _claim(one),
            )
        )
    return Sheet(("% of total", "A", "B", "shift", "Cliff", ""), rows)


def _level(low: float, median: float, high: float) -> str:
    return f"{100 * median:.1f} ({100 * low:.0f}..{100 * high:.0f})"


def _claim(one: Distribution) -> str:
    if not one.claim:
        return "no claim"
    if one.higher is not None:
        return "higher in B" if one.higher == "b" else "lower in B"
    return "alike" if one.effect == "none" else "unclear"


def distribution_words(one: Compared) -> str:
    """What the table of distributions shows."""
    over = "all checks" if one.alignment.method == TIME else "the checks that both have"
    return (
        f"Over {over}: median (quartiles); shift of the median, B minus A; Cliff: how much more often B is above A "
        f"than below, from -1 to 1. Unclear: Cliff under {CLEAR}, less than {100 * LEAST_SHIFT:g} % of the total, or "
        "less than a side wanders by itself."
    )


def drift_sentences(found: Sequence[Distribution]) -> list[str]:
    """Terms that drift on a side, and why nothing is claimed of others."""
    said = []
    for one in found:
        slopes = [(letter, level) for letter, level in (("A", one.a), ("B", one.b)) if level.drifts]
        for letter, level in slopes:
            assert level.slope is not None
            verb = "rises" if level.slope > 0 else "falls"
            other = one.b if letter == "A" else one.a
            alone = len(slopes) == 1 and other.slope is not None
            beside = f"; in {'B' if letter == 'A' else 'A'} it does not" if alone else ""
            change = abs(100 * level.slope) * level.checks / 1000
            said.append(
                f"{one.term} of pool {one.pool} {verb} in {letter} by {change:.3g} % of the total over "
                f"{level.checks} checks{beside}."
            )
    reasons = dict.fromkeys(one.why for one in found if one.why)
    return said + [f"No claim: {why}." for why in reasons]
