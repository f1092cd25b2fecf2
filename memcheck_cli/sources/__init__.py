"""Where bytes come from: files, directories, patterns, pipes, compressed streams, archive members, rotated sets.

`find_sources` turns the paths of a command line into `Source` values, each one text to be read from start to end, and
says of everything else why it is not read (`Skipped`, `Unreadable`). `prefetch` reads a source's stream ahead in a
thread.
"""

from __future__ import annotations

from memcheck_cli.sources.find import find_sources
from memcheck_cli.sources.interface import Found, Limits, Part, Skipped, Source, Unreadable
from memcheck_cli.sources.prefetch import prefetch

__all__ = ["Found", "Limits", "Part", "Skipped", "Source", "Unreadable", "find_sources", "prefetch"]
