"""Write what the commands print now into the README: `python tests/refresh_readme.py`."""

from __future__ import annotations

import re

from test_readme import README, ROOT, run

LONGEST = 44
"""Lines of an answer that are shown; of a longer one the middle is left out."""


def shown(match: re.Match[str]) -> str:
    """A console block with the answer of its command."""
    command, _, old = match[1].partition("\n")
    answer = run(command.removeprefix("$ "))
    lines = answer.splitlines(keepends=True)
    if "[…]\n" in old:
        head = old.partition("[…]\n")[0].count("\n") or LONGEST
        tail = old.partition("[…]\n")[2].count("\n")
        answer = "".join([*lines[:head], "[…]\n", *lines[len(lines) - tail :]])
    return f"```console\n{command}\n{answer}```"


if __name__ == "__main__":
    (ROOT / "README.md").write_text(re.sub(r"```console\n(.*?)```", shown, README, flags=re.DOTALL), encoding="utf-8")
