"""`memcheck forms`: which texts does the checker print, and how is this one read?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from memcheck_cli.cli.options import output_option
from memcheck_cli.cli.telling import tell
from memcheck_cli.cli.writing import answer_to, write_json
from memcheck_cli.errors import UnreadableError

if TYPE_CHECKING:
    from memcheck_cli.log.records import Line, Message

MOST_LINES = 10_000
"""Lines of standard input that are told."""


@click.command("forms")
@click.argument("words", nargs=-1, metavar="[TEXT]")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@output_option
def command(words: tuple[str, ...], form: str, output: str | None) -> int:
    """List the checker's texts, or say how one is read.

    Without TEXT: every text that the checker has printed since 0.4.0, in releases, development builds and forks. TEXT
    is a line of a log, with or without what stands before the message, or the name of a form; - reads lines from
    stdin.

    \b
    Examples:
      memcheck forms
      memcheck forms B3
      memcheck forms "[Mem Check (BUSY)] available_size=7, evictable_size=2,
        protected_size=1, uncached_size=0"
      grep -a leak server.log | memcheck forms - --format json

    Exit codes: 0 listed or read, 2 wrong use, 3 no text of the checker, or none
    that can be read whole.
    """
    from memcheck_cli.log.dialects import BY_ID, DIALECTS
    from memcheck_cli.render.forms import (
        form_document,
        is_read,
        list_document,
        print_form,
        print_list,
        print_reading,
        reading_document,
    )

    if not words:
        document: dict[str, Any] = list_document()
        _write(output, document if form == "json" else None, lambda file: print_list(DIALECTS, file))
        return 0
    text = " ".join(words)
    named = BY_ID.get(text) or next((known for known in DIALECTS if known.id.lower() == text.lower()), None)
    if named is not None:
        document = {**list_document([named]), "forms": [form_document(named)]}
        _write(output, document if form == "json" else None, lambda file: print_form(named, file))
        return 0
    document = reading_document(_read_stdin() if text == "-" else _read_text(text))
    _write(output, document if form == "json" else None, lambda file: print_reading(document, file))
    return 0 if any(is_read(entry) for entry in document["lines"]) else 3


def _read_text(text: str) -> Iterator[tuple[Line, Message | None]]:
    from memcheck_cli.log.reader import LineReader

    reader = LineReader()
    yield from reader.feed(text.encode("utf-8", "replace") + b"\n")
    yield from reader.finish()


def _read_stdin() -> Iterator[tuple[Line, Message | None]]:
    from memcheck_cli.log.reader import LineReader

    reader = LineReader()
    told = 0
    if sys.stdin is None:
        raise UnreadableError("-: there is no standard input")
    while block := _block_of_stdin():
        for entry in reader.feed(block):
            yield entry
            told += 1
            if told == MOST_LINES:
                tell(f"only the first {MOST_LINES} lines of stdin are told")
                return
    yield from reader.finish()


def _block_of_stdin() -> bytes:
    try:
        return sys.stdin.buffer.read(1 << 16)
    except OSError as error:
        raise UnreadableError(f"-: {error.strerror or error}") from None


def _write(output: str | None, document: dict[str, Any] | None, show: Any) -> None:
    with answer_to(output) as file:
        if document is None:
            show(file)
        else:
            write_json(document, file)
