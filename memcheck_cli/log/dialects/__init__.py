"""Every text the checker has printed, from 0.4.0 to 0.5.23, in development builds, forks and other engines, as data."""

from __future__ import annotations

from memcheck_cli.log.dialects.busy import ASSERTIONS, BUSY, PAGES
from memcheck_cli.log.dialects.form import Dialect
from memcheck_cli.log.dialects.idle import IDLE, PARTS, POOL_LINES, REQUESTS

DIALECTS: tuple[Dialect, ...] = BUSY + ASSERTIONS + PAGES + IDLE + POOL_LINES + PARTS + REQUESTS
"""All of them, newest first within a kind."""

__all__ = ["ASSERTIONS", "BUSY", "DIALECTS", "IDLE", "PAGES", "PARTS", "POOL_LINES", "REQUESTS", "Dialect"]
