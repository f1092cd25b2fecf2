"""The package's own example, and its independence of the layers that use it."""

from __future__ import annotations

import doctest
import subprocess
import sys

import memcheck_cli.checker


def test_the_example_holds() -> None:
    result = doctest.testmod(memcheck_cli.checker)
    assert (result.attempted > 0, result.failed) == (True, 0)


def test_the_checker_imports_no_other_layer() -> None:
    code = (
        "import sys, memcheck_cli.checker.server, memcheck_cli.checker.uncached\n"
        "print([name for name in sys.modules if name.startswith('memcheck_cli.') and "
        "not name.startswith(('memcheck_cli.checker', 'memcheck_cli.errors', 'memcheck_cli.patterns'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
