"""Logs made up for tests: lines as the server prints them, and reading them without a file."""

from __future__ import annotations

from memcheck_cli.forensics.analysis import Analysis, Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.ledger import Ledger
from memcheck_cli.ledger.reading import SourceReading
from memcheck_cli.log.reader import LineReader


def prefix(rank: str = "", clock: str = "08:15:01") -> str:
    """The bracket before a message; rank "" is a single-GPU server."""
    return f"[2026-06-11 {clock}{' ' + rank if rank else ''}] "


def pool_text(pool: str, total: int, *terms: int, extra: str = "") -> str:
    """`[full] total=…`; terms: available, evictable, protected, session_held, uncached (missing ones are 0)."""
    names = ("available", "evictable", "protected", "session_held", "uncached")
    values = [*terms, *[0] * (5 - len(terms))]
    told = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    return f"[{pool}] total={total}, {told}{extra}"


def busy(pool: str, total: int, *terms: int, rank: str = "", clock: str = "08:15:01", extra: str = "") -> str:
    """One busy line of the current form."""
    return f"{prefix(rank, clock)}[Mem Check (BUSY)] {pool_text(pool, total, *terms, extra=extra)}"


def crash(text: str, rank: str = "", clock: str = "08:15:01", error: str = "AssertionError") -> list[str]:
    """An exception record that ends in `error: text`."""
    return [
        f"{prefix(rank, clock)}Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/sglang/srt/managers/scheduler.py", line 3021, in run_scheduler_process',
        '    assert not full_leak, f"Full Pool Mem Leak Detected! {full_msg}"',
        f"{error}: {text}",
        "",
    ]


def assertion(pool: str, total: int, *terms: int, rank: str = "", clock: str = "08:15:01") -> list[str]:
    """The exception record behind a busy break."""
    name = {"full": "Full", "swa": "SWA"}[pool]
    return crash(f"{name} Pool Mem Leak Detected! {pool_text(pool, total, *terms)}", rank, clock)


def ledger_of(lines: list[str] | str, source: str = "made.log") -> Ledger:
    """Read lines into a ledger, every line through the exact reader."""
    text = lines if isinstance(lines, str) else "".join(line + "\n" for line in lines)
    ledger = Ledger(source)
    reader = LineReader()
    for line, message in reader.feed(text.encode()):
        ledger.fold(line, message)
    for line, message in reader.finish():
        ledger.fold(line, message)
    ledger.finish()
    return ledger


def analysis_of(lines: list[str] | str, settings: Settings | None = None, scope: Scope | None = None) -> Analysis:
    """Read and judge lines."""
    ledger = ledger_of(lines)
    reading = SourceReading("made.log", records=ledger.records, rejected=ledger.rejected_count, ledger=ledger)
    return analyze_readings([reading], settings or Settings(), scope or Scope())
