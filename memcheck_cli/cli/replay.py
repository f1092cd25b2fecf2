"""`memcheck replay`: the checker of any release, run again over recorded numbers."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from memcheck_cli.cli.inputs import found_in, limits_of
from memcheck_cli.cli.options import PoolNumber, input_options, output_option
from memcheck_cli.cli.telling import tell
from memcheck_cli.cli.writing import answer_to, bytes_to, keep_apart, write_json

if TYPE_CHECKING:
    from memcheck_cli.replaying.run import Options, Replay


@click.command("replay")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--rules", metavar="RELEASE", help="Judge by this SGLang release, e.g. 0.5.12. Default: the log's own.")
@click.option("--against", metavar="RELEASE", help="Also judge by this one and show where the two differ.")
@click.option("--without", "without_terms", multiple=True, metavar="TERM", help="What if TERM were not summed?")
@click.option(
    "--with", "with_terms", multiple=True, metavar="TERM", help="What if TERM were summed (-TERM: subtracted)?"
)
@click.option(
    "--total", "totals", multiple=True, type=PoolNumber(), metavar="POOL=N", help="What if the pool held N tokens?"
)
@click.option("--emit", type=click.Choice(["1", "2"]), help="Print what a server at this level would have printed.")
@click.option("--ring", type=click.IntRange(min=1), metavar="N", help="Messages the ring of --emit 1 holds (1000).")
@click.option("--as-test", is_flag=True, help="Write a pytest file with the numbers around the first break.")
@click.option("--rank", "ranks", multiple=True, metavar="RANK", help='Only this rank, e.g. "DP1 TP0"; repeatable.')
@click.option("--pool", "pools", multiple=True, metavar="POOL", help="Only this pool: full, swa, ...; repeatable.")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@output_option
@click.option("-v", "--verbose", is_flag=True, help="Show every disagreement.")
@input_options
def command(
    paths: tuple[str, ...],
    rules: str | None,
    against: str | None,
    without_terms: tuple[str, ...],
    with_terms: tuple[str, ...],
    totals: tuple[tuple[str, int], ...],
    emit: str | None,
    ring: int | None,
    as_test: bool,
    ranks: tuple[str, ...],
    pools: tuple[str, ...],
    form: str,
    output: str | None,
    verbose: bool,
    max_expanded: str | None,
    max_nesting: int | None,
) -> int:
    """Re-run the checker of any release on recorded numbers.

    PATH is a server log or a recording (*.record.jsonl), plain or packed in any way that analyze reads; - is stdin. For
    a log, every record is judged again and compared with the server's own verdict. For a recording, the uncached sizes
    are recomputed from the requests and compared with the recorded ones.

    --emit prints what the busy check would have printed. When that is analyzed again, it gives the same breaks, except
    for idle and page reports, and for releases that print no total (before 0.5.11) or keep no ring at level 1 (before
    0.5.13). What the printed lines leave out is said on stderr.

    \b
    Examples:
      memcheck replay server.log --rules 0.5.13 --against 0.5.9
      memcheck replay server.log --without session_held
      memcheck replay samples/recorded-swa64.record.jsonl --rules 0.5.9
      memcheck replay level2.log --emit 1 | memcheck analyze -
      memcheck replay broken.log --as-test -o test_break.py

    Exit codes: 0 balanced, 1 a record breaks under the rules asked for, 2 wrong use, 3 undecided, 4 unreadable.
    """
    from memcheck_cli.checker.releases import NEWEST, is_newer
    from memcheck_cli.errors import UsageError
    from memcheck_cli.replaying.changes import total_of, with_term, without
    from memcheck_cli.replaying.logs import release_or_dev
    from memcheck_cli.replaying.run import EXIT_CODES, UNDECIDED, Options, replay

    changes = [*map(without, without_terms), *map(with_term, with_terms), *(total_of(*pair) for pair in totals)]
    if emit is not None and (as_test or form == "json" or without_terms or with_terms or against or pools):
        not_with = "--as-test, --format json, --against, --pool, --with and --without"
        raise UsageError(f"--emit prints the log lines of one server, so it does not go with {not_with}")
    if as_test and form == "json":
        raise UsageError("--as-test writes a Python file; it does not go with --format json")
    if ring is not None and emit != "1":
        raise UsageError("--ring is the capacity of the ring that --emit 1 prints")
    bound: dict[str, Any] = {} if ring is None else {"ring_messages": ring}
    options = Options(
        rules=None if rules is None else release_or_dev(rules),
        against=None if against is None else release_or_dev(against),
        changes=changes,
        ranks=ranks,
        pools=pools,
        emit=None if emit is None else int(emit),
        as_test=as_test,
        **bound,
    )
    keep_apart(paths, {"-o": output})
    for asked in dict.fromkeys(value for value in (rules, against) if value is not None):
        if is_newer(asked):
            tell(f"no rules are known of SGLang {asked}: those of {NEWEST} stand for it")
    found = found_in(paths, limits_of(max_expanded, max_nesting))
    if emit is None:
        done = replay(found, options, lambda _: None)
    else:
        with bytes_to(output) as lines:
            done = replay(found, options, lines.write)
    for unread in done.unreadable:
        tell(f"{unread.name}: {unread.reason}")
    for reason in (*done.missing, *done.not_emitted):
        tell(reason)
    if emit is None:
        _answer(done, options, form, output, verbose)
    elif done.exit_code == EXIT_CODES[UNDECIDED]:
        from memcheck_cli.render.replay import headline

        tell(f"undecided: {headline(done, options)}")
    return done.exit_code


def _answer(done: Replay, options: Options, form: str, output: str | None, verbose: bool) -> None:
    if options.as_test and done.test is None:
        tell("nothing breaks and nothing disagrees, so there is no test to write")
        return
    with answer_to(output) as file:
        _write(done, options, form, verbose, file)


def _write(done: Replay, options: Options, form: str, verbose: bool, file: IO[str]) -> None:
    if options.as_test:
        file.write(done.test or "")
    elif form == "json":
        from memcheck_cli.render.replay_json import document

        write_json(document(done, options), file)
    else:
        from memcheck_cli.render.replay import print_replay

        print_replay(done, options, file, verbose)
