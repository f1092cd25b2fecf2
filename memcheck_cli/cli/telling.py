"""What is said to a person beside the answer: single lines on stderr."""

from __future__ import annotations

import os
import sys

import click

from memcheck_cli.render.safe import escaped


def tell(text: str) -> None:
    """One line, whatever is in the names it quotes. Where stderr takes nothing (a full disk, a reader that went away),
    the answer and the exit code count more: this line and all later ones are lost."""
    try:
        click.echo(f"memcheck: {escaped(text)}", err=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
