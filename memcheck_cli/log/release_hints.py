"""Which SGLang release printed a log: told by what it names and by texts that only some releases print.

Every hint is a span of releases with the reason. Two strengths exist: what names the release or is the checker's own
text is certain; what other lines look like is weaker (such lines are shortened, quoted and patched more often) and
gives way where it does not fit the certain hints.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from memcheck_cli.checker.releases import NEWEST, RELEASES, Release, ReleaseError, held_to
from memcheck_cli.log.dialects import DIALECTS
from memcheck_cli.log.records import Busy, Context, Message, Value
from memcheck_cli.log.server_args import FLAGS, ServerArgs, read_server_args

Bounds = tuple[str | None, str | None]
"""First and last release of a span, both included; None where it is open."""


class ReleaseRange(NamedTuple):
    """The oldest and the newest release that fit, None where nothing bounds them (both None also where the hints
    contradict each other), and a sentence for each hint that sets a border (for every hint where they contradict)."""

    low: str | None
    high: str | None
    reasons: tuple[str, ...]


FORM_BOUNDS: Mapping[str, Bounds] = {
    "server-args-repr": (None, "0.5.18"),
    "server-args-dict": ("0.5.19", None),
    "quoted-args-repr": (None, "0.5.18"),
    "quoted-args-dict": ("0.5.19", None),
    "tree-cache": ("0.5.13", None),
    "sliding-S": ("0.4.9.post3", "0.5.6.post2"),
    "sliding-s": ("0.5.7", None),
    "sliding-all-swa": ("0.5.9", None),
    "post-capture": ("0.5.16", None),
    "post-capture-layers": ("0.5.17", None),
    "swa-pool": ("0.5.3.post3", None),
    "swa-pool-bound": ("0.5.18", None),
    "swa-ring": ("0.5.20", None),
    "dsv4": ("0.5.12", None),
    "mamba": ("0.5.3.post2", None),
    "unified-memory": ("0.5.15", None),
    "kv-cache": ("0.4.3.post3", "0.5.12.post1"),
    "kv-cache-dtype": ("0.5.13", None),
    "kv-cache-label": ("0.5.17", None),
    "kv-cache-bound": ("0.5.18", None),
    "kv-cache-skipped": ("0.5.17", None),
    "prefill-dot": (None, "0.5.3.post3"),
    "prefill-dot-open": ("0.4.3.post3", "0.5.3.post3"),
    "prefill-open": ("0.5.4", "0.5.8.post1"),
    "decode-dot": (None, "0.5.3.post3"),
    "decode-dot-open": ("0.4.3.post3", "0.5.3.post3"),
    "decode-open": ("0.5.4", "0.5.8.post1"),
    "retract-decode-oom": (None, "0.4.6.post5"),
    "retract-pool-full": ("0.4.7", None),
    "retract-testing": ("0.5.7", None),
    "abort-retract": ("0.5.19", None),
    "abort-retract-oom": ("0.5.10rc0", None),
    "flush-timeout": ("0.5.10rc0", None),
    "exception-ray": ("0.5.10rc0", None),
    "sigquit": ("0.5.3rc2", None),
    "sigquit-child": ("0.4.3.post3", None),
    "sigquit-child-sic": ("0.4.1.post6", "0.4.3.post2"),
    "sigquit-subprocess": ("0.5.10", None),
    "session-opened": ("0.5.11", None),
    "session-closed": ("0.5.11", None),
    "watchdog": (None, "0.5.6.post2"),
    "watchdog-named": ("0.5.7", None),
    "watchdog-head": ("0.5.7", None),
    "watchdog-crashed": ("0.5.7", None),
    "watchdog-symmetric": ("0.5.23", None),
    "watchdog-self-batch": ("0.4.3.post3", "0.5.6.post2"),
    "watchdog-scheduler-batch": ("0.5.7", "0.5.15.post1"),
    "watchdog-scheduler-debug": ("0.5.16", None),
    "pyspy-command": ("0.5.11", None),
    "topk-warning": ("0.5.7", "0.5.12.post1"),
}
"""By `Context.form`: the releases that print it."""

VALUE_BOUNDS: Mapping[tuple[str, str], Bounds] = {
    ("banner", "available_gpu_mem"): ("0.4.7", None),
    ("banner", "available_cpu_mem"): ("0.5.2", None),
    ("prefill", "iteration"): ("0.5.4", None),
    ("decode", "iteration"): ("0.5.4", None),
    ("prefill", "cache_hit_rate"): (None, "0.4.3.post2"),
    ("prefill", "timestamp"): ("0.4.9.post1", "0.4.9.post2"),
    ("decode", "timestamp"): ("0.4.9.post1", "0.4.9.post2"),
    ("prefill", "unbootstrapped_req"): ("0.4.6", "0.5.3rc0"),
    ("prefill", "transferring_req"): ("0.4.6", "0.5.3rc0"),
    ("prefill", "prealloc_req"): ("0.5.3rc2", "0.5.11"),
    ("prefill", "inflight_req"): ("0.5.3rc2", None),
    ("prefill", "bootstrap_req"): ("0.5.12", None),
    ("prefill", "optimistic_req"): ("0.5.16", None),
    ("prefill", "mamba_usage"): ("0.5.3.post2", None),
    ("prefill", "graph"): ("0.5.9", None),
    ("prefill", "pending_token"): ("0.5.11", None),
    ("prefill", "replay_token"): ("0.5.21", None),
    ("prefill", "fwd_occupancy"): ("0.5.11", None),
    ("prefill", "fwd_idle_occupancy"): ("0.5.21", None),
    ("prefill", "est_prefill_tflops"): ("0.5.10", None),
    ("decode", "accept_len"): ("0.4.1.post7", None),
    ("decode", "accept_rate"): ("0.5.3.post2", None),
    ("decode", "largest_len"): ("0.4.3.post3", "0.4.4.post1"),
    ("decode", "graph"): ("0.4.6.post4", None),
    ("decode", "mamba_num"): ("0.5.3.post2", None),
    ("decode", "gpu_token"): ("0.5.11", None),
    ("decode", "fwd_occupancy"): ("0.5.11", None),
    ("decode", "fwd_idle_occupancy"): ("0.5.21", None),
    ("decode", "cap_len"): ("0.5.16", None),
    ("decode", "host_receive_req"): ("0.5.21", None),
    ("decode", "est_decode_tflops"): ("0.5.10rc0", None),
    ("retract", "aborted_retracted_reqs"): ("0.5.3rc2", "0.5.4.post1"),
    ("retract", "new_tokens_gained"): ("0.5.7", None),
    ("retract", "mamba_num_gained"): ("0.5.11", None),
    ("watchdog", "soft"): ("0.5.7", None),
}
"""By kind and name of a value: the releases that print it."""

FIELD_BOUNDS: Mapping[str, Bounds] = {
    **{flag.name: (flag.first, flag.last) for flag in FLAGS if flag.first or flag.last},
    "disable_hicache_numa_detect": ("0.5.7", "0.5.10"),
    "stream_output": (None, "0.5.9"),
    "disaggregation_decode_tp": (None, "0.5.9"),
    "mm_max_concurrent_calls": (None, "0.5.10"),
    "enable_mfu_metrics": ("0.5.10", None),
    "enable_double_sparsity": (None, "0.5.10.post1"),
    "batch_notify_size": ("0.5.11", None),
    "speculative_dflash_draft_window_size": ("0.5.11", "0.5.11"),
    "enable_strict_thinking": ("0.5.12", None),
    "nsa_prefill_backend": (None, "0.5.12.post1"),
    "kv_canary": ("0.5.13", None),
    "cuda_graph_bs": (None, "0.5.13.post1"),
    "cuda_graph_config": ("0.5.13.post1", None),
    "torchao_config": (None, "0.5.17"),
    "dwdp_size": ("0.5.15.post1", None),
    "prefill_decode_interval": ("0.5.19", None),
    "prefill_cp_mode": ("0.5.10rc0", "0.5.19"),
    "return_input_ids": ("0.5.20", None),
    "keep_mm_feature_on_device": (None, "0.5.20"),
    "swa_prefix_tails": ("0.5.21", None),
    "cuda_graph_tc_compiler": ("0.5.13.post1", "0.5.21"),
    "enable_watermark": ("0.5.22", None),
    "speculative_skip_dp_mlp_sync": (None, "0.5.22"),
    "enable_paged_experts": ("0.5.23", None),
}
"""By field of ServerArgs: the releases that have it, at least (a border may be wider where releases between two that
were looked at exist)."""

_ENOUGH_FIELDS = 250
"""A whole ServerArgs text with so many fields is a server's own, so that a missing field says something."""

PATH_BOUNDS: Mapping[str, Bounds] = {
    "srt/managers/scheduler_runtime_checker_mixin.py": (None, "0.5.12.post1"),
    "srt/managers/scheduler_metrics_mixin.py": (None, "0.5.9"),
    "srt/observability/scheduler_metrics_mixin.py": ("0.5.10rc0", "0.5.12.post1"),
    "srt/managers/scheduler_components/invariant_checker.py": ("0.5.13", None),
    "srt/managers/scheduler_components/metrics_reporter.py": ("0.5.13", None),
    "srt/managers/session_controller.py": (None, "0.5.10.post1"),
    "srt/session/session_controller.py": ("0.5.11", None),
    "srt/mem_cache/session_aware_cache.py": ("0.5.10rc0", "0.5.10.post1"),
    "srt/session/streaming_session.py": ("0.5.11", None),
    "srt/mem_cache/allocator.py": (None, "0.5.12.post1"),
    "srt/mem_cache/allocator/__init__.py": ("0.5.13", None),
    "srt/mem_cache/allocator/paged.py": ("0.5.13", None),
    "srt/mem_cache/swa_memory_pool.py": ("0.5.7", None),
}
"""By file of SGLang in a traceback: the releases that have it."""

EXTRA_BOUNDS: Mapping[str, Bounds] = {
    "dcp_physical_page_slack_allowed": ("0.5.15", None),
    "class_free_pages": ("0.5.21", None),
    "unaligned_sharded_counts": ("0.5.21", None),
}
"""By further name in a busy line: the releases that print it."""

_ENOUGH_OF_A_KIND = 64
"""So many lines of one kind are looked at; more say nothing new."""


class _Hint(NamedTuple):
    low: str | None
    high: str | None
    certain: bool


class ReleaseHints:
    """Collects hints about one run and narrows the releases that can have printed it."""

    def __init__(self) -> None:
        self._hints: dict[str, _Hint] = {}
        self._seen: dict[str, int] = {}
        self._best: ReleaseRange | None = None

    def add(self, message: Message, text: str = "") -> None:
        """Take what a message says. text: the message part of its line, needed for `server-args`."""
        if isinstance(message, Busy):
            self._add_busy(message)
            return
        key = message.kind if isinstance(message, Context) else message.form
        seen = self._seen.get(key, 0)
        if seen >= _ENOUGH_OF_A_KIND:
            return
        self._seen[key] = seen + 1
        if isinstance(message, Context):
            self._add_context(message, text)
            return
        bounds = _dialect_bounds().get(message.form)
        if bounds is not None:
            self.add_span(f"the checker's form {message.form}", *bounds, certain=True)

    def knows_enough(self, kind: str) -> bool:
        """Whether further context lines of a kind say nothing new."""
        return self._seen.get(kind, 0) >= _ENOUGH_OF_A_KIND

    def _add_busy(self, message: Busy) -> None:
        """Every one counts: a reader of columns does not tell of all of them."""
        if message.form not in self._seen:
            self._seen[message.form] = 1
            bounds = _dialect_bounds().get(message.form)
            if bounds is not None:
                self.add_span(f"the checker's form {message.form}", *bounds, certain=True)
        for pool in message.pools:
            for name in pool.extra:
                if name in EXTRA_BOUNDS:
                    self.add_span(f"{name} in a busy line", *EXTRA_BOUNDS[name], certain=True)

    def add_span(self, what: str, low: str | None, high: str | None, certain: bool = False) -> None:
        """Take a hint: `what` is found in releases `low` to `high` only. Raises ReleaseError for what is no release."""
        if high == NEWEST:
            high = None
        if (low or high) and what not in self._hints:
            for border in (low, high):
                if border is not None:
                    Release.parse(border)
            self._hints[what] = _Hint(low, high, certain)
            self._best = None

    def add_version(self, version: str) -> None:
        """Take a version that the log names. A development build stands between two releases."""
        try:
            named = Release.parse(version)
            plain = version.strip().removeprefix("v").partition("+")[0]
            if ".dev" not in plain:
                self.add_span(f"the log names SGLang {plain}", plain, plain, certain=True)
                return
            after = next((name for name in RELEASES if Release.parse(name) > named), None)
            self.add_span(f"the log names the development build {plain}", str(held_to(named)), after, certain=True)
        except ReleaseError:
            return

    def best(self) -> ReleaseRange:
        """The range that fits all hints; where only weaker ones stand against it, the range of the certain ones."""
        if self._best is None:
            self._best = self._narrow()
        return self._best

    def certain(self) -> Bounds:
        """The borders that the certain hints alone set; both None where they do not fit together."""
        bounds = _intersection([hint for hint in self._hints.values() if hint.certain])
        return bounds if _fits(*bounds) else (None, None)

    def _narrow(self) -> ReleaseRange:
        low, high = _intersection(list(self._hints.values()))
        if _fits(low, high):
            return ReleaseRange(low, high, self._reasons(low, high))
        certain = {what: hint for what, hint in self._hints.items() if hint.certain}
        low, high = _intersection(list(certain.values()))
        if certain and _fits(low, high):
            against = "the other hints do not fit and are left out"
            return ReleaseRange(low, high, (*self._reasons(low, high), against))
        every = tuple(f"{what}: {spoken(hint.low, hint.high)}" for what, hint in self._hints.items())
        return ReleaseRange(None, None, (*every, "these do not fit together, so the release is not known"))

    def _reasons(self, low: str | None, high: str | None) -> tuple[str, ...]:
        """The hints that set the borders of a range; the others say less."""
        return tuple(
            f"{what}: {spoken(hint.low, hint.high)}"
            for what, hint in self._hints.items()
            if (low is not None and hint.low == low) or (high is not None and hint.high == high)
        )

    def _add_context(self, context: Context, text: str) -> None:
        kind = context.kind
        version = context.values.get("version")
        if isinstance(version, str):
            self.add_version(version)
        bounds = FORM_BOUNDS.get(context.form)
        certain = kind == "server-args"
        if bounds is not None:
            self.add_span(_FORM_NAMES.get(context.form, f"a line of the form {context.form}"), *bounds, certain=certain)
        if kind == "server-args":
            args = read_server_args(text)
            if args is not None:
                self._add_fields(args)
        elif kind == "traceback-path":
            path = str(context.values["file"])
            if path in PATH_BOUNDS:
                self.add_span(f"{path} in a traceback", *PATH_BOUNDS[path])
        else:
            for name in context.values:
                found = VALUE_BOUNDS.get((kind, name))
                if found is not None:
                    self.add_span(f"{name} in a {kind} line", *found)
            if kind == "prefill":
                self._add_prefill(context)
            elif kind == "decode":
                self._add_decode(context)
            elif kind == "retract":
                self._add_retract(context)

    def _add_fields(self, args: ServerArgs) -> None:
        """Of all fields only the two that bound the release most closely: the others say less."""
        told = args.whole and len(args.fields) >= _ENOUGH_FIELDS
        hints: dict[str, _Hint] = {}
        for name, (first, last) in FIELD_BOUNDS.items():
            if name in args.fields:
                hints[f"ServerArgs has {name}"] = _Hint(first, last, True)
            elif told and first is not None and last is None:
                hints[f"ServerArgs lacks {name}"] = _Hint(None, _before(first), True)
        low, high = _intersection(list(hints.values()))
        for what, hint in hints.items():
            if low is not None and hint.low == low:
                self.add_span(what, low, None, certain=True)
                low = None
            if high is not None and hint.high == high:
                self.add_span(what, None, high, certain=True)
                high = None

    def _add_prefill(self, context: Context) -> None:
        names = list(context.values)
        if context.form != "prefill" or "input_throughput" not in names:
            return
        if names[-1] == "graph":
            self.add_span("the Prefill line ends with the graph", "0.5.9", "0.5.9")
        elif "graph" in names:
            self.add_span("the Prefill line names the graph before the throughput", "0.5.10rc0", None)
        if "pending_token" not in names and "graph" in names:
            self.add_span("no #pending-token in the Prefill line", None, "0.5.10.post1")
        if "bootstrap_req" in names and "optimistic_req" not in names:
            self.add_span("#bootstrap-req without #optimistic-req", None, "0.5.15.post1")
        if "fwd_occupancy" in names and "fwd_idle_occupancy" not in names:
            self.add_span("one occupancy in the Prefill line", None, "0.5.20")

    def _add_decode(self, context: Context) -> None:
        if context.form == "decode" and "queue_req" in context.values and "graph" in context.values:
            self.add_span("the Decode line does not end in a comma", "0.5.9", None)
            if "fwd_occupancy" in context.values and "fwd_idle_occupancy" not in context.values:
                self.add_span("one occupancy in the Decode line", None, "0.5.20")

    def _add_retract(self, context: Context) -> None:
        if "new_token_ratio_after" in context.values and "new_tokens_gained" not in context.values:
            self.add_span("no #new_tokens_gained in a retract line", None, "0.5.6.post2")


_FORM_NAMES: Mapping[str, str] = {
    "server-args-repr": "server_args printed as ServerArgs(...)",
    "server-args-dict": "server_args printed as a dict",
    "prefill-dot": "a period after `Prefill batch`",
    "prefill-open": "a Prefill line that ends in a comma",
    "decode-dot": "a period after `Decode batch`",
    "decode-open": "a Decode line that ends in a comma",
    "tree-cache": "a `Tree cache initialized` line",
    "kv-cache": "`KV Cache is allocated` without a dtype",
    "kv-cache-dtype": "`KV Cache is allocated` with a dtype",
    "kv-cache-label": "`KV Cache is allocated` with a pool's name",
    "topk-warning": "the warning that the busy check is off for top-k > 1",
}


@cache
def _dialect_bounds() -> Mapping[str, Bounds]:
    """By form id of the checker's own texts: the outer borders of the releases that print it."""
    bounds: dict[str, Bounds] = {}
    for dialect in DIALECTS:
        spans = [part.strip().partition("-") for part in dialect.releases.split(",")]
        try:
            borders = [Release.parse(name) for first, _, last in spans for name in (first, last or first)]
        except ReleaseError:
            continue  # a development build, a fork or another engine
        bounds[dialect.id] = (str(min(borders)), str(max(borders)))
    return bounds


@cache
def _before(release: str) -> str:
    """The release right before a known one."""
    return RELEASES[RELEASES.index(release) - 1]


def _intersection(hints: list[_Hint]) -> Bounds:
    lows = [hint.low for hint in hints if hint.low is not None]
    highs = [hint.high for hint in hints if hint.high is not None]
    return max(lows, key=Release.parse, default=None), min(highs, key=Release.parse, default=None)


def _fits(low: str | None, high: str | None) -> bool:
    return low is None or high is None or Release.parse(low) <= Release.parse(high)


def spoken(low: str | None, high: str | None) -> str:
    """A range of releases in words."""
    if low is None:
        return "any release" if high is None else f"{high} or earlier"
    if high is None:
        return f"{low} or later"
    return low if low == high else f"{low} to {high}"


QUIET_LEVELS = frozenset({"warning", "error", "critical"})
"""Log levels that hide the busy lines and the ring dump, which are printed at level info."""


def why_unchecked(
    flags: Mapping[str, Value], low: str | None, high: str | None, log_level: str | None = None
) -> list[str]:
    """Sentences that say why a server with these flags cannot have run, or cannot have printed, a check.

    flags: as `server_args` reads them, missing where not told. low, high: the range of its release, None where open.
    log_level: beats the flag. Empty where nothing stands against a check (its level is in no log and may still be 0).
    """
    reasons: list[str] = []
    pipeline = flags.get("pp_size")
    if isinstance(pipeline, int) and pipeline > 1:
        reasons.append(f"pp_size={pipeline}: no release runs the busy check in its pipeline-parallel loop.")
    mode = flags.get("disaggregation_mode")
    if mode in ("prefill", "decode"):
        reasons.append(f"disaggregation_mode={mode}: no release runs the busy check on a disaggregated server.")
    if flags.get("enable_pdmux") is True:
        reasons.append("enable_pdmux: no release runs the busy check in its PD-multiplexing loop.")
    topk = flags.get("speculative_eagle_topk")
    if isinstance(topk, int) and topk > 1 and flags.get("speculative_algorithm", "") is not None:
        inside = _overlap(low, high, "0.5.7", "0.5.12.post1")
        if inside:
            tail = "" if inside == "all" else f" (the release is not known well enough: {spoken(low, high)})"
            reasons.append(
                f"speculative_eagle_topk={topk}: 0.5.7 to 0.5.12.post1 skip the busy check when top-k > 1{tail}."
            )
    level = log_level if log_level is not None else flags.get("log_level")
    if isinstance(level, str) and level.lower() in QUIET_LEVELS:
        reasons.append(f"log level {level.lower()}: busy lines and the ring dump are printed at level info only.")
    if _overlap(low, high, None, "0.5.3.post3") == "all":
        reasons.append(f"SGLang {spoken(low, high)}: there is no busy check before 0.5.4.")
    elif _overlap(low, high, "0.5.4", "0.5.5.post3") == "all":
        reasons.append(
            f"SGLang {spoken(low, high)}: the busy check of 0.5.4 to 0.5.5.post3 prints no line, it only asserts."
        )
        if flags.get("disable_overlap_schedule") is True:
            reasons.append(
                "disable_overlap_schedule: 0.5.4 to 0.5.5.post3 run the busy check in the overlap loop only."
            )
    if flags.get("enable_hisparse") is True and _overlap(low, high, "0.5.12", None):
        reasons.append("enable_hisparse: 0.5.12 and later skip the idle check.")
    return reasons


def _overlap(low: str | None, high: str | None, first: str | None, last: str | None) -> str:
    """How the range low-high lies to the span first-last: `all` of it inside, `some` of it, or nothing (empty)."""
    if not _fits(low, last) or not _fits(first, high):
        return ""
    above = first is None or (low is not None and Release.parse(low) >= Release.parse(first))
    below = last is None or (high is not None and Release.parse(high) <= Release.parse(last))
    return "all" if above and below else "some"
