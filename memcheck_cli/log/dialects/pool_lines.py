"""Pool texts on a line of their own: further pools of an idle report, or a watchdog dump, which is no check."""

from __future__ import annotations

from memcheck_cli.checker import messages
from memcheck_cli.checker.messages import Template
from memcheck_cli.log.dialects.form import Dialect
from memcheck_cli.log.dialects.idle import FIVE, FULL_LINE, G_HYBRID, G_RADIX, MAMBA, MAMBA_FULL, RADIX

_SWA_LINE = "self.swa_tokens_per_layer={total}, swa_available_size={available}, swa_evictable_size={evictable}, "
_MAMBA_SLOTS = Template(
    "mamba_available_size={available}, mamba_evictable_size={evictable}, "
    "self.req_to_token_pool.mamba_pool.size={total}, self.tree_cache.mamba_protected_size()={protected}"
)

POOL_LINES = (
    Dialect(
        "pool",
        "0.5.11-0.5.23",
        "pool",
        "",
        messages.POOL,
        (
            "[swa] total=65536, available=64896, evictable=592, protected=0, session_held=0, uncached=0",
            "[swa]  total=65536, available=64896, evictable=592, protected=0, session_held=0, uncached=0",
            "[mamba] total=24, available=20, evictable=3, protected=0, session_held=0, uncached=0, "
            "leaked_full_pages=None, leaked_mamba_pages={17}",
            "[mamba-active] total=24, available=20, evictable=3, protected=0, session_held=0, uncached=0",
            "[mamba-int8] total=24, available=20, evictable=4, protected=0, session_held=0, uncached=0",
            "[mamba] total=20, available=19, evictable=1, protected=0, session_held=0, uncached=0, withheld=0, "
            "double_owned=0, double_owned_src=census, free_list_duplicates=1, duplicate_slot_ids=[4], "
            "free_and_cached=0",
        ),
        FIVE,
        notes="A further pool of an idle report, or a pool in a watchdog dump, which is no check: it is taken while "
        "the server is busy and counts uncached as 0.",
    ),
    Dialect(
        "pool-short",
        "0.5.11-0.5.23",
        "pool",
        "",
        messages.POOL_SHORT,
        (
            "[swa] total=10808064, available=10807552, evictable=1024, protected=0",
            "[swa]  total=10808064, available=10807552, evictable=1024, protected=0",
        ),
        FIVE,
    ),
    Dialect(
        "pool-ring",
        "0.5.20-0.5.23",
        "pool",
        "",
        messages.RING,
        ("[swa] unified ring (leak-check skipped): available=900, evictable=0, total=1024",),
        "none: the server does not check this pool",
        marks=frozenset({"skipped"}),
    ),
    Dialect(
        "pool-unlabelled",
        "0.5.11-0.5.23",
        "pool",
        "",
        messages.TERMS,
        ("total=469952, available=96, evictable=470016, protected=0, session_held=0, uncached=0",),
        FIVE,
        notes="A pool text whose label was left on the line before.",
    ),
    Dialect(
        "pool-H-radix",
        "0.5.10rc0-0.5.10.post1",
        "pool",
        "",
        Template(RADIX + ", session_held={session_held}"),
        ("self.max_total_num_tokens=1000, available_size=700, evictable_size=280, protected_size=0, session_held=10",),
        "available + evictable + protected + session_held = total",
        pool="full",
        notes="In a watchdog dump.",
    ),
    Dialect(
        "pool-H-full",
        "0.5.10rc0-0.5.10.post1",
        "pool",
        "",
        Template(FULL_LINE + "full_protected={protected}, session_held_full={session_held}"),
        (
            "self.full_tokens_per_layer=1000, full_available_size=700, full_evictable_size=292, full_protected=0, "
            "session_held_full=0",
        ),
        "available + evictable + protected + session_held = total",
        pool="full",
    ),
    Dialect(
        "pool-H-swa",
        "0.5.10rc0-0.5.10.post1",
        "pool",
        "",
        Template(_SWA_LINE + "swa_protected={protected}, session_held_swa={session_held}"),
        (
            "self.swa_tokens_per_layer=250, swa_available_size=150, swa_evictable_size=116, swa_protected=0, "
            "session_held_swa=0",
        ),
        "available + evictable + protected + session_held = total",
        pool="swa",
    ),
    Dialect(
        "pool-G-radix",
        "0.5.4.post2-0.5.9",
        "pool",
        "",
        Template(RADIX),
        ("self.max_total_num_tokens=1000, available_size=700, evictable_size=290, protected_size=0",),
        G_RADIX,
        pool="full",
        marks=frozenset({"protected_if_hierarchical"}),
        notes="In a watchdog dump.",
    ),
    Dialect(
        "pool-G-full",
        "0.5.4.post2-0.5.9",
        "pool",
        "",
        Template(FULL_LINE + "self.tree_cache.full_protected_size()={protected}"),
        (
            "self.full_tokens_per_layer=1000, full_available_size=700, full_evictable_size=290, "
            "self.tree_cache.full_protected_size()=0",
        ),
        G_HYBRID,
        pool="full",
        marks=frozenset({"protected_not_summed"}),
        notes="In a watchdog dump.",
    ),
    Dialect(
        "pool-G-swa",
        "0.4.9.post3-0.5.9",
        "pool",
        "",
        Template(_SWA_LINE + "self.tree_cache.swa_protected_size()={protected}"),
        (
            "self.swa_tokens_per_layer=250, swa_available_size=150, swa_evictable_size=96, "
            "self.tree_cache.swa_protected_size()=0",
        ),
        G_HYBRID,
        pool="swa",
        marks=frozenset({"protected_not_summed"}),
    ),
    Dialect(
        "pool-G-mamba-full",
        "0.5.4.post2-0.5.10.post1",
        "pool",
        "",
        MAMBA_FULL,
        (
            "full_available_size=700, full_evictable_size=300, self.token_to_kv_pool_allocator.size=1000, "
            "self.tree_cache.full_protected_size()=0",
        ),
        MAMBA,
        pool="full",
        marks=frozenset({"session_unprinted"}),
        notes="In a watchdog dump.",
    ),
    Dialect(
        "pool-G-mamba",
        "0.5.3.post2-0.5.10.post1",
        "pool",
        "",
        _MAMBA_SLOTS,
        (
            "mamba_available_size=20, mamba_evictable_size=3, self.req_to_token_pool.mamba_pool.size=24, "
            "self.tree_cache.mamba_protected_size()=0, leaked_full_pages=None, leaked_mamba_pages={17}",
            "mamba_available_size=20, mamba_evictable_size=3, self.req_to_token_pool.mamba_pool.size=24, "
            "self.tree_cache.mamba_protected_size()=0",
        ),
        "available + evictable + protected = total (slots)",
        pool="mamba",
        notes="The leaked parts since 0.5.7, only when the pool leaks.",
    ),
)

PARTS = (
    Dialect(
        "parts-available",
        "0.4.4-0.4.8.post1",
        "parts",
        "",
        Template("self.token_to_kv_pool_allocator.available_size()={available}"),
        ("self.token_to_kv_pool_allocator.available_size()=700",),
        notes="The allocator's own share of the sum on the line before (forms C and D).",
    ),
    Dialect(
        "parts-available-token",
        "0.4.9-0.4.9.post2",
        "parts",
        "",
        Template("available_token_size={available}"),
        ("available_token_size=700",),
        notes="The allocator's own share of the sum on the line before (form D as 0.4.9 prints it).",
    ),
    Dialect(
        "parts-evictable",
        "0.4.4-0.4.9.post2",
        "parts",
        "",
        Template("self.tree_cache.evictable_size()={evictable}"),
        ("self.tree_cache.evictable_size()=290",),
        notes="The tree's share of the sum two lines before (forms C and D).",
    ),
)
