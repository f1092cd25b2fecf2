"""The `memcheck` command: finds the verbs, turns errors into one line, and is the only place that exits."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from memcheck_cli import __version__
from memcheck_cli.errors import MemcheckError

VERBS = {
    "analyze": "Find the first iteration where a pool's sum breaks.",
    "explain": "Say what a leak signature means.",
    "replay": "Re-run the checker of any release on recorded numbers.",
    "diff": "Compare two runs: did the change help, where do they part?",
    "artifacts": "Say which job, test and attempt of a CI run leaked.",
    "audit": "Say which test classes run under the check.",
    "forms": "List the checker's texts, or say how one is read.",
}
"""Every verb with its line in the help; `memcheck --help` loads none of them."""


class _OutputClosedError(Exception):
    """The reader of our output closed it. Click would make exit code 1 of the OSError."""


class _Verbs(click.Group):
    """Loads a verb's module only when it is called."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb; an output that was closed early is told apart from other errors."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _OutputClosedError from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"memcheck_cli.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = ""
            if near:
                hint = f" Did you mean '{near[0]}'?"
            elif os.path.exists(args[0]):  # noqa: PTH110 - pathlib costs start-up time here
                hint = f" To read a log: memcheck analyze {click.format_filename(args[0])}"
            raise click.UsageError(error.message + hint, ctx) from None


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="memcheck", message="%(prog)s %(version)s")
def memcheck() -> None:
    """Forensics on SGLang KV-cache pool leaks, from the log alone.

    \b
    Examples:
      memcheck analyze server.log
      kubectl logs sglang-0 | memcheck analyze -
      memcheck diff good.log bad.log
    """


def main() -> None:
    """Entry point of the console script."""
    if sys.stdout is None:  # it was closed before we began
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    try:
        code = memcheck.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as error:
        _show(error)
        code = 2 if isinstance(error, click.UsageError) else error.exit_code
    except MemcheckError as error:
        _complain(str(error))
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except (BrokenPipeError, _OutputClosedError):
        # The reader of our output closed it early, which is no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # Inputs that cannot be read are told by name elsewhere.
        _complain(f"{error.filename or 'output'}: {error.strerror or error}")
        code = 4
    except MemoryError:
        _complain("out of memory")
        code = 4
    sys.exit(code if isinstance(code, int) else 0)


def _show(error: click.ClickException) -> None:
    """Click's own lines to stderr, whatever is in the arguments they quote."""
    from io import StringIO

    from memcheck_cli.cli.telling import say
    from memcheck_cli.render.safe import escaped

    lines = StringIO()
    error.show(lines)
    say("\n".join(map(escaped, lines.getvalue().rstrip("\n").split("\n"))))


def _complain(text: str) -> None:
    """One line to stderr, whatever is in the names it quotes."""
    from memcheck_cli.cli.telling import tell
    from memcheck_cli.render.safe import safe

    tell(safe(text, 1000))
