"""Many sources read by several processes, handed on in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from memcheck_cli.ledger.forked import POSSIBLE, Forked
from memcheck_cli.ledger.reading import SourceReading

if TYPE_CHECKING:
    from memcheck_cli.ledger.progress import Progress
    from memcheck_cli.sources import Source

WORTH = 8 << 20
"""Bytes of all sources together from which on it pays to make processes."""

UNKNOWN = 2 << 20
"""Bytes that a compressed or archived source counts for here."""

AHEAD = 2
"""Sources that wait for each process while it reads another one."""

Read = Callable[["Source"], SourceReading]


def read_sources(
    sources: Sequence[Source], jobs: int, read: Read, alone: Callable[[Source], bool], progress: Progress
) -> Iterator[SourceReading]:
    """What was read of each source, in order, until `progress` is stopped.

    read: reads one, here or in a forked process. alone: whether a source is to be read here: it can be read once only,
    or by several processes by itself.
    """
    shared = [number for number, source in enumerate(sources) if not (source.once or alone(source))]
    size = sum(UNKNOWN if sources[number].size is None else sources[number].size or 0 for number in shared)
    team = None
    if jobs > 1 and POSSIBLE and len(shared) > 1 and size >= WORTH:
        team = Forked(min(jobs, len(shared)), lambda: lambda number: read(sources[number]))
    done: dict[int, SourceReading | None] = {}
    asked = taken = 0
    try:
        for number, source in enumerate(sources):
            if progress.stopped:
                return
            if team is None or source.once or alone(source):
                yield read(source)
                continue
            while number not in done:
                while asked < min(len(shared), taken + team.size * (1 + AHEAD)):
                    team.ask(shared[asked], shared[asked])
                    asked += 1
                progress.waiting = True
                try:
                    answer, found = team.take()
                finally:
                    progress.waiting = False
                taken += 1
                done[answer] = found
                if progress.stopped:
                    return
            reading = done.pop(number)
            yield reading if reading is not None else read(source)
    except KeyboardInterrupt:
        if not progress.stopped:
            raise
    finally:
        if team is not None:
            team.close()
