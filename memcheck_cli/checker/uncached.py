"""The uncached sizes: how many tokens the requests in flight own beyond what the prefix cache protects, by release.

`RULES` has one row per release span: which batches count, which requests are left out, what is added up for each.
`uncached_sizes` applies a row to a `State`. Sizes are in tokens.

Re-implements `_get_batch_uncached_size` and its callers in SGLang's `SchedulerRuntimeCheckerMixin`
(0.5.4-0.5.12.post1), and `_get_total_uncached_sizes` of later releases; `session_held` re-implements what those
releases add for streaming sessions. The ways in which that code can die are outcomes of their own (`Raises`).
"""

from __future__ import annotations

from dataclasses import dataclass

from memcheck_cli.checker.releases import Release, Span, held_to
from memcheck_cli.checker.state import Batch, Request, State

LAST_IS_EXTEND_RUNNING_DECODES = "last is extend, running decodes and is not empty"
LAST_IS_EXTEND = "last is extend and running is not empty"
NOT_EQUAL = "running is not equal to last"
NOT_SAME = "running is not the same object as last"


@dataclass(frozen=True, slots=True)
class UncachedRule:
    """How one span of releases counts.

    running: when the running batch counts besides the last one (one of the constants of this module). parked: the
    chunked-prefill request counts too, and each request object once. slotless: requests without a row in the request
    pool are left out. session_requests: requests that run on a session's KV record are left out (the session counts
    them). freed: how the release tells that a request holds no KV. two_flags: the release asserts that the committed
    and the over-allocated flag agree. beams: beam groups add tokens. swa: `none` (no SWA sum: the check dies on
    hybrid models), `max`, or `dead-range`. transient: in-flight loads from the host cache add to the SWA sum.
    sessions: which session rows make up session_held: `none`, `all` (each, even one a request in flight uses),
    `idle` (only those no request in the two batches uses), `rows` (each; the request side is left out instead).
    function: the SGLang function.
    """

    id: str
    releases: Span
    running: str
    freed: str
    function: str
    parked: bool = False
    slotless: bool = False
    session_requests: bool = False
    two_flags: bool = False
    beams: bool = False
    swa: str = "max"
    transient: bool = False
    sessions: str = "idle"
    by_length: bool = False


_MIXIN = "SchedulerRuntimeCheckerMixin._get_batch_uncached_size"
_TOTAL = "_get_total_uncached_sizes"
_FLAG = "kv_committed_freed"

RULES: tuple[UncachedRule, ...] = (
    UncachedRule(
        "0.5.4",
        Span.of("0.5.4", "0.5.5.post3"),
        LAST_IS_EXTEND_RUNNING_DECODES,
        "finished",
        "SchedulerRuntimeCheckerMixin.self_check_during_busy",
        swa="none",
        sessions="none",
        by_length=True,
    ),
    UncachedRule(
        "0.5.6", Span.of("0.5.6", "0.5.9"), LAST_IS_EXTEND, _FLAG, _MIXIN, two_flags=True, swa="none", sessions="none"
    ),
    UncachedRule(
        "0.5.10",
        Span.of("0.5.10rc0", "0.5.10.post1"),
        LAST_IS_EXTEND,
        _FLAG,
        _MIXIN,
        two_flags=True,
        swa="none",
        sessions="all",
    ),
    UncachedRule("0.5.11", Span.of("0.5.11", "0.5.12.post1"), NOT_EQUAL, _FLAG, _MIXIN, slotless=True, two_flags=True),
    UncachedRule("0.5.13", Span.of("0.5.13", "0.5.15.post1"), NOT_SAME, _FLAG, _TOTAL, slotless=True, two_flags=True),
    UncachedRule("0.5.16", Span.of("0.5.16", "0.5.18"), NOT_SAME, "kv is None", _TOTAL, slotless=True),
    UncachedRule("0.5.19", Span.of("0.5.19", "0.5.19"), NOT_SAME, "not holds_kv", _TOTAL, slotless=True, beams=True),
    UncachedRule(
        "0.5.20",
        Span.of("0.5.20", "0.5.21"),
        NOT_SAME,
        "not holds_kv",
        _TOTAL,
        parked=True,
        slotless=True,
        beams=True,
        transient=True,
    ),
    UncachedRule(
        "0.5.22",
        Span.of("0.5.22"),
        NOT_SAME,
        "not holds_kv",
        _TOTAL,
        parked=True,
        slotless=True,
        session_requests=True,
        beams=True,
        swa="dead-range",
        transient=True,
        sessions="rows",
    ),
)
"""The rows of released versions, oldest first."""

DEV_RULE = UncachedRule(
    "dev",
    Span.of("0.5.10.post1", "0.5.11"),
    LAST_IS_EXTEND,
    _FLAG,
    _MIXIN,
    slotless=True,
    two_flags=True,
    sessions="all",
)
"""Development builds between 0.5.10.post1 and 0.5.11: their separate SWA path adds the running batch when it is not
the last one (an identity test), the plain path still when the last batch is extend."""

TOPK_RETURNS_EARLY = Span.of("0.5.7", "0.5.12.post1")
"""With a speculation top-k above 1 these releases warn once and never check."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the checker adds up. full, swa: tokens; swa is 0 off hybrid models and None where the release has no such
    sum. batches: (batch id, full tokens) of every batch it asked about, in order (`parked` for the chunked request).
    counted: (request id, full tokens) of every request that entered, in order; an id twice was counted twice.
    session_held: tokens by pool that the rule takes from the recorded session rows.
    assumed: what the recording does not hold and was taken as absent."""

    full: int
    swa: int | None
    batches: tuple[tuple[str, int], ...]
    counted: tuple[tuple[str, int], ...]
    session_held: tuple[int, int] = (0, 0)
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Raises:
    """The checker itself dies. what: the exception as the traceback ends; function: where; why: one sentence.
    possible: it depends on values that a recording does not hold (tensors), so the check may also have come through;
    `otherwise` are the answers it may then have given."""

    what: str
    function: str
    why: str
    possible: bool = False
    otherwise: tuple[Sizes, ...] = ()


@dataclass(frozen=True, slots=True)
class NotChecked:
    """The release runs no check here; why says so."""

    why: str


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """The rule counts with fields that the recording does not hold."""

    why: str


Outcome = Sizes | Raises | NotChecked | NotRecorded


def rule_of(of: Release | str) -> UncachedRule | None:
    """The rule of a release (`dev`: the unreleased builds before 0.5.11); None before 0.5.4, which had no busy check.

    Raises ReleaseError.
    """
    if of == "dev":
        return DEV_RULE
    one = held_to(of)
    for row in RULES:
        if one in row.releases:
            return row
    return None


def ceil_align(length: int, page_size: int) -> int:
    """`length` tokens rounded up to whole pages of `page_size` tokens."""
    return -(-length // page_size) * page_size


class _BareAssertionError(Exception):
    """An assertion without a message in the re-implemented path; args: why."""


def request_sizes(request: Request, page_size: int, rule: UncachedRule) -> tuple[int, int] | None:
    """(full, swa) tokens of one request that counts, None when it is left out. Raises the bare assertions as
    `_BareAssertionError`."""
    if rule.two_flags and request.overallocated_freed is not None and request.freed != request.overallocated_freed:
        raise _BareAssertionError(f"{request.id}: kv_committed_freed and kv_overallocated_freed differ")
    if request.freed or (rule.slotless and request.req_pool_idx is None):
        return None
    if rule.session_requests and request.session_owned:
        return None
    return record_sizes(request, page_size, rule)


def record_sizes(request: Request, page_size: int, rule: UncachedRule) -> tuple[int, int]:
    """(full, swa) tokens of a KV record, whoever owns it.

    full: pages allocated minus what the cache protects. swa, up to 0.5.21: minus the larger of that and what the
    window has evicted; since 0.5.22: minus that and the evicted tokens behind it that are really dead, which begin at
    the eviction floor where there is one.
    """
    protected = request.cache_protected_len
    if protected % page_size:
        raise _BareAssertionError(
            f"{request.id}: cache_protected_len={protected} is no multiple of page_size={page_size}"
        )
    allocated = ceil_align(request.kv_allocated_len, page_size)
    extra = request.beam_extra if rule.beams else 0
    full = allocated - protected
    if rule.swa == "dead-range":
        dead_from = max(protected, request.swa_evict_floor)
        swa = allocated - protected - max(0, request.swa_evicted_seqlen - dead_from)
    else:
        swa = allocated - max(protected, request.swa_evicted_seqlen)
    return full + extra, swa + extra


def _by_length(request: Request, last: Batch, *, running: bool) -> int | None:
    """0.5.4-0.5.5.post3: tokens by sequence lengths, without pages. None where a length was not recorded."""
    if last.is_extend and not running:
        length, less = request.fill_len, 0
    else:
        if request.finished is None:
            return None
        if request.finished:
            return 0 if running else 1
        length, less = request.seq_len, (1 if running else 0)
    if length is None or request.prefix_len is None:
        return None
    return length - request.prefix_len - less


def _same_requests(one: Batch, other: Batch) -> bool:
    return [request.id for request in one.requests] == [request.id for request in other.requests]


def _running_counts(rule: str, last: Batch, running: Batch | None) -> bool | None:
    """Whether the running batch counts beside the last. None: the comparison may raise."""
    if running is None:
        return False
    if rule == LAST_IS_EXTEND_RUNNING_DECODES:
        return last.is_extend and running.is_decode and not running.is_empty
    if rule == LAST_IS_EXTEND:
        return last.is_extend and not running.is_empty
    if running.id == last.id:
        return False
    if rule == NOT_SAME:
        return True
    # Equality of dataclasses compares field by field: the request lists come first, the forward mode before any tensor.
    if not _same_requests(last, running) or last.forward_mode != running.forward_mode:
        return True
    return None


def uncached_sizes(state: State, rules: Release | str | UncachedRule) -> Outcome:
    """The uncached sizes of `state` under the rules of a release, or what happens instead.

    Raises ReleaseError for a text that names no release, or one without any rules.
    """
    rule = rules if isinstance(rules, UncachedRule) else rule_of(rules)
    if rule is None:
        return NotChecked("the busy check exists since 0.5.4")
    last, running = state.last_batch, state.running_batch
    if last is None:
        return NotChecked("no last batch: nothing ran in this iteration")
    topk = state.speculative_topk
    if topk is not None and topk > 1 and not isinstance(rules, UncachedRule) and rules != "dev":
        one = held_to(rules)
        if one in TOPK_RETURNS_EARLY:
            return NotChecked("these releases do not check with a speculation top-k above 1")
    if rule.swa == "none" and state.hybrid_swa:
        return Raises("NotImplementedError", rule.function, "the check of these releases cannot read hybrid pools")
    swa_running = NOT_SAME if rule is DEV_RULE and state.hybrid_swa else rule.running
    counts = _running_counts(swa_running, last, running)
    try:
        if counts is None:
            answers = (_total(state, rule, last, None), _total(state, rule, last, running))
            return Raises(
                "RuntimeError: Boolean value of Tensor with more than one value is ambiguous",
                rule.function,
                "two batches with the same requests are compared field by field, tensors among them",
                possible=True,
                otherwise=tuple(answer for answer in answers if isinstance(answer, Sizes)),
            )
        return _total(state, rule, last, running if counts else None)
    except _BareAssertionError as dead:
        return Raises("AssertionError", rule.function, str(dead))


def _total(state: State, rule: UncachedRule, last: Batch, running: Batch | None) -> Sizes | NotRecorded:
    full = swa = 0
    batches: list[tuple[str, int]] = []
    counted: list[tuple[str, int]] = []
    seen: set[str] = set()
    owners: list[tuple[str, tuple[Request, ...]]] = [(last.id, last.requests)]
    if running is not None:
        owners.append((running.id, running.requests))
    if rule.parked and state.chunked_req is not None:
        owners.append(("parked", (state.chunked_req,)))
    for owner, requests in owners:
        batch_full = 0
        for request in requests:
            if rule.parked:
                if request.id in seen:
                    continue
                seen.add(request.id)
            if rule.by_length:
                size = _by_length(request, last, running=owner != last.id)
                if size is None:
                    return NotRecorded(f"{request.id}: this rule counts with seq_len, fill_len, prefix_len, finished")
                sizes: tuple[int, int] | None = (size, 0)
            else:
                sizes = request_sizes(request, state.page_size, rule)
            if sizes is None:
                continue
            batch_full += sizes[0]
            swa += sizes[1]
            counted.append((request.id, sizes[0]))
        full += batch_full
        batches.append((owner, batch_full))
    if rule.transient:
        swa += state.swa_transient
    assumed = []
    if rule.parked and not state.chunked_recorded:
        assumed.append("chunked_req")
    if rule.sessions != "none" and state.sessions is None:
        assumed.append("sessions")
    swa_answer = None if rule.swa == "none" else swa if state.hybrid_swa else 0
    held = session_held(state, rule)
    return Sizes(full, swa_answer, tuple(batches), tuple(counted), held, tuple(assumed))


def session_held(state: State, rule: UncachedRule) -> tuple[int, int]:
    """(full, swa) tokens that `rule` counts as held by streaming sessions, from the recorded session rows."""
    if rule.sessions == "none" or not state.sessions:
        return (0, 0)
    in_flight = {
        request.req_pool_idx
        for batch in (state.last_batch, state.running_batch)
        if batch is not None
        for request in batch.requests
        if request.req_pool_idx is not None
    }
    full = swa = 0
    for row in state.sessions:
        if row.freed or (rule.sessions == "idle" and row.req_pool_idx in in_flight):
            continue
        sizes = record_sizes(row, state.page_size, rule)
        full += sizes[0]
        swa += sizes[1]
    return full, (swa if state.hybrid_swa else 0)


def owner_assertion(request: Request, row_width: int | None = None) -> Raises | None:
    """The bare assertion of the page-invariant check (0.5.15 on, `_add_owner`): 0 <= committed <= allocated <= width.

    row_width: tokens a row of the request pool holds, None when unknown.
    """
    committed, allocated = request.kv_committed_len, request.kv_allocated_len
    if 0 <= committed <= allocated and (row_width is None or allocated <= row_width):
        return None
    return Raises(
        "AssertionError",
        "_add_owner",
        f"{request.id}: 0 <= {committed} <= {allocated} <= {'?' if row_width is None else row_width} does not hold",
    )
