"""Small logs of each kind that the checker leaves behind, as the lines of a plain file: `KINDS[name]`."""

from __future__ import annotations

from pathlib import Path

from made_logs import busy, pool_text, prefix

SAMPLES = Path(__file__).parents[1] / "samples"


def _cut(name: str, *spans: tuple[int, int]) -> list[str]:
    """Lines of a sample, by spans of line numbers from 1, both ends included."""
    lines = (SAMPLES / name).read_text().splitlines()
    return [line for first, last in spans for line in lines[first - 1 : last]]


def _dumped_again() -> list[str]:
    """Asserts are off: the server goes on after the leak and dumps its whole ring again at the next one."""

    def check(number: int, lost: int = 0) -> list[str]:
        clock = f"08:15:0{2 + number // 4}"
        return [
            busy("full", 1000, 900 - 7 * number, 0, 3 * number, 0, 100 + 4 * number - lost, rank="TP0", clock=clock)
        ]

    def dump(checks: list[list[str]], clock: str) -> list[str]:
        return [line[:12] + clock + line[20:] for lines in checks for line in lines]

    start = prefix("TP0") + "Prefill batch, #new-seq: 1, #new-token: 8, #cached-token: 0, token usage: 0.00"
    checks = [check(number) for number in range(6)] + [check(6, 16)]
    lines = [f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=1, page_size=16)", start]
    lines += dump(checks, "08:15:07")
    checks += [check(7, 16), check(8, 32)]
    return [*lines, start.replace("08:15:01", "08:15:08"), *dump(checks, "08:15:09")]


def _idle_report() -> list[str]:
    """A hybrid model's idle check: the head with the first pool, the second pool on a line of its own."""
    head = prefix("TP0", "08:15:09")
    return [
        f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=1, page_size=64)",
        busy("full", 4096, 4032, 0, 0, 0, 64, rank="TP0"),
        busy("swa", 2048, 1984, 0, 0, 0, 64, rank="TP0"),
        f"{head}Decode batch, #running-req: 1, #token: 64, token usage: 0.02, #queue-req: 0",
        f"{head}Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/sglang/srt/managers/scheduler.py", line 5296, in on_idle',
        '    self.invariant_checker._report_leak("pool", "\\n".join(messages))',
        f"ValueError: pool memory leak detected! {pool_text('full', 4096, 4000, 96)}",
        pool_text("swa", 2048, 1920, 64),
        "",
        f"{head}SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
    ]


def _idle_warnings() -> list[str]:
    """Warnings instead of errors, of two ranks, the second pool on a line of its own."""
    lines = [f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=2, page_size=16)"]
    for clock, lost in (("08:15:09", 16), ("08:16:09", 48)):
        for rank in ("TP0", "TP1"):
            lines.append(f"{prefix(rank, clock)}pool memory leak detected! {pool_text('full', 4096, 4000, 96 - lost)}")
            lines.append(pool_text("swa", 2048, 1984, 64))
    return lines


def _old_idle() -> list[str]:
    """0.4.7: the printed available holds evictable, both follow on lines of their own."""
    return [
        f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=1, page_size=1)",
        f"{prefix('TP0')}max_total_num_tokens=1000, chunked_prefill_size=8192, context_len=32768",
        f"{prefix('TP0', '08:15:09')}Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/sglang/srt/managers/scheduler.py", line 1296, in check_memory',
        "    raise ValueError(msg)",
        "ValueError: token_to_kv_pool_allocator memory leak detected! available_size=990, protected_size=0, "
        "self.max_total_num_tokens=1000",
        "self.token_to_kv_pool_allocator.available_size()=700",
        "self.tree_cache.evictable_size()=290",
        "",
    ]


def _request_pool() -> list[str]:
    head = prefix("TP0", "08:15:09")
    return [
        f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=1, page_size=1, disaggregation_mode='null')",
        busy("full", 1000, 990, 0, 0, 0, 10, rank="TP0"),
        busy("full", 1000, 980, 0, 10, 0, 10, rank="TP0"),
        f"{head}Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/sglang/srt/managers/scheduler.py", line 5296, in on_idle',
        "    raise_error_or_warn(self, envs, msg)",
        "ValueError: req_to_token_pool memory leak detected!available_size=31, session_held=0, total_size=32",
        "",
    ]


def _page_report() -> list[str]:
    head = prefix("TP0", "08:15:09")
    return [
        f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=1, page_size=16)",
        busy("full", 1600, 1440, 0, 0, 0, 160, rank="TP0"),
        busy("full", 1600, 1424, 16, 0, 0, 160, rank="TP0"),
        f"{head}KV double free: sub-pool 0 has 3 duplicate pages.",
        f"{head}KV page use-after-free: 2 owner page refs are in the free pool, sample pages=[4, 9].",
    ]


def _several_ranks() -> list[str]:
    """Two ranks that break at once (one event), and one that breaks later by itself."""
    lines = [f"{prefix()}server_args=ServerArgs(model_path='m', tp_size=4, page_size=16)"]
    for number, clock in enumerate(("08:15:01", "08:15:01", "08:15:02", "08:15:04", "08:15:06")):
        for rank in ("DP0 TP0", "DP0 TP1", "DP1 TP2"):
            lost = 32 if number >= 3 and rank != "DP1 TP2" else 16 if number == 4 else 0
            lines.append(busy("full", 4096, 4000 - 16 * number, 0, 16 * number, 0, 96 - lost, rank=rank, clock=clock))
        if number == 1:
            lines.append(f"{prefix('DP0 TP0')}Decode batch, #running-req: 1, #token: 64, token usage: 0.02")
    return lines


KINDS: dict[str, list[str]] = {
    "stream": _cut("lost-page.log", (1, 1), (5, 5), (43, 60), (79, 84)),
    "hybrid-stream": _cut("swa-lost-page.log", (1, 1), (8, 8), (26, 44), (63, 68)),
    "ring-dump": _cut("ring-dump.log", (1, 1), (8, 8), (20, 21), (120, 142), (161, 166)),
    "dumped-again": _dumped_again(),
    "idle-report": _idle_report(),
    "idle-warnings": _idle_warnings(),
    "old-idle": _old_idle(),
    "old-stream": _cut("old-release.log", (1, 1), (5, 5), (32, 46), (52, 57)),
    "several-ranks": _several_ranks(),
    "two-ranks": _cut("two-ranks.log", (1, 1), (8, 8), (28, 43), (64, 66)),
    "request-pool": _request_pool(),
    "page-report": _page_report(),
}
