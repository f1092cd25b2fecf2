"""Whole processes measured beside each other."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOOP = r"""
import re, sys
line_form = re.compile(
    r"\[(?P<time>\S+ [^\] ]+)(?P<rank>[^\]]*)\] \[Mem Check \(BUSY\)\] \[(?P<pool>\w+)\] total=(?P<total>\d+), "
    r"available=(?P<available>-?\d+), evictable=(?P<evictable>-?\d+), protected=(?P<protected>-?\d+), "
    r"session_held=(?P<session_held>-?\d+), uncached=(?P<uncached>-?\d+)")
terms = ("available", "evictable", "protected", "session_held", "uncached")
first = {}
with open(sys.argv[1], errors="replace") as log:
    for number, line in enumerate(log, 1):
        match = line_form.match(line)
        if match:
            row = match.groupdict()
            if sum(int(row[term]) for term in terms) != int(row["total"]):
                first.setdefault((row["rank"], row["pool"]), number)
print(first)
"""
AWK = r"""
/\[Mem Check \(BUSY\)\]/ {
    match($0, /total=.*/); n = split(substr($0, RSTART), f, /[=, ]+/)
    if (f[4] + f[6] + f[8] + f[10] + f[12] != f[2] && !bad++) print NR ": " $0
}
"""
UNPACK = """
import sys
try:
    from isal import igzip as gzip
except ImportError:
    import gzip
if sys.argv[1].endswith(".gz"):
    text = gzip.open(sys.argv[1])
else:
    import zstandard
    text = zstandard.ZstdDecompressor().stream_reader(open(sys.argv[1], "rb"), read_across_frames=True)
buffer = bytearray(1 << 20)
while text.readinto(buffer):
    pass
"""


@dataclass(frozen=True)
class Figures:
    """One run of one command: seconds of wall and of CPU, the largest RSS of one process in bytes, how it began to
    answer."""

    wall: float
    cpu: float
    rss: int
    code: int
    output: bytes


def yardsticks(path: str) -> dict[str, list[str]]:
    """What memcheck is compared with: name to command line."""
    return {
        "rg": ["rg", "-c", "-F", "[Mem Check", path],
        "loop": [sys.executable, "-c", LOOP, path],
        "awk": ["awk", AWK, path],
        "pandas": [sys.executable, "-c", "import pandas"],
        "unpack": [sys.executable, "-c", UNPACK, path],
    }


def measure(command: Sequence[str]) -> Figures:
    """Runs one command with its output thrown into a file, and waits for it."""
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, out.fileno(), 2)]
        # Byte code is kept between runs, as it is where a package is installed.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        pid = os.posix_spawnp(command[0], list(command), environment, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - begin
        out.seek(0)
        output = out.read(200)
    kilo = 1 if sys.platform == "darwin" else 1024
    return Figures(
        wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * kilo, os.waitstatus_to_exitcode(status), output
    )


def in_turn(commands: Sequence[Sequence[str]], rounds: int) -> list[tuple[Figures, ...]]:
    """Runs all commands once to warm up, then in turn: one tuple a round."""
    for command in commands:
        measure(command)
    return [tuple(measure(command) for command in commands) for _ in range(rounds)]


def median(values: Sequence[float]) -> float:
    """The one in the middle."""
    return statistics.median(values)


def read_through(path: str) -> None:
    """Brings a file into the page cache."""
    with Path(path).open("rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass


def machine() -> str:
    """Processor, cores and versions in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    system = f"{platform.system()} {platform.machine()}"
    return f"{model}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}"
