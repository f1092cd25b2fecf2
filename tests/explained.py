"""Logs made up for tests of the explanation, and reading them as a source."""

from __future__ import annotations

import io
from collections.abc import Iterable

from made_logs import assertion, busy, crash, pool_text, prefix

from memcheck_cli.forensics.analysis import Analysis, Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.forensics.trends import Trends
from memcheck_cli.ledger.reading import read_source
from memcheck_cli.sources import Source

__all__ = ["args", "assertion", "banner", "busy", "crash", "decode", "explained", "hits", "idle", "prefill", "prefix"]


def explained(text: str | bytes | Iterable[str], *, trends: bool = False, exact: bool = False) -> Analysis:
    """Read text or lines as the source `made.log` and judge it."""
    if not isinstance(text, str | bytes):
        text = "".join(line + "\n" for line in text)
    data = text.encode() if isinstance(text, str) else text
    source = Source("made.log", lambda _: io.BytesIO(data))  # type: ignore[arg-type, return-value]
    watched = Trends("made.log") if trends else None
    reading = read_source(source, watched, exact=exact)
    return analyze_readings([reading], Settings(), Scope(), {"made.log": watched} if watched else None)


def hits(analysis: Analysis) -> list[str]:
    """Ids of the signatures that hold, strongest first."""
    return [hit.signature.id for hit in analysis.explanation.hits] if analysis.explanation else []


def args(rank: str = "", **flags: object) -> str:
    """`server_args=ServerArgs(...)`, as releases up to 0.5.18 print it."""
    values = {"model_path": "m", "tp_size": 1, "page_size": 1, **flags}
    return prefix(rank) + "server_args=ServerArgs(" + ", ".join(f"{k}={v!r}" for k, v in values.items()) + ")"


def banner(total: int = 4096, context: int = 32768) -> str:
    """The start-up banner."""
    limits = f"chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, context_len={context}"
    return f"{prefix()}max_total_num_tokens={total}, {limits}"


def prefill(
    new: int = 136, *, seqs: int = 1, cached: int = 0, running: int = 0, pending: int = 0, rank: str = ""
) -> str:
    """A Prefill line of 0.5.11 and later."""
    return (
        f"{prefix(rank)}Prefill batch, #new-seq: {seqs}, #new-token: {new}, #cached-token: 0, "
        f"token usage: 0.03, #running-req: {running}, #queue-req: 0, #pending-token: {pending}, cuda graph: False, "
        "input throughput (token/s): 8300.97"
    )


def decode(running: int, token: int = 100, *, usage: float = 0.5, accept: bool = False, rank: str = "") -> str:
    """A Decode line of 0.5.9 and later."""
    spec = "accept len: 2.50, accept rate: 0.60, " if accept else ""
    return (
        f"{prefix(rank)}Decode batch, #running-req: {running}, #token: {token}, token usage: {usage:.2f}, {spec}"
        "cuda graph: True, gen throughput (token/s): 100.00, #queue-req: 0"
    )


def idle(*pools: str, rank: str = "", clock: str = "08:15:02", warn: bool = False) -> list[str]:
    """An idle report of the current form: raised, or a warning."""
    text = "pool memory leak detected! " + "\n".join(pools)
    if not warn:
        return "\n".join(crash(text, rank, clock, "ValueError")).split("\n")
    return (prefix(rank, clock) + text).split("\n")


def full(total: int, *terms: int, extra: str = "") -> str:
    """`[full] total=…`."""
    return pool_text("full", total, *terms, extra=extra)


def swa(total: int, *terms: int) -> str:
    """`[swa] total=…`."""
    return pool_text("swa", total, *terms)


def mamba(total: int, *terms: int, extra: str = "") -> str:
    """`[mamba] total=…`."""
    return pool_text("mamba", total, *terms, extra=extra)


def requests(available: int, total: int, held: int = 0, rank: str = "", clock: str = "08:15:02") -> list[str]:
    """The idle report of the request pool, as a warning."""
    text = f"req_to_token_pool memory leak detected!available_size={available}, session_held={held}, total_size={total}"
    return [prefix(rank, clock) + text, ""]
