"""Patterns that are compiled at their first use are used like compiled ones."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from memcheck_cli.patterns import pattern


def test_they_do_what_compiled_ones_do():
    waiting, compiled = pattern(r"(\d+)-([a-z])", re.IGNORECASE), re.compile(r"(\d+)-([a-z])", re.IGNORECASE)
    text = "x 12-A, 3-b"
    for name in ("match", "fullmatch", "search", "findall", "split"):
        one, two = getattr(waiting, name)(text), getattr(compiled, name)(text)
        assert getattr(one, "groups", lambda one=one: one)() == getattr(two, "groups", lambda two=two: two)()
    assert [found.span() for found in waiting.finditer(text)] == [found.span() for found in compiled.finditer(text)]
    assert waiting.sub("_", text) == compiled.sub("_", text)
    assert (waiting.pattern, waiting.flags, waiting.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert pattern(rb"a+").search(b"caat", 2)[0] == b"a"


def test_wrong_ones_are_told_at_their_first_use():
    waiting = pattern("(")
    with pytest.raises(re.error):
        waiting.match("")


def test_a_small_log_compiles_few():
    """How many of the package's patterns an answer takes."""
    script = (
        "import sys, memcheck_cli.patterns as patterns\n"
        "made = []\n"
        "init = patterns._Pattern.__init__\n"
        "patterns._Pattern.__init__ = lambda self, *given: (made.append(self), init(self, *given))[1]\n"
        "from memcheck_cli.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: print(len(made), sum('match' in vars(one) for one in made), file=sys.stderr)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, "analyze", "samples/lost-page.log"], capture_output=True, text=True
    ).stderr
    made, used = map(int, told.split())
    assert made > 50 and used < made / 2
