"""Context lines (`context` and the `*_lines` modules it asks): every text is read, nothing else is, damage is no value."""

# ruff: noqa: E501 - whole log lines stand on one line
from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.log.context import (
    AROUND_MARKERS,
    BATCH_MARKERS,
    CI_MARKERS,
    KINDS,
    MARKERS,
    STRUCTURAL_MARKERS,
    read_context,
)
from memcheck_cli.log.records import Context, Value

CORE = "#new-seq: 3, #new-token: 512, #cached-token: 96, "
CORE_VALUES = {"new_seq": 3, "new_token": 512, "cached_token": 96}
TAIL = {"running_req": 7, "queue_req": 2}
SPEED = "input throughput (token/s): 123.45"

PREFILL = [
    # 0.4.0
    (f"Prefill batch. {CORE}cache hit rate: 12.34%, token usage: 0.50, #running-req: 7, #queue-req: 2",
     "prefill-dot", {**CORE_VALUES, "cache_hit_rate": 12.34, "usage": 0.5, **TAIL}),
    # 0.4.3.post3
    (f"Prefill batch. {CORE}token usage: 0.50, #running-req: 7, #queue-req: 2, ",
     "prefill-dot-open", {**CORE_VALUES, "usage": 0.5, **TAIL}),
    # 0.4.6, PD
    (f"Prefill batch. {CORE}token usage: 0.50, #running-req: 7, #unbootstrapped-req: 4, #queue-req: 2, #transferring-req: 5 ",
     "prefill-dot", {**CORE_VALUES, "usage": 0.5, **TAIL, "unbootstrapped_req": 4, "transferring_req": 5}),
    # 0.4.7, PD
    (f"Prefill batch. {CORE}token usage: 0.50, #running-req: 7, #unbootstrapped-req: 4, #queue-req: 2, "
     "#transferring-req: 5, time: 1.25 ",
     "prefill-dot", {**CORE_VALUES, "usage": 0.5, **TAIL, "unbootstrapped_req": 4, "transferring_req": 5, "time": 1.25}),
    # 0.4.7.post1, PD
    (f"Prefill batch. {CORE}token usage: 0.50, #unbootstrapped-req: 4, #queue-req: 2, #transferring-req: 5, {SPEED} ",
     "prefill-dot", {**CORE_VALUES, "usage": 0.5, "queue_req": 2, "unbootstrapped_req": 4, "transferring_req": 5,
                     "input_throughput": 123.45}),
    # 0.4.9, plain and SWA
    (f"Prefill batch. {CORE}#token: 900, token usage: 0.50, #running-req: 7, #queue-req: 2",
     "prefill-dot", {**CORE_VALUES, "token": 900, "usage": 0.5, **TAIL}),
    (f"Prefill batch. {CORE}#token: full=900, swa=300, token usage: full=0.50, swa=0.25, #running-req: 7, #queue-req: 2",
     "prefill-dot", {**CORE_VALUES, "full_token": 900, "swa_token": 300, "full_usage": 0.5, "swa_usage": 0.25, **TAIL}),
    # 0.4.9.post1
    (f"Prefill batch. {CORE}#token: 900, token usage: 0.50, #running-req: 7, #queue-req: 2, "
     "timestamp: 2025-07-05T12:13:14.123456",
     "prefill-dot", {**CORE_VALUES, "token": 900, "usage": 0.5, **TAIL, "timestamp": "2025-07-05T12:13:14.123456"}),
    # 0.4.9.post3, SWA
    (f"Prefill batch. {CORE}full token usage: 0.50, swa token usage: 0.25, #running-req: 7, #queue-req: 2, ",
     "prefill-dot-open", {**CORE_VALUES, "full_usage": 0.5, "swa_usage": 0.25, **TAIL}),
    # 0.5.3rc2, PD
    (f"Prefill batch. {CORE}token usage: 0.50, #running-req: 7, #queue-req: 2, #prealloc-req: 4, #inflight-req: 5, ",
     "prefill-dot-open", {**CORE_VALUES, "usage": 0.5, **TAIL, "prealloc_req": 4, "inflight_req": 5}),
    # 0.5.3.post2, mamba
    (f"Prefill batch. {CORE}full token usage: 0.50, mamba usage: 0.25, #running-req: 7, #queue-req: 2, ",
     "prefill-dot-open", {**CORE_VALUES, "full_usage": 0.5, "mamba_usage": 0.25, **TAIL}),
    # 0.5.4, PD
    (f"Prefill batch [41], {CORE}token usage: 0.50, #running-req: 7, #queue-req: 2, #prealloc-req: 4, #inflight-req: 5, {SPEED}, ",
     "prefill-open", {"iteration": 41, **CORE_VALUES, "usage": 0.5, **TAIL, "prealloc_req": 4, "inflight_req": 5,
                      "input_throughput": 123.45}),
    # 0.5.4.post1, as 0.5.8 printed it
    ("Prefill batch, #new-seq: 1, #new-token: 53, #cached-token: 376, token usage: 0.32, #running-req: 2, #queue-req: 0, ",
     "prefill-open", {"new_seq": 1, "new_token": 53, "cached_token": 376, "usage": 0.32, "running_req": 2, "queue_req": 0}),
    # 0.5.9
    (f"Prefill batch, {CORE}token usage: 0.50, #running-req: 7, #queue-req: 2, {SPEED}, waiting-image-req: 1, cuda graph: False",
     "prefill", {**CORE_VALUES, "usage": 0.5, **TAIL, "input_throughput": 123.45, "waiting_image_req": 1, "graph": False}),
    # 0.5.10
    (f"Prefill batch, {CORE}full token usage: 0.50, swa token usage: 0.25, mamba usage: 0.75, #running-req: 7, #queue-req: 2, "
     f"#prealloc-req: 4, #inflight-req: 5, waiting-image-req: 1, npu graph: True, {SPEED}, est. prefill TFLOPS/s (per GPU): 9.87",
     "prefill", {**CORE_VALUES, "full_usage": 0.5, "swa_usage": 0.25, "mamba_usage": 0.75, **TAIL, "prealloc_req": 4,
                 "inflight_req": 5, "waiting_image_req": 1, "graph": True, "input_throughput": 123.45,
                 "est_prefill_tflops": 9.87}),
    # 0.5.11
    (f"Prefill batch, {CORE}token usage: 0.50, #running-req: 7, #queue-req: 2, #pending-token: 394, cuda graph: False, {SPEED}, "
     "fwd occupancy: 98.7%",
     "prefill", {**CORE_VALUES, "usage": 0.5, **TAIL, "pending_token": 394, "graph": False, "input_throughput": 123.45,
                 "fwd_occupancy": 98.7}),
    # 0.5.16, PD
    (f"Prefill batch, {CORE}token usage: 0.50, #running-req: 7, #queue-req: 2, #pending-token: 394, #bootstrap-req: 4, "
     f"#inflight-req: 5, #optimistic-req: 6, cuda graph: False, {SPEED}",
     "prefill", {**CORE_VALUES, "usage": 0.5, **TAIL, "pending_token": 394, "bootstrap_req": 4, "inflight_req": 5,
                 "optimistic_req": 6, "graph": False, "input_throughput": 123.45}),
    # 0.5.21
    (f"Prefill batch [7], {CORE}token usage: 0.50, #running-req: 7, #queue-req: 2, #pending-token: 394, #replay-token: 11, "
     f"musa graph: False, {SPEED}, fwd occupancy: 98.7%, fwd+idle occupancy: 99.1%",
     "prefill", {"iteration": 7, **CORE_VALUES, "usage": 0.5, **TAIL, "pending_token": 394, "replay_token": 11,
                 "graph": False, "input_throughput": 123.45, "fwd_occupancy": 98.7, "fwd_idle_occupancy": 99.1}),
]  # fmt: skip

GEN = "gen throughput (token/s): 61.20"
SPENT = {"gen_throughput": 61.2, "queue_req": 2}

DECODE = [
    # 0.4.0, 0.4.1.post7
    (f"Decode batch. #running-req: 7, #token: 900, token usage: 0.50, {GEN}, #queue-req: 2",
     "decode-dot", {"running_req": 7, "token": 900, "usage": 0.5, **SPENT}),
    (f"Decode batch. #running-req: 7, #token: 900, token usage: 0.50, accept len: 2.50, {GEN}, #queue-req: 2",
     "decode-dot", {"running_req": 7, "token": 900, "usage": 0.5, "accept_len": 2.5, **SPENT}),
    # 0.4.3.post3, 0.4.4.post2
    (f"Decode batch. #running-req: 7, #token: 900, token usage: 0.50, {GEN}, largest-len: 44, #queue-req: 2, ",
     "decode-dot-open", {"running_req": 7, "token": 900, "usage": 0.5, "largest_len": 44, **SPENT}),
    (f"Decode batch. #running-req: 7, #token: 900, token usage: 0.50, {GEN}, #queue-req: 2, ",
     "decode-dot-open", {"running_req": 7, "token": 900, "usage": 0.5, **SPENT}),
    # 0.4.7.post1
    (f"Decode batch. #running-req: 7, #token: 900, token usage: 0.50, accept len: 2.50, pre-allocated usage: 0.25, "
     f"#retracted-req: 1, cuda graph: True, {GEN}, #queue-req: 2",
     "decode-dot", {"running_req": 7, "token": 900, "usage": 0.5, "accept_len": 2.5, "preallocated_usage": 0.25,
                    "retracted_req": 1, "graph": True, **SPENT}),
    # 0.4.9 SWA, 0.4.9.post1
    (f"Decode batch. #running-req: 7, #token: full=900, swa=300, token usage: full=0.50, swa=0.25, {GEN}, #queue-req: 2",
     "decode-dot", {"running_req": 7, "full_token": 900, "swa_token": 300, "full_usage": 0.5, "swa_usage": 0.25, **SPENT}),
    (f"Decode batch. #running-req: 7, #token: 900, token usage: 0.50, {GEN}, #queue-req: 2, timestamp: 2025-07-05T12:13:14",
     "decode-dot", {"running_req": 7, "token": 900, "usage": 0.5, **SPENT, "timestamp": "2025-07-05T12:13:14"}),
    # 0.4.9.post3 SWA
    (f"Decode batch. #running-req: 7, #full token: 900, full token usage: 0.50, #swa token: 300, swa token usage: 0.25, "
     f"cpu graph: False, {GEN}, #queue-req: 2, ",
     "decode-dot-open", {"running_req": 7, "full_token": 900, "full_usage": 0.5, "swa_token": 300, "swa_usage": 0.25,
                         "graph": False, **SPENT}),
    # 0.5.3.post2 mamba, PD
    (f"Decode batch. #running-req: 7, #full token: 900, full token usage: 0.50, mamba num: 12, mamba usage: 0.75, "
     f"accept len: 2.50, accept rate: 0.60, pre-allocated usage: 0.25, #prealloc-req: 4, #transfer-req: 5, "
     f"#retracted-req: 1, cuda graph: True, {GEN}, #queue-req: 2, ",
     "decode-dot-open", {"running_req": 7, "full_token": 900, "full_usage": 0.5, "mamba_num": 12, "mamba_usage": 0.75,
                         "accept_len": 2.5, "accept_rate": 0.6, "preallocated_usage": 0.25, "prealloc_req": 4,
                         "transfer_req": 5, "retracted_req": 1, "graph": True, **SPENT}),
    # 0.5.4, 0.5.8
    (f"Decode batch [51], #running-req: 7, #token: 900, token usage: 0.50, cuda graph: True, {GEN}, #queue-req: 2, ",
     "decode-open", {"iteration": 51, "running_req": 7, "token": 900, "usage": 0.5, "graph": True, **SPENT}),
    # 0.5.9 and later, as 0.5.23 printed it
    ("Decode batch, #running-req: 5, #token: 1511, token usage: 0.37, cpu graph: False, gen throughput (token/s): 83.52, #queue-req: 0",
     "decode", {"running_req": 5, "token": 1511, "usage": 0.37, "graph": False, "gen_throughput": 83.52, "queue_req": 0}),
    # 0.5.10 estimates
    (f"Decode batch, #running-req: 7, #token: 900, token usage: 0.50, waiting-image-req: 1, cuda graph: True, {GEN}, #queue-req: 2, "
     "est. decode TFLOPS/s (per GPU): 1.5, est. read BW (GB/s per GPU): 2.5, est. write BW (GB/s per GPU): 3.5",
     "decode", {"running_req": 7, "token": 900, "usage": 0.5, "waiting_image_req": 1, "graph": True, **SPENT,
                "est_decode_tflops": 1.5, "est_read_bandwidth": 2.5, "est_write_bandwidth": 3.5}),
    # 0.5.11 HiSparse
    (f"Decode batch, #running-req: 7, #gpu token: 900, gpu token usage: 0.50, #cpu token: 800, cpu token usage: 0.25, "
     f"cuda graph: True, {GEN}, #queue-req: 2, fwd occupancy: 98.7%",
     "decode", {"running_req": 7, "gpu_token": 900, "gpu_usage": 0.5, "cpu_token": 800, "cpu_usage": 0.25, "graph": True,
                **SPENT, "fwd_occupancy": 98.7}),
    # 0.5.16 speculation with an estimate that holds brackets
    (f"Decode batch, #running-req: 7, #token: 900, token usage: 0.50, accept len: 2.50, accept rate: 0.60, cap len: 3.50, "
     f"block accept len: 4.50, est uncap acc len: 2.50 [2.10, 2.90], cuda graph: True, {GEN}, #queue-req: 2",
     "decode", {"running_req": 7, "token": 900, "usage": 0.5, "accept_len": 2.5, "accept_rate": 0.6, "cap_len": 3.5,
                "block_accept_len": 4.5, "graph": True, **SPENT}),
    # 0.5.21 PD
    (f"Decode batch, #running-req: 7, #token: 900, token usage: 0.50, pre-allocated usage: 0.25, #prealloc-req: 4, "
     f"#transfer-req: 5, #host-receive-req: 6, #retracted-req: 1, cuda graph: True, {GEN}, #queue-req: 2, "
     "fwd occupancy: 98.7%, fwd+idle occupancy: 99.1%",
     "decode", {"running_req": 7, "token": 900, "usage": 0.5, "preallocated_usage": 0.25, "prealloc_req": 4, "transfer_req": 5,
                "host_receive_req": 6, "retracted_req": 1, "graph": True, **SPENT, "fwd_occupancy": 98.7,
                "fwd_idle_occupancy": 99.1}),
    # broken counters are printed as they are
    ("Decode batch, #running-req: 1, #full token: -107520, full token usage: -0.05, mamba num: 4, mamba usage: nan, #queue-req: 0",
     "decode", {"running_req": 1, "full_token": -107520, "full_usage": -0.05, "mamba_num": 4, "queue_req": 0}),
]  # fmt: skip

RETRACT = [
    ("Decode out of memory happened. #retracted_reqs: 2, #new_token_ratio: 0.41 -> 0.62", "retract-decode-oom",
     {"retracted_reqs": 2, "new_token_ratio_before": 0.41, "new_token_ratio_after": 0.62}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.41 -> 0.62", "retract-pool-full",
     {"retracted_reqs": 2, "new_token_ratio_before": 0.41, "new_token_ratio_after": 0.62}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 2, #aborted_retracted_reqs: 1, #new_token_ratio: 0.41 -> 0.62",
     "retract-pool-full", {"retracted_reqs": 2, "aborted_retracted_reqs": 1, "new_token_ratio_before": 0.41,
                           "new_token_ratio_after": 0.62}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 64, #new_token_ratio: 0.0990 -> 0.4900",
     "retract-pool-full", {"retracted_reqs": 1, "new_tokens_gained": 64, "new_token_ratio_before": 0.099,
                           "new_token_ratio_after": 0.49}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 64, #mamba_num_gained: 1, "
     "#new_token_ratio: 0.0990 -> 0.4900",
     "retract-pool-full", {"retracted_reqs": 1, "new_tokens_gained": 64, "mamba_num_gained": 1,
                           "new_token_ratio_before": 0.099, "new_token_ratio_after": 0.49}),
    ("Testing retraction. #retracted_reqs: 1, #new_tokens_gained: 64", "retract-testing",
     {"retracted_reqs": 1, "testing": True, "new_tokens_gained": 64}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 1", "retract-pool-full", {"retracted_reqs": 1}),
]  # fmt: skip

OTHERS: list[tuple[str, str, dict[str, Value]]] = [
    # abort
    ("retract_decode: aborted last request ab12 due to OOM", "abort", {"what": "retract-oom", "rid": "ab12"}),
    ("retract_decode: aborted request ab12, retraction host pool exhausted", "abort", {"what": "retract", "rid": "ab12"}),
    ("retract_decode: aborted request ab12: no room", "abort", {"what": "retract", "rid": "ab12"}),
    ("Abort queued request. req.rid='ab12'", "abort", {"what": "queued", "rid": "ab12"}),
    ("Abort running request. req.rid='ab12'", "abort", {"what": "running", "rid": "ab12"}),
    ("Abort grammar queue request. req.rid='ab12'", "abort", {"what": "grammar", "rid": "ab12"}),
    ("Abort bootstrap queue request. req.rid='ab12'", "abort", {"what": "bootstrap", "rid": "ab12"}),
    ("Abort prealloc queue request. decode_req.req.rid='ab12'", "abort", {"what": "prealloc", "rid": "ab12"}),
    ("Abort chunked prefill request. req.rid='ab12'", "abort", {"what": "chunked prefill", "rid": "ab12"}),
    ("Abort dLLM queued request. req.rid='ab12'", "abort", {"what": "dllm queued", "rid": "ab12"}),
    ("Abort request for rid=ab12 not found in rid_to_state; likely already finished/removed.", "abort",
     {"what": "finished", "rid": "ab12"}),
    ("Request is disconnected from the client side (type 1). Abort request obj.rid='ab12'", "abort",
     {"what": "disconnected", "rid": "ab12"}),
    # flush
    ("Cache flushed successfully!", "flush", {}),
    ("Cache not flushed because there are pending requests. #queue-req: 3, #running-req: 4", "flush-refused",
     {"queue_req": 3, "running_req": 4}),
    ("Deferred flush_cache timed out while waiting for idle state.", "flush-refused", {"what": "timeout"}),
    ("Hierarchical cache cleared successfully!", "hicache", {"what": "cleared"}),
    ("Hierarchical cache or LMCache cleared successfully!", "hicache", {"what": "cleared"}),
    ("HiCache backup failed after 128 tokens", "hicache", {"text": "HiCache backup failed after 128 tokens"}),
    # out of memory
    ("Prefill out of memory. Try to lower your batch size.", "out-of-memory", {"what": "prefill"}),
    ("Decode out of memory. Try to lower your batch size.", "out-of-memory", {"what": "decode"}),
    ("Out of memory. Try to lower your batch size.", "out-of-memory", {"what": "tokens"}),
    ("RuntimeError: Prefill out of memory. Try to lower your batch size.", "out-of-memory", {"what": "prefill"}),
    ("Try to allocate 4096 tokens.", "out-of-memory", {"what": "detail", "wanted": 4096}),
    ("Avaliable tokens: 17", "out-of-memory", {"what": "detail", "obtainable": 17}),
    ("Available tokens: 17", "out-of-memory", {"what": "detail", "obtainable": 17}),
    ("Available tokens: 17 (available_size=10 + evictable_size=7)", "out-of-memory",
     {"what": "detail", "obtainable": 17, "available": 10, "evictable": 7}),
    ("Available full tokens: 17 (full_available_size=10 + full_evictable_size=7)", "out-of-memory",
     {"what": "detail", "obtainable": 17, "available": 10, "evictable": 7, "pool": "full"}),
    ("Available swa tokens: 9 (swa_available_size=9 + swa_evictable_size=0)", "out-of-memory",
     {"what": "detail", "obtainable": 9, "available": 9, "evictable": 0, "pool": "swa"}),
    ("RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`. "
     "req_to_token_pool.available_size()=3, num_reqs=8, ", "out-of-memory", {"what": "slots", "available": 3, "num_reqs": 8}),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "out-of-memory",
     {"what": "device", "text": "CUDA out of memory. Tried to allocate 2.00 GiB."}),
    ("torch.cuda.OutOfMemoryError: HIP out of memory.", "out-of-memory", {"what": "device", "text": "HIP out of memory."}),
    ("Capture failed: CUDA out of memory.", "out-of-memory", {"what": "device", "text": "Capture failed: CUDA out of memory."}),
    # exceptions and errors
    ("Scheduler hit an exception: Traceback (most recent call last):", "exception", {"who": "Scheduler"}),
    ("DetokenizerManager hit an exception: Traceback (most recent call last):", "process-exception",
     {"who": "DetokenizerManager"}),
    ("DataParallelController hit an exception: Traceback", "process-exception", {"who": "DataParallelController"}),
    ("Exception in ModelRpcClient:", "exception", {"who": "ModelRpcClient"}),
    ("Scheduler PP0 TP3 crashed: no more room", "exception", {"who": "Scheduler", "rank": "PP0 TP3", "text": "no more room"}),
    ("RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:7583.", "error",
     {"type": "RuntimeError", "text": "[pair.cc:553] Connection closed by peer [127.0.0.1]:7583."}),
    ("torch.distributed.DistBackendError: NCCL", "error", {"type": "DistBackendError", "text": "NCCL"}),
    ("NotImplementedError", "error", {"type": "NotImplementedError", "text": ""}),
    ("KeyboardInterrupt", "error", {"type": "KeyboardInterrupt", "text": ""}),
    ("E   KeyError: 'x'", "error", {"type": "KeyError", "text": "'x'", "copied": True}),
    ('  File "/usr/lib/python3/site-packages/sglang/srt/managers/scheduler.py", line 2134, in event_loop_overlap', "traceback-path",
     {"file": "srt/managers/scheduler.py", "line": 2134, "function": "event_loop_overlap"}),
    ('  File "/sgl-workspace/sglang/python/sglang/srt/mem_cache/allocator.py", line 9, in free', "traceback-path",
     {"file": "srt/mem_cache/allocator.py", "line": 9, "function": "free"}),
    # the way down
    ("Received sigquit from a child proces. It usually means the child failed.", "sigquit", {"what": "received"}),
    ("Received sigquit from a child process. It usually means the child failed.", "sigquit", {"what": "received"}),
    ("SIGQUIT received. signum=None, frame=None. It usually means one child failed.", "sigquit", {"what": "received"}),
    ("Subprocess scheduler_0 (pid=4711) crashed with exit code -9. Triggering SIGQUIT for cleanup...", "sigquit",
     {"what": "crashed", "name": "scheduler_0", "pid": 4711, "exit_code": -9}),
    ("Rank 3 scheduler is dead. Please check if there are relevant logs.", "sigquit", {"what": "dead", "rank": 3}),
    ("Killed", "sigquit", {"what": "killed"}),
    ("./run.sh: line 2: 103 Killed                  python serve.py --port 1", "sigquit", {"what": "killed", "pid": 103}),
    # watchdog
    ("Watchdog timeout (self.watchdog_timeout=300)", "watchdog", {"what": "timeout", "timeout": 300}),
    ("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "watchdog",
     {"what": "timeout", "timeout": 300, "soft": False, "who": "Scheduler"}),
    ("self.cur_batch.batch_size()=3, self.cur_batch.reqs=[Req(rid=a, input_ids=[1, 2])], "
     "self.token_to_kv_pool_allocator.available_size()=9, self.tree_cache.evictable_size()=4, ", "watchdog",
     {"what": "batch", "batch_size": 3}),
    ("self.cur_batch.batch_size()=3, self.cur_batch.reqs=[rid(n=a, input_ids=[1, 2], ], "
     "self.token_to_kv_pool.available_size()=9, self.tree_cache.evictable_size()=4, ", "watchdog",
     {"what": "batch", "batch_size": 3}),
    ("self.cur_batch.batch_size()=3, self.cur_batch.reqs=[], full_available_size=9, full_evictable_size=4, "
     "swa_available_size=3, swa_evictable_size=2, ", "watchdog", {"what": "batch", "batch_size": 3}),
    ("self.cur_batch.batch_size()=3", "watchdog", {"what": "batch", "batch_size": 3}),
    ("self.cur_batch.reqs=[Req(rid=a)]", "watchdog", {"what": "requests"}),
    ("Scheduler debug info:", "watchdog", {"what": "head", "who": "Scheduler"}),
    ("scheduler.cur_batch.batch_size()=3", "watchdog", {"what": "batch", "batch_size": 3}),
    ("scheduler.cur_batch.reqs=[Req(rid=a)]", "watchdog", {"what": "requests"}),
    ("scheduler.cur_batch_for_debug.batch_size()=3", "watchdog", {"what": "batch", "batch_size": 3}),
    ("scheduler.cur_batch_for_debug.reqs=[Req(rid=a)]", "watchdog", {"what": "requests"}),
    ("Scheduler watchdog thread crashed: no tree", "watchdog", {"what": "crashed", "who": "Scheduler"}),
    ("symmetric-memory registration in progress: rank 3", "watchdog", {"what": "head"}),
    ("Pyspy dump for PID 4711:", "pyspy", {"pid": 4711}),
    ("Pyspy dump for PID 4711 (sglang::scheduler_TP0):", "pyspy", {"pid": 4711}),
    # sessions
    ("Session opened: s0 (active=1)", "session", {"what": "opened", "session": "s0", "active": 1}),
    ("Session closed: s0 (active=0)", "session", {"what": "closed", "session": "s0", "active": 0}),
    ("Session KV released: s0 (640 tokens freed)", "session", {"what": "released", "session": "s0", "tokens": 640}),
    ("Deferring session close for s0 (unfinished request)", "session", {"what": "deferred", "session": "s0"}),
    ("session id s0 already exist, cannot open.", "session", {"what": "refused", "session": "s0"}),
    ("session s1: request aborted, input 40960 longer than context 32768", "session", {"what": "aborted", "session": "s1"}),
    ("Streaming session already has an active request., self.rid='req0-0018'", "session",
     {"what": "refused", "text": "Streaming session already has an active request., self.rid='req0-0018'"}),
    # start-up
    ("max_total_num_tokens=4096, max_prefill_tokens=16384, max_running_requests=8, context_len=2048", "banner",
     {"max_total_num_tokens": 4096, "max_prefill_tokens": 16384, "max_running_requests": 8, "context_len": 2048}),
    ("max_total_num_tokens=4096, chunked_prefill_size=None, max_prefill_tokens=16384, max_running_requests=8, context_len=2048",
     "banner", {"max_total_num_tokens": 4096, "chunked_prefill_size": None, "max_prefill_tokens": 16384,
                "max_running_requests": 8, "context_len": 2048}),
    ("max_total_num_tokens=4096, chunked_prefill_size=256, max_prefill_tokens=16384, max_running_requests=8, context_len=2048, "
     "available_gpu_mem=12.34 GB",
     "banner", {"max_total_num_tokens": 4096, "chunked_prefill_size": 256, "max_prefill_tokens": 16384,
                "max_running_requests": 8, "context_len": 2048, "available_gpu_mem": 12.34}),
    ("max_total_num_tokens=4096, chunked_prefill_size=256, max_prefill_tokens=16384, max_running_requests=8, context_len=4096, "
     "available_cpu_mem=21.80 GB",
     "banner", {"max_total_num_tokens": 4096, "chunked_prefill_size": 256, "max_prefill_tokens": 16384,
                "max_running_requests": 8, "context_len": 4096, "available_cpu_mem": 21.8}),
    ("KV Cache is allocated. #tokens: 1536, K size: 0.10 GB, V size: 0.10 GB", "pool-sizes", {"tokens": 1536}),
    ("KV Cache is allocated. #tokens: 1536, KV size: 0.20 GB", "pool-sizes", {"tokens": 1536}),
    ("KV Cache is allocated. dtype: torch.float16, #tokens: 4096, K size: 0.00 GB, V size: 0.00 GB", "pool-sizes", {"tokens": 4096}),
    ("Full KV Cache is allocated. dtype: torch.float16, #tokens: 4096, K size: 0.00 GB, V size: 0.00 GB", "pool-sizes",
     {"full_tokens": 4096}),
    ("SWA KV Cache is allocated. dtype: torch.float16, #tokens: 2048, K size: 0.00 GB, V size: 0.00 GB", "pool-sizes",
     {"swa_tokens": 2048}),
    ("Index KV Cache is allocated. dtype: torch.uint8, #tokens: 2048, KV size: 0.00 GB", "pool-sizes",
     {"other_pool": "Index", "other_tokens": 2048}),
    ("KV Cache VA upper bound. dtype: torch.float16, #tokens: 99999, K size: 0.00 GB, V size: 0.00 GB", "pool-sizes", {"bound": True}),
    ("KV Cache skipped (no-op pool). Logical #tokens: 4096, nothing kept", "pool-sizes", {"tokens": 4096}),
    ("Post-capture KV sizing: max_total_num_tokens=4096, free memory=1.25 GB", "pool-sizes", {"max_total_num_tokens": 4096}),
    ("Post-capture KV sizing: full_layer_tokens=4096, swa_layer_tokens=2048", "pool-sizes", {"full_tokens": 4096, "swa_tokens": 2048}),
    ("Post-capture KV sizing: KV cache allocated. dtype: torch.float16, #tokens: 4096, KV size: 0.50 GB, avail mem=1.25 GB",
     "pool-sizes", {"tokens": 4096}),
    ("Post-capture KV sizing: draft KV cache allocated. dtype: torch.float16, #tokens: 512, KV size: 0.50 GB",
     "pool-sizes", {"draft_tokens": 512}),
    ("Use Sliding window memory pool. full_layer_tokens=4096, swa_layer_tokens=2048", "pool-sizes",
     {"full_tokens": 4096, "swa_tokens": 2048}),
    ("Use sliding window memory pool. full_layer_tokens=4096, swa_layer_tokens=2048", "pool-sizes",
     {"full_tokens": 4096, "swa_tokens": 2048}),
    ("Use sliding window memory pool (all SWA). swa_layer_tokens=2048", "pool-sizes", {"swa_tokens": 2048}),
    ("SWAKVPool mem usage: 0.001220703125 GB, swa size: 2048, full size: 4096", "pool-sizes", {"full_tokens": 4096, "swa_tokens": 2048}),
    ("SWAKVPool VA upper bound: 1.25 GB, swa size: 99999, full size: 99999", "pool-sizes", {"bound": True}),
    ("DSV4 pool sizes: full=4096, swa=2048, c4=1024, c128=32, c4_state=16, c128_state=8", "pool-sizes",
     {"full_tokens": 4096, "swa_tokens": 2048, "c4_tokens": 1024, "c128_tokens": 32, "c4_state_tokens": 16, "c128_state_tokens": 8}),
    ("SWA ring: swa_max_total_num_tokens 2048 -> 1024 (fixed per-request SWA ring capacity).", "pool-sizes", {"swa_ring_tokens": 1024}),
    ("[unified-memory-pool] UnifiedKVPool full: total_bytes=1.00 GB", "pool-sizes", {"unified": True}),
    ("Mamba Cache is allocated. max_mamba_cache_size: 24, conv_state size: 0.10GB, ssm_state size: 0.20GB ", "pool-sizes",
     {"mamba_slots": 24}),
    ("Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=True hybrid_ssm=False hicache_attached=False",
     "tree-cache", {"source": "default", "impl": "UnifiedRadixCache", "hybrid_swa": True, "hybrid_ssm": False,
                    "hicache_attached": False}),
    ("The server is fired up and ready to roll!", "ready", {}),
    ("server_args=ServerArgs(model_path='m', tp_size=2, page_size=16)", "server-args",
     {"model_path": "m", "tp_size": 2, "page_size": 16}),
    ("server_args={'model_path': 'm', 'tp_size': 2, 'page_size': 16}", "server-args", {"model_path": "m", "tp_size": 2, "page_size": 16}),
    ("command=python3 -m sglang.launch_server --model-path m --page-size 4 --device cuda", "command",
     {"model_path": "m", "page_size": 4, "device": "cuda"}),
    ("command=sglang serve --model-path m --page-size 4", "command", {"model_path": "m", "page_size": 4}),
    ("command=python3 -m sglang.launch_server", "command", {}),
    # quoted elsewhere
    ("./serve.sh: line 9: 41877 Killed                  python -m sglang.launch_server --model-path m --page-size 1 --max-total-tokens 203008",
     "quoted-flags", {"model_path": "m", "page_size": 1, "max_total_tokens": 203008, "killed": True}),
    ("$ python -m sglang.launch_server --model m --tp 8 --page-size 64 && echo --tp 2", "quoted-flags",
     {"model_path": "m", "tp_size": 8, "page_size": 64}),
    ('  command: ["python3", "-m", "sglang.launch_server", "--model-path", "m", "--page-size", "16"]', "quoted-flags",
     {"model_path": "m", "page_size": 16}),
    ("docker run --device x --ipc=host lmsysorg/sglang:v0.5.12-cu126 sglang serve --page-size 8 --tp 2", "quoted-flags",
     {"page_size": 8, "tp_size": 2, "version": "0.5.12"}),
    ("  --page-size 16 --tp 2 \\", "quoted-flags", {"page_size": 16, "tp_size": 2}),
    ('  - "--page-size=16"', "quoted-flags", {"page_size": 16}),
    ("SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY=2 python3 -m sglang.launch_server --page-size 16", "quoted-flags",
     {"page_size": 16, "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY": 2}),
    ("bench: started server_args=ServerArgs(model_path='m', page_size=16)", "quoted-flags", {"model_path": "m", "page_size": 16}),
    ("I ran `python -m sglang.launch_server --page-size 16` and then --page-size 64", "quoted-flags", {"page_size": 16}),
    # the checks' own switches
    ("/a/b/scheduler_runtime_checker_mixin.py:150: UserWarning: Runtime memory check (busy) is not supported when speculation topk > 1.",
     "topk-warning", {}),
    ('/a/b/environ.py:9: UserWarning: Invalid value for SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY: "on" is not a valid integer '
     'value, using default "0"', "env-warning", {"name": "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY", "value": "on"}),
    ("export SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY=2", "level-hint", {"SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY": 2}),
    ('  SGLANG_CHECK_KV_PAGE_INVARIANTS: "true"', "level-hint", {"SGLANG_CHECK_KV_PAGE_INVARIANTS": "true"}),
    # versions
    ("Collecting sglang==0.5.12.post1", "version", {"version": "0.5.12.post1"}),
    ("Successfully installed sgl-kernel-0.3.1 sglang-0.5.10rc0 torch-2.9", "version", {"version": "0.5.10rc0"}),
    ("sglang                        0.5.11", "version", {"version": "0.5.11"}),
    ("image: lmsysorg/sglang:v0.5.12-cu126", "version", {"version": "0.5.12"}),
    ("sglang: 0.5.9+cu128", "version", {"version": "0.5.9+cu128"}),
    # test suites
    ("Begin (0/12):", "ci-begin", {"index": 0, "last": 12}),
    ("python3 /w/sglang/test/srt/test_eagle.py", "ci-file", {"file": "/w/sglang/test/srt/test_eagle.py"}),
    ("End (0/12):", "ci-end", {"index": 0, "last": 12}),
    ("filename='/w/test/test_eagle.py', elapsed=123, estimated_time=200", "ci-end",
     {"file": "/w/test/test_eagle.py", "elapsed": 123, "estimated_time": 200}),
    ("[CI Test Method] TestEagle.test_gsm8k", "ci-method", {"class": "TestEagle", "method": "test_gsm8k"}),
    ("[CI Retry] Attempt 2/2 for test/test_eagle.py", "ci-retry", {"attempt": 2, "attempts": 2, "file": "test/test_eagle.py"}),
    ("[CI Retry] test/test_eagle.py failed with retriable pattern", "ci-failed",
     {"file": "test/test_eagle.py", "reason": "failed with retriable pattern"}),
    ("\u2713 PASSED on retry (attempt 2): test/test_eagle.py", "ci-passed-on-retry", {"attempt": 2, "file": "test/test_eagle.py"}),
    ("\ufffd\ufffd\ufffd PASSED on retry (attempt 2): test/test_eagle.py", "ci-passed-on-retry", {"attempt": 2, "file": "test/test_eagle.py"}),
    ("\u2717 FAILED: test/test_eagle.py returned exit code 1", "ci-failed", {"file": "test/test_eagle.py", "exit_code": 1}),
    ("\u2717 TIMEOUT: test/test_eagle.py after 1200 seconds", "ci-failed",
     {"file": "test/test_eagle.py", "reason": "timeout", "timeout": 1200}),
]  # fmt: skip

UNPREFIXED = re.compile(
    r"\s|[$\"'\[\u2713\u2717\ufffd]|E  |\./|Killed|python|export|/a/b|[A-Za-z.]*(Error|Interrupt)\b"
)
EVERY = [
    *((text, "prefill", form, values) for text, form, values in PREFILL),
    *((text, "decode", form, values) for text, form, values in DECODE),
    *((text, "retract", form, values) for text, form, values in RETRACT),
    *((text, kind, None, values) for text, kind, values in OTHERS),
]


@pytest.mark.parametrize(("text", "kind", "form", "values"), EVERY, ids=[text[:60] for text, *_ in EVERY])
def test_every_text_is_read(text: str, kind: str, form: str | None, values: Mapping[str, Value]) -> None:
    found = read_context(text, prefixed=not UNPREFIXED.match(text))
    assert found is not None
    assert (found.kind, dict(found.values)) == (kind, values)
    if form is not None:
        assert found.form == form


@pytest.mark.parametrize(("text", "kind", "form", "values"), EVERY, ids=[text[:60] for text, *_ in EVERY])
def test_a_cut_line_has_no_other_value(text: str, kind: str, form: str | None, values: Mapping[str, Value]) -> None:
    """Wherever the line is cut, each number is missing or as in the whole line."""
    prefixed = not UNPREFIXED.match(text)
    for end in range(len(text)):
        found = read_context(text[:end], prefixed, whole=False)
        if found is None or found.kind != kind:
            continue
        for name, value in found.values.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert value == values[name], text[:end]


def test_every_kind_has_a_text() -> None:
    assert {kind for _, kind, _, _ in EVERY} == set(KINDS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        'INFO:     10.0.0.9:50112 - "POST /generate HTTP/1.1" 200 OK',
        "Load weight begin. avail mem=21.90 GB",
        "Memory pool end. avail mem=21.80 GB",
        "KV pool holds 1536 tokens, fewer than --context-length 4096. Lower --context-length or raise --page-size 3.",
        "[Mem Check (BUSY)] [full] total=4096, available=3000, evictable=64, protected=0, session_held=0, uncached=1000",
        "AssertionError: Full Pool Mem Leak Detected! [full] total=4096, available=114, evictable=2943, protected=968",
        "ValueError: pool memory leak detected! [full] total=4096, available=704, evictable=3392, protected=0",
        "E   ValueError: pool memory leak detected! [full] total=4096, available=704, evictable=3392, protected=0",
        "AssertionError: KV double free: sub-pool 0 has 3 duplicate pages.",
        "    assert not full_leak, f\"Full Pool Mem Leak Detected! {full_msg}\"",
        "    return func(*args, **kwargs)",
        "command=python3 -m sglang.bench_serving --model m --tp 4",
        "command=python3 -m sglang_router.launch_router --tp 4",
        "Decode batch, soon",
        "Prefill batch",
        "The total number of ranks is larger, to avoid the out-of-memory error.",
        "Ignore import error when loading sglang.srt.models.grok: no attribute",
        "sglang-router 0.2.1",
        "sglang[all]>=0.5.6",
        "Found existing installation: sglang 0.5.11",
        "Watchdog Scheduler initialized.",
        "Scheduler is warming up: Error",
        "The scheduler info: Error handling is on",
        "step 7: done",
        "Tree cache initialized: source=default",
        "max_total_num_tokens=4096",
        "max_total_num_tokens=99999999999999999999, max_prefill_tokens=1",
        "SWA KV Cache is allocated. dtype: torch.float16, #tokens: 20[2026-11-30 01:32:53 TP1] x",
        '  File "/usr/lib/python3/site-packages/torch/nn/modules/module.py", line 1778, in _call',
        "Begin (x/12):",
        "python3 setup.py install",
        "SGLANG_CPU_OMP_THREADS_BIND is set for explicit control of CPU cores",
    ],
)  # fmt: skip
@pytest.mark.parametrize("prefixed", [True, False])
def test_what_says_nothing(text: str, prefixed: bool) -> None:
    assert read_context(text, prefixed) is None


def test_a_batch_line_is_read_up_to_the_tear() -> None:
    torn = (
        "Decode batch, #running-req: 5, #token: 15[2026-11-30 01:32:53 TP1] Decode batch, #running-req: 7, #token: 99"
    )
    found = read_context(torn, True)
    assert found is not None and dict(found.values) == {"running_req": 5}
    torn = "Decode batch, #running-req: 5, something [2026-11-30 01:32:53 TP1] new, #token: 99, #queue-req: 0"
    found = read_context(torn, True)
    assert found is not None and dict(found.values) == {"running_req": 5}


def test_the_last_number_of_a_broken_off_line_is_no_value() -> None:
    found = read_context("Decode batch, #running-req: 5, #token: 15", True)
    assert found is not None and dict(found.values) == {"running_req": 5}
    found = read_context("max_total_num_tokens=4096, chunked_prefill_size=25", True)
    assert found is not None and dict(found.values) == {"max_total_num_tokens": 4096}
    assert read_context("KV cache pool is full. Retract requests. #retracted_reqs: 1", True, whole=False) is None


def test_what_a_bracket_closes_is_whole_in_a_cut_line() -> None:
    for whole in (True, False):
        found = read_context("server_args=ServerArgs(tp_size=2, page_size=64)", True, whole)
        assert found is not None and found.values == {"tp_size": 2, "page_size": 64}
    found = read_context("server_args=ServerArgs(tp_size=2, page_size=64", True, whole=False)
    assert found is not None and found.values == {"tp_size": 2}
    found = read_context("$ python -m sglang.launch_server --tp 2 --page-size 6", False, whole=False)
    assert found is not None and found.values == {"tp_size": 2}


def test_options_alone_are_read_only_off_the_server_s_own_lines() -> None:
    assert read_context("--page-size 16 is needed by this backend", True) is None
    found = read_context("--page-size 16", False)
    assert found is not None and found.kind == "quoted-flags"


def test_only_a_server_s_launch_opens_a_run() -> None:
    bench = read_context("command=python3 -m sglang.bench_one_batch --model m --page-size 4", False)
    assert bench is not None and bench.kind == "quoted-flags"


def test_markers_are_split_without_overlap_of_purpose() -> None:
    assert set(BATCH_MARKERS) <= set(AROUND_MARKERS)
    assert not set(STRUCTURAL_MARKERS) & set(AROUND_MARKERS)
    assert set(MARKERS) == {*STRUCTURAL_MARKERS, *AROUND_MARKERS, *CI_MARKERS}


JUDGING = {"server-args", "command", "quoted-flags", "banner", "exception"}


def holds_its_promises(text: str, found: Context) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    assert any(marker in raw for marker in MARKERS), found
    if found.kind in JUDGING:
        assert any(marker in raw for marker in STRUCTURAL_MARKERS), found
    if found.kind in ("prefill", "decode"):
        assert any(marker in raw for marker in BATCH_MARKERS), found
    if found.kind.startswith("ci-"):
        assert any(marker in raw for marker in CI_MARKERS), found
    assert set(found.values) <= set(KINDS[found.kind].values), found
    numbers = {float(number) for number in re.findall(r"-?[0-9]+(?:\.[0-9]+)?", text, re.ASCII)}
    for value in found.values.values():
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert float(value) in numbers or -float(value) in numbers, found
        elif isinstance(value, str) and found.kind not in ("out-of-memory", "abort", "sigquit", "session", "watchdog"):
            assert value in text or value == "timeout", found


@pytest.mark.parametrize("text", [text for text, *_ in EVERY], ids=[text[:60] for text, *_ in EVERY])
def test_promises_hold_for_every_text(text: str) -> None:
    found = read_context(text, prefixed=not UNPREFIXED.match(text))
    assert found is not None
    holds_its_promises(text, found)


WHOLE = st.sampled_from([text for text, *_ in EVERY])
WORDS = st.sampled_from(
    sorted({word for text, *_ in EVERY for word in re.findall(r"[^\s,]+[\s,]*", text[:300])} | {"[2026-11-30 01:32:53 TP1] ", "\x1b[0m", "\u0663"})
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A real text, cut, torn into another, or with pieces of others inside."""
    text = draw(WHOLE)
    start, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    middle = draw(st.lists(WORDS, max_size=3).map("".join) | WHOLE | st.text(max_size=8))
    return draw(
        st.sampled_from(
            [text[start:end], text[:start] + middle + text[end:], text[:end] + middle, text[:start] + text[end:]]
        )
    )


@given(damaged() | st.lists(WORDS, max_size=12).map("".join) | st.text(max_size=120), st.booleans(), st.booleans())
def test_nothing_raises_and_promises_hold_for_damaged_text(text: str, prefixed: bool, whole: bool) -> None:
    found = read_context(text, prefixed, whole)
    if found is not None:
        holds_its_promises(text, found)


HOSTILE = [
    *sorted({text[:24] for text, *_ in EVERY}),
    *("--page-size ", "sglang ", "SGLANG_", "out of memory ", "server_args=ServerArgs(", "E   ", "((((", "'\\", ": "),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_linear(piece: str) -> None:
    assert_linear(lambda size: read_context(piece * (size // len(piece)), False), 400_000)
