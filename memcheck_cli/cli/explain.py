"""`memcheck explain`: what does a signature mean?"""

from __future__ import annotations

import click

from memcheck_cli.cli.options import output_option
from memcheck_cli.cli.writing import answer_to, write_json


@click.command("explain")
@click.argument("name", required=False, metavar="[SIGNATURE]")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@output_option
def command(name: str | None, form: str, output: str | None) -> int:
    """Say what a leak signature means, or list all of them.

    A signature is a pattern in the checker's numbers that earlier reports have shown: what it points to, what would
    speak against it, whether output can be wrong, which flag tells its causes apart, and the reports behind it.

    \b
    Examples:
      memcheck explain
      memcheck explain freed-twice
      memcheck explain --format json

    Exit codes: 0 shown, 2 no such signature.
    """
    from memcheck_cli.forensics.signatures import BY_ID
    from memcheck_cli.render import explain

    signature = None
    if name is not None:
        signature = BY_ID.get(name.strip().lower())
        if signature is None:
            raise click.UsageError(f"there is no signature {name[:80]!r}.{_near(name, list(BY_ID))}")
    with answer_to(output) as file:
        if form == "json":
            data = explain.list_document() if signature is None else explain.document(signature)
            write_json(data, file)
        elif signature is None:
            explain.print_list(file)
        else:
            explain.print_signature(signature, file)
    return 0


def _near(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    near += [one for one in known if name.lower() in one and one not in near][:3]
    return f" Did you mean {' or '.join(near[:3])}?" if near else " `memcheck explain` lists them."
