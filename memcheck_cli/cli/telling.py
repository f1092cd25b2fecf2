"""What is said to a person beside the answer: single lines on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from memcheck_cli.render.safe import escaped, safe

TOLD = 20
"""Troubles of one kind that are told one by one."""


def tell(text: str) -> None:
    """One line, whatever is in the names it quotes. Where stderr takes nothing (a full disk, a reader that went away),
    the answer and the exit code count more: this line and all later ones are lost."""
    say(f"memcheck: {escaped(text)}")


def say(text: str) -> None:
    """The same for lines that are fit for a terminal already, as they stand."""
    try:
        click.echo(text, err=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def tell_troubles(troubles: Sequence[tuple[str, str]], what: str) -> None:
    """A line for each name and reason; of many, the first ones and how many more there are that `what`."""
    for name, reason in troubles[:TOLD]:
        tell(f"{safe(name)}: {safe(reason)}")
    if len(troubles) > TOLD:
        tell(f"and {len(troubles) - TOLD} more that {what}")
