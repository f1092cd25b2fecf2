"""memcheck: forensics on SGLang KV-cache pool leaks, from the log alone.

`analyze`, `read_log`, `replay` and `diff` do what the commands of these names do and give data back; see `api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "analyze", "diff", "read_log", "replay"]

if TYPE_CHECKING:
    from memcheck_cli.api import analyze, diff, read_log, replay


def __getattr__(name: str) -> object:
    if name in __all__:
        from memcheck_cli import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
