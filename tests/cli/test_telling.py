"""What is said on stderr costs neither the answer nor the exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("analyze nowhere samples/healthy.log", 0),
        ("artifacts nowhere samples/healthy.log", 0),
        ("diff samples samples/healthy.log", 0),
        ("replay nowhere samples/healthy.log", 0),
        ("replay samples/healthy.log --as-test", 0),
        ("artifacts samples/ci-run.zip --github", 1),
    ],
)
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2> >(true)"])
def test_a_stderr_that_takes_nothing(line: str, code: int, stderr: str) -> None:
    command_line = f'"$0" -m memcheck_cli {line}'
    plain = subprocess.run(["bash", "-c", command_line, sys.executable], capture_output=True, check=False, cwd=ROOT)
    assert plain.returncode == code
    ran = subprocess.run(
        ["bash", "-c", f"{command_line} {stderr}", sys.executable], capture_output=True, check=False, cwd=ROOT
    )
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout)
