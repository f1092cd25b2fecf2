"""The further names that stand in pool texts beside the total and the five terms."""

from __future__ import annotations

from typing import NamedTuple


class FurtherName(NamedTuple):
    """One `name=value` that may follow. releases: as in `Dialect`. mark: what it does to the verdict
    (see `records.PoolText`), or empty. counts: a number of slots that a fork's equation sums, so it may close a gap."""

    name: str
    releases: str
    meaning: str
    mark: str = ""
    counts: bool = False


NAMES = (
    FurtherName("class_free_pages", "0.5.21-0.5.23", "free pages of each class, KV shard size above 1"),
    FurtherName(
        "unaligned_sharded_counts",
        "0.5.21-0.5.23",
        "counts that are no multiple of the sharded page; reported as a leak even if the sum balances",
        "reported",
    ),
    FurtherName("page_size", "0.5.21-0.5.23", "the sharded page size, behind unaligned_sharded_counts"),
    FurtherName(
        "dcp_physical_page_slack_allowed",
        "0.5.15-0.5.23",
        "the sum does not balance and the server forgives it (decode context parallel)",
        "tolerated",
    ),
    FurtherName("leaked_full_pages", "0.5.7-0.5.23", "pages of the full pool that nobody owns, or None"),
    FurtherName("leaked_mamba_pages", "0.5.7-0.5.23", "slots of the mamba pool that nobody owns, or None"),
    FurtherName("full_leaked", "0.5.10rc0-0.5.10.post1", "minus the delta of the full pool"),
    FurtherName("swa_leaked", "0.5.10rc0-0.5.10.post1", "minus the delta of the SWA pool"),
    FurtherName("withheld", "fork", "slots held back by a cap: + withheld in the fork's equation", counts=True),
    FurtherName("double_owned", "fork", "slots counted twice: - double_owned in the fork's equation", counts=True),
    FurtherName("double_owned_src", "fork", "where double_owned was counted: census or live"),
    FurtherName("reserved", "fork", "slots set aside: + reserved in the fork's equation", counts=True),
    FurtherName("free_list_duplicates", "fork", "slots twice in the free list; above 0 it is reported", "reported"),
    FurtherName("duplicate_slot_ids", "fork", "which slots those are, or None"),
    FurtherName("free_and_cached", "fork", "slots both free and in the tree; counts no slots of its own"),
    FurtherName("external_uncached_held", "fork", "joins the fork's sum; its busy line does not print it", counts=True),
    FurtherName("external_cached_held", "fork", "held by an external cache", counts=True),
    FurtherName("effective_evictable_size", "fork", "evictable after external holds"),
    FurtherName("accounted", "fork", "the fork's own sum"),
    FurtherName("diff", "fork", "the fork's own difference"),
    FurtherName("excess", "other engine", "that engine's own difference"),
    FurtherName("dp", "other engine", "data-parallel rank of the pool (sgl-jax)"),
)

NO_SLOTS = frozenset(name.name for name in NAMES if not name.counts)
"""Further names whose numbers are no part of any sum, so they never explain a gap."""
