"""Conditions on how the server was started and which release it is."""

from __future__ import annotations

from memcheck_cli.forensics.evidence import Evidence
from memcheck_cli.forensics.signatures.model import Condition, Fact, Proof
from memcheck_cli.forensics.signatures.proofs import holds, quote


def flag_on(name: str) -> Condition:
    """A launch flag is set."""

    def is_on(e: Evidence) -> Proof | None:
        return holds(e.flag(name) is True, Fact(e.flags_line or e.line, f"{name}=True"))

    return is_on


def speculation(e: Evidence) -> Proof | None:
    """Speculative decoding runs: a flag says so, or Decode lines print an accept length."""
    algorithm = e.flag("speculative_algorithm")
    if isinstance(algorithm, str) and algorithm.lower() not in ("none", "null", ""):
        return (Fact(e.flags_line or e.line, f"speculative_algorithm={algorithm}"),)
    for batch in reversed(e.surroundings.batches):
        if "accept_len" in batch.event.values:
            return (quote(batch.event),)
    return None


def sessions(e: Evidence) -> Proof | None:
    """Streaming sessions are used."""
    for row in (e.row, e.found.witness):
        held = row.named_terms().get("session_held") if row is not None else None
        if row is not None and held:
            return (Fact(row.line, f"session_held={held}"),)
    if e.flag("enable_streaming_session") is True:
        return (Fact(e.flags_line or e.line, "enable_streaming_session=True"),)
    event = e.surroundings.last("session")
    return None if event is None else (quote(event.event),)


def hicache(e: Evidence) -> Proof | None:
    """The hierarchical cache is on."""
    if e.flag("enable_hierarchical_cache") is True:
        policy = e.flag("hicache_write_policy")
        text = "enable_hierarchical_cache=True" + (f", hicache_write_policy={policy}" if policy else "")
        return (Fact(e.flags_line or e.line, text),)
    event = e.surroundings.last("hicache")
    return None if event is None else (quote(event.event),)


def disaggregated(e: Evidence) -> Proof | None:
    """A prefill or decode server."""
    mode = e.flag("disaggregation_mode")
    return holds(mode in ("prefill", "decode"), Fact(e.flags_line or e.line, f"disaggregation_mode={mode}"))


def pipeline(e: Evidence) -> Proof | None:
    """Pipeline parallelism."""
    size = e.flag("pp_size")
    on = (isinstance(size, int) and size > 1) or "PP" in e.found.stream.rank
    return holds(on, Fact(e.flags_line or e.line, f"pipeline parallel (pp_size={size or 'not told'})"))


def before_release(release: str) -> Condition:
    """The log comes from an older release."""

    def older(e: Evidence) -> Proof | None:
        text = f"the release is {e.high} or earlier"
        return holds(e.surely_before(release), Fact(e.line, text))

    return older


def from_release(release: str) -> Condition:
    """The log comes from this release or a newer one."""

    def newer(e: Evidence) -> Proof | None:
        return holds(e.surely_from(release), Fact(e.line, f"the release is {e.low} or later"))

    return newer
