"""What stands around a break: troubles and batches between the last balanced check and it, and the nearest before.

A line's place says when it was printed, not which check it belongs to. `Prefill batch` came when a batch was scheduled
up to 0.5.8.post1 and comes with its result from 0.5.9 on, `Decode batch` always came with the result; with overlap
scheduling a result is one check late. A ring dump holds old checks at new times, so nothing can be placed among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memcheck_cli.checker.releases import Release
from memcheck_cli.forensics.breaks import Break
from memcheck_cli.ledger.window import Around, Event
from memcheck_cli.log.batch_lines import BATCH_KINDS
from memcheck_cli.log.records import Value

TROUBLES = (
    "retract",
    "abort",
    "exception",
    "error",
    "out-of-memory",
    "flush",
    "flush-refused",
    "session",
    "watchdog",
    "hicache",
    "sigquit",
)
"""Kinds of context that may have to do with a break, see `log.context.KINDS`."""

_OWN_REPORT = frozenset({"exception", "error", "traceback-path", "sigquit", "pyspy", "process-exception"})
"""Kinds that the server's own report of the break consists of."""

_PARALLEL = ("TP", "EP", "ATTN_CP", "MOE_DP")
_AT_RESULT = Release.parse("0.5.9")

NEAR_CHECKS = 3
"""An event at most so many checks of its stream before the break is near."""

NEAR_BATCHES = 3
"""The same in batch lines, where no busy check was printed."""

MOST = 40
"""Troubles that are kept of each kind of place."""


class Nearby(NamedTuple):
    """An event and its place. checks: busy checks of the broken stream printed between it and the break. batches: batch
    lines between. after_witness: it stands behind the last balanced record. near: between the two, or just before."""

    event: Event
    checks: int
    batches: int
    after_witness: bool
    near: bool


class Match(NamedTuple):
    """A number around the break that equals what is off. what: words for it. line: where it stands."""

    what: str
    value: int
    line: int


class Batch(NamedTuple):
    """A batch line. belongs_to: line of the check it belongs to, None where that cannot be told. why: the rule."""

    event: Event
    belongs_to: int | None
    why: str


class Surroundings(NamedTuple):
    """What stands around one break.

    troubles: oldest first. batches: the last few batch lines before it. matches: counts that equal what is off.
    running: the last printed number of running requests, and its line. dump_line: where the ring dump begins, None for
    a stream: then places are those before the dump, and times of its records say nothing. known: False where what
    stands before this break was not kept. warned: an idle report that no exception carries.
    """

    troubles: tuple[Nearby, ...]
    batches: tuple[Batch, ...]
    matches: tuple[Match, ...]
    running: tuple[int, int] | None
    dump_line: int | None
    known: bool = True
    warned: bool = False

    def last(self, *kinds: str) -> Nearby | None:
        """The last trouble of these kinds before the break."""
        return next((one for one in reversed(self.troubles) if one.event.kind in kinds), None)


NOTHING = Surroundings((), (), (), None, None, known=False)


def same_group(rank: str, other: str) -> bool:
    """Whether lines of one rank speak for another: of one DP and PP group, or one without rank (the main process)."""
    return "-" in (rank, other) or rank_group(rank) == rank_group(other)


def rank_group(rank: str) -> tuple[str, ...]:
    """The tokens of a rank that its lock-step peers share: those of its DP and PP group."""
    return tuple(token for token in rank.split(" ") if not token.startswith(_PARALLEL))


def look_around(
    found: Break,
    around: Around | None,
    flags: Mapping[str, Value],
    low: str | None = None,
    high: str | None = None,
    sizes: Sequence[int] = (),
) -> Surroundings:
    """What stands around a break. flags: of its run. low, high: the range of its release, None where open. sizes: page
    sizes that fit, where the log does not tell."""
    if around is None:
        return NOTHING
    stream = found.stream
    events = [
        event
        for event in around.events
        if event.line < found.row.line
        and (event.process == stream.process or event.process is None)
        and same_group(event.rank, stream.rank)
    ]
    events = of_this_start(events, stream.process)
    warned = False
    if found.check != "busy":
        kept = _without_report(events)
        # A raised report's line has no prefix of its own: without the exception before it, it has no time either.
        warned = found.check == "idle" and found.row.time is not None and len(kept) == len(events)
        events = kept
    dump_line = None
    if stream.mode == "ring-dump" and found.check == "busy":
        dump_line = stream.first_line
        events = [event for event in events if dump_line is None or event.line < dump_line]
    checks = [seen.line for seen in around.checks if seen.pool == found.pool] if dump_line is None else []
    batch_lines = [event.line for event in events if event.kind in BATCH_KINDS]
    witness = found.witness.line if found.witness is not None and dump_line is None else None
    troubles = []
    for event in events:
        if event.kind in TROUBLES and not event.values.get("copied") and event.values.get("what") != "finished":
            later = sum(line > event.line for line in checks)
            batches = sum(line > event.line for line in batch_lines)
            between = witness is not None and event.line > witness
            close = later <= NEAR_CHECKS if checks else batches <= NEAR_BATCHES
            troubles.append(Nearby(event, later, batches, between, between or close))
    with_break = [*checks, found.row.line] if found.check == "busy" and dump_line is None else checks
    batches_seen = _batches(events, with_break, flags, low, high)
    running = next(
        (
            (value, event.line)
            for event in reversed(events)
            if event.kind == "decode" and isinstance(value := event.values.get("running_req"), int)
        ),
        None,
    )
    matches = _matches(found, sizes, events, batches_seen, running)
    return Surroundings(tuple(troubles[-MOST:]), tuple(batches_seen), tuple(matches), running, dump_line, warned=warned)


def of_this_start(events: list[Event], process: str | None) -> list[Event]:
    """Leave out what was printed before the server was started: it belongs to the run before."""
    for index in range(len(events) - 1, -1, -1):
        if events[index].kind in ("server-args", "command") and events[index].process == process:
            return events[index:]
    return events


def _without_report(events: list[Event]) -> list[Event]:
    """Leave out the exception that carries the report itself, and those of other ranks that died of it just before."""
    end = len(events)
    while end and events[end - 1].kind in _OWN_REPORT:
        end -= 1
    return events[:end]


def _batches(
    events: Sequence[Event], checks: Sequence[int], flags: Mapping[str, Value], low: str | None, high: str | None
) -> list[Batch]:
    """The last batch lines, each with the check that it belongs to."""
    last = [event for event in events if event.kind in BATCH_KINDS][-4:]
    return [Batch(event, *_belongs(event, checks, flags, low, high)) for event in last]


def _belongs(
    event: Event, checks: Sequence[int], flags: Mapping[str, Value], low: str | None, high: str | None
) -> tuple[int | None, str]:
    at_result: bool | None = True
    if event.kind == "prefill":
        if low is not None and Release.parse(low) >= _AT_RESULT:
            at_result = True
        elif high is not None and Release.parse(high) < _AT_RESULT:
            at_result = False
        else:
            at_result = None
    if at_result is None:
        return None, "whether it was printed before or after its check depends on the release, which is not known"
    before = next((line for line in reversed(checks) if line < event.line), None)
    after = next((line for line in checks if line > event.line), None)
    if not at_result:
        return after, "up to 0.5.8.post1 it is printed when the batch is scheduled, before its check"
    if flags.get("disable_overlap_schedule") is True:
        return after, "it is printed with the result, and without overlap that is before the same check"
    return before, "it is printed with the result, one check late under overlap scheduling"


LEAST_MATCH = 4
"""Smaller numbers, and those of one page, equal something by chance too often."""


def _matches(
    found: Break,
    sizes: Sequence[int],
    events: Sequence[Event],
    batches: Sequence[Batch],
    running: tuple[int, int] | None,
) -> list[Match]:
    """Counts printed near the break that equal what is off (or the whole pages that hold them)."""
    if not found.delta:
        return []
    off = abs(found.delta)
    matches = []
    if found.pool == "req":
        if running is not None and running[0] == off:
            matches.append(Match("requests that were running", off, running[1]))
        return matches
    size = found.page_size or max(sizes, default=1)
    if off < max(LEAST_MATCH, 2 * size):
        return []
    for batch in batches:
        value = batch.event.values.get("new_token")
        if isinstance(value, int) and value > 0 and _in_pages(value, size) == off:
            matches.append(Match("new tokens of a prefill batch", value, batch.event.line))
    for name in ("uncached", "protected", "session_held"):
        for row, when in ((found.witness, "before"), (found.row, "on the broken record")):
            value = row.named_terms().get(name) if row is not None else None
            if row is not None and value == off:
                matches.append(Match(f"{name} {when}", off, row.line))
    available = found.row.named_terms().get("available")
    if available == off and found.delta > 0:
        matches.append(Match("available on the broken record", off, found.row.line))
    for event in reversed(events):
        if event.kind == "session" and event.values.get("tokens") == off:
            matches.append(Match("tokens that a session gave back", off, event.line))
            break
    return matches


def _in_pages(tokens: int, size: int) -> int:
    return -(-tokens // size) * size
