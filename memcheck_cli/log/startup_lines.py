"""What a server prints while it starts: its arguments, its banner, the sizes of its pools, its tree cache.

Also the same facts where somebody else quotes them: a shell, a test suite's `command=`, a container's arguments, an
installer that names the version.
"""

from __future__ import annotations

import re

from memcheck_cli.log.printed import ENDS, INTEGER, integer, number, truth
from memcheck_cli.log.records import Context, Value
from memcheck_cli.log.server_args import parse_command, read_server_args
from memcheck_cli.log.trouble_lines import check_variables
from memcheck_cli.patterns import pattern

LAUNCHERS = ("launch_server", "sglang serve")
"""What a command line that starts a server contains."""

OPTIONS = ("--page-size", "--page_size", "--disaggregation-mode", "--disaggregation_mode")
"""Options by which a line of bare options (a shell's continued line, a container's arguments) is known as SGLang's."""

_COMMAND_ENDS = pattern(r" && | \|\|? |; |`| & ")
_BARE_OPTIONS = pattern(r"\s{0,40}(?:(?:args|command): {0,8})?[\s\[(,\"'-]{0,40}--[A-Za-z]")
_SHELL_KILLED = pattern(r"[0-9]{1,10} Killed ")


def read_server_args_line(text: str) -> Context | None:
    """`server_args=…` at the start of a message. form: `server-args-repr` or `server-args-dict`."""
    found = read_server_args(text) if text.startswith("server_args=") else None
    return None if found is None else Context(f"server-args-{found.style}", "server-args", found.flags)


def read_command(text: str) -> Context | None:
    """The test suite's `command=…` that launches a server."""
    if not text.startswith("command="):
        return None
    found = quoted_flags(text, launched=True)
    return None if found is None else Context("command", "command", found)


def read_quoted(text: str, prefixed: bool) -> Context | None:
    """Options of a server quoted on any other line."""
    if "server_args=" in text:
        args = read_server_args(text)
        if args is not None and args.flags:
            return Context(f"quoted-args-{args.style}", "quoted-flags", args.flags)
    values = quoted_flags(text, launched=False)
    if values is None and not prefixed and any(option in text for option in OPTIONS) and (
        "sglang" in text or _BARE_OPTIONS.match(text)
    ):  # fmt: skip
        values = parse_command(text)
    if not values:
        return None
    if _SHELL_KILLED.search(text, 0, 4096):
        values["killed"] = True
    version = _version(text)
    if version is not None:
        values["version"] = version
    values |= check_variables(text)
    return Context("quoted-flags", "quoted-flags", values)


def quoted_flags(text: str, launched: bool) -> dict[str, Value] | None:
    """The flags behind a launcher's name, up to the end of that command; None where nothing launches a server.
    launched: the name alone is enough, options need not follow."""
    for launcher in LAUNCHERS:
        at = text.find(launcher)
        if at < 0:
            continue
        at += len(launcher)
        end = _COMMAND_ENDS.search(text, at)
        flags = parse_command(text[at : end.start()] if end else text[at:])
        if flags or launched:
            return flags
    return None


_BANNER = pattern(r"max_total_num_tokens=([0-9]{1,18}), ")
_BANNER_INTEGERS = frozenset({"chunked_prefill_size", "max_prefill_tokens", "max_running_requests", "context_len"})
_BANNER_ENDS = frozenset({"context_len", "available_gpu_mem", "available_cpu_mem"})


def read_banner(text: str) -> Context | None:
    """`max_total_num_tokens=…, …`: the scheduler's pools are ready. Sizes in tokens, free memory in GB."""
    head = _BANNER.match(text)
    if head is None:
        return None
    values: dict[str, Value] = {"max_total_num_tokens": int(head[1])}
    name = ""
    for part in text[head.end() :].rstrip().split(", ", 12):
        name, _, token = part.partition("=")
        value: Value
        if name in _BANNER_INTEGERS:
            value = integer(token)
            if value is None and token != "None":
                break
        elif name in _BANNER_ENDS and token.endswith(" GB"):
            value = number(token[:-3])
            if value is None:
                break
        else:
            break
        if name in values:
            break
        values[name] = value
    if name not in _BANNER_ENDS and len(values) > 1:
        values.pop(name, None)
    return Context("banner", "banner", values)


_SLIDING = pattern(
    rf"(?:Use (S|s)liding window memory pool(?: \((all SWA)\))?\. |(Post)-capture KV sizing: )"
    rf"(?:full_layer_tokens=({INTEGER}), )?swa_layer_tokens=({INTEGER}){ENDS}"
)
_POST_CAPTURE = pattern(rf"Post-capture KV sizing: max_total_num_tokens=({INTEGER}), ")
_KV_CACHE = pattern(
    r"(?:(Post-capture KV sizing: )?(draft )?(?:([A-Za-z][A-Za-z0-9_ /()-]{0,40}?) )?KV [Cc]ache "
    r"(is allocated|allocated|VA upper bound|skipped \(no-op pool\))\. (dtype: [^,]{1,60}, |Logical )?)"
    rf"#tokens: ({INTEGER})(?=, )"
)
_SWA_POOL = pattern(
    rf"SWAKVPool (VA upper bound|mem usage): [0-9.e-]{{1,30}} GB, swa size: ({INTEGER}), full size: ({INTEGER}){ENDS}"
)
_SWA_RING = pattern(rf"SWA ring: swa_max_total_num_tokens ({INTEGER}) -> ({INTEGER}){ENDS}")
_DSV4 = pattern(r"DSV4 pool sizes: ")
_DSV4_SIZE = pattern(rf"(full|swa|c4|c128|c4_state|c128_state)=({INTEGER}){ENDS}")
_MAMBA = pattern(rf"Mamba Cache is allocated\. max_mamba_cache_size: ({INTEGER}), ")


def read_pool_sizes(text: str) -> Context | None:
    """A line that says how large a pool is; see KINDS for the values."""
    match = _SLIDING.match(text)
    if match:
        form = "post-capture-layers" if match[3] else "sliding-all-swa" if match[2] else f"sliding-{match[1]}"
        values: dict[str, Value] = {"swa_tokens": int(match[5])}
        if match[4]:
            values = {"full_tokens": int(match[4]), **values}
        return _sizes(form, values)
    match = _POST_CAPTURE.match(text)
    if match:
        return _sizes("post-capture", {"max_total_num_tokens": int(match[1])})
    match = _SWA_POOL.match(text)
    if match:
        if match[1].startswith("VA"):
            return _sizes("swa-pool-bound", {"bound": True})
        return _sizes("swa-pool", {"full_tokens": int(match[3]), "swa_tokens": int(match[2])})
    match = _SWA_RING.match(text)
    if match:
        return _sizes("swa-ring", {"swa_ring_tokens": int(match[2])})
    if _DSV4.match(text):
        sizes = {f"{name}_tokens": int(size) for name, size in _DSV4_SIZE.findall(text[:2000])}
        return _sizes("dsv4", {**sizes})
    match = _MAMBA.match(text)
    if match:
        return _sizes("mamba", {"mamba_slots": int(match[1])})
    if text.startswith("[unified-memory-pool]"):
        return _sizes("unified-memory", {"unified": True})
    return None


def read_kv_cache(text: str) -> Context | None:
    """`KV Cache is allocated. … #tokens: <n>, …` and its kin, which any label may stand before."""
    match = _KV_CACHE.match(text)
    if match is None:
        return None
    post, draft, label, verb, extra, tokens = match.groups()
    form = "kv-cache-dtype" if extra and extra.startswith("dtype") else "kv-cache"
    if post:
        form = "post-capture-layers"
    elif verb.startswith("VA"):
        return _sizes("kv-cache-bound", {"bound": True})
    elif verb.startswith("skipped"):
        form = "kv-cache-skipped"
    elif label and form == "kv-cache-dtype":
        form = "kv-cache-label"
    if draft:
        return _sizes(form, {"draft_tokens": int(tokens)})
    name = {"Full": "full_tokens", "SWA": "swa_tokens", None: "tokens"}.get(label)
    if name is None:
        return _sizes(form, {"other_pool": label, "other_tokens": int(tokens)})
    return _sizes(form, {name: int(tokens)})


def _sizes(form: str, values: dict[str, Value]) -> Context:
    return Context(form, "pool-sizes", values)


_TREE = pattern(
    r"Tree cache initialized: source=(\S{1,60}) impl=(\S{1,80}) "
    r"hybrid_swa=(True|False) hybrid_ssm=(True|False) hicache_attached=(True|False)(?=\s|\Z)"
)


def read_tree_cache(text: str) -> Context | None:
    """`Tree cache initialized: …`."""
    match = _TREE.match(text)
    if match is None:
        return None
    values: dict[str, Value] = {"source": match[1], "impl": match[2]}
    values |= zip(("hybrid_swa", "hybrid_ssm", "hicache_attached"), map(truth, match.groups()[2:]), strict=True)
    return Context("tree-cache", "tree-cache", values)


_VERSION = pattern(
    r"(?<![\w-])(?:sglang|SGLang)(?:\[[^\]\s]{0,60}\])?"
    r"(?:==|[ _]version['\"]?[:= ]{1,4}|[-:]v?|['\"]?\s{0,3}[:=]\s{0,3}['\"]?v?|\s{1,60}v?)"
    r"([0-9]{1,2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?(?:rc[0-9]{1,2})?(?:\.post[0-9]{1,2})?(?:\.dev[0-9]{1,6})?"
    r"(?:\+[a-z0-9.]{1,40})?)(?![0-9A-Za-z])",
    re.ASCII,
)
_NOT_RUNNING = ("Found existing installation", "ninstalling", "Attempting uninstall", "ninstalled", " requires ")


def _version(text: str) -> str | None:
    for name in ("sglang", "SGLang"):
        at = text.find(name)
        while at >= 0:
            match = _VERSION.match(text, at)
            if match is not None:
                return None if any(word in text for word in _NOT_RUNNING) else match[1]
            at = text.find(name, at + 6)
    return None


def read_version(text: str) -> Context | None:
    """A line that names the version of SGLang: an installer's, a package list's, a container image's."""
    version = _version(text)
    return None if version is None else Context("version", "version", {"version": version})
