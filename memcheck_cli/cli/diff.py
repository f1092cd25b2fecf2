"""`memcheck diff`: did the change help, and where do the runs part?"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from memcheck_cli.cli.inputs import found_in, limits_of
from memcheck_cli.cli.options import input_options, output_option, scope_options
from memcheck_cli.cli.telling import tell
from memcheck_cli.cli.writing import answer_to, keep_apart, write_json

if TYPE_CHECKING:
    from memcheck_cli.compare import Comparison, ReadSide


class RankPair(click.ParamType[tuple[str, str]]):
    """`A=B`, for example `TP0=DP1 TP0`."""

    name = "A=B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the sign; fail with what was expected."""
        if isinstance(value, tuple):
            return value
        a, sign, b = (" ".join(part.split()) for part in str(value).partition("="))
        if not sign or not a or not b:
            self.fail(f"'{value}' is not A=B, a rank of each side, for example \"TP0=DP1 TP0\"", param, ctx)
        return a, b


@click.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json", "markdown"]), default="terminal", show_default=True
)
@scope_options
@click.option(
    "--map",
    "by_hand",
    multiple=True,
    type=RankPair(),
    metavar="A=B",
    help='Compare rank A of side A with rank B of side B, e.g. "TP0=DP1 TP0"; repeatable.',
)
@click.option(
    "--align",
    type=click.Choice(["auto", "start", "end", "break", "time", "content"]),
    default="auto",
    show_default=True,
    help="Which checks to compare with each other. auto: streams at the start, ring dumps at the break or end, or "
    "where their numbers agree (content). time: seconds since the first check.",
)
@click.option(
    "--workload",
    type=click.Choice(["auto", "deterministic", "live"]),
    default="auto",
    show_default=True,
    help="Compare check by check (deterministic) or as distributions (live). auto: decided by the first checks.",
)
@click.option(
    "--checked-level",
    type=int,
    metavar="N",
    help="Take it that both servers ran the busy check at level N: a quiet side is then balanced.",
)
@output_option
@click.option("-v", "--verbose", is_flag=True, help="Show everything that differs.")
@input_options
def command(
    a: str,
    b: str,
    form: str,
    ranks: tuple[str, ...],
    pools: tuple[str, ...],
    page_size: int | None,
    totals: tuple[tuple[str, int], ...],
    by_hand: tuple[tuple[str, str], ...],
    align: str,
    workload: str,
    checked_level: int | None,
    output: str | None,
    verbose: bool,
    max_expanded: str | None,
    max_nesting: int | None,
) -> int:
    """Compare two runs: did the change help, where do they part?

    A and B are logs, directories or archives of any kind that analyze reads; one of them may be - for stdin. Says
    whether B fixed or introduced a break, what the two ran with, the first check whose numbers differ (under the same
    workload) or how their distributions differ (under a live one). All differences are B minus A.

    \b
    Examples:
      memcheck diff samples/pair-good.log samples/pair-bad.log
      memcheck diff samples/pair-good.log samples/pair-bad.log --format markdown
      zcat new.log.gz | memcheck diff old.log - --rank TP0
      memcheck diff tp2/ dp2/ --map "TP1=DP1 TP0"

    Exit codes: 0 B does not break, 1 B breaks, 2 wrong use, 3 undecided, 4 a side is unreadable.
    """
    from memcheck_cli.compare import Options, ReadSide, compare, scope_of
    from memcheck_cli.errors import UsageError
    from memcheck_cli.forensics.analysis import Scope
    from memcheck_cli.forensics.breaks import Settings

    if a == b == "-":
        raise UsageError("only one side can be stdin")
    if align == "time" and workload == "deterministic":
        raise UsageError("--align time pairs seconds, not checks; it goes with --workload live")
    keep_apart((a, b), {"-o": output})
    limits = limits_of(max_expanded, max_nesting)
    read = tuple(ReadSide(path, frozenset(pools)) for path in (a, b))
    for side in read:
        side.read(found_in((side.name,), limits))
        _tell_errors(side)
    one, two = read
    backwards = [(theirs, mine) for mine, theirs in by_hand]
    scopes = (scope_of(ranks, one.ranks(), backwards), scope_of(ranks, two.ranks(), by_hand))
    settings = Settings(page_size, dict(totals))
    judged = [
        side.judged(settings, Scope(scope, frozenset(pools), checked_level))
        for side, scope in zip(read, scopes, strict=True)
    ]
    comparison = compare(judged[0], judged[1], Options(by_hand, align, workload))
    with answer_to(output) as file:
        _write(comparison, form, verbose, file)
    return comparison.exit_code


def _tell_errors(side: ReadSide) -> None:
    for reading in side.readings:
        if reading.error is not None:
            tell(f"{reading.name}: {reading.error}")


def _write(comparison: Comparison, form: str, verbose: bool, file: IO[str]) -> None:
    if form == "json":
        from memcheck_cli.render.diff_json import document

        write_json(document(comparison), file)
    elif form == "markdown":
        from memcheck_cli.render.diff_markdown import write_markdown

        write_markdown(comparison, file)
    else:
        from memcheck_cli.render.diff_terminal import print_comparison

        print_comparison(comparison, file, verbose)
