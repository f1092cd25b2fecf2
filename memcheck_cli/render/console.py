"""The console every human answer is printed to."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from memcheck_cli.counting import counted

WIDTH = 80
STYLES = {
    "broken": "bold red",
    "introduced": "bold red",
    "both-broken": "bold red",
    "balanced": "bold green",
    "both-balanced": "bold green",
    "fixed": "bold green",
}
"""Of verdicts; any other one is yellow."""

_PLAIN = str.maketrans({"…": "...", "─": "-", "━": "-", "│": "|", "·": "."})


def showable(text: str, encoding: str | None) -> str:
    """The text with what an output of that encoding cannot show replaced."""
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


@contextmanager
def console_for(output: IO[str]) -> Iterator[Console]:
    """A console of at most 80 columns that colours only a real terminal and leaves no blanks at line ends."""
    real = Console(file=output)
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=min(real.width, WIDTH) if real.is_terminal else WIDTH,
        force_terminal=real.is_terminal,
        color_system="auto" if real.is_terminal else None,
        highlight=False,
        emoji=False,
        markup=False,
        no_color=real.no_color,
    )
    yield console
    for line in buffer.getvalue().removesuffix("\n").split("\n"):
        output.write(showable(line.rstrip(), getattr(output, "encoding", None)) + "\n")


def verdict_line(verdict: str, said: str, style: str = "default not bold") -> Text:
    """The first line of an answer. said: already safe."""
    return Text(verdict.upper(), style=STYLES.get(verdict, "bold yellow")).append(Text(f"  {said}", style=style))


def heading(console: Console, text: str) -> None:
    """A blank line, and the text in bold."""
    console.print()
    console.print(Text(text, style="bold"))


def indented(console: Console, text: Text | str, columns: int = 2, style: str = "") -> None:
    """A paragraph all of whose lines are indented."""
    console.print(Padding(Text(text, style=style) if isinstance(text, str) else text, (0, 0, 0, columns)))


def left_out(console: Console, number: int, noun: str = "", columns: int = 0) -> None:
    """How many things of a list are not shown, where any are not."""
    if number > 0:
        told = counted(number, f"more {noun}") if noun else f"{number} more"
        indented(console, f"… and {told} (-v shows them)", columns)
