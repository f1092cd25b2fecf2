"""`memcheck analyze`: where does the sum break?"""

from __future__ import annotations

import os
from contextlib import ExitStack, closing, suppress
from typing import IO, TYPE_CHECKING

import click

from memcheck_cli.cli.inputs import found_in, limits_of
from memcheck_cli.cli.options import input_options, output_option, scope_options, writable_file
from memcheck_cli.cli.progress import INTERRUPTED, Display
from memcheck_cli.cli.telling import tell
from memcheck_cli.cli.writing import answer_to, keep_apart, write_json
from memcheck_cli.errors import UnreadableError, UsageError

if TYPE_CHECKING:
    from memcheck_cli.forensics.trends import Trends
    from memcheck_cli.ledger.reading import SourceReading
    from memcheck_cli.render.rejects import Rejects
    from memcheck_cli.sources import Source, Unreadable

LONGEST_CHECK = 4 << 20
"""Bytes of a file that are looked at to tell a recording by its first line: one of 10,000 requests is shorter."""


@click.command("analyze")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@scope_options
@click.option("--checked-level", type=int, metavar="N", help="Your word that the server ran the busy check at level N.")
@click.option(
    "--trends",
    is_flag=True,
    help="Also look for drift that no sum shows: locks never given back, terms that grow while requests do not. "
    "Takes reading every record and batch line.",
)
@click.option(
    "--rejects",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True),
    callback=writable_file,
    metavar="FILE",
    help="Write the lines that bear the checker's tag but cannot be read: source, line, reason and text, with tabs "
    "between. - is stdout, which takes -o for the answer.",
)
@output_option
@click.option("-v", "--verbose", is_flag=True, help="Show every break, stream and finding.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Processes that share a file of 64 MB or more, or many files.  [default: 2, or 1 on one processor]",
)
@input_options
def command(
    paths: tuple[str, ...],
    form: str,
    ranks: tuple[str, ...],
    pools: tuple[str, ...],
    page_size: int | None,
    totals: tuple[tuple[str, int], ...],
    checked_level: int | None,
    trends: bool,
    rejects: str | None,
    output: str | None,
    verbose: bool,
    jobs: int | None,
    max_expanded: str | None,
    max_nesting: int | None,
) -> int:
    """Find the first iteration where a pool's sum breaks.

    PATH is a log, directory, archive or compressed file of any kind; - is stdin. Says which pool broke on which rank,
    at which iteration and line, by how much and in which direction, with the last balanced check beside it.

    \b
    Examples:
      memcheck analyze samples/lost-page.log
      memcheck analyze samples/ --format json -o answer.json
      zstdcat huge.log.zst | memcheck analyze - --rank TP0

    Exit codes: 0 balanced, 1 broken, 2 wrong use, 3 undecided, 4 unreadable, 130 interrupted (what was read until then
    is told).
    """
    from memcheck_cli.forensics.analysis import Scope, analyze_readings
    from memcheck_cli.forensics.breaks import Settings

    if rejects == "-" and output is None:
        raise UsageError("--rejects - writes to stdout, where the answer goes: give the answer a file with -o")
    keep_apart(paths, {"-o": output, "--rejects": rejects})
    watched: dict[str, Trends] = {}
    with ExitStack() as stack:
        rejected = None
        if rejects is not None:
            from memcheck_cli.render.rejects import Rejects

            rejected = stack.enter_context(Rejects())
        with Display() as display:
            display.waiting = True
            found = list(found_in(paths, limits_of(max_expanded, max_nesting)))
            display.waiting = False
            readings = _read(found, display, jobs, watched if trends else None, rejected)
        for reading in readings:
            if reading.error is not None:
                tell(f"{reading.name}: {reading.error}")
        if rejected is not None:
            with answer_to(None if rejects == "-" else rejects) as file:
                rejected.write_to(file)
    scope = Scope(frozenset(ranks), frozenset(pools), checked_level)
    analysis = analyze_readings(readings, Settings(page_size, dict(totals)), scope, watched)
    if not analysis.streams:
        _tell_recordings(found)
    with answer_to(output) as file:
        _write(analysis, form, verbose, file)
    return INTERRUPTED if display.stopped else analysis.exit_code


def _tell_recordings(found: list[Source | Unreadable]) -> None:
    """Of files without any line of the checker: those that another verb is for."""
    from memcheck_cli.recording import Ahead
    from memcheck_cli.sources import Source

    for one in found:
        if isinstance(one, Source) and one.path is not None:  # members of an archive would be unpacked once more
            with suppress(UnreadableError), closing(one.open()) as stream:
                if Ahead(stream).is_recording(LONGEST_CHECK):
                    tell(f"{one.name} is a recording: `memcheck replay` reads it")


def _read(
    found: list[Source | Unreadable],
    display: Display,
    jobs: int | None,
    watched: dict[str, Trends] | None,
    rejected: Rejects | None,
) -> list[SourceReading]:
    """Read all that was found, in order. watched: kept by source, where trends are asked for."""
    from memcheck_cli.ledger.pieces import SPLIT_FROM
    from memcheck_cli.ledger.reading import SourceReading, read_source
    from memcheck_cli.sources import Source

    sources = [one for one in found if isinstance(one, Source)]
    if all(source.size is not None for source in sources):
        display.size = sum(source.size or 0 for source in sources)
    if jobs is None:
        jobs = min(2, os.cpu_count() or 1)
    splitting = None
    if jobs > 1 and watched is None and any((source.size or 0) >= SPLIT_FROM for source in sources):
        from memcheck_cli.ledger.parallel import Splitting

        splitting = Splitting(jobs, meanwhile=_load_answering)

    def read(source: Source) -> SourceReading:
        watcher = _watch(source.name, watched) if watched is not None else None
        return read_source(source, watcher, rejects=rejected, splitting=splitting, progress=display)

    if jobs > 1 and len(sources) > 1 and watched is None and rejected is None:
        from memcheck_cli.ledger.many import read_sources

        each = read_sources(
            sources, jobs, read, lambda source: splitting is not None and splitting.suits(source), display
        )
    else:
        each = (read(source) for source in sources)
    readings: list[SourceReading] = []
    for one in found:
        if not isinstance(one, Source):
            readings.append(SourceReading(one.name, error=one.reason))
            continue
        reading = next(each, None) if not display.stopped else None
        if reading is None:
            reading = SourceReading(one.name, error="interrupted before it was read")
        else:
            display.done(reading, one.size)
        readings.append(reading)
    return readings


def _load_answering() -> None:
    """Load what is needed once everything was read."""
    import memcheck_cli.forensics.explanation
    import memcheck_cli.render.analysis_json
    import memcheck_cli.render.explanation_json  # noqa: F401


def _watch(name: str, watched: dict[str, Trends]) -> Trends:
    """A watcher for one source, kept under its name."""
    from memcheck_cli.forensics.trends import Trends

    return watched.setdefault(name, Trends(name))


def _write(analysis: object, form: str, verbose: bool, file: IO[str]) -> None:
    if form == "json":
        from memcheck_cli.render.analysis_json import document

        write_json(document(analysis), file)  # type: ignore[arg-type]
    else:
        from memcheck_cli.render.terminal import print_analysis

        print_analysis(analysis, file, verbose)  # type: ignore[arg-type]
