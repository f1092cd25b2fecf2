"""Paragraphs whose further lines stand under the text of the first one, for answers that only mostly need rich."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def hanging(console: Console, head: str, text: str, indent: int | None = None, *, cut_words: bool = True) -> None:
    """A paragraph whose further lines are indented to its first one's text, or by `indent` columns. cut_words: words
    that are longer than a line are cut."""
    lines = textwrap.wrap(
        text,
        max(console.width, 40),
        initial_indent=head,
        subsequent_indent=" " * (len(head) if indent is None else indent),
        break_on_hyphens=False,
        break_long_words=cut_words,
        replace_whitespace=False,
    )
    for line in lines or [head]:
        console.print(line, soft_wrap=True)
