"""The scheduler's `Prefill batch` and `Decode batch` lines, of every release from 0.4.0 on.

They are lists of `name: value`. Releases added, renamed and reordered the names, so a line is read name by name, and
the order of the values tells releases apart. A line torn by another writer is read up to the tear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from memcheck_cli.log.printed import integer, number, truth
from memcheck_cli.log.records import Context, Value
from memcheck_cli.patterns import pattern

BATCH_KINDS = ("prefill", "decode")
"""Kinds of `Context` that these lines are."""

BATCH_VALUES: Mapping[str, str] = {
    "#new-seq": "new_seq",
    "#new-token": "new_token",
    "#cached-token": "cached_token",
    "#replay-token": "replay_token",
    "#pending-token": "pending_token",
    "cache hit rate": "cache_hit_rate",
    "#running-req": "running_req",
    "#queue-req": "queue_req",
    "#unbootstrapped-req": "unbootstrapped_req",
    "#bootstrap-req": "bootstrap_req",
    "#prealloc-req": "prealloc_req",
    "#inflight-req": "inflight_req",
    "#optimistic-req": "optimistic_req",
    "#transferring-req": "transferring_req",
    "#transfer-req": "transfer_req",
    "#host-receive-req": "host_receive_req",
    "#retracted-req": "retracted_req",
    "waiting-image-req": "waiting_image_req",
    "#token": "token",
    "token usage": "usage",
    "#full token": "full_token",
    "full token usage": "full_usage",
    "#swa token": "swa_token",
    "swa token usage": "swa_usage",
    "mamba num": "mamba_num",
    "mamba usage": "mamba_usage",
    "#gpu token": "gpu_token",
    "gpu token usage": "gpu_usage",
    "#cpu token": "cpu_token",
    "cpu token usage": "cpu_usage",
    "pre-allocated usage": "preallocated_usage",
    "largest-len": "largest_len",
    "accept len": "accept_len",
    "accept rate": "accept_rate",
    "cap len": "cap_len",
    "block accept len": "block_accept_len",
    "gen throughput (token/s)": "gen_throughput",
    "input throughput (token/s)": "input_throughput",
    "est. prefill TFLOPS/s (per GPU)": "est_prefill_tflops",
    "est. decode TFLOPS/s (per GPU)": "est_decode_tflops",
    "est. read BW (GB/s per GPU)": "est_read_bandwidth",
    "est. write BW (GB/s per GPU)": "est_write_bandwidth",
    "fwd occupancy": "fwd_occupancy",
    "fwd+idle occupancy": "fwd_idle_occupancy",
    "time": "time",
    "timestamp": "timestamp",
}
"""Printed name to the name of the value. Counts are tokens (mamba_num: slots) or requests, usages fractions, rates and
occupancies percent or tokens per second, times seconds. Beside them: `iteration`, the number in brackets, and `graph`,
whether a graph (`cuda graph: True` and its like) ran the batch."""

_HEAD = pattern(r"(Prefill|Decode) batch(?: \[([0-9]{1,18})\])?([.,]) ", re.ASCII)
_TIMESTAMP = pattern(r"[0-9T:.+-]{19,40}", re.ASCII)
_TEAR = pattern(r"\[[0-9]{2,4}[-:]")  # another line begins inside this one
_SPLIT = {"full": ("full_token", "full_usage"), "swa": ("swa_token", "swa_usage")}
_MOST_PARTS = 40
_MAY_END = frozenset(
    {
        "queue_req", "transferring_req", "time", "timestamp", "input_throughput", "graph", "est_prefill_tflops",
        "est_write_bandwidth", "fwd_occupancy", "fwd_idle_occupancy", "replay_token", "pending_token",
    }
)  # fmt: skip


SURE_BATCH = pattern(
    rb"\[([1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]) "
    rb"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:[.,][0-9]{1,9})?)"
    rb"((?: [A-Z][A-Z_]{0,30}[0-9]{1,9})*+)\] "
    rb"((?:(P)refill|Decode) batch(?: \[[0-9]{1,18}\])?[.,] #(?:new-seq|running-req): [0-9]{1,18}, "
    rb"[\x20\x22-\x3c\x3e-\x5a\x5c-\x7e]{20,2000}[0-9A-LN-Za-z])\n"  # an M may be the end of a line end printed as ^M
)
"""A bare physical line, with its line end, that certainly is a batch line with values, and nothing behind them: without
`[`, `=` and `!` nobody else's line is torn into it, the checker's least of all. Groups: time, rank tokens with a blank
before each, the message, and a P where it is one of prefill."""


_SURE = pattern(r"(?:Prefill|Decode) batch(?: \[[0-9]{1,18}\])?[.,] #(?:new-seq|running-req): [0-9]{1,18}, ", re.ASCII)


class BatchValues(Mapping[str, Value]):
    """The values of a message that `SURE_BATCH` fits, read when they are asked for: most never are."""

    __slots__ = ("_text", "_values")

    def __init__(self, text: str) -> None:
        self._text = text
        self._values: Mapping[str, Value] | None = None

    def _read(self) -> Mapping[str, Value]:
        if self._values is None:
            head = _HEAD.match(self._text)
            self._values = _values(self._text, head) if head is not None else {}
        return self._values

    def __getitem__(self, name: str) -> Value:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(self._read())


def form_of_batch(text: str) -> tuple[str, str]:
    """Kind and form of a message that `SURE_BATCH` fits: see `read_batch`."""
    kind = "prefill" if text[0] == "P" else "decode"
    return kind, _form(kind, text[text.index("#") - 2] == ".", text.rstrip().endswith(","))


def _form(kind: str, dot: bool, is_open: bool) -> str:
    return f"{kind}{'-dot' if dot else ''}{'-open' if is_open else ''}"


def read_batch(text: str) -> Context | None:
    """The batch line that `text` is, or None.

    kind: `prefill` or `decode`. form: the kind, with `-dot` where a period follows `batch` (to 0.5.3.post3), with
    `-open` where the line ends in a comma. values: see BATCH_VALUES, in printed order. A number at the end of the line
    is read only under a name that can stand last there, because the line may have been cut.
    """
    if _SURE.match(text) is not None:
        kind, form = form_of_batch(text)
        return Context(form, kind, BatchValues(text))
    head = _HEAD.match(text)
    if head is None:
        return None
    values = _values(text, head)
    if not values:
        return None
    kind = head[1].lower()
    return Context(_form(kind, head[3] == ".", text.rstrip().endswith(",")), kind, values)


def _values(text: str, head: re.Match[str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    if head[2]:
        values["iteration"] = int(head[2])
    body = text[head.end() :].rstrip()
    is_open = body.endswith(",")
    parts = body.removesuffix(",").split(", ", _MOST_PARTS)
    usage = 0
    name = ""
    for part in parts:
        name = ""
        printed, colon, token = part.strip().partition(": ")
        if not colon:
            # 0.4.9 to 0.4.9.post2 print `#token: full=1, swa=2` on hybrid models
            printed, _, token = printed.partition("=")
            if printed != "swa":
                if _TEAR.search(part):
                    break
                continue
            name = _SPLIT["swa"][usage]
        elif token.startswith("full="):
            usage = 1 if printed == "token usage" else 0
            name, token = _SPLIT["full"][usage], token[5:]
        elif printed.endswith(" graph"):
            name = "graph"
        else:
            name = BATCH_VALUES.get(printed, "")
            if not name:
                if _TEAR.search(part):
                    break
                continue
        value = _READERS.get(name, number)(token)
        if value is None or name in values:
            if token in ("nan", "inf"):
                continue
            name = ""
            break
        values[name] = value
    if name and not is_open and name not in _MAY_END:
        values.pop(name, None)
    return values


def _timestamp(token: str) -> str | None:
    return token if _TIMESTAMP.fullmatch(token) else None


def _percent(token: str) -> int | float | None:
    return number(token.removesuffix("%"))


_READERS: dict[str, Callable[[str], Value]] = {
    name: integer
    for printed, name in BATCH_VALUES.items()
    if printed.startswith("#") or printed.endswith(("num", "req"))
}
_READERS |= {"graph": truth, "timestamp": _timestamp}
_READERS |= dict.fromkeys(("cache_hit_rate", "fwd_occupancy", "fwd_idle_occupancy"), _percent)
