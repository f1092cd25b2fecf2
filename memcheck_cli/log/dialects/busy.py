"""The texts of the busy check, of the assertion behind it and of the page check that runs inside it."""

from __future__ import annotations

from memcheck_cli.checker import messages
from memcheck_cli.checker.messages import Template
from memcheck_cli.log.dialects.form import LEAK_ERRORS, Dialect

_FIVE = "available + evictable + protected + session_held + uncached = total"
_FOUR = "available + evictable + protected + uncached = max_total_num_tokens"
_ASSERT = ("AssertionError",)

BUSY = (
    Dialect(
        "B3",
        "0.5.11-0.5.23",
        "busy",
        messages.BUSY_HEAD,
        messages.POOL,
        (
            "[2026-06-11 08:15:03 TP1] [Mem Check (BUSY)] [full] total=524288, available=515840, evictable=0, "
            "protected=8192, session_held=0, uncached=256",
            "[2026-06-11 08:15:03.125 DP1 PP0 TP1] [Mem Check (BUSY)] [swa] total=131072, available=126720, "
            "evictable=3840, protected=256, session_held=-64, uncached=512",
            "[2026-06-11 08:15:03] [Mem Check (BUSY)] [full] total=4096, available=3000, evictable=64, protected=0, "
            "session_held=0, uncached=1000, class_free_pages=[10, 12, 9]",
            "[2026-06-11 08:15:03] [Mem Check (BUSY)] [full] total=4096, available=3032, evictable=64, protected=0, "
            "session_held=0, uncached=1000, unaligned_sharded_counts={'available': 3032, 'uncached': 1000}, "
            "page_size=64",
            "[2026-06-11 08:15:03] [Mem Check (BUSY)] [full] total=4096, available=3000, evictable=64, protected=0, "
            "session_held=0, uncached=1008, dcp_physical_page_slack_allowed=True",
            "[2026-06-11 08:15:03] [Mem Check (BUSY)] [full] total=4096, available=3000, evictable=64, protected=0, "
            "session_held=0, uncached=1000, withheld=32",
            "[2026-06-11 08:15:03] [Mem Check (BUSY)] [full] total=4096, available=3000, evictable=64, protected=0, "
            "session_held=0, uncached=1016, withheld=32, double_owned=16, double_owned_src=census",
        ),
        _FIVE,
        notes="One line a pool, full first; mamba servers print [full] only. Names in another order and further "
        "names are read too (see the further names); a name of the six that is missing makes the line torn.",
    ),
    Dialect(
        "B3-empty",
        "0.5.15-0.5.23",
        "busy",
        messages.BUSY_HEAD,
        Template(""),
        ("[2026-06-11 08:15:03 TP0] [Mem Check (BUSY)] ", "[2026-06-11 08:15:03 TP0] [Mem Check (BUSY)]"),
        notes="A model whose layers are all SWA has no full pool: the full line is empty and still opens a check.",
    ),
    Dialect(
        "B4",
        "0.5.20-0.5.23",
        "busy",
        messages.BUSY_HEAD,
        messages.RING,
        (
            "[2026-06-11 08:15:03 TP0] [Mem Check (BUSY)] [swa] unified ring (leak-check skipped): available=900, "
            "evictable=0, total=1024",
            "[2026-06-11 08:15:03 TP0] [Mem Check (BUSY)] [swa] unified ring (leak-check skipped): available=900, "
            "evictable=0, total=None",
        ),
        "none: the server does not check this pool",
        marks=frozenset({"skipped"}),
        notes="Per-request SWA ring allocator. Total stands last and is the static size; the text is never a leak.",
    ),
    Dialect(
        "B1",
        "0.5.6-0.5.10.post1",
        "busy",
        messages.BUSY_HEAD,
        Template(messages.BUSY_FOUR_TERMS.text.removeprefix(messages.BUSY_HEAD)),
        (
            "[2026-01-12 10:57:43 TP3] [Mem Check (BUSY)] available_size=700, evictable_size=200, protected_size=50, "
            "uncached_size=50",
        ),
        _FOUR + "; 0.5.10rc0-0.5.10.post1: ... + session_held, which is not printed",
        pool="full",
        marks=frozenset({"session_unprinted"}),
        notes="No total and no pool name. The total stands in the assertion behind it or in the start-up banner. "
        "Hybrid SWA and mamba servers die on the first busy check instead (NotImplementedError).",
    ),
    Dialect(
        "B2",
        "dev",
        "busy",
        "[Mem Check (BUSY/SWA)] ",
        Template(messages.BUSY_BOTH_POOLS.text.removeprefix("[Mem Check (BUSY/SWA)] ")),
        (
            "[2026-04-02 11:00:09 TP0] [Mem Check (BUSY/SWA)] full: (full_available=700 + full_evictable=200 + "
            "full_protected=50 + full_uncached=50 + full_session_held=0) = 1000 | swa: (swa_available=150 + "
            "swa_evictable=50 + swa_protected=25 + swa_uncached=25 + swa_session_held=0) = 250",
        ),
        "the five printed terms = full_tokens_per_layer or swa_tokens_per_layer, printed in the assertion only",
        notes="Nightly builds between 0.5.10.post1 and 0.5.11. The number behind = is the sum, not the capacity.",
    ),
)

ASSERTIONS = (
    Dialect(
        "assert-full",
        "0.5.11-0.5.23",
        "assertion",
        messages.ASSERTION_FULL,
        messages.POOL,
        (
            "AssertionError: Full Pool Mem Leak Detected! [full] total=524288, available=515584, evictable=0, "
            "protected=8192, session_held=0, uncached=256",
            "E       AssertionError: Full Pool Mem Leak Detected! [full] total=524288, available=515584, evictable=0, "
            "protected=8192, session_held=0, uncached=256",
            "AssertionError: Full Pool Mem Leak Detected! [full] total=4096, available=3032, evictable=64, "
            "protected=0, session_held=0, uncached=1000, unaligned_sharded_counts={'available': 3032}, page_size=64",
        ),
        _FIVE,
        pool="full",
        behind=_ASSERT,
        notes="Repeats the busy text. Full is asserted first: if both pools leak, only this one appears.",
    ),
    Dialect(
        "assert-swa",
        "0.5.11-0.5.23",
        "assertion",
        messages.ASSERTION_SWA,
        messages.POOL,
        (
            "AssertionError: SWA Pool Mem Leak Detected! [swa] total=131072, available=126720, evictable=3840, "
            "protected=256, session_held=0, uncached=512",
        ),
        _FIVE,
        pool="swa",
        behind=_ASSERT,
    ),
    Dialect(
        "assert-sum",
        "0.5.4-0.5.10.post1",
        "assertion",
        "",
        messages.ASSERTION_SUM,
        ("AssertionError: Mem Leak Detected! total_tokens=1000 vs self.max_total_num_tokens=990",),
        _FOUR + " (+ session_held in 0.5.10rc0-0.5.10.post1); the sum is printed first, then the capacity",
        pool="full",
        behind=_ASSERT,
        notes="0.5.4-0.5.5.post3 print no busy line at any level, so this is their only trace; their uncached tokens "
        "are called extend and are not aligned to pages.",
    ),
    Dialect(
        "assert-B2-full",
        "dev",
        "assertion",
        "",
        messages.ASSERTION_BOTH_FULL,
        (
            "AssertionError: Full Pool Mem Leak Detected! full_total=1000 vs self.full_tokens_per_layer=990, "
            "full_available=700, full_evictable=200, full_protected=50, full_uncached=50, full_session_held=0",
        ),
        "the five printed terms = full_tokens_per_layer",
        pool="full",
        behind=_ASSERT,
    ),
    Dialect(
        "assert-B2-swa",
        "dev",
        "assertion",
        "",
        messages.ASSERTION_BOTH_SWA,
        (
            "AssertionError: SWA Pool Mem Leak Detected! swa_total=250 vs self.swa_tokens_per_layer=256, "
            "swa_available=150, swa_evictable=50, swa_protected=25, swa_uncached=25, swa_session_held=0",
        ),
        "the five printed terms = swa_tokens_per_layer",
        pool="swa",
        behind=_ASSERT,
    ),
)

PAGES = (
    Dialect(
        "double-free",
        "0.5.15-0.5.23",
        "pages",
        "",
        messages.DOUBLE_FREE,
        (
            "[2026-06-11 08:15:03 TP0] KV double free: sub-pool 0 has 3 duplicate pages.",
            "ValueError: KV double free: sub-pool 1 has 1 duplicate pages.",
        ),
        "no page stands twice in the free lists",
        what="double-free",
        behind=LEAK_ERRORS,
        notes="Sub-pool 0 is full, 1 is swa. Runs inside the busy check, behind both assertions.",
    ),
    Dialect(
        "use-after-free",
        "0.5.15-0.5.23",
        "pages",
        "",
        messages.USE_AFTER_FREE,
        (
            "[2026-06-11 08:15:03 TP0] KV page use-after-free: 3 owner page refs are in the free pool, "
            "sample pages=[4, 5, 17].",
            "ValueError: KV page use-after-free: 1 owner page refs are in the free pool, sample pages=[9].",
        ),
        "no page that a request owns stands in the free lists",
        what="use-after-free",
        behind=LEAK_ERRORS,
        notes="At most 8 sample pages are printed.",
    ),
)
