"""A self-contained pytest file with the recorded numbers around a break.

The file imports nothing but pytest. It holds the numbers, the rule in a few lines, and a test for each of them: replace
the rule by the code under test and it says whether that code counts the same. Numbers are tokens (slots for the mamba
and request pools).
"""

from __future__ import annotations

import ast
import pprint
from collections import deque
from collections.abc import Sequence
from typing import Any

from memcheck_cli.checker.invariant import DEV_SWA, Verdict, equation
from memcheck_cli.checker.printing import PoolCheck
from memcheck_cli.checker.state import Batch, Request
from memcheck_cli.checker.terms import TERMS
from memcheck_cli.checker.uncached import (
    LAST_IS_EXTEND,
    NOT_EQUAL,
    Sizes,
    rule_of,
)
from memcheck_cli.errors import UsageError
from memcheck_cli.recording import Check
from memcheck_cli.replaying.judgements import Judgement

BEFORE = 6
"""Checks before the break that go into the file."""
BEHIND = 2
"""Checks behind it."""


def plain(text: str, limit: int = 120) -> str:
    """`text` fit for a docstring or comment: ASCII on one line, without quotes and backslashes."""
    kept = "".join(letter if " " <= letter <= "~" and letter not in "\"'\\" else "?" for letter in text)
    return kept[:limit]


class Window:
    """Keeps the records around the first break of one log: `judged` is given every record in order."""

    def __init__(self) -> None:
        self.records: list[Judgement] = []
        self.broken: Judgement | None = None
        self._recent: dict[tuple[int, str | None, str], deque[Judgement]] = {}
        self._checks_left = BEHIND

    def judged(self, judgement: Judgement) -> None:
        """One more record."""
        if judgement.ours is None or judgement.pool.ring:
            return
        place = judgement.place
        key = (place.run, place.process, place.rank)
        if self.broken is not None:
            first = self.broken.place
            if key == (first.run, first.process, first.rank) and self._checks_left:
                if (place.check, place.iteration) != (self.records[-1].place.check, self.records[-1].place.iteration):
                    self._checks_left -= 1
                if self._checks_left:
                    self.records.append(judgement)
            return
        recent = self._recent.setdefault(key, deque(maxlen=2 * BEFORE + 2))
        recent.append(judgement)
        if judgement.ours.leak:
            self.broken = judgement
            self.records = list(recent)


_LOG = '''"""The pool check around the first break of {source}.

{where}
Rules of SGLang {rules}, in tokens (slots for mamba and req):
    {equation} == total, else the check fails.
Replace `accounted` by the code under test; the records are the numbers that the server printed.
"""

import pytest

SUMMED = {summed}

# iteration (None: an idle report), line of the log, pool, total, printed terms, what the sum is off by
RECORDS = {records}


def accounted(terms):
    """The tokens that somebody owns."""
    return sum(terms.get(name, 0) for name in SUMMED)


@pytest.mark.parametrize(("iteration", "line", "pool", "total", "terms", "delta"), RECORDS)
def test_sum(iteration, line, pool, total, terms, delta):
    assert accounted(terms) - total == delta


def test_first_break():
    broken = [record[:3] for record in RECORDS if accounted(record[4]) != record[3]]
    assert broken[0] == {first}
'''


def log_test(window: Window, source: str, summed: Sequence[str]) -> str | None:
    """The test file for a log, or None where nothing that the sum shows breaks."""
    broken = window.broken
    if broken is None or broken.ours is None:
        return None
    records = []
    first = None
    for one in window.records:
        terms = dict(one.pool.terms)
        if one.pool.extra_sum:
            terms["correction"] = one.pool.extra_sum
        shown = {name: number for name, number in terms.items() if name in summed or name == "correction"}
        delta = sum(shown.values()) - (one.pool.total or 0)
        place = one.place
        records.append((place.iteration, place.line, place.pool, one.pool.total, terms, delta))
        if first is None and delta:
            first = (place.iteration, place.line, place.pool)
    if first is None:
        return None
    names = (*summed, "correction") if any("correction" in row[4] for row in records) else summed
    place = broken.place
    rank = "" if place.rank == "-" else f" of rank {plain(place.rank)}"
    when = f"iteration {place.iteration}" if place.iteration is not None else "an idle report"
    where = f"Pool {plain(place.pool)}{rank}, {when}, line {place.line}: off by {broken.ours.delta:+d}."
    return _LOG.format(
        source=plain(source),
        where=where,
        rules=plain(broken.rules),
        equation=" + ".join(names),
        summed=_literal(tuple(names)),
        records=_literal(records),
        first=_literal(first),
    )


_RECORDING = '''"""The uncached sizes around check {iteration} of {source}.

{where}
The rule is that of SGLang {rules} (`{function}`). Replace `uncached` by the code under test; the states are what the
checker looked at, `recorded` is what SGLang {release} itself answered. Unit: tokens.
"""

import pytest

# One state a check: batches with their requests, the page size, what SGLang answered, what this rule gives.
CHECKS = {checks}


def request_sizes(request, page_size):
    """Full and SWA tokens of one request, or None where it is left out."""
{skips}
    protected = request["cache_protected_len"]
    assert protected % page_size == 0
    allocated = -(-request["kv_allocated_len"] // page_size) * page_size
    evicted = request["swa_evicted_seqlen"]
{swa}
    return allocated - protected{beams}, swa{beams}


def uncached(check):
    """Full and SWA tokens that the requests in flight own beyond what the cache protects."""
    last, running = check["last_batch"], check["running_batch"]
    batches = [last]
    if running is not None and {running}:
        batches.append(running)
    requests = [request for batch in batches for request in batch["reqs"]]
{owners}
    sizes = [size for request in requests if (size := request_sizes(request, check["page_size"])) is not None]
    swa = sum(size[1] for size in sizes) + {transient}
    return sum(size[0] for size in sizes), swa if check["hybrid_swa"] else 0


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["check"])
def test_uncached(check):
    assert uncached(check) == check["by_this_rule"]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["check"])
def test_pools(check):
    full, swa = uncached(check)
    for pool, numbers in check["pools"].items():
        terms = numbers["available"] + numbers["evictable"] + numbers["protected"] + numbers["session_held"]
        assert terms + (swa if pool == "swa" else full) - numbers["total"] == check["off_by"][pool]
'''

_RUNNING = {
    LAST_IS_EXTEND: 'last["is_extend"] and not running["is_empty"]',
    NOT_EQUAL: 'running["id"] != last["id"] and not running["equal_to_last"]',
}
"""The condition under which the running batch counts too; any other rule goes by identity. 0.5.11-0.5.12.post1 compare
by equality: what came of that cannot be told from the requests, so it is written down."""


class RecordingWindow:
    """Keeps the checks around the first break or disagreement of one recording."""

    def __init__(self) -> None:
        self.checks: list[dict[str, Any]] = []
        self.at: int | None = None
        self.where = ""
        self.release = ""
        self.rules = ""
        self._recent: deque[dict[str, Any]] = deque(maxlen=BEFORE + 1)
        self._left = BEHIND

    def add(self, check: Check, rules: str, sizes: Sizes, pools: Sequence[tuple[PoolCheck, Verdict]], why: str) -> None:
        """One more check with its recomputed sizes; `why` says what is wrong with it, or nothing."""
        if self.at is None:
            self._recent.append(_state(check, rules, sizes, pools))
            if why:
                self.at, self.where, self.release, self.rules = check.check, why, check.sglang, rules
                self.checks = list(self._recent)
        elif self._left:
            self._left -= 1
            self.checks.append(_state(check, rules, sizes, pools))


def _state(check: Check, rules: str, sizes: Sizes, pools: Sequence[tuple[PoolCheck, Verdict]]) -> dict[str, Any]:
    """A check as plain data, with what this rule gives."""
    state = check.state
    last, running = state.last_batch, state.running_batch
    chunked = state.chunked_req
    return {
        "check": check.check,
        "page_size": state.page_size,
        "hybrid_swa": state.hybrid_swa,
        "swa_transient": state.swa_transient,
        "last_batch": None if last is None else _batch(last),
        "running_batch": None if running is None else _batch(running) | {"equal_to_last": _equal(last, running, sizes)},
        "chunked_req": None if chunked is None else _request(chunked),
        "pools": {pool.pool: _summed(pool, rules) for pool, _ in pools},
        "recorded": {"full": check.full_uncached, "swa": check.swa_uncached},
        "by_this_rule": (sizes.full, sizes.swa or 0),
        "off_by": {pool.pool: verdict.delta for pool, verdict in pools},
    }


def _summed(pool: PoolCheck, rules: str) -> dict[str, int | None]:
    """The total and the terms that `rules` sum besides uncached; one they do not sum is 0."""
    row = DEV_SWA if rules == "dev" else equation(rules)
    summed = TERMS if row is None else row.summed
    names = [name for name in TERMS if name != "uncached"]
    return {"total": pool.total, **{name: pool.terms.get(name, 0) if name in summed else 0 for name in names}}


def _equal(last: Batch | None, running: Batch, sizes: Sizes) -> bool:
    """The comparison by equality found the two batches equal: the same requests in two objects, and one was counted."""
    same = last is not None and [one.id for one in last.requests] == [one.id for one in running.requests]
    return last is not None and last.id != running.id and same and running.id not in dict(sizes.batches)


def _batch(batch: Batch) -> dict[str, Any]:
    return {
        "id": batch.id,
        "is_extend": batch.is_extend,
        "is_empty": batch.is_empty,
        "reqs": [_request(request) for request in batch.requests],
    }


def _request(request: Request) -> dict[str, Any]:
    names = ("id", "req_pool_idx", "kv_allocated_len", "cache_protected_len", "swa_evicted_seqlen", "swa_evict_floor")
    return {name: getattr(request, name) for name in (*names, "freed", "session_owned", "beam_extra")}


def recording_test(window: RecordingWindow, source: str) -> str | None:
    """The test file for a recording, or None where nothing in it breaks or disagrees.

    Raises UsageError for rules that count by sequence lengths (0.5.4-0.5.5.post3).
    """
    if window.at is None:
        return None
    rule = rule_of(window.rules)
    if rule is None or rule.by_length or window.rules == "dev":
        raise UsageError(f"--as-test knows no rule of {window.rules} to write down")
    skips = ['    if request["freed"]:', "        return None"]
    if rule.slotless:
        skips += ['    if request["req_pool_idx"] is None:', "        return None"]
    if rule.session_requests:
        skips += ['    if request["session_owned"]:', "        return None"]
    if rule.swa == "dead-range":
        swa = '    swa = allocated - protected - max(0, evicted - max(protected, request["swa_evict_floor"]))'
    else:
        swa = "    swa = allocated - max(protected, evicted)"
    running = _RUNNING.get(rule.running, 'running["id"] != last["id"]')
    owners = []
    if rule.parked:
        owners = [
            '    if check["chunked_req"] is not None:',
            '        requests.append(check["chunked_req"])',
            '    requests = list({request["id"]: request for request in reversed(requests)}.values())',
        ]
    return _RECORDING.format(
        iteration=window.at,
        source=plain(source),
        where=plain(window.where, 400),
        rules=plain(window.rules),
        function=rule.function,
        release=plain(window.release),
        checks=_literal(window.checks),
        beams=' + request["beam_extra"]' if rule.beams else "",
        skips="\n".join(skips),
        swa=swa,
        running=running,
        owners="\n".join(owners) or "    # every batch counts its requests, twice where two batches hold them",
        transient='check["swa_transient"]' if rule.transient else "0",
    )


def _literal(value: object) -> str:
    """`value` as Python source that gives it back."""
    text = pprint.pformat(value, width=110, compact=True, sort_dicts=False)
    assert ast.literal_eval(text) == value
    return text
