"""Measures `memcheck analyze --format json` beside what one would use without it, and prints a Markdown table.

    python tests/benchmarks/run.py                     # the logs of the targets, made in a temporary folder
    python tests/benchmarks/run.py --quick              # a tenth of the size
    python tests/benchmarks/run.py my.log --against rg  # one file of your own

Every round runs memcheck and each yardstick once, in turn, so that a machine whose speed drifts drifts for all of
them; a ratio is the median over the rounds of memcheck's figure by the yardstick's. Whole processes are measured,
start-up included. Wall is elapsed time, CPU the user and system time of the process and the children it waited for,
RSS the largest resident set of any one of them. A yardstick that is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = (
    ("dense", "1GB", ("rg",)),
    ("mixed", "1GB", ("rg",)),
    ("sparse", "2GB", ("rg",)),
    ("dense", "1MB", ("pandas", "rg", "loop", "awk")),
    ("mixed", "1MB", ("pandas", "rg", "loop", "awk")),
    ("dense", "50KB", ("pandas",)),
    ("dense", "100MB", ("rg", "loop", "awk")),
)
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
    }


def missing(name: str, command: list[str]) -> str | None:
    """Why a yardstick cannot be run here, or None."""
    if shutil.which(command[0]) is None:
        return f"`{command[0]}` is not installed"
    if name == "pandas" and subprocess.run(command, capture_output=True).returncode:
        return "pandas cannot be imported"
    return None


def measure(command: list[str]) -> Figures:
    """Runs one command with its output thrown into a file, and waits for it."""
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, out.fileno(), 2)]
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - begin
        out.seek(0)
        output = out.read(200)
    kilo = 1 if sys.platform == "darwin" else 1024
    return Figures(
        wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * kilo, os.waitstatus_to_exitcode(status), output
    )


def read_through(path: str) -> None:
    """Brings a file into the page cache."""
    with Path(path).open("rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass


def compare(path: str, label: str, names: tuple[str, ...], rounds: int, arguments: list[str]) -> list[str]:
    """The rows of the table for one file."""
    commands = yardsticks(path)
    ours = [sys.executable, "-m", "memcheck_cli", "analyze", "--format", "json", *arguments, path]
    rows = []
    runnable = []
    for name in names:
        reason = missing(name, commands[name])
        if reason:
            print(f"{label}: without {name}, because {reason}", file=sys.stderr)
        else:
            runnable.append(name)
    read_through(path)
    measure(ours)
    runs: dict[str, list[tuple[Figures, Figures]]] = {name: [] for name in runnable}
    for _ in range(rounds):
        for name in runnable:
            runs[name].append((measure(ours), measure(commands[name])))
    size = Path(path).stat().st_size
    for name in runnable:
        pairs = runs[name]
        mine, theirs = [a for a, _ in pairs], [b for _, b in pairs]
        for figures in mine:
            if not figures.output.startswith(b"{"):
                print(f"{label}: no answer, exit {figures.code}: {figures.output!r}", file=sys.stderr)
                break
        wall = statistics.median(a.wall / b.wall for a, b in pairs)
        cpu = statistics.median(a.cpu / max(b.cpu, 1e-3) for a, b in pairs)
        seconds = statistics.median(a.wall for a in mine)
        rows.append(
            f"| {label} | {name} | {wall:.2f} | {cpu:.2f} | {seconds:.3f} s | {size / seconds / 1e6:.0f} MB/s | "
            f"{statistics.median(b.wall for b in theirs):.3f} s | {max(a.rss for a in mine) / 2**20:.0f} MiB |"
        )
    return rows


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


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="logs to measure; without any, those of the targets are made")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", action="append", choices=("rg", "loop", "awk", "pandas"))
    parser.add_argument("--quick", action="store_true", help="logs of a tenth of the size")
    parser.add_argument("--folder", help="where to make the logs, default: a temporary folder that is removed")
    parser.add_argument("--arguments", default="", help="more arguments for memcheck, such as '--jobs 1'")
    options = parser.parse_args()
    print(f"{machine()}. Files in the page cache, medians of {options.rounds} interleaved pairs.\n")
    print("| log | against | wall ratio | CPU ratio | memcheck | rate | yardstick | peak RSS |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    extra = options.arguments.split()
    for path in options.paths:
        names = tuple(options.against or ("rg",))
        print("\n".join(compare(path, Path(path).name, names, options.rounds, extra)), flush=True)
    if options.paths:
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        for kind, size, names in CASES:
            if options.quick and size.endswith("GB"):
                size = f"{size[:-2]}00MB"
            path = Path(options.folder or temporary) / f"{kind}-{size}.log"
            if not path.exists():
                subprocess.run([sys.executable, str(HERE / "generate.py"), kind, size, str(path)], check=True)
            chosen = tuple(options.against or names)
            print("\n".join(compare(str(path), f"{kind} {size}", chosen, options.rounds, extra)), flush=True)
            if not options.folder:
                path.unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
