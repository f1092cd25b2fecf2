"""Every text the checker has printed, from 0.4.0 to 0.5.23, in development builds, forks and other engines, as data."""

from __future__ import annotations

from memcheck_cli.log.dialects.busy import ASSERTIONS, BUSY, PAGES
from memcheck_cli.log.dialects.foreign import (
    EXACT_IDLE,
    EXACT_POOL_LINES,
    EXACT_REQUESTS,
    FORK_PARTS,
    HEADS_ALONE,
)
from memcheck_cli.log.dialects.form import CONTEXT_KINDS, Dialect
from memcheck_cli.log.dialects.idle import IDLE, REQUESTS
from memcheck_cli.log.dialects.names import NAMES, FurtherName
from memcheck_cli.log.dialects.notes import NOTES
from memcheck_cli.log.dialects.pool_lines import PARTS, POOL_LINES
from memcheck_cli.log.dialects.watchdog import RELEASE_ASSERTIONS, WATCHDOG

DIALECTS: tuple[Dialect, ...] = (
    *BUSY,
    *ASSERTIONS,
    *PAGES,
    *IDLE,
    *POOL_LINES,
    *PARTS,
    *REQUESTS,
    *NOTES,
    *WATCHDOG,
    *RELEASE_ASSERTIONS,
    *EXACT_IDLE,
    *HEADS_ALONE,
    *EXACT_POOL_LINES,
    *EXACT_REQUESTS,
    *FORK_PARTS,
)
"""All of them, newest first within a kind."""

BY_ID: dict[str, Dialect] = {form.id: form for form in DIALECTS}

__all__ = ["BY_ID", "CONTEXT_KINDS", "DIALECTS", "NAMES", "Dialect", "FurtherName"]
