"""A scheduler's busy check over time: levels, the ring of messages, what is printed and when it dies, by release.

A `Server` is one scheduler process. It is fed the numbers of one check after the other and answers what the process
prints and how the check ends. Re-implements `self_check_during_busy` and its call at the end of SGLang's event loops.
Numbers are tokens; a *message* is the text behind the time and rank prefix of a log line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memcheck_cli.checker import printing
from memcheck_cli.checker.invariant import (
    DEV_SWA,
    REPORTS_UNALIGNED,
    SKIPS_SWA_RING,
    TOLERATES_DCP_SLACK,
    Verdict,
    equation,
    verdict,
)
from memcheck_cli.checker.printing import PoolCheck
from memcheck_cli.checker.releases import Release, Span, held_to
from memcheck_cli.checker.uncached import TOPK_RETURNS_EARLY

RING_MESSAGES = 1000
"""Messages the ring of level 1 holds: 1000 iterations of a plain model, 500 of a hybrid one."""

BUSY = Span.of("0.5.4")
LEVELS = Span.of("0.5.6")
"""The level is a number; 0.5.4-0.5.5.post3 have a switch, and no text but the assertion."""
RING = Span.of("0.5.13")
"""Level 1 keeps messages and prints them on a leak; before, it prints nothing but the assertion."""
POOL_TEXTS = Span.of("0.5.11")
"""Hybrid and Mamba pools can be checked; before, the check dies on them."""
PAGE_INVARIANTS = Span.of("0.5.15")

LOOPS: Mapping[str, Span | None] = {
    "overlap": Span.of("0.5.4"),
    "normal": Span.of("0.5.6"),
    "mlx-overlap": Span.of("0.5.11"),
    "pp": None,
    "disaggregation": None,
    "pdmux": None,
}
"""Event loops and the releases in which they call the busy check; None: never, whatever the level."""

_OFF_LEVELS = frozenset({"critical", "error", "warning", "warn"})


@dataclass(frozen=True, slots=True)
class Answer:
    """How one check ends.

    checked: the check ran; why says why not. printed: messages in the order they are logged. verdicts: by pool.
    failed: the checker found a leak. raised: the exception as the last line of the traceback, None when the process
    lives on (`python -O` takes the assertions out).
    """

    checked: bool
    printed: tuple[str, ...] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    failed: bool = False
    raised: str | None = None
    why: str = ""


def parse_level(text: str | None) -> tuple[int, str | None]:
    """The level that SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY sets, and the Python warning a bad value gives.

    Unset is 0; a value that is no whole number warns and is 0 too.
    """
    if text is None:
        return 0, None
    try:
        return int(text), None
    except ValueError:
        name = "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY"
        return 0, f'Invalid value for {name}: "{text}" is not a valid integer value, using default "0"'


class Server:
    """One scheduler process with the busy check of `release` at `level`.

    asserts: False under `python -O`. loop: see LOOPS. cache: `radix`, `hybrid` (SWA) or `mamba`. topk: the width of
    speculation. log_level: of the server; busy lines are info. ring_messages: capacity of the ring. page_invariants:
    the page check is on (0.5.15 on); strict: it raises instead of warning. `level` may be set between two checks, as
    the environment is read every time; `all_swa` says whether the model has no full pool (None: told by the pools of a
    check), which prints an empty full line. Release `dev` is the unreleased builds before 0.5.11. Raises ReleaseError.
    """

    def __init__(
        self,
        release: Release | str,
        level: int,
        *,
        asserts: bool = True,
        loop: str = "overlap",
        cache: str = "radix",
        topk: int = 1,
        log_level: str = "info",
        ring_messages: int = RING_MESSAGES,
        page_invariants: bool = False,
        strict: bool = True,
    ) -> None:
        self.dev = release == "dev"
        self.release = held_to("0.5.10.post1" if self.dev else release)
        self.level = level
        self.asserts = asserts
        self.loop = loop
        self.cache = cache
        self.topk = topk
        self.logs_info = log_level.lower() not in _OFF_LEVELS
        self.page_invariants = page_invariants
        self.strict = strict
        self.all_swa: bool | None = None
        self.ring: deque[str] = deque(maxlen=ring_messages)
        self.alive = True
        self.equation = DEV_SWA if self.dev and cache == "hybrid" else equation(self.release)
        self._summed = self.equation.summed if self.equation is not None else ()
        self._tolerates = self.release in TOLERATES_DCP_SLACK
        self._reports_unaligned = self.release in REPORTS_UNALIGNED
        self._skips_ring = self.release in SKIPS_SWA_RING
        self.prints_pools = self.release in POOL_TEXTS
        self.keeps_ring = self.release in RING
        self._warned_topk = False
        self._reports = 0

    def silent(self) -> str | None:
        """Why this process never checks, or None when it does."""
        if self.release not in BUSY:
            return "there is no busy check before 0.5.4"
        span = LOOPS[self.loop]
        if span is None or self.release not in span:
            return f"the {self.loop} loop never calls the check"
        if not self.level:
            return "the level is 0"
        if self.topk > 1 and self.release in TOPK_RETURNS_EARLY:
            return "these releases do not check with a speculation top-k above 1"
        return None

    def check(
        self,
        pools: Sequence[PoolCheck],
        *,
        last_batch: bool = True,
        duplicate_pages: Mapping[int, int] | None = None,
        used_free_pages: Sequence[int] = (),
    ) -> Answer:
        """One iteration of the event loop. `pools`: `full` before `swa`; an all-SWA model has `swa` alone.

        last_batch: False when nothing ran (no check then). duplicate_pages: sub-pool number to pages that are twice in
        its free list; used_free_pages: pages that are owned and free at once: what the page check finds.
        """
        why = self.silent()
        if why is not None:
            warns = "top-k" in why and last_batch and not self._warned_topk
            self._warned_topk = self._warned_topk or warns
            return Answer(False, (printing.TOPK_WARNING,) if warns else (), why=why)
        if not last_batch:
            return Answer(False, why="no last batch: nothing ran in this iteration")
        if not self.dev and self.release not in POOL_TEXTS and self.cache != "radix":
            self.alive = False
            return Answer(True, raised="NotImplementedError", why="the check cannot read these pools")
        verdicts = {pool.pool: self.judge(pool) for pool in pools if pool.total is not None and not self.skips(pool)}
        messages = self.messages(pools)
        failed = any(one.leak for one in verdicts.values())
        printed: tuple[str, ...] = self._print(messages, failed)
        raised = None
        if failed and self.asserts:
            raised = f"AssertionError: {self.assertion(pools, verdicts)}"
        elif self.page_invariants and self.release in PAGE_INVARIANTS and not self.dev:
            raised, warnings = self._page_check(duplicate_pages or {}, used_free_pages)
            printed += warnings
        self.alive = raised is None
        return Answer(True, printed, verdicts, failed, raised)

    def skips(self, pool: PoolCheck) -> bool:
        """Whether this release prints the pool and never compares it (the SWA ring since 0.5.20)."""
        return pool.ring and self._skips_ring

    def judge(self, pool: PoolCheck) -> Verdict:
        """The verdict on one pool under the equation of this release. An unknown total counts 0: ask for none then."""
        return verdict(
            pool.terms,
            pool.total or 0,
            summed=self._summed,
            tolerated=self.tolerates(pool),
            reported=self.reports(pool),
            extra=pool.extra_sum,
        )

    def tolerates(self, pool: PoolCheck) -> bool:
        """Whether this release lets an imbalance of the pool pass (DCP page slack, 0.5.15 on)."""
        return pool.dcp_slack_allowed and self._tolerates

    def reports(self, pool: PoolCheck) -> bool:
        """Whether the pool is a leak whatever its sum: unaligned counts (0.5.21 on), a fork's duplicate slots."""
        return pool.duplicates or (bool(pool.unaligned) and self._reports_unaligned)

    def messages(self, pools: Sequence[PoolCheck]) -> tuple[str, ...]:
        """The busy messages of one check, as level 2 prints them and level 1 keeps them."""
        if self.dev and self.cache == "hybrid":
            return (printing.both_pools(pools),)
        if self.release not in LEVELS:
            return ()
        if self.release not in POOL_TEXTS:
            return tuple(printing.without_total(pool) for pool in pools[:1])
        texts = [printing.busy_line(self.pool_text(pool)) for pool in pools]
        all_swa = self.all_swa if self.all_swa is not None else bool(pools) and pools[0].pool != "full"
        if all_swa:
            texts.insert(0, printing.busy_line(""))
        return tuple(texts)

    def pool_text(self, pool: PoolCheck) -> str:
        """The text of one pool with the suffixes this release knows."""
        if self.skips(pool):
            return printing.ring_text(pool)
        unaligned = pool.unaligned if self._reports_unaligned else None
        tolerated = pool.dcp_slack_allowed and pool.total is not None and self.judge(pool).tolerated
        classes = pool.class_free_pages if self._reports_unaligned else None
        return printing.pool_text(pool, class_free_pages=classes, unaligned=unaligned, tolerated=tolerated)

    def assertion(self, pools: Sequence[PoolCheck], verdicts: Mapping[str, Verdict]) -> str:
        """The text of the assertion: full before SWA, so with both leaking only the full pool is named."""
        leaking = next(pool for pool in pools if pool.pool in verdicts and verdicts[pool.pool].leak)
        if self.dev and self.cache == "hybrid":
            return printing.dev_assertion(leaking, verdicts[leaking.pool].accounted)
        if self.release not in POOL_TEXTS:
            return printing.old_assertion(verdicts[leaking.pool].accounted, leaking.total)
        return printing.assertion(leaking.pool, self.pool_text(leaking))

    def _print(self, messages: tuple[str, ...], failed: bool) -> tuple[str, ...]:
        printed: tuple[str, ...] = ()
        if self.level > 1:
            printed = messages
        elif self.level == 1 and self.keeps_ring:
            self.ring.extend(messages)
            printed = tuple(self.ring) if failed else ()
        return printed if self.logs_info else ()

    def _page_check(self, duplicates: Mapping[int, int], used: Sequence[int]) -> tuple[str | None, tuple[str, ...]]:
        found = [printing.double_free(pool, pages) for pool, pages in duplicates.items() if pages]
        if used:
            found.append(printing.use_after_free(len(used), used))
        warnings: list[str] = []
        for text in found:
            if self.strict:
                return f"ValueError: {text}", tuple(warnings)
            if self._reports % 1000 == 0:
                warnings.append(text)
            self._reports += 1
        return None, tuple(warnings)
