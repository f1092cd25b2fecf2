"""Signatures of how a break goes on, and of which ranks see it."""

from __future__ import annotations

from memcheck_cli.forensics.signatures import lasting, numbers, setting
from memcheck_cli.forensics.signatures.model import CAPACITY, CORRUPTION, REPO, Signature
from memcheck_cli.forensics.signatures.proofs import either

COURSES: tuple[Signature, ...] = (
    Signature(
        id="one-per-iteration",
        title="One unit more in every iteration",
        seen="the difference changes by one in each of several iterations that follow each other",
        points_to="points to the wrong owner of a token per decode step: each step relays its state and drops one",
        against="Steps in which nothing is lost although requests decode.",
        harm=CAPACITY,
        separate="Speculation off: a plain decode inside a speculative scheduler is the known case.",
        strength=79,
        needs=(either(numbers.leak, numbers.overcount), lasting.one_per_iteration),
        firmer=((setting.speculation, 2),),
    ),
    Signature(
        id="gone-again",
        title="The sum balances again",
        seen="a check breaks and a later one of the same pool balances, without a flush between",
        points_to="points to an owner that the check missed or counted twice for a while (a false alarm), or to a "
        "second fault that hides the first: a page lost and another freed twice cancel out",
        against="A flush or restart between the two.",
        harm=CORRUPTION,
        separate="SGLANG_CHECK_KV_PAGE_INVARIANTS=1 (0.5.15 on): duplicates say that two faults cancel, silence says "
        "that the check was wrong for a while.",
        strength=66,
        needs=(either(numbers.leak, numbers.overcount), lasting.gone_again),
        unless=(lasting.flushed_between,),
        urls=(f"{REPO}/pull/22753",),
    ),
    Signature(
        id="same-each-time",
        title="The same amount each time",
        seen="the difference grows by one and the same amount",
        points_to="points to one path that drops the same thing each time it runs",
        against="An amount that follows the length of the requests.",
        harm=CAPACITY,
        separate="Count what runs as often as the difference grows: requests, retractions, sessions, weight updates.",
        strength=51,
        needs=(either(numbers.leak, numbers.overcount), lasting.grows_alike),
        unless=(lasting.one_per_iteration,),
    ),
    Signature(
        id="grows-per-cycle",
        title="Another amount each cycle",
        seen="the difference grows by varying amounts",
        points_to="points to something whose size varies and that is dropped as a whole once per cycle (a tree, a "
        "donor of a plugin)",
        against="The same amount each time.",
        harm=CAPACITY,
        separate="Compare the amounts with the size of the tree (evictable) before each cycle.",
        strength=51,
        needs=(either(numbers.leak, numbers.overcount), lasting.grows),
    ),
    Signature(
        id="startup-of-transfer",
        title="Once on a disaggregated server, never again",
        seen="disaggregated prefill or decode, a loss that stays the same in every report",
        points_to="points to something that is set up once for the transfer and counted nowhere",
        against="A loss that grows with requests.",
        harm=CAPACITY,
        separate="Keep it running with the idle check's warning: a constant is harmless, a growing one is not.",
        strength=49,
        needs=(numbers.leak, setting.disaggregated, lasting.stays),
        fix="Pull 6276.",
        urls=(f"{REPO}/issues/6258", f"{REPO}/pull/6276"),
    ),
    Signature(
        id="one-rank-only",
        title="Only some ranks break, or their numbers differ",
        seen="tensor-parallel peers run in lock step and one of them prints other numbers",
        points_to="points to something that differs from rank to rank: acknowledgements of copies, a local decision, a "
        "rank's own allocator",
        against="All ranks with the same numbers.",
        harm=CAPACITY,
        separate="HiCache and storage backends off: their acknowledgements are per rank.",
        strength=53,
        needs=(either(lasting.only_this_rank, lasting.parted_before, lasting.peers_silent),),
        firmer=((lasting.parted_before, 20), (setting.hicache, 1)),
        weaker=((lasting.only_silence, 10),),
        urls=("https://github.com/bytedance-iaas/sglang/pull/748",),
    ),
    Signature(
        id="all-ranks-alike",
        title="All ranks report the same numbers",
        seen="tensor-parallel peers report one and the same break",
        points_to="points to the scheduler's deterministic path, the same on every rank: one event, not several",
        against="A rank whose numbers differ.",
        harm=CAPACITY,
        separate="One rank's log is enough.",
        strength=38,
        needs=(lasting.alike_on_ranks,),
        urls=(f"{REPO}/issues/36081", f"{REPO}/pull/34823"),
    ),
)
