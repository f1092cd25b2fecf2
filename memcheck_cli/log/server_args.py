"""The launch flags of a server: from its own `server_args=` line and from a quoted command line.

Two printed forms exist: the repr of a dataclass, `server_args=ServerArgs(a=1, b='x')` (to 0.5.18), and the repr of a
dict, `server_args={'a': 1, 'b': 'x'}` (from 0.5.19). Both hold lists, dicts and reprs of objects. They are read in one
pass without evaluating anything; only the flags of `FLAGS` are converted, so keys and passwords never get further.
Reading ends at the first thing that is no `name=value`, and what stood before a cut is never a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from memcheck_cli.log.printed import integer, number, truth
from memcheck_cli.log.records import Value
from memcheck_cli.patterns import pattern


class Flag(NamedTuple):
    """One launch flag that says something about accounting.

    name: the field of SGLang's ServerArgs. kind: `int`, `float`, `bool` or `word`. options: command-line spellings
    other than `--name-with-dashes`. first, last: the releases whose ServerArgs have the field, None where the border
    lies outside 0.4.0-0.5.23 or is not known.
    """

    name: str
    kind: str
    options: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None


FLAGS: tuple[Flag, ...] = (
    Flag("model_path", "word", ("model",)),
    Flag("device", "word"),
    # parallelism
    Flag("tp_size", "int", ("tp", "tensor-parallel-size")),
    Flag("dp_size", "int", ("dp", "data-parallel-size")),
    Flag("pp_size", "int", ("pp", "pipeline-parallel-size"), first="0.4.6.post2"),
    Flag("ep_size", "int", ("ep", "expert-parallel-size")),
    Flag("attn_cp_size", "int", ("attention-context-parallel-size",), first="0.5.9"),
    Flag("attn_dp_size", "int", ("attention-data-parallel-size",), first="0.5.22"),
    Flag("dcp_size", "int", ("dcp", "decode-context-parallel-size"), first="0.5.15"),
    Flag("moe_dp_size", "int", ("moe-data-parallel-size",), first="0.5.9"),
    Flag("nnodes", "int"),
    Flag("node_rank", "int"),
    Flag("enable_dp_attention", "bool"),
    Flag("use_ray", "bool", first="0.5.10rc0"),
    # pools and pages
    Flag("page_size", "int", first="0.4.4"),
    Flag("max_total_tokens", "int"),
    Flag("max_running_requests", "int"),
    Flag("max_prefill_tokens", "int"),
    Flag("context_length", "int"),
    Flag("swa_full_tokens_ratio", "float", first="0.4.9.post3"),
    Flag("disable_hybrid_swa_memory", "bool", first="0.4.9.post3"),
    Flag("hybrid_kvcache_ratio", "float", first="0.4.9", last="0.5.7"),
    Flag("enable_unified_memory", "bool", first="0.5.15"),
    Flag("enable_hisparse", "bool", first="0.5.10rc0"),
    Flag("enable_kv_cache_sharding", "bool", first="0.5.22"),
    Flag("max_mamba_cache_size", "int"),
    Flag("enable_memory_saver", "bool"),
    # the cache that outlives a request
    Flag("disable_radix_cache", "bool"),
    Flag("radix_eviction_policy", "word"),
    Flag("enable_streaming_session", "bool", first="0.5.10rc0"),
    Flag("enable_session_radix_cache", "bool", first="0.5.15"),
    Flag("enable_hierarchical_cache", "bool", ("enable-hicache",)),
    Flag("hicache_write_policy", "word"),
    Flag("hicache_storage_backend", "word"),
    Flag("enable_lmcache", "bool"),
    # the scheduler
    Flag("disable_overlap_schedule", "bool"),
    Flag("chunked_prefill_size", "int"),
    Flag("enable_mixed_chunk", "bool"),
    Flag("schedule_policy", "word"),
    Flag("schedule_conservativeness", "float"),
    Flag("num_continuous_decode_steps", "int"),
    Flag("decode_log_interval", "int"),
    Flag("enable_pdmux", "bool"),
    Flag("disaggregation_mode", "word", first="0.4.4.post2"),
    Flag("disaggregation_decode_enable_radix_cache", "bool", first="0.5.11"),
    Flag("enable_pd_role_switch", "bool", first="0.5.21"),
    # speculation
    Flag("speculative_algorithm", "word", ("speculative-algo",)),
    Flag("speculative_num_steps", "int"),
    Flag("speculative_eagle_topk", "int", first="0.4.1.post4"),
    Flag("speculative_num_draft_tokens", "int"),
    # what else reports name
    Flag("attention_backend", "word"),
    Flag("kv_cache_dtype", "word"),
    Flag("mem_fraction_static", "float"),
    Flag("enable_lora", "bool"),
    Flag("watchdog_timeout", "float"),
    Flag("log_level", "word"),
)
"""The flags that are read, in groups. `disaggregation_mode` is `null` on a server that is not disaggregated."""

BY_NAME: Mapping[str, Flag] = {flag.name: flag for flag in FLAGS}

_BY_OPTION: Mapping[str, Flag] = {
    option: flag for flag in FLAGS for option in (flag.name.replace("_", "-"), *flag.options)
}


class ServerArgs(NamedTuple):
    """A `server_args=` text. style: `repr` (of a dataclass) or `dict`. flags: the known ones, by field name.
    fields: the names of all fields that were read. whole: the text was read to its closing bracket."""

    style: str
    flags: dict[str, Value]
    fields: frozenset[str] = frozenset()
    whole: bool = False


LONGEST = 1 << 20
"""Characters that are read. A server prints ten thousand or so: what is longer is no longer one from there on."""

_START = pattern(r"(?:server_args=)?(?:ServerArgs\(|(?<=server_args=)(\{))")
_TEAR = pattern(r"\[[0-9]{2,4}[-:][0-9]{2}[-:][0-9]{2}")  # another writer's line begins here
_FIELD = pattern(r"\s{0,8}([A-Za-z_][A-Za-z0-9_]{0,80})=")
_KEY = pattern(r"\s{0,8}'([A-Za-z_][A-Za-z0-9_]{0,80})': ")
# A whole field whose value holds nothing that could hide its end, as most do.
_PLAIN = r"""([^'"\[\](){},]*+)([,\])}])"""
_PLAIN_FIELD = pattern(_FIELD.pattern + _PLAIN)
_PLAIN_KEY = pattern(_KEY.pattern + _PLAIN)
# One piece of a value. A quote that nothing closes is a piece too, and ends the reading: this keeps it linear.
_PIECE = pattern(
    r"""[^'"\[\](){},]++|'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[\[\](){},'"]""",
    re.DOTALL,
)

_OPTION = pattern(r"(?<![A-Za-z0-9_-])--([A-Za-z][A-Za-z0-9_-]{0,80}+)(?![A-Za-z0-9_-])")
# The value behind an option: `=v`, ` v`, ` "v"`, `", "v"`. Never another option.
_GIVEN = pattern(
    r"""["']?(?:=|,\s{0,8}|\s{1,8})(?!["']?--)"""
    r"""(?:"([^"\\]{1,300})"|'([^'\\]{1,300})'|([^\s"',;|&`\\\])}]{1,300}+)(?=["',;|&`\\\])}\s]|\Z))"""
)
_TRUTHS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}
_WORD = pattern(r"[A-Za-z0-9_.:/@+~-]{1,300}")


def read_server_args(text: str) -> ServerArgs | None:
    """The first `server_args=…` or `ServerArgs(…)` in `text`, as far as `LONGEST` characters reach, or None where there
    is none. Linear in the text."""
    start = _START.search(text)
    if start is None:
        return None
    as_dict = start[1] is not None
    end = start.end() + LONGEST
    tear = _TEAR.search(text, start.end(), end)
    text = text[: end if tear is None else tear.start()]
    flags: dict[str, Value] = {}
    names: list[str] = []
    whole = False
    for name, raw, last in _fields(text, start.end(), as_dict):
        names.append(name)
        whole = last
        flag = BY_NAME.get(name)
        if flag is not None:
            converted = _printed_value(flag, raw.strip())
            if converted is not None:
                flags[name] = converted[0]
    return ServerArgs("dict" if as_dict else "repr", flags, frozenset(names), whole)


def parse_command(text: str) -> dict[str, Value]:
    """The flags of `FLAGS` that a command line sets, by field name: `--page-size 16`, `--page-size=16`, `--tp 2`, also
    as a list of quoted words. A flag given twice has its last value, as on the command line."""
    flags: dict[str, Value] = {}
    for match in _OPTION.finditer(text):
        flag = _BY_OPTION.get(match[1].replace("_", "-"))
        if flag is None:
            continue
        given = _GIVEN.match(text, match.end())
        raw = "" if given is None else given[1] or given[2] or given[3] or ""
        if flag.kind == "bool":
            inline = text.startswith("=", match.end())
            value = _TRUTHS.get(raw.lower()) if inline else True
            if value is not None:
                flags[flag.name] = value
            continue
        converted = _converted(flag, raw)
        if converted is not None:
            flags[flag.name] = converted
    return flags


def _fields(text: str, at: int, as_dict: bool) -> Iterator[tuple[str, str, bool]]:
    """Every whole field from `at` on: name, raw value, and whether the closing bracket follows it."""
    head, plain = (_KEY, _PLAIN_KEY) if as_dict else (_FIELD, _PLAIN_FIELD)
    while True:
        while (field := plain.match(text, at)) is not None:
            last = field[3] != ","
            yield field[1], field[2], last
            if last:
                return
            at = field.end()
        match = head.match(text, at)
        if match is None:
            return
        begin = at = match.end()
        depth = 0
        while True:
            piece = _PIECE.match(text, at)
            if piece is None:
                return  # the text ends inside the value
            first = text[at]
            length = piece.end() - at
            if length == 1 and first in "'\"":
                return  # a quote that nothing closes
            if length == 1 and first == "," and not depth:
                yield match[1], text[begin:at], False
                at += 1
                break
            if length == 1 and first in "[({":
                depth += 1
            elif length == 1 and first in "])}":
                if not depth:
                    yield match[1], text[begin:at], True
                    return
                depth -= 1
            at = piece.end()


def _printed_value(flag: Flag, raw: str) -> tuple[Value] | None:
    """The value of a flag from its repr, in a tuple, or None where it is not what the flag holds."""
    if raw == "None":
        return (None,)
    if flag.kind == "word":
        if len(raw) < 2 or raw[0] != raw[-1] or raw[0] not in "'\"":
            return None
        raw = raw[1:-1]
    converted = _converted(flag, raw)
    return None if converted is None else (converted,)


def _converted(flag: Flag, raw: str) -> int | float | str | bool | None:
    if flag.kind == "int":
        return integer(raw)
    if flag.kind == "float":
        return number(raw)
    if flag.kind == "bool":
        return truth(raw)
    return raw if _WORD.fullmatch(raw) else None
