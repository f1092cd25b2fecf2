"""What the busy check looks at: batches, requests, session rows and the counters of the pools at one moment.

Plain data without rules; `uncached` and `server` hold the rules. Lengths and counters are in tokens. Names are
SGLang's own. A field that only some releases have is None (or its default) where a recording does not hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EXTEND_MODES = frozenset({"EXTEND", "MIXED", "DRAFT_EXTEND", "TARGET_VERIFY", "SPLIT_PREFILL", "DLLM_EXTEND"})
"""Forward modes for which SGLang's `ForwardMode.is_extend` answers yes."""

DECODE_MODES = frozenset({"DECODE"})
"""Forward modes for which SGLang's `ForwardMode.is_decode` answers yes."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request object. `id` names the object: equal ids are the same object, everywhere.

    req_pool_idx: its row in the request pool, None without a slot. freed: the request holds no KV any more
    (`kv_committed_freed` up to 0.5.15, `kv is None` in 0.5.16-0.5.18, not `holds_kv` later). overallocated_freed: the
    second flag of old releases, None where it does not exist. session_owned: its KV record belongs to a streaming
    session. beam_extra: tokens that its beam group holds besides. seq_len, fill_len, prefix_len, finished: what the
    first checker (0.5.4-0.5.5.post3) counted with.
    """

    id: str
    req_pool_idx: int | None
    kv_allocated_len: int
    kv_committed_len: int
    cache_protected_len: int
    swa_evicted_seqlen: int = 0
    swa_evict_floor: int = 0
    freed: bool = False
    overallocated_freed: bool | None = None
    session_owned: bool = False
    session_id: str | None = None
    beam_extra: int = 0
    seq_len: int | None = None
    fill_len: int | None = None
    prefix_len: int | None = None
    finished: bool | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch object. `id` names the object. forward_mode: None when it never ran."""

    id: str
    forward_mode: str | None
    is_empty: bool
    requests: tuple[Request, ...]

    @property
    def is_extend(self) -> bool:
        """The batch ran (or runs) a forward pass that extends its requests."""
        return self.forward_mode in EXTEND_MODES

    @property
    def is_decode(self) -> bool:
        """The batch ran (or runs) a decode step."""
        return self.forward_mode in DECODE_MODES


@dataclass(frozen=True, slots=True)
class PoolStats:
    """The counters of one pool as the checker compared them. session_held: None where the release has no such term."""

    total: int
    available: int
    evictable: int
    protected: int
    session_held: int | None = 0

    def terms(self, uncached: int, *, session_held: int | None = None) -> dict[str, int]:
        """The accounting terms with `uncached`; a None `session_held` takes the recorded one."""
        held = self.session_held if session_held is None else session_held
        terms = {"available": self.available, "evictable": self.evictable, "protected": self.protected}
        if held is not None:
            terms["session_held"] = held
        terms["uncached"] = uncached
        return terms


@dataclass(frozen=True, slots=True)
class State:
    """Everything one busy check reads.

    last_batch: None when nothing ran in this iteration (then there is no check). chunked_req: the request parked
    between two prefill chunks, if any; chunked_recorded: False where that was not recorded. sessions: the KV records
    that streaming sessions own, None where not recorded. speculative_topk: None when unknown.
    """

    page_size: int
    hybrid_swa: bool
    last_batch: Batch | None
    running_batch: Batch | None
    pools: Mapping[str, PoolStats] = field(default_factory=dict)
    chunked_req: Request | None = None
    chunked_recorded: bool = True
    sessions: tuple[Request, ...] | None = None
    swa_transient: int = 0
    speculative_topk: int | None = None
