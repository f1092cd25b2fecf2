"""`memcheck audit`: which test classes run under the check?"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from memcheck_cli.cli.options import output_option
from memcheck_cli.cli.telling import tell_troubles
from memcheck_cli.cli.writing import answer_to, keep_apart, write_json
from memcheck_cli.counting import counted

if TYPE_CHECKING:
    from memcheck_cli.audit.model import Audit
    from memcheck_cli.audit.requirement import Requirement


@click.command("audit")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--require-level",
    type=click.IntRange(min=1),
    metavar="N",
    help="Fail unless every speculative test class reaches level N.",
)
@click.option("--every", is_flag=True, help="With --require-level: ask it of all test classes, speculative or not.")
@click.option("--class", "name", metavar="NAME", help="Explain one class: its bases and where each variable is set.")
@click.option(
    "--release",
    metavar="RELEASE",
    help="SGLang release whose fixtures stand in for files not given. Default: the newest.",
)
@click.option(
    "--format", "form", type=click.Choice(["terminal", "json", "markdown"]), default="terminal", show_default=True
)
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    require_level: int | None,
    every: bool,
    name: str | None,
    release: str | None,
    form: str,
    output: str | None,
) -> None:
    """Say which test classes run under the check.

    PATH is a tree of SGLang test sources, or files of it. They are read, never imported or run. For each test class
    that starts a server: at which level of the busy check it runs, which class set that level, and how it speculates.
    Base classes are looked for in all PATHs.

    \b
    Examples:
      memcheck audit samples/spec_tests
      memcheck audit test/registered python/sglang/test
      memcheck audit samples/spec_tests --require-level 1
      memcheck audit samples/spec_tests --class TestTreeSilent
      memcheck audit samples/spec_tests --format markdown -o audit.md

    Exit codes: 0 answered, 1 a class falls short of --require-level, 2 wrong use,
    3 whether --require-level is met cannot be told, 4 unreadable.
    """
    from memcheck_cli.audit import audit
    from memcheck_cli.audit.requirement import require
    from memcheck_cli.errors import UsageError

    if every and require_level is None:
        raise UsageError("--every goes with --require-level")
    keep_apart(paths, {"-o": output})
    answer = audit(paths, name=name, release=release)
    if name is not None and not answer.classes:
        raise UsageError(_no_such_class(name, answer))
    tell_troubles([(skipped.file, skipped.reason) for skipped in answer.skipped], "were not read")
    required = None if require_level is None else require(answer, require_level, every=every)
    with answer_to(output) as file:
        _write(answer, required, form, name is not None, file)
    ctx.exit(0 if required is None else required.exit_code)


def _no_such_class(name: str, answer: Audit) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, answer.names, n=1)
    return f"no class {name} in {counted(answer.files, 'file')}" + (f"; did you mean {near[0]}?" if near else "")


def _write(answer: Audit, required: Requirement | None, form: str, explain: bool, file: IO[str]) -> None:
    if form == "json":
        from memcheck_cli.render.audit_json import document

        write_json(document(answer, required), file)
    elif form == "markdown":
        from memcheck_cli.render.audit import write_markdown

        write_markdown(answer, required, file)
    else:
        from memcheck_cli.render.audit import print_audit

        print_audit(answer, required, file, explain=explain)
