"""The Python API: what the commands do, as functions that give data back. Import it from `memcheck_cli`.

Logs may be anything the commands read: files, directories, patterns, archives, compressed. Functions raise
`UnreadableError` where nothing of the input could be read, and `UsageError` for arguments that make no sense.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from memcheck_cli.errors import UnreadableError

if TYPE_CHECKING:
    import pandas as pd

    from memcheck_cli.compare import Comparison
    from memcheck_cli.forensics.analysis import Analysis
    from memcheck_cli.ledger import Row, Stream
    from memcheck_cli.ledger.reading import Observer, SourceReading
    from memcheck_cli.log.records import Context, Line
    from memcheck_cli.replaying.run import Replay
    from memcheck_cli.sources import Source, Unreadable

Path = str | os.PathLike[str]


def analyze(
    *paths: Path,
    ranks: Collection[str] = (),
    pools: Collection[str] = (),
    page_size: int | None = None,
    totals: Mapping[str, int] | None = None,
    checked_level: int | None = None,
) -> Analysis:
    """Find the breaks in logs, as `memcheck analyze` does.

    ranks, pools: what the verdict speaks about, everything where empty. page_size: tokens, over the log's. totals:
    tokens by pool, for texts that print none. checked_level: your word that the busy check ran at that level.
    """
    from memcheck_cli.forensics.analysis import Scope, analyze_readings
    from memcheck_cli.forensics.breaks import Settings

    scope = Scope(frozenset(ranks), frozenset(pools), checked_level)
    return analyze_readings(_read(paths), Settings(page_size, dict(totals or {})), scope)


def read_log(*paths: Path) -> pd.DataFrame:
    """Every record of logs as a frame, one row a record, in the order in which they count.

    Columns: source, run, process, rank, check (`busy` or `idle`), iteration (missing for idle reports), pool, line,
    time (text, the server's own), total, available, evictable, protected, session_held, uncached, accounted, delta.
    Numbers are Int64, missing where not printed; tokens, but slots for the mamba and request pools. Records of a ring
    that is dumped again are there once.
    """
    import pandas as pd

    rows: list[tuple[object, ...]] = []

    class Collector:
        markers: tuple[bytes, ...] = ()

        def __init__(self, source: str) -> None:
            self.source = source

        def record(self, stream: Stream, check: str, pool: str, row: Row) -> None:
            if not pool:
                return  # the empty full line of an all-SWA model
            delta = None if row.total is None else row.accounted - row.total
            place = (stream.run, stream.process, stream.rank, check, row.iteration if check == "busy" else None)
            rows.append((self.source, *place, pool, row.line, row.time, row.total, *row.terms, row.accounted, delta))

        def context(self, run: int, line: Line, message: Context) -> None:
            return None

    _read(paths, Collector)
    from memcheck_cli.log.records import TERMS

    numbers = ("total", *TERMS, "accounted", "delta")
    names = ("source", "run", "process", "rank", "check", "iteration", "pool", "line", "time", *numbers)
    frame = pd.DataFrame(rows, columns=list(names))
    return frame.astype(dict.fromkeys(("run", "iteration", "line", *numbers), "Int64"))


def replay(*paths: Path, rules: str | None = None, against: str | None = None) -> Replay:
    """Judge every record again under a release's rules, as `memcheck replay` does.

    rules: the release, the log's own where None. against: a second release to show where the two part.
    """
    from memcheck_cli.replaying.run import Options
    from memcheck_cli.replaying.run import replay as run

    return run(_found(paths), Options(rules=rules, against=against), lambda _: None)


def diff(a: Path, b: Path) -> Comparison:
    """Compare two runs, as `memcheck diff` does. Differences are b minus a."""
    from memcheck_cli.compare import ReadSide, compare
    from memcheck_cli.forensics.analysis import Scope
    from memcheck_cli.forensics.breaks import Settings

    sides = []
    for path in (a, b):
        side = ReadSide(os.fspath(path), frozenset())
        side.read(_found([path]))
        sides.append(side.judged(Settings(), Scope()))
    return compare(sides[0], sides[1])


def _found(paths: Sequence[Path]) -> list[Source | Unreadable]:
    from memcheck_cli.sources import Skipped, find_sources

    return [found for found in find_sources([os.fspath(path) for path in paths]) if not isinstance(found, Skipped)]


def _read(paths: Sequence[Path], observer: Callable[[str], Observer] | None = None) -> list[SourceReading]:
    from memcheck_cli.ledger.reading import SourceReading, read_source
    from memcheck_cli.sources import Source

    readings = []
    for found in _found(paths):
        if isinstance(found, Source):
            watching = observer(found.name) if observer is not None else None
            readings.append(read_source(found, watching))
        else:
            readings.append(SourceReading(found.name, error=found.reason))
    if not any(reading.ledger for reading in readings):
        first = next((f"{reading.name}: {reading.error}" for reading in readings if reading.error), "no text was found")
        raise UnreadableError(first)
    return readings
