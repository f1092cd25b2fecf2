"""The texts of the idle check: token pools of every age, their continuation lines, and the request slots."""

from __future__ import annotations

from memcheck_cli.checker import messages
from memcheck_cli.checker.messages import Template
from memcheck_cli.log.dialects.form import LEAK_ERRORS, Dialect

_HOLDS = frozenset({"available_holds_evictable"})
_HOLDS_HIERARCHICAL = frozenset({"available_holds_evictable", "protected_if_hierarchical"})
_A_TO_F = "available_size = total"
_B_TO_F = "available_size = total; with hierarchical cache: available_size + protected = total"
_HOLDS_NOTE = "available_size already contains evictable."
_TWO = Template("available_size={available}, protected_size={protected}, self.max_total_num_tokens={total}")
FIVE = "available + evictable + protected + session_held (+ uncached, always 0) = total"
FULL_LINE = "self.full_tokens_per_layer={total}, full_available_size={available}, full_evictable_size={evictable}, "
RADIX = (
    "self.max_total_num_tokens={total}, available_size={available}, evictable_size={evictable}, "
    "protected_size={protected}"
)
MAMBA_FULL = Template(
    "full_available_size={available}, full_evictable_size={evictable}, self.token_to_kv_pool_allocator.size={total}, "
    "self.tree_cache.full_protected_size()={protected}"
)
G_RADIX = (
    "available + evictable + protected = total; before 0.5.2 (0.4.9.post3-0.5.2rc2) protected only with hierarchical "
    "cache"
)
G_HYBRID = "available + evictable = total; protected is printed and not summed"
MAMBA = "available + evictable + protected = total; 0.5.10rc0-0.5.10.post1: full + session_held, which is not printed"

IDLE = (
    Dialect(
        "I",
        "0.5.11-0.5.23",
        "idle",
        messages.IDLE_HEAD,
        messages.POOL,
        (
            "[2026-05-30 03:05:44 TP0] pool memory leak detected! [full] total=203008, available=512, "
            "evictable=202459, protected=0, session_held=0, uncached=0",
            "ValueError: pool memory leak detected! [full] total=262144, available=262080, evictable=64, protected=0, "
            "session_held=-2240, uncached=0",
            "E   ValueError: pool memory leak detected! [full] total=262144, available=262080, evictable=0, "
            "protected=0, session_held=0, uncached=0",
        ),
        FIVE,
        behind=LEAK_ERRORS,
        notes="All pools are listed, broken or not, each on a line of its own without prefix. Warnings are sampled: "
        "the first, the 1001st, ...",
    ),
    Dialect(
        "I-short",
        "0.5.11-0.5.23",
        "idle",
        messages.IDLE_HEAD,
        messages.POOL_SHORT,
        (
            "ValueError: pool memory leak detected! [full] total=13510080, available=13509568, evictable=8192, "
            "protected=0",
            "ValueError: pool memory leak detected! [full] available=3328, evictable=339968, protected=0, total=339968",
        ),
        FIVE,
        behind=LEAK_ERRORS,
        notes="The current text as people quote it: ending at protected, or in another order.",
    ),
    Dialect(
        "I-empty",
        "0.5.11-0.5.23",
        "idle",
        messages.IDLE_HEAD,
        Template(""),
        (
            "ValueError: pool memory leak detected! ",
            "[2026-05-30 03:05:44 TP0] pool memory leak detected!",
            "ValueError: pool memory leak detected! [full]",
        ),
        FIVE,
        behind=LEAK_ERRORS,
        notes="An all-SWA model has no full pool (0.5.15+), or the line was broken behind the head or the label; the "
        "pools follow on the next lines.",
    ),
    Dialect(
        "I-ring",
        "0.5.20-0.5.23",
        "idle",
        messages.IDLE_HEAD,
        messages.RING,
        (
            "ValueError: pool memory leak detected! [swa] unified ring (leak-check skipped): available=900, "
            "evictable=0, total=1024",
        ),
        "none: the server does not check this pool",
        behind=LEAK_ERRORS,
        marks=frozenset({"skipped"}),
    ),
    Dialect(
        "H-radix",
        "0.5.10rc0-0.5.10.post1",
        "idle",
        messages.IDLE_OLD_HEAD,
        Template(RADIX + ", session_held={session_held}"),
        (
            "ValueError: token_to_kv_pool_allocator memory leak detected! self.max_total_num_tokens=1000, "
            "available_size=700, evictable_size=280, protected_size=0, session_held=10",
        ),
        "available + evictable + protected + session_held = total",
        pool="full",
        behind=LEAK_ERRORS,
    ),
    Dialect(
        "H-hybrid",
        "0.5.10rc0-0.5.10.post1",
        "idle",
        messages.IDLE_OLD_HEAD,
        Template("full_leaked={full_leaked}, swa_leaked={swa_leaked}"),
        ("ValueError: token_to_kv_pool_allocator memory leak detected! full_leaked=8, swa_leaked=-16",),
        "leaked = total - available - evictable - protected - session_held = 0, for each pool",
        behind=LEAK_ERRORS,
        notes="The pools follow on the next two lines. The leaked numbers are minus our delta.",
    ),
    Dialect(
        "G-radix",
        "0.4.9.post3-0.5.9",
        "idle",
        messages.IDLE_OLD_HEAD,
        Template(RADIX),
        (
            "ValueError: token_to_kv_pool_allocator memory leak detected! self.max_total_num_tokens=1000, "
            "available_size=700, evictable_size=290, protected_size=0",
            "[2025-12-26 03:42:15 DP1 TP4] token_to_kv_pool_allocator memory leak detected! "
            "self.max_total_num_tokens=1000, available_size=700, evictable_size=290, protected_size=0",
        ),
        G_RADIX,
        pool="full",
        behind=LEAK_ERRORS,
        marks=frozenset({"protected_if_hierarchical"}),
    ),
    Dialect(
        "G-hybrid",
        "0.4.9.post3-0.5.9",
        "idle",
        messages.IDLE_OLD_HEAD,
        Template(FULL_LINE + "self.tree_cache.full_protected_size()={protected}"),
        (
            "ValueError: token_to_kv_pool_allocator memory leak detected! self.full_tokens_per_layer=1000, "
            "full_available_size=700, full_evictable_size=290, self.tree_cache.full_protected_size()=0",
        ),
        G_HYBRID,
        pool="full",
        behind=LEAK_ERRORS,
        marks=frozenset({"protected_not_summed"}),
    ),
    Dialect(
        "G-mamba",
        "0.5.3.post2-0.5.10.post1",
        "idle",
        messages.IDLE_OLD_HEAD,
        MAMBA_FULL,
        (
            "ValueError: token_to_kv_pool_allocator memory leak detected! full_available_size=700, "
            "full_evictable_size=300, self.token_to_kv_pool_allocator.size=1000, "
            "self.tree_cache.full_protected_size()=0",
        ),
        MAMBA,
        pool="full",
        behind=LEAK_ERRORS,
        marks=frozenset({"session_unprinted"}),
    ),
    Dialect(
        "D",
        "0.4.4.post4-0.4.9.post2",
        "idle",
        messages.IDLE_OLD_HEAD,
        _TWO,
        (
            "ValueError: token_to_kv_pool_allocator memory leak detected! available_size=990, protected_size=0, "
            "self.max_total_num_tokens=1000",
            "/usr/lib/python3.10/site-packages/sglang/srt/managers/scheduler.py:1326: UserWarning: "
            "token_to_kv_pool_allocator memory leak detected! available_size=990, protected_size=0, "
            "self.max_total_num_tokens=1000",
        ),
        _B_TO_F,
        pool="full",
        behind=LEAK_ERRORS,
        marks=_HOLDS_HIERARCHICAL,
        notes=_HOLDS_NOTE + " Its two parts follow on the next two lines. Up to 0.4.6.post3 a Python warning, later "
        "a ValueError.",
    ),
    Dialect(
        "C",
        "0.4.4-0.4.4.post3",
        "idle",
        messages.IDLE_OLDEST_HEAD + " ",
        _TWO,
        (
            "UserWarning: KV cache pool leak detected! available_size=990, protected_size=0, "
            "self.max_total_num_tokens=1000",
        ),
        _B_TO_F,
        pool="full",
        behind=LEAK_ERRORS,
        marks=_HOLDS_HIERARCHICAL,
        notes=_HOLDS_NOTE + " Its two parts follow on the next two lines.",
    ),
    Dialect(
        "B",
        "0.4.2.post1-0.4.3.post4",
        "idle",
        messages.IDLE_OLDEST_HEAD,
        _TWO,
        (
            "/a b/scheduler.py:800: UserWarning: KV cache pool leak detected!available_size=900, protected_size=0, "
            "self.max_total_num_tokens=1000",
            "ValueError: KV cache pool leak detected!available_size=900, protected_size=0, "
            "self.max_total_num_tokens=1000",
        ),
        _B_TO_F,
        pool="full",
        behind=LEAK_ERRORS,
        marks=_HOLDS_HIERARCHICAL,
        notes=_HOLDS_NOTE + " No blank behind the exclamation mark.",
    ),
    Dialect(
        "A",
        "0.4.0-0.4.2",
        "idle",
        messages.IDLE_OLDEST_HEAD,
        Template("available_size={available}, self.max_total_num_tokens={total}"),
        ("ValueError: KV cache pool leak detected!available_size=900, self.max_total_num_tokens=1000",),
        _A_TO_F,
        pool="full",
        behind=LEAK_ERRORS,
        marks=_HOLDS,
        notes=_HOLDS_NOTE + " No blank behind the exclamation mark.",
    ),
)

REQUESTS = (
    Dialect(
        "req-session",
        "0.5.10rc0-0.5.23",
        "requests",
        "",
        messages.REQUEST_POOL,
        (
            "[2026-05-30 03:05:44 TP0] req_to_token_pool memory leak detected!available_size=31, session_held=0, "
            "total_size=32",
            "ValueError: req_to_token_pool memory leak detected!available_size=31, session_held=0, total_size=32",
        ),
        "available_size + session_held = total_size; on a decode-disaggregated server (and always from 0.5.21) the "
        "compared size also holds pre-allocated slots, which are not printed",
        pool="req",
        behind=LEAK_ERRORS,
    ),
    Dialect(
        "req",
        "0.4.4.post4-0.5.9",
        "requests",
        "",
        messages.REQUEST_POOL_TWO,
        ("ValueError: req_to_token_pool memory leak detected!available_size=31, total_size=32",),
        "available_size = total_size; on a decode-disaggregated server (0.4.8+) the compared size also holds "
        "pre-allocated slots, which are not printed",
        pool="req",
        behind=LEAK_ERRORS,
    ),
    Dialect(
        "req-oldest",
        "0.4.0-0.4.4.post3",
        "requests",
        "",
        messages.REQUEST_POOL_OLDEST,
        ("UserWarning: Memory pool leak detected!available_size=31, total_size=32",),
        "available_size = total_size",
        pool="req",
        behind=LEAK_ERRORS,
    ),
)
