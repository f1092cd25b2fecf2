"""The console every human answer is printed to."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console

WIDTH = 80
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
