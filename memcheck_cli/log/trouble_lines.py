"""What the scheduler and its neighbours print around a break: retraction, abort, flush, memory, errors, watchdog.

These lines explain; none of them is a check. Texts are of every release from 0.4.0 on unless a comment says otherwise.
"""

from __future__ import annotations

import re

from memcheck_cli.log.printed import ENDS, INTEGER, integer, number, truth
from memcheck_cli.log.records import Context, Value
from memcheck_cli.patterns import pattern

LONGEST_TEXT = 400
"""Characters of a free text that are kept."""

_RETRACT = pattern(
    r"(Decode out of memory happened|KV cache pool is full\. Retract requests|Testing retraction)\. "
    rf"#retracted_reqs: ({INTEGER}){ENDS}"
)
_RETRACT_FORMS = {"D": "retract-decode-oom", "K": "retract-pool-full", "T": "retract-testing"}
_RETRACT_PART = pattern(rf"#(aborted_retracted_reqs|new_tokens_gained|mamba_num_gained): ({INTEGER}){ENDS}")
_RETRACT_RATIO = pattern(rf"#new_token_ratio: ([0-9.]{{1,20}}) -> ([0-9.]{{1,20}}){ENDS}")


def read_retract(text: str) -> Context | None:
    """Requests were taken out of the running batch: the pool was full, or a test asked for it."""
    match = _RETRACT.match(text)
    if match is None:
        return None
    values: dict[str, Value] = {"retracted_reqs": int(match[2])}
    if match[1].startswith("Testing"):
        values["testing"] = True
    tail = text[match.end() : match.end() + 400]
    values |= {name: int(count) for name, count in _RETRACT_PART.findall(tail)}
    ratio = _RETRACT_RATIO.search(tail)
    if ratio:
        before, after = number(ratio[1]), number(ratio[2])
        if before is not None and after is not None:
            values |= {"new_token_ratio_before": before, "new_token_ratio_after": after}
    return Context(_RETRACT_FORMS[text[0]], "retract", values)


_ABORT = pattern(
    r"Abort ([A-Za-z][A-Za-z ]{0,40}?)(?: queue)? request\. ?(?:(?:[a-z_]{1,40}\.){0,3}rid='([^']{1,200})')?|"
    r"Abort (request) for rid=(\S{1,200}) not found in rid_to_state|"
    r"Abort waiting (mm) request\. rid=(\S{1,200})"
)
_DISCONNECTED = pattern(
    r"Request is disconnected from the client side(?: \(type [0-9]{1,3}\))?\. Abort request obj\.rid=(.{0,203})"
)
_RETRACT_ABORT = pattern(r"retract_decode: aborted (last )?request (\S{1,200})")


def read_abort(text: str) -> Context | None:
    """A request was aborted. `what` says where it was found."""
    if text.startswith("retract_decode"):
        match = _RETRACT_ABORT.match(text)
        if match is None:
            return None
        what = "retract-oom" if match[1] else "retract"
        return Context(f"abort-{what}", "abort", {"what": what, "rid": match[2].rstrip(":,")})
    match = _DISCONNECTED.match(text)
    if match is not None:
        return Context("abort-disconnected", "abort", {"what": "disconnected", "rid": match[1].strip("'")})
    match = _ABORT.match(text)
    if match is None:
        return None
    what = (match[1] or match[5] or "finished").lower()
    rid = match[2] or match[4] or match[6]
    return Context("abort", "abort", {"what": what, "rid": rid} if rid else {"what": what})


_REFUSED = pattern(
    rf"Cache not flushed because there are pending requests\. #queue-req: ({INTEGER}), #running-req: ({INTEGER}){ENDS}"
)


def read_flush(text: str) -> Context | None:
    """The cache was flushed, which starts the accounting anew, or a flush was refused."""
    if text.startswith("Cache flushed successfully!"):
        return Context("flush", "flush", {})
    match = _REFUSED.match(text)
    if match is not None:
        values: dict[str, Value] = {"queue_req": int(match[1]), "running_req": int(match[2])}
        return Context("flush-refused", "flush-refused", values)
    if text.startswith("Deferred flush_cache timed out"):
        return Context("flush-timeout", "flush-refused", {"what": "timeout"})
    return None


def read_hicache(text: str) -> Context | None:
    """A line of the hierarchical cache."""
    if not text.startswith(("Hierarchical cache", "HiCache")):
        return None
    if "cleared successfully!" in text[:80]:
        return Context("hicache-cleared", "hicache", {"what": "cleared"})
    return Context("hicache", "hicache", {"text": text[:LONGEST_TEXT]})


_OOM_HEAD = pattern(r"(?:RuntimeError: |ValueError: )?(Prefill out of memory|Decode out of memory|Out of memory)\. ")
_OOM_WANTED = pattern(rf"Try to allocate ({INTEGER}) tokens\.")
_OOM_AVAILABLE = pattern(
    rf"A(?:vaila|valia)ble (full |swa )?tokens: ({INTEGER})"
    rf"(?: \((?:full_|swa_)?available_size=({INTEGER}) \+ (?:full_|swa_)?evictable_size=({INTEGER})\))?(?=[\s,]|\Z)"
)
_OOM_SLOTS = pattern(
    rf"alloc_req_slots runs out of memory\..{{0,300}}?available_size\(\)=({INTEGER}), num_reqs=({INTEGER}){ENDS}"
)
_OOM_DEVICE = pattern(r"(?:CUDA|HIP|NPU|XPU|MUSA)(?: error)?:? out of memory|OutOfMemoryError")


def read_out_of_memory(text: str) -> Context | None:
    """A pool or the device had no room. `what`: prefill, decode, tokens, slots, device, or detail for the lines that
    go on with numbers (`Try to allocate …`, `Available tokens: …`)."""
    match = _OOM_HEAD.match(text)
    if match is not None:
        what = {"P": "prefill", "D": "decode", "O": "tokens"}[match[1][0]]
        return Context("out-of-memory", "out-of-memory", {"what": what})
    match = _OOM_WANTED.match(text)
    if match is not None:
        return Context("out-of-memory-detail", "out-of-memory", {"what": "detail", "wanted": int(match[1])})
    match = _OOM_AVAILABLE.match(text)
    if match is not None:
        pool, *numbers = match.groups()
        names = ("obtainable", "available", "evictable")
        values: dict[str, Value] = {"what": "detail"}
        values |= {name: int(count) for name, count in zip(names, numbers, strict=True) if count is not None}
        if pool:
            values["pool"] = pool.strip()
        return Context("out-of-memory-detail", "out-of-memory", values)
    at = text.find("alloc_req_slots runs out of memory")
    if 0 <= at < 200:
        match = _OOM_SLOTS.match(text, at)
        values = {"what": "slots"}
        if match is not None:
            values |= {"available": int(match[1]), "num_reqs": int(match[2])}
        return Context("out-of-memory-slots", "out-of-memory", values)
    return None


def read_device_memory(text: str) -> Context | None:
    """The device ran out of memory: `torch.OutOfMemoryError`, `CUDA out of memory` and the like, in any line."""
    if _OOM_DEVICE.search(text) is None:
        return None
    return Context("out-of-memory-device", "out-of-memory", {"what": "device", "text": text[:LONGEST_TEXT]})


_EXCEPTION = pattern(r"([A-Za-z]{1,40}) hit an exception: ")
_CRASHED = pattern(r"Scheduler PP([0-9]{1,5}) TP([0-9]{1,5}) crashed: (.{0,400})", re.DOTALL)
_DEAD = pattern(r"Rank ([0-9]{1,6}) scheduler is dead\b")


def read_exception(text: str) -> Context | None:
    """A process died of an exception. kind `exception` for the scheduler, `process-exception` for its neighbours."""
    match = _EXCEPTION.match(text)
    if match is not None:
        kind = "exception" if match[1] == "Scheduler" else "process-exception"
        return Context(kind, kind, {"who": match[1]})
    if text.startswith("Exception in ModelRpcClient:"):
        return Context("exception-rpc", "exception", {"who": "ModelRpcClient"})
    match = _CRASHED.match(text)
    if match is not None:
        rank = f"PP{match[1]} TP{match[2]}"
        return Context("exception-ray", "exception", {"who": "Scheduler", "rank": rank, "text": match[3]})
    return None


_ERROR_ENDS = ("Error", "Exception", "Interrupt", "Exit", "Timeout")
_ERROR_NAME = pattern(r"[A-Za-z_](?:[\w.]{0,150})", re.ASCII)
_CHECKER_WORDS = ("leak detected", "Leak Detected", "KV double free", "KV page use-after-free", "sanity check")


def read_error(text: str) -> Context | None:
    """The last line of a traceback, `SomeError: text` or `SomeError`, also as pytest copies it (`E   SomeError: …`).
    The checker's own texts are left to `lines`."""
    copied = text.startswith("E  ")
    if copied:
        text = text[1:].lstrip()
    at = text.find(": ", 0, 160)
    name = text[:at] if at > 0 else text[:160].rstrip(" :")
    if not name.endswith(_ERROR_ENDS) or not _ERROR_NAME.fullmatch(name):
        return None
    detail = text[at + 2 : at + 2 + LONGEST_TEXT] if at > 0 else ""
    if any(word in detail for word in _CHECKER_WORDS):
        return None
    memory = read_out_of_memory(detail)
    if memory is not None:
        return memory
    short = name.rpartition(".")[2]
    values: dict[str, Value] = {"type": short, "text": detail}
    if copied:
        values["copied"] = True
    if short == "OutOfMemoryError" or _OOM_DEVICE.search(detail):
        return Context("out-of-memory-device", "out-of-memory", {"what": "device", "text": detail})
    return Context("error", "error", values)


_SUBPROCESS = pattern(rf"Subprocess (\S{{1,120}}) \(pid=([0-9]{{1,10}})\) crashed with exit code ({INTEGER})\.")
_SHELL = pattern(r"(?:.{0,300}: line )?[0-9]{1,9}: {1,8}([0-9]{1,10}) Killed\b")


def read_sigquit(text: str) -> Context | None:
    """A child died and the server goes down with it, or the system killed a process."""
    if text.startswith("SIGQUIT received"):
        return Context("sigquit", "sigquit", {"what": "received"})
    if text.startswith("Received sigquit from a child proc"):
        form = "sigquit-child" if text.startswith("process", 30) else "sigquit-child-sic"
        return Context(form, "sigquit", {"what": "received"})
    match = _SUBPROCESS.match(text)
    if match is not None:
        values: dict[str, Value] = {
            "what": "crashed",
            "name": match[1],
            "pid": int(match[2]),
            "exit_code": int(match[3]),
        }
        return Context("sigquit-subprocess", "sigquit", values)
    match = _DEAD.match(text)
    if match is not None:
        return Context("sigquit-dead", "sigquit", {"what": "dead", "rank": int(match[1])})
    return None


def read_killed(text: str) -> Context | None:
    """The shell or the container's keeper says that a process was killed."""
    if text.strip() == "Killed" or "OOMKilled" in text:
        return Context("killed", "sigquit", {"what": "killed"})
    match = _SHELL.match(text)
    return None if match is None else Context("killed", "sigquit", {"what": "killed", "pid": int(match[1])})


_WATCHDOG = pattern(
    r"(?:([A-Z][A-Za-z]{0,40}) w|W)atchdog timeout "
    r"\((?:self\.watchdog_timeout=([0-9.]{1,20}))?(?:, self\.soft=(True|False))?\)"
)
_WATCHDOG_THREAD = pattern(r"([A-Z][A-Za-z]{0,40}) watchdog thread crashed: ")
_DEBUG_HEAD = pattern(r"([A-Z][A-Za-z]{0,40}) debug info:\s*\Z")
_DEBUG_BATCH = pattern(
    rf"(self|scheduler)\.(cur_batch|cur_batch_for_debug)\.(?:batch_size\(\)=({INTEGER}){ENDS}|reqs=)"
)
_PYSPY = pattern(r"Pyspy dump for PID ([0-9]{1,10})( \(.{0,300}\))?:")


def read_watchdog(text: str) -> Context | None:
    """The watchdog: nothing moved for so long. Its pool numbers are no check."""
    match = _WATCHDOG.match(text)
    if match is not None:
        values: dict[str, Value] = {"what": "timeout"}
        seconds = number(match[2]) if match[2] else None
        if seconds is not None:
            values["timeout"] = seconds
        if match[3]:
            values["soft"] = truth(match[3])
        if match[1]:
            values["who"] = match[1]
        return Context("watchdog-named" if match[1] else "watchdog", "watchdog", values)
    match = _DEBUG_BATCH.match(text)
    if match is not None:
        form = f"watchdog-{match[1]}-{'debug' if match[2].endswith('debug') else 'batch'}"
        if match[3]:
            return Context(form, "watchdog", {"what": "batch", "batch_size": int(match[3])})
        return Context(form, "watchdog", {"what": "requests"})
    match = _DEBUG_HEAD.match(text)
    if match is not None:
        return Context("watchdog-head", "watchdog", {"what": "head", "who": match[1]})
    match = _WATCHDOG_THREAD.match(text)
    if match is not None:
        return Context("watchdog-crashed", "watchdog", {"what": "crashed", "who": match[1]})
    if text.startswith("symmetric-memory registration in progress: "):
        return Context("watchdog-symmetric", "watchdog", {"what": "head"})
    return None


def read_pyspy(text: str) -> Context | None:
    """The stack dump that the watchdog asks py-spy for."""
    match = _PYSPY.match(text)
    if match is None:
        return None
    return Context("pyspy-command" if match[2] else "pyspy", "pyspy", {"pid": int(match[1])})


_SESSION = pattern(
    rf"Session (opened|closed): (\S{{1,200}}) \(active=({INTEGER})\)|"
    rf"Session KV (released): (\S{{1,200}}) \(({INTEGER}) tokens freed\)|"
    r"(Deferring) session close for (\S{1,200}) |"
    r"session id (\S{1,200}) (already exist|does not exist)|"
    r"session (\S{1,200}?): request (aborted)\b"
)


def read_session(text: str) -> Context | None:
    """A session was opened or closed, gave its tokens back, or lost a request."""
    match = _SESSION.match(text)
    if match is None:
        if text.startswith("Streaming session"):
            return Context("session-refused", "session", {"what": "refused", "text": text[:LONGEST_TEXT]})
        return None
    change, session, active, released, freed_of, freed, deferred, of, other, exists, lost, aborted = match.groups()
    if change:
        return Context(f"session-{change}", "session", {"what": change, "session": session, "active": int(active)})
    if released:
        return Context("session-released", "session", {"what": "released", "session": freed_of, "tokens": int(freed)})
    if deferred:
        return Context("session-deferred", "session", {"what": "deferred", "session": of})
    if exists:
        return Context("session-refused", "session", {"what": "refused", "session": other})
    return Context("session-aborted", "session", {"what": aborted, "session": lost})


_PATH = pattern(r"\s{1,40}File \"[^\"]{0,400}sglang/([^\"]{1,400})\", line ([0-9]{1,9}), in (\S{1,120})")


def read_traceback_path(text: str) -> Context | None:
    """A frame of a traceback inside SGLang: its file from the package's root on, its line and its function."""
    match = _PATH.match(text)
    if match is None:
        return None
    values: dict[str, Value] = {"file": match[1], "line": int(match[2]), "function": match[3]}
    return Context("traceback-path", "traceback-path", values)


_TOPK = "Runtime memory check (busy) is not supported when speculation topk > 1"
_INVALID = pattern(r"Invalid value for (SGLANG_[A-Z_]{1,80}): ?[\"']?(.{0,80}?)[\"']? is not a valid")
CHECK_VARIABLES = (
    "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY",
    "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE",
    "SGLANG_ENABLE_RUNTIME_MEM_LEAK_CHECK",
    "SGLANG_CHECK_KV_PAGE_INVARIANTS",
)
"""The environment variables that switch the checks on: the busy check (a level), the idle check's strictness, the busy
check of 0.5.4-0.5.5.post3, the page check."""

_LEVEL = pattern(
    rf"(?<![A-Z_])({'|'.join(CHECK_VARIABLES)})"
    r"['\"]?\s{0,3}[=:]\s{0,3}['\"]?([A-Za-z0-9-]{1,20})(?![\w.])"
)


def read_environment(text: str) -> Context | None:
    """What a line says about the variables that switch the checks on: the warnings about them, or a value given to one
    (`export NAME=2`, `NAME: "1"`)."""
    if _TOPK in text:
        return Context("topk-warning", "topk-warning", {})
    match = _INVALID.search(text)
    if match is not None:
        return Context("env-warning", "env-warning", {"name": match[1], "value": match[2]})
    given = check_variables(text)
    return Context("level-hint", "level-hint", given) if given else None


def check_variables(text: str) -> dict[str, Value]:
    """The variables of the checks that `text` gives a value to, by their full names."""
    given: dict[str, Value] = {}
    for name, token in _LEVEL.findall(text):
        value = integer(token)
        given[name] = token if value is None else value
    return given
