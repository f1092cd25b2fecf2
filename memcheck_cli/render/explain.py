"""`memcheck explain` for a person: the list of signatures, or one in full."""

from __future__ import annotations

import textwrap
from typing import IO, Any

from rich.text import Text

from memcheck_cli.forensics.signatures import GROUPS, SIGNATURES, Signature
from memcheck_cli.render.console import console_for
from memcheck_cli.render.explanation_json import signature_data

SCHEMA = "memcheck.explain/1"
WIDTH = 80


def list_document() -> dict[str, Any]:
    """All signatures as plain data."""
    return {"schema": SCHEMA, "signatures": [signature_data(signature) for signature in SIGNATURES]}


def document(signature: Signature) -> dict[str, Any]:
    """One signature as plain data."""
    return {"schema": SCHEMA, **signature_data(signature)}


def print_list(output: IO[str]) -> None:
    """Every signature in one line, by what it is about."""
    wide = max(len(signature.id) for signature in SIGNATURES)
    with console_for(output) as console:
        for number, (title, group) in enumerate(GROUPS):
            if number:
                console.print()
            console.print(Text(title, style="bold"))
            for signature in group:
                first, *others = textwrap.wrap(signature.title, WIDTH - wide - 4)
                console.print(f"  {signature.id:{wide}}  {first}")
                for line in others:
                    console.print(" " * (wide + 4) + line)
        console.print()
        console.print("`memcheck explain NAME` tells one in full. None is proof: each says what it points to.")


def print_signature(signature: Signature, output: IO[str]) -> None:
    """One signature in full."""
    with console_for(output) as console:
        console.print(Text(signature.id, style="bold").append(f"  {signature.title}", style="not bold"))
        parts = [
            ("Seen", signature.seen),
            ("Points to", signature.in_general.removeprefix("points to ")),
            ("Against it", signature.against),
            ("Harm", signature.harm),
            ("Tells apart", signature.separate),
            ("Fixed", signature.fix),
        ]
        if signature.kind is not None:
            parts.append(("Finding", f"named by the finding {signature.kind}, which is no break"))
        for name, text in parts:
            if text:
                console.print()
                lines = textwrap.wrap(
                    text, WIDTH, initial_indent=f"{name + ':':13}", subsequent_indent=" " * 13, break_on_hyphens=False
                )
                for line in lines:
                    console.print(line)
        if signature.urls:
            console.print()
            for number, url in enumerate(signature.urls):
                console.print(f"{'Reports:' if number == 0 else '':13}{url}", soft_wrap=True)
