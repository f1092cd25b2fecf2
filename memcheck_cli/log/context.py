"""The other lines of a log: what a server says about itself, its batches, and what happened around a break.

`read_context` looks at the message part of one line and says in constant time for nearly every line that it is nothing.
It is asked after `lines.read_message`, which knows the checker's own texts. `KINDS` lists what it can find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from memcheck_cli.log.batch_lines import BATCH_VALUES, read_batch
from memcheck_cli.log.ci_lines import read_ci, read_ci_result
from memcheck_cli.log.printed import without_cut_end
from memcheck_cli.log.records import Context
from memcheck_cli.log.server_args import BY_NAME
from memcheck_cli.log.startup_lines import (
    read_banner,
    read_command,
    read_kv_cache,
    read_pool_sizes,
    read_quoted,
    read_server_args_line,
    read_tree_cache,
    read_version,
)
from memcheck_cli.log.trouble_lines import (
    CHECK_VARIABLES,
    read_abort,
    read_device_memory,
    read_environment,
    read_error,
    read_exception,
    read_flush,
    read_hicache,
    read_killed,
    read_out_of_memory,
    read_pyspy,
    read_retract,
    read_session,
    read_sigquit,
    read_traceback_path,
    read_watchdog,
)


class Kind(NamedTuple):
    """What a kind of context line means, and the names that its `values` may carry (never more than these)."""

    meaning: str
    values: tuple[str, ...] = ()


_FLAGS = tuple(BY_NAME)
_BATCH = ("iteration", "graph", *BATCH_VALUES.values())

KINDS: Mapping[str, Kind] = {
    "server-args": Kind(
        "The server's own arguments; opens a run. Form: server-args-repr (to 0.5.18) or server-args-dict.", _FLAGS
    ),
    "command": Kind("The command that a test suite launched a server with; opens a run.", _FLAGS),
    "quoted-flags": Kind(
        "Options of a server quoted by somebody else (a shell, a prompt, a container); opens no run. killed: the "
        "shell says that this process was killed.",
        (*_FLAGS, "killed", "version", *CHECK_VARIABLES),
    ),
    "banner": Kind(
        "The scheduler's pools are ready. Sizes in tokens, free memory in GB; chunked_prefill_size may be None.",
        (
            "max_total_num_tokens",
            "chunked_prefill_size",
            "max_prefill_tokens",
            "max_running_requests",
            "context_len",
            "available_gpu_mem",
            "available_cpu_mem",
        ),
    ),
    "pool-sizes": Kind(
        "The size of a pool: tokens (a plain pool), full_tokens, swa_tokens, mamba_slots, draft_tokens (of a draft "
        "model), other_tokens of other_pool, swa_ring_tokens, the sizes of DSV4 pools. max_total_num_tokens comes "
        "after the graphs were captured and replaces the banner's. bound: only an upper bound was printed. unified: "
        "the pools share one memory, so totals move.",
        (
            "tokens",
            "full_tokens",
            "swa_tokens",
            "mamba_slots",
            "draft_tokens",
            "other_pool",
            "other_tokens",
            "swa_ring_tokens",
            "c4_tokens",
            "c128_tokens",
            "c4_state_tokens",
            "c128_state_tokens",
            "max_total_num_tokens",
            "bound",
            "unified",
        ),
    ),
    "tree-cache": Kind(
        "Which tree cache the server uses (0.5.13 on).",
        ("source", "impl", "hybrid_swa", "hybrid_ssm", "hicache_attached"),
    ),
    "ready": Kind("The server accepts requests."),
    "version": Kind("The version of SGLang, from an installer, a package list or an image's name.", ("version",)),
    "prefill": Kind("A prefill batch; values as in batch_lines.BATCH_VALUES, in printed order.", _BATCH),
    "decode": Kind("Some decode batches (every 40th by default); values as in batch_lines.BATCH_VALUES.", _BATCH),
    "retract": Kind(
        "Running requests were sent back to the queue. testing: a test asked for it.",
        (
            "retracted_reqs",
            "aborted_retracted_reqs",
            "new_tokens_gained",
            "mamba_num_gained",
            "new_token_ratio_before",
            "new_token_ratio_after",
            "testing",
        ),
    ),
    "abort": Kind(
        "A request was aborted. what: where it was (queued, running, grammar, chunked prefill, prealloc, transfer, "
        "...), disconnected, finished, retract or retract-oom.",
        ("what", "rid"),
    ),
    "flush": Kind("The cache was flushed: accounting starts anew."),
    "flush-refused": Kind(
        "A flush was refused because requests are pending, or timed out.", ("queue_req", "running_req", "what")
    ),
    "hicache": Kind("A line of the hierarchical cache. what: cleared.", ("what", "text")),
    "out-of-memory": Kind(
        "No room. what: prefill, decode, tokens (of the pool), slots (requests), device, or detail: the numbers that "
        "follow. wanted, obtainable, available, evictable in tokens (in slots: available, num_reqs); pool: full, swa.",
        ("what", "wanted", "obtainable", "available", "evictable", "num_reqs", "pool", "text"),
    ),
    "exception": Kind(
        "A scheduler hit an exception. rank and text only where the line has them (Ray).", ("who", "rank", "text")
    ),
    "process-exception": Kind("Another process of the server hit an exception.", ("who",)),
    "error": Kind(
        "The last line of a traceback, other than the checker's own. copied: by a test runner.",
        ("type", "text", "copied"),
    ),
    "traceback-path": Kind("A frame inside SGLang; file from the package's root on.", ("file", "line", "function")),
    "sigquit": Kind(
        "The server goes down. what: received, crashed (a subprocess, with name, pid, exit_code), dead (a rank's "
        "scheduler), killed (by the system, with pid where told).",
        ("what", "name", "pid", "exit_code", "rank"),
    ),
    "watchdog": Kind(
        "The watchdog. what: timeout (seconds, soft), head, batch (batch_size), requests, crashed. Pool texts that "
        "follow are no check.",
        ("what", "who", "timeout", "soft", "batch_size"),
    ),
    "pyspy": Kind("A stack dump of a scheduler.", ("pid",)),
    "session": Kind(
        "A session. what: opened, closed (both with active: how many are open), released (tokens), deferred, refused, "
        "aborted (a request of it).",
        ("what", "session", "active", "tokens", "text"),
    ),
    "topk-warning": Kind("The busy check says that it does not run when top-k > 1 (0.5.7-0.5.12.post1)."),
    "env-warning": Kind("A variable has a value that is none, so its default holds.", ("name", "value")),
    "level-hint": Kind("A variable that switches a check on is given a value, by its full name.", CHECK_VARIABLES),
    "ci-begin": Kind("A test file begins: its index and the last index.", ("index", "last")),
    "ci-end": Kind("A test file ended. Times in seconds.", ("index", "last", "file", "elapsed", "estimated_time")),
    "ci-file": Kind("The test file that is run.", ("file",)),
    "ci-method": Kind("The test method that begins.", ("class", "method")),
    "ci-retry": Kind("A further attempt of a test file begins.", ("attempt", "attempts", "file")),
    "ci-passed-on-retry": Kind("A test file passed on a later attempt.", ("attempt", "file")),
    "ci-failed": Kind("A test file, or one attempt of it, failed.", ("file", "exit_code", "reason", "timeout")),
}

STRUCTURAL_MARKERS: tuple[bytes, ...] = (
    b"server_args=",
    b"launch_server",
    b"sglang serve",
    b"--page",
    b"--disaggregation",
    b"sglang==",
    b"sglang:v",
    b"max_total_num_tokens",
    b"layer_tokens=",
    b"#tokens: ",
    b" hit an exception: ",
    b"Exception in ModelRpcClient:",
    b" crashed: ",
)
"""Every line that decides how records are judged holds one of these: kinds server-args, command, quoted-flags, banner
and exception, and of the pool sizes those that can be a total."""

BATCH_MARKERS: tuple[bytes, ...] = (b"Prefill batch", b"Decode batch")
"""Batch lines hold one of these. They explain, and they also count for run borders and ring dumps."""

CI_MARKERS: tuple[bytes, ...] = (
    b"Begin (",
    b"End (",
    b"[CI ",
    b"filename='",
    b"python",
    b"PASSED on retry",
    b"returned exit code",
    b"TIMEOUT: ",
)
"""The marks of a test suite (kinds ci-*) hold one of these."""

AROUND_MARKERS: tuple[bytes, ...] = (
    *BATCH_MARKERS,
    b"#retracted_reqs: ",
    b"retract_decode: ",
    b"Abort ",
    b"ache flushed successfully",
    b"ache not flushed",
    b"flush_cache timed out",
    b"HiCache",
    b"Hierarchical cache",
    b"ut of memory",
    b"OutOfMemory",
    b"Try to allocate ",
    b"ble tokens: ",
    b"ble full tokens: ",
    b"ble swa tokens: ",
    b"Error",
    b"Exception",
    b"Interrupt",
    b"Exit",
    b"Timeout",
    b"SIGQUIT",
    b"sigquit",
    b"scheduler is dead",
    b"crashed with exit code",
    b"Killed",
    b"atchdog t",
    b" debug info:",
    b"cur_batch",
    b"symmetric-memory registration",
    b"Pyspy dump",
    b"ession ",
    b"Tree cache initialized",
    b"SWAKVPool ",
    b"DSV4 pool sizes: ",
    b"Mamba Cache is allocated",
    b"[unified-memory-pool]",
    b"fired up and ready",
    b"sglang",
    b"SGLang",
    b"SGLANG_",
    b"topk > 1",
)
"""Every line that only explains holds one of these."""

MARKERS: tuple[bytes, ...] = STRUCTURAL_MARKERS + AROUND_MARKERS + CI_MARKERS
"""Every line that `read_context` reads holds one of these."""


def _ready(text: str) -> Context | None:
    return Context("ready", "ready") if text.startswith("The server is fired up and ready to roll!") else None


def _prefill(text: str) -> Context | None:
    return read_batch(text) or read_out_of_memory(text)


def _decode(text: str) -> Context | None:
    return read_batch(text) or read_retract(text) or read_out_of_memory(text)


def _scheduler(text: str) -> Context | None:
    return read_exception(text) or read_watchdog(text)


def _deferred(text: str) -> Context | None:
    return read_flush(text) or read_session(text)


_HEADS: Mapping[str, Callable[[str], Context | None]] = {
    "Prefi": _prefill,
    "Decod": _decode,
    "serve": read_server_args_line,
    "comma": read_command,
    "max_t": read_banner,
    "Use S": read_pool_sizes,
    "Use s": read_pool_sizes,
    "SWAKV": read_pool_sizes,
    "SWA r": read_pool_sizes,
    "DSV4 ": read_pool_sizes,
    "Mamba": read_pool_sizes,
    "[unif": read_pool_sizes,
    "Post-": read_pool_sizes,
    "Tree ": read_tree_cache,
    "The s": _ready,
    "KV ca": read_retract,
    "Testi": read_retract,
    "retra": read_abort,
    "Abort": read_abort,
    "Reque": read_abort,
    "Cache": read_flush,
    "Defer": _deferred,
    "Hiera": read_hicache,
    "HiCac": read_hicache,
    "Out o": read_out_of_memory,
    "alloc": read_out_of_memory,
    "Try t": read_out_of_memory,
    "Avail": read_out_of_memory,
    "Avali": read_out_of_memory,
    "Sched": _scheduler,
    "Detok": _scheduler,
    "Token": _scheduler,
    "DataP": _scheduler,
    "Multi": _scheduler,
    "Excep": read_exception,
    "Watch": read_watchdog,
    "self.": read_watchdog,
    "sched": read_watchdog,
    "symme": read_watchdog,
    "Pyspy": read_pyspy,
    "SIGQU": read_sigquit,
    "Recei": read_sigquit,
    "Subpr": read_sigquit,
    "Rank ": read_sigquit,
    "Sessi": read_session,
    "sessi": read_session,
    "Strea": read_session,
    "  Fil": read_traceback_path,
    "Begin": read_ci,
    "End (": read_ci,
    "[CI T": read_ci,
    "[CI R": read_ci,
    "filen": read_ci,
    "pytho": read_ci,
    "PASSE": read_ci_result,
    "FAILE": read_ci_result,
    "TIMEO": read_ci_result,
}
"""What a message may be, by its first five characters."""


def read_context(text: str, prefixed: bool, whole: bool = True) -> Context | None:
    """What `text`, the message part of one line, says about the server, or None where it says nothing.

    prefixed: a time and rank prefix stood before it. whole: False for a line that was cut at its end; its last token
    is then left out, so that a piece of a number is never a value. Raises nothing, and takes time linear in the text.
    """
    if not whole:
        text = without_cut_end(text)
    reader = _HEADS.get(text[:5])
    if reader is not None:
        found = reader(text)
        if found is not None:
            return found
    if "--" in text or "server_args=" in text:
        found = read_quoted(text, prefixed)
        if found is not None:
            return found
    if "#tokens: " in text:
        return read_kv_cache(text)
    if not prefixed:
        found = _read_foreign(text)
        if found is not None:
            return found
    if "emory" in text and ("ut of memory" in text or "OutOfMemory" in text):
        return read_out_of_memory(text) or read_device_memory(text)
    if "SGLANG_" in text or "topk > 1" in text:
        return read_environment(text)
    if "sglang" in text or "SGLang" in text:
        return read_version(text)
    return None


def _read_foreign(text: str) -> Context | None:
    """What only lines without a prefix can be: the end of a traceback, a test suite's result, a shell's word."""
    first = text[:1]
    if first.isspace():
        return None
    if not first.isalnum() and ("returned exit code" in text or "PASSED on retry" in text or "TIMEOUT: " in text):
        return read_ci_result(text)
    if "Killed" in text:
        return read_killed(text)
    return read_error(text)
