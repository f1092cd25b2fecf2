"""`memcheck artifacts`: which job, test and attempt of a CI run leaked?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, timedelta
from typing import IO, TYPE_CHECKING, cast

import click

from memcheck_cli.cli.inputs import found_in, limits_of
from memcheck_cli.cli.options import file_option, input_options, output_option, refuse_unwritable, scope_options
from memcheck_cli.cli.telling import tell, tell_troubles
from memcheck_cli.cli.writing import answer_to, keep_apart, write_json

if TYPE_CHECKING:
    from memcheck_cli.artifacts import Bundle, Known
    from memcheck_cli.artifacts.model import Before
    from memcheck_cli.artifacts.silence import Audited
    from memcheck_cli.forensics.analysis import Scope
    from memcheck_cli.forensics.breaks import Settings
    from memcheck_cli.sources import Limits, Source, Unreadable

ACCEPTED_DAYS = 90
"""How long an entry of --write-known holds where --expires says nothing."""


@click.command("artifacts")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json", "junit", "markdown"]),
    default="terminal",
    show_default=True,
)
@file_option("--json", "json_file", help="Also write JSON to FILE.")
@file_option("--junit", "junit_file", help="Also write JUnit XML.")
@click.option(
    "--github/--no-github",
    default=None,
    help="Write a step summary and annotations. Default: when running on GitHub Actions.",
)
@click.option(
    "--tests", multiple=True, metavar="PATH", help="Test sources, as audit reads them, to judge silent tests by."
)
@click.option("--known", "known_file", metavar="FILE", help="Accepted fingerprints: told apart, they do not fail.")
@click.option("--write-known", is_flag=True, help="Add what broke to the file of --known.")
@click.option("--reason", metavar="TEXT", help="With --write-known: why it is accepted.")
@click.option(
    "--expires",
    metavar="DAY",
    help=f"With --write-known: the last day it is, e.g. 2026-12-31. Default: {ACCEPTED_DAYS} days from now.",
)
@click.option("--baseline", metavar="PATH", help="An earlier run, a bundle or saved JSON: what is new, what is gone?")
@scope_options
@output_option
@click.option("-v", "--verbose", is_flag=True, help="Show every test.")
@input_options
def command(
    paths: tuple[str, ...],
    form: str,
    json_file: str | None,
    junit_file: str | None,
    github: bool | None,
    tests: tuple[str, ...],
    known_file: str | None,
    write_known: bool,
    reason: str | None,
    expires: str | None,
    baseline: str | None,
    ranks: tuple[str, ...],
    pools: tuple[str, ...],
    page_size: int | None,
    totals: tuple[tuple[str, int], ...],
    output: str | None,
    verbose: bool,
    max_expanded: str | None,
    max_nesting: int | None,
) -> int:
    """Say which job, test and attempt of a CI run leaked.

    PATH is what a CI run left: an artifact zip, the logs zip of a run, a directory of gh run download, the text of
    gh run view --log, a plain log, JUnit files among them. Leaks that a passing retry hides come first.

    \b
    Examples:
      memcheck artifacts samples/ci-run.zip
      gh run view 123 --log | memcheck artifacts -
      memcheck artifacts run/ --known accepted.toml --junit pools.xml
      memcheck artifacts run/ --known accepted.toml --write-known
      memcheck artifacts run/ --baseline last-week.json --tests test/

    Exit codes: 0 balanced, 1 a test broke in a way that is not accepted, 2 wrong use, 3 undecided, 4 unreadable.
    """
    from memcheck_cli.artifacts import accept
    from memcheck_cli.artifacts.comparing import compare
    from memcheck_cli.forensics.analysis import Scope
    from memcheck_cli.forensics.breaks import Settings

    keep_apart(
        [*paths, *([baseline] if baseline is not None else [])],
        {"-o": output, "--json": json_file, "--junit": junit_file},
    )
    today = date.today()
    known, until = _known(known_file, write_known, reason, expires, today)
    settings, scope = Settings(page_size, dict(totals)), Scope(frozenset(ranks), frozenset(pools))
    limits = limits_of(max_expanded, max_nesting)
    earlier = None if baseline is None else _baseline(baseline, settings, scope, limits, today)
    audited = _audited(tests) if tests else None
    bundle = _read(paths, settings, scope, limits, today, audited, known)
    _tell_unreadable(bundle)
    if earlier is not None and baseline is not None:
        bundle.comparison = compare(bundle, baseline, earlier)
    if write_known and known_file is not None:
        from memcheck_cli.artifacts.known import add_known

        added = add_known(known_file, bundle.groups, known, reason or DEFAULT_REASON, until, today)
        tell(f"{len(added)} added to {click.format_filename(known_file)}")
        accept(bundle, [*known, *added])
    on_github = github if github is not None else os.environ.get("GITHUB_ACTIONS") == "true"
    _answer(bundle, form, output, verbose, on_github)
    for path, kind in ((json_file, "json"), (junit_file, "junit")):
        if path is not None:
            with answer_to(path) as file:
                _write(bundle, kind, verbose, file)
    if on_github:
        _to_github(bundle, data_on_stdout=output is None and form != "terminal")
    return bundle.exit_code


EARLIER = "what an earlier run left, or the file that --format json made of it"

DEFAULT_REASON = "not looked into yet (added by --write-known)"


def _known(
    path: str | None, write: bool, reason: str | None, expires: str | None, today: date
) -> tuple[list[Known], date]:
    """The accepted fingerprints, and until when new ones hold."""
    from memcheck_cli.errors import UsageError

    if path is None and write:
        raise UsageError("--write-known adds to the file of --known FILE")
    if not write and (reason is not None or expires is not None):
        raise UsageError("--reason and --expires go with --write-known")
    if path is None:
        return [], today
    from memcheck_cli.artifacts.known import day_of, load_known

    if write:
        refuse_unwritable(path)
    until = today + timedelta(days=ACCEPTED_DAYS) if expires is None else day_of(expires, "--expires")
    if reason is not None and not reason.strip():
        raise UsageError("--reason is empty")
    if until < today:
        raise UsageError(f"--expires {until} is over already")
    return load_known(path, may_be_missing=write), until


def _read(
    paths: tuple[str, ...],
    settings: Settings,
    scope: Scope,
    limits: Limits,
    today: date,
    audited: Audited | None = None,
    known: list[Known] | None = None,
) -> Bundle:
    from memcheck_cli.artifacts import read_bundle
    from memcheck_cli.sources.names import shown

    found: Iterator[Source | Unreadable] = found_in(paths, limits)
    roots = [shown(path) for path in paths or ("-",)]
    return read_bundle(found, roots, settings, scope, audited=audited, known=known or (), today=today)


def _baseline(path: str, settings: Settings, scope: Scope, limits: Limits, today: date) -> list[Before]:
    """The ways in which an earlier run broke."""
    from memcheck_cli.artifacts.comparing import before_of, saved_groups
    from memcheck_cli.errors import UnreadableError, UsageError

    saved = saved_groups(path)
    if saved is not None:
        return saved
    bundle = _read((path,), settings, scope, limits, today)
    if bundle.exit_code == 4 or not bundle.sources:
        reasons = [source.error for source in bundle.sources if source.error]
        raise UnreadableError(f"--baseline {path}: {reasons[0] if reasons else 'nothing to read'}")
    if not bundle.tests:
        raise UsageError(f"--baseline {path}: {bundle.reason}; name {EARLIER}")
    return before_of(bundle)


def _audited(paths: tuple[str, ...]) -> Audited:
    from memcheck_cli.artifacts.silence import Audited
    from memcheck_cli.audit import audit

    return Audited(audit(paths).classes)


def _tell_unreadable(bundle: Bundle) -> None:
    troubles = [(source.name, source.error) for source in bundle.sources if source.error is not None]
    tell_troubles(troubles, "could not be read")


def _answer(bundle: Bundle, form: str, output: str | None, verbose: bool, on_github: bool) -> None:
    with answer_to(output) as file:
        if output is None and on_github and form == "terminal":
            from memcheck_cli.render.github import Harmless

            _write(bundle, form, verbose, cast("IO[str]", Harmless(file)))
        else:
            _write(bundle, form, verbose, file)


def _write(bundle: Bundle, form: str, verbose: bool, file: IO[str]) -> None:
    if form == "json":
        from memcheck_cli.render.artifacts_json import document

        write_json(document(bundle), file)
    elif form == "junit":
        from memcheck_cli.render.junit import write_junit

        write_junit(bundle, file)
    elif form == "markdown":
        from memcheck_cli.render.github import summary

        file.write(summary(bundle))
    else:
        from memcheck_cli.render.artifacts import print_bundle

        print_bundle(bundle, file, verbose)


def _to_github(bundle: Bundle, data_on_stdout: bool) -> None:
    """Annotations go to stdout, or to stderr where stdout holds data (GitHub reads both); the summary to its file."""
    from memcheck_cli.render.github import MOST_BYTES, annotation_lines, summary

    for line in annotation_lines(bundle):
        click.echo(line, err=data_on_stdout)
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        tell("GITHUB_STEP_SUMMARY is not set, so no summary is written (--format markdown)")
        return
    try:
        with open(path, "ab") as file:  # noqa: PTH123
            file.write(summary(bundle, MOST_BYTES - file.tell()).encode("utf-8", "replace"))
    except OSError as error:  # the answer is out already, and the exit code is its verdict
        tell(f"no summary is written to GITHUB_STEP_SUMMARY ({path}): {error.strerror or error}")
