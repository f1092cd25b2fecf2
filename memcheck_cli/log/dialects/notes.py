"""Texts without numbers to recompute: reports, crashes of the checker itself, tree sanity, pool bytes, no check at all.

`kind` is the kind of the `records.Unnumbered` they become. A bare error is told by the function its traceback ends in:
see FUNCTIONS.
"""

from __future__ import annotations

from memcheck_cli.checker.messages import Template
from memcheck_cli.log.dialects.form import LEAK_ERRORS, PLAIN, Dialect

_ASSERT = ("AssertionError",)

NOTES = (
    Dialect(
        "strict-flag",
        "0.5.6-0.5.6.post1",
        "leak",
        "",
        Template("Please use `envs.YOUR_FLAG.get()` instead of `envs.YOUR_FLAG`"),
        ("RuntimeError: Please use `envs.YOUR_FLAG.get()` instead of `envs.YOUR_FLAG`",),
        what="idle leak whose report failed",
        behind=("RuntimeError",),
        notes="The idle check found a leak and died while it reported it. 0.5.6: token pools and request slots, "
        "0.5.6.post1: request slots only.",
    ),
    Dialect(
        "class-double-free",
        "0.5.20-0.5.23",
        "leak",
        "",
        Template("double free: duplicate pages in class {page_class}"),
        ("AssertionError: double free: duplicate pages in class 3",),
        what="duplicate pages in a sharded free list",
        behind=_ASSERT,
    ),
    Dialect(
        "class-owner",
        "0.5.20-0.5.23",
        "leak",
        "",
        Template("page of another owner leaked into class {page_class}"),
        ("AssertionError: page of another owner leaked into class 3",),
        what="foreign page in a sharded free list",
        behind=_ASSERT,
    ),
    Dialect(
        "allocator-overfull",
        "unknown",
        "leak",
        "",
        Template("swa_attn_allocator.available_size() <= swa_attn_allocator.size"),
        ("AssertionError: swa_attn_allocator.available_size() <= swa_attn_allocator.size",),
        what="SWA free list larger than the pool",
        behind=_ASSERT,
        notes="The allocator's own assertion: more free slots than the pool has, so something was freed twice.",
    ),
    Dialect(
        "bare-assertion",
        "0.5.6-0.5.23",
        "bare",
        "",
        Template("AssertionError"),
        ("AssertionError",),
        what="assertion without text",
        notes="Only the function that the traceback ends in tells whether the checker raised it.",
    ),
    Dialect(
        "no-accessor",
        "0.5.4-0.5.10.post1",
        "crash",
        "",
        Template("NotImplementedError"),
        ("NotImplementedError",),
        what="busy check not implemented for this pool",
        notes="Hybrid SWA and mamba servers lack a size the busy check asks for: the checker fails, no leak.",
    ),
    Dialect(
        "batch-comparison",
        "0.5.11-0.5.12.post1",
        "crash",
        "",
        Template("Boolean value of Tensor with more than one value is ambiguous"),
        ("RuntimeError: Boolean value of Tensor with more than one value is ambiguous",),
        what="checker failed comparing two batches",
        behind=("RuntimeError",),
        notes="The checker compares the running with the last batch by value and trips over their tensors: no leak.",
    ),
    Dialect(
        "sanity-swa",
        "0.4.9.post3-0.5.20",
        "tree-sanity",
        "",
        Template("SWA Radix tree sanity check failed, ping {text:text}"),
        (
            "[2026-05-30 03:05:44 TP0] SWA Radix tree sanity check failed, ping @someone: Incorrect LRU list, 3 != 4",
            "Exception: SWA Radix tree sanity check failed, ping @someone: swa evictable size: 5 != lru list evictable "
            "size: 6",
        ),
        what="SWA radix tree",
        behind=(PLAIN, "Exception"),
    ),
    Dialect(
        "sanity-mamba",
        "0.5.3.post2-0.5.20",
        "tree-sanity",
        "",
        Template("Mamba Radix tree sanity check failed, ping {text:text}"),
        (
            "[2026-05-30 03:05:44 TP0] Mamba Radix tree sanity check failed, ping @someone: x_lru should not be locked "
            "when idle, 7",
        ),
        what="mamba radix tree",
        behind=(PLAIN, "Exception"),
        notes="From 0.5.7 on tensor-parallel rank 0 only.",
    ),
    Dialect(
        "sanity-unified-0.5.11",
        "0.5.11",
        "tree-sanity",
        "",
        Template("Unified RadixTree sanity check failed: {text:text}"),
        ("[2026-05-30 03:05:44 TP0] Unified RadixTree sanity check failed: lock_ref of node 5 is 1",),
        what="unified radix tree",
        behind=(PLAIN, "Exception"),
    ),
    Dialect(
        "sanity-unified",
        "0.5.12-0.5.23",
        "tree-sanity",
        "",
        Template("Sanity check FAILED ({violations} violations across {nodes} nodes):{text:text}"),
        (
            "[2026-05-30 03:05:44 TP0] Sanity check FAILED (2 violations across 14 nodes):",
            "AssertionError: Sanity check FAILED (2 violations across 14 nodes):",
        ),
        what="unified radix tree",
        behind=(PLAIN, "AssertionError"),
        notes="From 0.5.19 on only with SGLANG_ENABLE_TREE_CACHE_SANITY_CHECK, which CI sets. Violations follow.",
    ),
    Dialect(
        "sanity-evictable",
        "0.5.12-0.5.23",
        "tree-sanity",
        "",
        Template("[Size] {component:word} evictable={counted} != recomputed={recomputed}"),
        ("  [Size] full evictable=4352 != recomputed=4288",),
        what="evictable counter",
        notes="A line of the report before it: the counter that the leak check sums against the tree's own nodes.",
    ),
    Dialect(
        "sanity-protected",
        "0.5.12-0.5.23",
        "tree-sanity",
        "",
        Template("[Size] {component:word} protected={counted} != recomputed={recomputed}"),
        ("  [Size] swa protected=64 != recomputed=0",),
        what="protected counter",
        notes="As sanity-evictable.",
    ),
    Dialect(
        "sanity-passed",
        "0.5.12",
        "tree-sanity-passed",
        "",
        Template("Sanity check PASSED: {nodes} nodes, {components} components"),
        ("[2026-05-30 03:05:44 TP0] Sanity check PASSED: 14 nodes, 2 components",),
        what="unified radix tree",
        notes="Debug level only; says that nothing is wrong with the tree.",
    ),
    Dialect(
        "pool-bytes",
        "0.5.19-0.5.23",
        "pool-bytes",
        "",
        Template("pool-bytes memory leak detected! {text:text}"),
        (
            "ValueError: pool-bytes memory leak detected! [full] span 96 != live 64 + holes 16 + pending 0",
            "[2026-05-30 03:05:44 TP0] pool-bytes memory leak detected! [joint] stale available_size memo: cached=5, "
            "actual=6",
        ),
        "span = live + holes + pending, frontiers inside the pool and apart, memos fresh",
        what="unified allocator's book-keeping",
        behind=LEAK_ERRORS,
        notes="More violations may follow, one a line. [full] here is no pool text.",
    ),
    *(
        Dialect(
            f"pool-bytes-{name}",
            "0.5.19-0.5.23",
            "pool-bytes",
            "",
            Template(text),
            (sample,),
            what=what,
            notes="A line of the report before it.",
        )
        for name, text, sample, what in (
            (
                "frontier",
                "[{pool:word}] frontier out of bounds: low={low}, high={high}, total={total}",
                "[full] frontier out of bounds: low=-1, high=96, total=128",
                "frontier out of bounds",
            ),
            (
                "float-bounds",
                "[{pool:word}] float span out of bounds: low={low}, high={high}, total={total}",
                "[swa] float span out of bounds: low=64, high=192, total=128",
                "float span out of bounds",
            ),
            (
                "span",
                "[{pool:word}] span {span} != live {live} + holes {holes} + pending {pending}",
                "[mamba] span 96 != live 64 + holes 16 + pending 0",
                "span is not the sum of its parts",
            ),
            (
                "float-span",
                "[{pool:word}] float span {span} != p2v-bound {bound} + holes {holes}",
                "[swa] float span 96 != p2v-bound 64 + holes 16",
                "float span is not the sum of its parts",
            ),
            (
                "available-memo",
                "[{pool:word}] stale available_size memo: cached={cached}, actual={actual}",
                "[full] stale available_size memo: cached=700, actual=701",
                "stale memo of available",
            ),
            (
                "schedulable-memo",
                "[{pool:word}] stale schedulable_available_size memo: cached={cached}, actual={actual}",
                "[full] stale schedulable_available_size memo: cached=700, actual=701",
                "stale memo of schedulable available",
            ),
            (
                "chain",
                "[chain] {pool:word} low frontier {low} overlaps the previous pool's high frontier {high}",
                "[chain] swa low frontier 63 overlaps the previous pool's high frontier 64",
                "pools overlap",
            ),
        )
    ),
    Dialect(
        "topk-unsupported",
        "0.5.7-0.5.12.post1",
        "unsupported",
        "",
        Template("Runtime memory check (busy) is not supported when speculation topk > 1."),
        (
            "/sgl/scheduler_runtime_checker_mixin.py:88: UserWarning: Runtime memory check (busy) is not supported "
            "when speculation topk > 1.",
        ),
        what="no busy check with speculation top-k above 1",
        behind=("UserWarning",),
        notes="Said once a process; that server prints no busy line at any level.",
    ),
    Dialect(
        "level-unreadable",
        "0.5.6-0.5.23",
        "env-warning",
        "",
        Template(
            'Invalid value for SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY: "{text:text}" is not a valid integer value, '
            'using default "0"'
        ),
        (
            "/sgl/environ.py:45: UserWarning: Invalid value for SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY: "
            '"yes" is not a valid integer value, using default "0"',
        ),
        what="busy check off: its level is not an integer",
        behind=("UserWarning", PLAIN),
    ),
)

CONTINUATIONS = frozenset(
    {"sanity-evictable", "sanity-protected"} | {f.id for f in NOTES if f.id[:11] == "pool-bytes-"}
)
"""Notes that are further lines of a report. They stand on lines without prefix only."""

FUNCTIONS: dict[str, tuple[str, str]] = {
    "_get_batch_uncached_size": ("leak", "a request's lengths do not fit while the uncached tokens were summed"),
    "_get_total_uncached_sizes": ("leak", "a request's lengths do not fit while the uncached tokens were summed"),
    "_add_owner": ("leak", "a request's lengths do not fit its row while the page owners were collected"),
}
"""What a bare AssertionError means by the function its traceback ends in: kind and what of the note."""

CRASH_FUNCTIONS: dict[str, frozenset[str]] = {
    "no-accessor": frozenset({"available_size", "evictable_size", "protected_size"}),
    "batch-comparison": frozenset({"__eq__"}),
}
"""Where the traceback of a crash of the checker ends; the same error from elsewhere is not the checker's."""
