"""The watchdog's dump, which shows pool numbers of a busy server and is no check; and asserts from request release.

They become `records.Context`, kind `watchdog` or `release-assertion`. The pool texts of the dump from 0.5.4.post2 on
stand on lines of their own and are read as `PoolLine`.
"""

from __future__ import annotations

from memcheck_cli.checker.messages import Template
from memcheck_cli.log.dialects.form import Dialect

_NO_CHECK = "none: taken while requests run, with uncached left out"
_DUMP = "self.cur_batch.batch_size()={batch_size}, self.cur_batch.reqs={text:text}, "
_REQS = "[Req(rid=a1, input_ids=[1, 2], output_ids=[])]"

WATCHDOG = (
    Dialect(
        "watchdog-timeout",
        "0.5.7-0.5.23",
        "watchdog",
        "",
        Template("Scheduler watchdog timeout (self.watchdog_timeout={timeout:float}, self.soft={soft:word})"),
        ("[2026-05-30 03:05:44 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300.0, self.soft=False)",),
    ),
    Dialect(
        "watchdog-timeout-old",
        "0.4.0-0.5.6.post2",
        "watchdog",
        "",
        Template("Watchdog timeout (self.watchdog_timeout={timeout:float})"),
        (
            "[2025-05-30 03:05:44 TP0] Watchdog timeout (self.watchdog_timeout=300.0)",
            "[2025-05-30 03:05:44 TP0] Watchdog timeout (self.watchdog_timeout=300)",
        ),
    ),
    Dialect(
        "watchdog-crashed",
        "0.5.7-0.5.23",
        "watchdog",
        "",
        Template("Scheduler watchdog thread crashed: {text:text}"),
        ("[2026-05-30 03:05:44 TP0] Scheduler watchdog thread crashed: Traceback (most recent call last):",),
    ),
    Dialect(
        "watchdog-head",
        "0.5.7-0.5.23",
        "watchdog",
        "",
        Template("Scheduler debug info:"),
        ("[2026-05-30 03:05:44 TP0] Scheduler debug info:",),
        _NO_CHECK,
        notes="The batch, its requests and the pool texts follow, one a line.",
    ),
    Dialect(
        "watchdog-registration",
        "0.5.23",
        "watchdog",
        "",
        Template("symmetric-memory registration in progress: {text:text}"),
        ("symmetric-memory registration in progress: pool 3",),
    ),
    Dialect(
        "watchdog-pyspy",
        "0.4.0-0.5.23",
        "watchdog",
        "",
        Template("Pyspy dump for PID {pid}{text:text}:"),
        (
            "[2025-05-30 03:05:44 TP0] Pyspy dump for PID 41877:",
            "[2026-05-30 03:05:44 TP0] Pyspy dump for PID 41877 (python -m sglang.launch_server):",
        ),
    ),
    Dialect(
        "watchdog-size",
        "0.5.4.post2-0.5.23",
        "watchdog",
        "",
        Template("{owner:word}.{batch:word}.batch_size()={batch_size}"),
        (
            "self.cur_batch.batch_size()=3",
            "scheduler.cur_batch.batch_size()=3",
            "scheduler.cur_batch_for_debug.batch_size()=3",
        ),
        notes="self.cur_batch to 0.5.6.post2, scheduler.cur_batch to 0.5.15.post1, then cur_batch_for_debug.",
    ),
    Dialect(
        "watchdog-reqs",
        "0.5.4.post2-0.5.23",
        "watchdog",
        "",
        Template("{owner:word}.{batch:word}.reqs={text:text}"),
        (f"self.cur_batch.reqs={_REQS}", f"scheduler.cur_batch_for_debug.reqs={_REQS}"),
        notes="One line, maybe of megabytes. Users' texts stand in it; nothing is read from it.",
    ),
    Dialect(
        "watchdog-dump-hybrid",
        "0.4.9.post3-0.5.4.post1",
        "watchdog",
        "",
        Template(
            _DUMP + "full_available_size={full_available}, full_evictable_size={full_evictable}, "
            "swa_available_size={swa_available}, swa_evictable_size={swa_evictable}, "
        ),
        (
            f"[2025-08-30 03:05:44 TP0] self.cur_batch.batch_size()=3, self.cur_batch.reqs={_REQS}, "
            "full_available_size=700, full_evictable_size=200, swa_available_size=150, swa_evictable_size=50, ",
        ),
        _NO_CHECK,
    ),
    Dialect(
        "watchdog-dump",
        "0.4.9.post3-0.5.4.post1",
        "watchdog",
        "",
        Template(_DUMP + "available_size={available}, evictable_size={evictable}, "),
        (
            f"[2025-08-30 03:05:44 TP0] self.cur_batch.batch_size()=3, self.cur_batch.reqs={_REQS}, "
            "available_size=700, evictable_size=200, ",
        ),
        _NO_CHECK,
    ),
    Dialect(
        "watchdog-dump-call",
        "0.4.4-0.4.9.post2",
        "watchdog",
        "",
        Template(
            _DUMP + "self.token_to_kv_pool_allocator.available_size()={available}, "
            "self.tree_cache.evictable_size()={evictable}, "
        ),
        (
            f"[2025-05-30 03:05:44 TP0] self.cur_batch.batch_size()=3, self.cur_batch.reqs={_REQS}, "
            "self.token_to_kv_pool_allocator.available_size()=700, self.tree_cache.evictable_size()=200, ",
        ),
        _NO_CHECK,
    ),
    Dialect(
        "watchdog-dump-oldest",
        "0.4.3.post3-0.4.3.post4",
        "watchdog",
        "",
        Template(
            _DUMP + "self.token_to_kv_pool.available_size()={available}, self.tree_cache.evictable_size()={evictable}, "
        ),
        (
            f"[2025-02-20 03:05:44 TP0] self.cur_batch.batch_size()=3, self.cur_batch.reqs={_REQS}, "
            "self.token_to_kv_pool.available_size()=700, self.tree_cache.evictable_size()=200, ",
        ),
        _NO_CHECK,
    ),
)

RELEASE_ASSERTIONS = tuple(
    Dialect(
        name,
        releases,
        "release-assertion",
        "",
        Template(text),
        (f"AssertionError: {sample}",),
        "committed = allocated when a request is released",
        behind=("AssertionError",),
        notes="Not the checker's: raised while a request is released, often the next thing to fail.",
    )
    for name, releases, text, sample in (
        (
            "overallocated",
            "0.5.5.post1-0.5.15.post1",
            "Unexpected overallocated KV cache, req.kv_committed_len={committed}, req.kv_allocated_len={allocated}",
            "Unexpected overallocated KV cache, req.kv_committed_len=11, req.kv_allocated_len=20",
        ),
        (
            "overallocated-0.5.16",
            "0.5.16-0.5.18",
            "Unexpected overallocated KV cache, req.kv_committed_len={committed}, req.kv.kv_allocated_len={allocated}",
            "Unexpected overallocated KV cache, req.kv_committed_len=11, req.kv.kv_allocated_len=20",
        ),
        (
            "overallocated-0.5.19",
            "0.5.19-0.5.23",
            "Unexpected overallocated KV cache, req.kv.kv_committed_len={committed}, "
            "req.kv.kv_allocated_len={allocated}",
            "Unexpected overallocated KV cache, req.kv.kv_committed_len=11, req.kv.kv_allocated_len=20",
        ),
        (
            "committed-freed",
            "0.5.5.post1-0.5.15.post1",
            "Committed KV cache already freed (self.kv_committed_len={committed})",
            "Committed KV cache already freed (self.kv_committed_len=11)",
        ),
        (
            "overallocated-freed",
            "0.5.5.post1-0.5.15.post1",
            "Overallocated KV cache already freed, self.kv_committed_len={committed}, "
            "self.kv_allocated_len={allocated}",
            "Overallocated KV cache already freed, self.kv_committed_len=11, self.kv_allocated_len=20",
        ),
    )
)
