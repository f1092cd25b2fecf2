"""Replay of recordings: the uncached sizes of every check recomputed from its requests, and what the invariant says.

A check agrees when the recomputed sizes are the recorded ones. Sizes and counters are in tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from memcheck_cli.checker.invariant import Verdict
from memcheck_cli.checker.printing import PoolCheck
from memcheck_cli.checker.server import Server
from memcheck_cli.checker.uncached import NotChecked, NotRecorded, Outcome, Raises, Sizes, rule_of, uncached_sizes
from memcheck_cli.recording import Check
from memcheck_cli.replaying.changes import Change, WhatIf, questions

MOST_LISTED = 10_000
"""Disagreements that are kept; more are counted."""
MOST_REASONS = 1000
"""Different reasons for checks that cannot be judged that are kept; more are counted as one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a check stands: line of the recording, ordinal of the check, and the pool spoken of."""

    line: int
    iteration: int
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A check whose recomputed sizes are not the recorded ones, or (against) on which two rules part.

    ours, theirs: sizes by pool (`full`, `swa`), empty where there are none. reason: one sentence.
    """

    place: Place
    ours: dict[str, int | None]
    theirs: dict[str, int | None]
    reason: str


@dataclass(slots=True)
class Against:
    """Where another release's rules part from the ones used. stops: the first check each would have stopped at.
    untold: by rules, checks they cannot judge from what was recorded."""

    rules: str
    differ: int = 0
    first: Difference | None = None
    stops: tuple[Place, str] | None = None
    stops_ours: tuple[Place, str] | None = None
    untold: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class PoolCount:
    """Records of one pool, and how many of them break."""

    records: int = 0
    breaks: int = 0


@dataclass(slots=True)
class RecordingReplay:
    """The replay of one recording.

    rules: the release told, or None for each check's own. releases: those the checks were recorded under. agree,
    unknown: checks; disagree: those kept, disagreements: all. raises: by exception, checks on which the rules die.
    first_break: the first record that breaks with the recomputed sizes, with its verdict and terms.
    assumed: fields the rules look at that the recording does not hold, taken as absent.
    """

    name: str
    rules: str | None
    records: int = 0
    agree: int = 0
    unknown: int = 0
    disagreements: int = 0
    disagree: list[Difference] = field(default_factory=list)
    unknown_reasons: dict[str, int] = field(default_factory=dict)
    releases: set[str] = field(default_factory=set)
    raises: dict[str, int] = field(default_factory=dict)
    first_raise: tuple[Place, Raises] | None = None
    pools: dict[str, PoolCount] = field(default_factory=dict)
    first_break: tuple[Place, Verdict, dict[str, int], int] | None = None
    assumed: set[str] = field(default_factory=set)
    what_if: list[WhatIf] = field(default_factory=list)
    against: Against | None = None
    error: str | None = None

    @property
    def breaks(self) -> int:
        """Records that break under the rules, and under all changes where there are any."""
        if self.what_if:
            return self.what_if[-1].breaks
        return sum(pool.breaks for pool in self.pools.values())

    @property
    def decided(self) -> int:
        """Records the invariant could judge."""
        return sum(pool.records for pool in self.pools.values())


Keep = Callable[[Check, str, Sizes, Sequence[tuple[PoolCheck, Verdict]], str], None]
"""Is given each check with rules, sizes, verdicts, and what is wrong with it (or nothing): for `as_test`."""


class Replayer:
    """Folds the checks of one recording under `rules` (None: each check's own release). pools: the invariant is told
    of these only; sizes are compared whatever they are."""

    def __init__(
        self,
        name: str,
        rules: str | None = None,
        changes: Sequence[Change] = (),
        against: str | None = None,
        keep: Keep | None = None,
        pools: Collection[str] = (),
    ) -> None:
        self.result = RecordingReplay(name, rules, what_if=questions(changes))
        if against is not None:
            self.result.against = Against(against)
        self._keep = keep
        self._pools = pools
        self._servers: dict[tuple[str, bool], Server] = {}

    def add_all(self, checks: Iterable[Check]) -> RecordingReplay:
        """Fold every check and answer the result. Raises RecordingError from the reader."""
        for check in checks:
            self.add(check)
        return self.result

    def add(self, check: Check) -> None:
        """One more check."""
        result = self.result
        result.records += 1
        result.releases.add(check.sglang)
        rules = result.rules or check.sglang
        outcome = uncached_sizes(check.state, rules)
        sizes, wrong = self._compare(check, rules, outcome)
        if sizes is not None:
            result.assumed.update(sizes.assumed)
            judged = self._judge(check, rules, sizes)
            if self._keep is not None:
                breaks = [f"pool {pool.pool} is off by {verdict.delta:+d}" for pool, verdict in judged if verdict.leak]
                self._keep(check, rules, sizes, judged, "; ".join([wrong] * bool(wrong) + breaks))
        if result.against is not None:
            self._part(check, rules, outcome, sizes, result.against)

    def server(self, rules: str, hybrid: bool) -> Server:
        """The simulated server that judges by `rules`."""
        server = self._servers.get((rules, hybrid))
        if server is None:
            server = self._servers[(rules, hybrid)] = Server(rules, 2, cache="hybrid" if hybrid else "radix")
        return server

    def _compare(self, check: Check, rules: str, outcome: Outcome) -> tuple[Sizes | None, str]:
        """Compare with what SGLang answered. Answers the sizes to judge with, None where there are none, and what
        differs."""
        result = self.result
        place = Place(check.line, check.check)
        if isinstance(outcome, Raises):
            result.raises[outcome.what] = result.raises.get(outcome.what, 0) + 1
            if result.first_raise is None:
                result.first_raise = (place, outcome)
            came_through = [one for one in outcome.otherwise if _agrees(check, one)]
            if not came_through:
                self._unknown(f"{outcome.what} in {outcome.function}: {outcome.why}")
                return None, ""
            outcome = came_through[0]
        if isinstance(outcome, NotChecked | NotRecorded):
            self._unknown(outcome.why)
            return None, ""
        reason = ""
        if check.full_uncached is None:
            self._unknown("the recording does not hold what SGLang answered")
        elif _agrees(check, outcome) and not (reason := self._batches(check, rules, outcome)):
            result.agree += 1
        else:
            reason = _sizes_reason(check, outcome) or reason
            result.disagreements += 1
            if len(result.disagree) < MOST_LISTED:
                result.disagree.append(Difference(place, _by_pool(outcome), _recorded(check), reason))
        return outcome, reason

    def _unknown(self, reason: str) -> None:
        result = self.result
        result.unknown += 1
        if len(result.unknown_reasons) >= MOST_REASONS and reason not in result.unknown_reasons:
            reason = "other reasons"
        result.unknown_reasons[reason] = result.unknown_reasons.get(reason, 0) + 1

    def _batches(self, check: Check, rules: str, sizes: Sizes) -> str:
        """What differs batch by batch, where the rules are those of the release that answered; else nothing."""
        if check.batch_uncached is None or rule_of(rules) is not rule_of(check.sglang):
            return ""
        if check.batch_uncached == sizes.batches:
            return ""
        return f"batches counted {list(sizes.batches)}, SGLang asked about {list(check.batch_uncached)}"

    def pool_checks(self, check: Check, rules: str, sizes: Sizes) -> list[PoolCheck]:
        """The pools of a check as `rules` would compare them: recomputed uncached, and session_held by those rules."""
        own = rule_of(check.sglang)
        rule = rule_of(rules)
        pools = []
        for name, stats in check.state.pools.items():
            uncached = sizes.swa if name == "swa" else sizes.full
            held = stats.session_held
            if held is not None and rule is not None and own is not None and rule is not own and check.state.sessions:
                index = 1 if name == "swa" else 0
                theirs = uncached_sizes(check.state, own)
                if isinstance(theirs, Sizes):
                    held += sizes.session_held[index] - theirs.session_held[index]
            pools.append(PoolCheck(name, stats.total, stats.terms(uncached or 0, session_held=held)))
        return sorted(pools, key=lambda pool: pool.pool != "full")

    def _judge(self, check: Check, rules: str, sizes: Sizes) -> list[tuple[PoolCheck, Verdict]]:
        result = self.result
        judged = []
        server = self.server(rules, check.state.hybrid_swa)
        for pool in self.pool_checks(check, rules, sizes):
            if self._pools and pool.pool not in self._pools:
                continue
            verdict = server.judge(pool)
            judged.append((pool, verdict))
            place = Place(check.line, check.check, pool.pool)
            count = result.pools.setdefault(pool.pool, PoolCount())
            count.records += 1
            count.breaks += verdict.leak
            if verdict.leak and result.first_break is None:
                result.first_break = (place, verdict, dict(pool.terms), pool.total or 0)
            for question in result.what_if:
                question.add(place, server, pool, verdict)
        return judged

    def _part(self, check: Check, rules: str, outcome: Outcome, sizes: Sizes | None, against: Against) -> None:
        """Set the other rules beside ours for this check."""
        other = uncached_sizes(check.state, against.rules)
        ours_stops = self._stops(check, rules, sizes if sizes is not None else outcome)
        other_stops = self._stops(check, against.rules, other)
        place = Place(check.line, check.check)
        untold = [name for name, one in ((rules, outcome), (against.rules, other)) if isinstance(one, NotRecorded)]
        for name in untold:
            against.untold[name] = against.untold.get(name, 0) + 1
        if ours_stops and against.stops_ours is None:
            against.stops_ours = (place, ours_stops)
        if other_stops and against.stops is None:
            against.stops = (place, other_stops)
        if untold:
            return
        ours, theirs = _by_pool(sizes if sizes is not None else outcome), _by_pool(other)
        shared = [name for name in ours if ours[name] is not None and theirs.get(name) is not None]
        if bool(ours) == bool(theirs) and all(ours[n] == theirs[n] for n in shared) and ours_stops == other_stops:
            return
        against.differ += 1
        if against.first is None:
            against.first = Difference(
                place, ours, theirs, _parting_reason(rules, sizes or outcome, against.rules, other)
            )

    def _stops(self, check: Check, rules: str, outcome: Outcome) -> str:
        """What ends the process on this check under `rules`, or nothing."""
        if isinstance(outcome, Raises):
            return "" if outcome.possible else outcome.what
        if not isinstance(outcome, Sizes):
            return ""
        server = self.server(rules, check.state.hybrid_swa)
        for pool in self.pool_checks(check, rules, outcome):
            verdict = server.judge(pool)
            if verdict.leak:
                return f"{pool.pool} {verdict.delta:+d}"
        return ""


def _by_pool(outcome: Outcome) -> dict[str, int | None]:
    return {"full": outcome.full, "swa": outcome.swa} if isinstance(outcome, Sizes) else {}


def _recorded(check: Check) -> dict[str, int | None]:
    return {"full": check.full_uncached, "swa": check.swa_uncached}


def _agrees(check: Check, sizes: Sizes) -> bool:
    """The sizes are the recorded ones; a pool that one side has no sum for is not compared."""
    same_swa = sizes.swa is None or check.swa_uncached is None or sizes.swa == check.swa_uncached
    return sizes.full == check.full_uncached and same_swa


def _sizes_reason(check: Check, sizes: Sizes) -> str:
    said = []
    for name, ours in _by_pool(sizes).items():
        theirs = _recorded(check)[name]
        if ours is not None and theirs is not None and ours != theirs:
            said.append(f"{name} uncached is {ours} by these rules, SGLang {check.sglang} answered {theirs}")
    twice = [name for name, times in Counter(name for name, _ in sizes.counted).items() if times > 1]
    if said and twice:
        said.append(f"counted twice: {', '.join(twice[:5])}")
    return "; ".join(said)


def _parting_reason(rules: str, ours: Outcome, others: str, theirs: Outcome) -> str:
    def words(one: Outcome) -> str:
        if isinstance(one, Sizes):
            return "counts " + (", ".join(f"{name} {tokens}" for name, tokens in one.batches) or "nothing")
        if isinstance(one, Raises):
            return f"{'may die' if one.possible else 'dies'} with {one.what}"
        return f"says nothing ({one.why})"

    return f"{rules} {words(ours)}; {others} {words(theirs)}"
