"""Texts from before 0.4.0, from forks and rewrites, and from other engines that grew out of SGLang."""

from __future__ import annotations

from memcheck_cli.checker import messages
from memcheck_cli.checker.messages import Template
from memcheck_cli.log.dialects.form import LEAK_ERRORS, PLAIN, Dialect

_FIVE = "available + evictable + protected + session_held + uncached = total"
_MISMATCH = Template(
    "{pool:word} pool size mismatch: available={available}, evictable={evictable}, protected={protected}, "
    "session_held={session_held}, uncached={uncached}, total={total}, accounted={accounted}, diff={diff}"
)
_JAX = Template("[dp={dp}] expected={total}, avail={available}, evict={evictable}, protected={protected}")

EXACT_IDLE = (
    Dialect(
        "2024",
        "before 0.4.0",
        "idle",
        "",
        Template("Warning: available_size={available}, max_total_num_token={total}"),
        (" UserWarning: Warning: available_size=900, max_total_num_token=1000",),
        "available_size = total",
        pool="full",
        behind=("UserWarning",),
        marks=frozenset({"available_holds_evictable"}),
        notes="available_size already contains evictable. The words `KV cache pool leak detected!` follow on a line.",
    ),
    Dialect(
        "mismatch-full",
        "fork",
        "idle",
        "full memory leak detected! ",
        _MISMATCH,
        (
            "ValueError: full memory leak detected! full pool size mismatch: available=700, evictable=200, "
            "protected=50, session_held=0, uncached=40, total=1000, accounted=990, diff=-10",
        ),
        _FIVE,
        behind=LEAK_ERRORS,
        notes="A rewrite of the checker: busy and idle checks report alike and there is no busy line.",
    ),
    Dialect(
        "mismatch-swa",
        "fork",
        "idle",
        "swa memory leak detected! ",
        _MISMATCH,
        (
            "ValueError: swa memory leak detected! swa pool size mismatch: available=700, evictable=200, "
            "protected=50, session_held=0, uncached=40, total=1000, accounted=990, diff=-10",
        ),
        _FIVE,
        behind=LEAK_ERRORS,
        notes="As mismatch-full.",
    ),
    Dialect(
        "slot-leak",
        "other engine",
        "idle",
        "",
        Template("SWA-slot leak/double-free: free({available}) + tree({evictable}) != capacity({total})"),
        ("AssertionError: SWA-slot leak/double-free: free(38) + tree(87) != capacity(262)",),
        "free + tree = capacity; tree is told as evictable, though it may hold locked slots",
        pool="swa",
        behind=(PLAIN, "AssertionError", "ValueError", "RuntimeError"),
    ),
    Dialect(
        "slot-excess",
        "other engine",
        "idle",
        "",
        Template(
            "SWA accounting invariant violated: available + evictable ({available} + {evictable}) exceeds capacity "
            "({total}) by {excess}"
        ),
        (
            "AssertionError: SWA accounting invariant violated: available + evictable (100 + 30) exceeds capacity "
            "(120) by 10",
        ),
        "available + evictable <= capacity; only an excess is reported",
        pool="swa",
        behind=(PLAIN, "AssertionError", "ValueError", "RuntimeError"),
    ),
    Dialect(
        "diff",
        "other engine",
        "idle",
        messages.IDLE_OLDEST_HEAD + " ",
        Template("diff={diff}"),
        ("ValueError: KV cache pool leak detected! diff=-4",),
        "diff = 0; the total is not printed",
        behind=LEAK_ERRORS,
        notes="The two sizes follow on the next line.",
    ),
)

EXACT_POOL_LINES = (
    Dialect(
        "dp",
        "other engine",
        "pool",
        "",
        _JAX,
        ("[dp=0] expected=1000, avail=900, evict=0, protected=0",),
        "avail + evict + protected = expected",
        pool="full",
        notes="sgl-jax, behind a `token_to_kv_pool_allocator memory leak detected!` on a line of its own.",
    ),
    Dialect(
        "mismatch-line",
        "fork",
        "pool",
        "",
        _MISMATCH,
        (
            "swa pool size mismatch: available=700, evictable=200, protected=50, session_held=0, uncached=40, "
            "total=1000, accounted=990, diff=-10",
        ),
        _FIVE,
    ),
    Dialect(
        "diff-sizes",
        "other engine",
        "pool",
        "",
        Template("token_to_kv_pool avail {available}, tree_cache evictable_size {evictable}"),
        ("token_to_kv_pool avail 700, tree_cache evictable_size 290",),
        "the total is not printed",
        pool="full",
    ),
)

EXACT_REQUESTS = (
    Dialect(
        "2024-req",
        "before 0.4.0",
        "requests",
        "",
        Template("Warning: available req slots={available}, total slots={total}"),
        ("UserWarning: Warning: available req slots=31, total slots=32",),
        "available req slots = total slots",
        pool="req",
        behind=("UserWarning",),
    ),
)

HEADS_ALONE = (
    Dialect(
        "old-empty",
        "other engine",
        "idle",
        messages.IDLE_OLD_HEAD.rstrip(),
        Template(""),
        ("ValueError: token_to_kv_pool_allocator memory leak detected!",),
        behind=LEAK_ERRORS,
        notes="sgl-jax, or a line broken behind the head; the numbers follow on the next line.",
    ),
    Dialect(
        "2024-head",
        "before 0.4.0",
        "parts",
        messages.IDLE_OLDEST_HEAD,
        Template(""),
        (messages.IDLE_OLDEST_HEAD, "Memory pool leak detected!"),
        notes="Second line of the reports of 2024; the numbers stand on the line before.",
    ),
)

FORK_PARTS = tuple(
    Dialect(
        f"fork-{name}",
        "fork",
        "parts",
        "",
        Template(text),
        (sample,),
        notes="Further line of an idle report of a fork. Restates numbers after a repair; nothing of it is summed.",
    )
    for name, text, sample in (
        (
            "deduped",
            "auto_deduped_free_items={items}, available_size={now}",
            "auto_deduped_free_items=2, available_size=698",
        ),
        (
            "purged",
            "auto_purged_conflicting_free_items={items}",
            "auto_purged_conflicting_free_items=1",
        ),
        (
            "reclaimed",
            "auto_reclaimed_orphan_items={items}",
            "auto_reclaimed_orphan_items=1",
        ),
        (
            "debug",
            "allocator_debug: held_items={held}, pending_items={pending}, ready_pending_items={ready}",
            "allocator_debug: held_items=3, pending_items=0, ready_pending_items=0",
        ),
        ("sample", "leaked_items_sample={text:value}", "leaked_items_sample=[4, 9]"),
    )
)
