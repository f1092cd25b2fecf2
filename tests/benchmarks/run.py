"""Measures `memcheck analyze --format json` beside what one would use without it, and prints Markdown tables.

    python tests/benchmarks/run.py                     # all tables; the logs are made in a temporary folder
    python tests/benchmarks/run.py --table targets     # one of targets, wrapped, packed, verbs, growth
    python tests/benchmarks/run.py --quick              # logs of a tenth of the size
    python tests/benchmarks/run.py my.log --against rg  # one file of your own

Every round runs memcheck and each yardstick once, in turn, so that a machine whose speed drifts drifts for all of
them; a ratio is the median over the rounds of memcheck's figure by the yardstick's. Whole processes are measured,
start-up included. Wall is elapsed time, CPU the user and system time of the process and the children it waited for,
RSS the largest resident set of any one of them. A yardstick that is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import Figures, in_turn, machine, measure, median, read_through, yardsticks

HERE = Path(__file__).resolve().parent
TARGETS = (
    ("dense", "1GB", ("rg",)),
    ("mixed", "1GB", ("rg",)),
    ("sparse", "2GB", ("rg",)),
    ("dense", "1MB", ("pandas",)),
    ("mixed", "1MB", ("pandas",)),
    ("dense", "50KB", ("pandas",)),
    ("mixed", "50KB", ("pandas",)),
    ("dense", "100MB", ("rg", "loop", "awk")),
    ("mixed", "100MB", ("rg", "loop", "awk")),
)
SHAPES = (
    ("milliseconds", ("--ms",)),
    ("DP, TP and EP tokens", ("--style", "dp")),
    ("two further terms", ("--extra", "2")),
    ("pools of 88 million tokens", ("--big",)),
    ("Actions times", ("--wrapper", "actions")),
    ("docker JSON", ("--wrapper", "docker")),
    ("Ray actors", ("--wrapper", "ray")),
)
VERBS = (("analyze",), ("analyze", "--trends"), ("replay",), ("diff",))
SIZES = ("100MB", "1GB", "4GB")


class Logs:
    """Makes logs in a folder when they are asked for. quick: of a tenth of the size, from 100 MB on."""

    def __init__(self, folder: Path, keep: bool, quick: bool) -> None:
        self.folder, self.keep, self.quick = folder, keep, quick

    def size(self, size: str) -> str:
        """The size that is made where this one is wanted."""
        if not self.quick or not size.endswith(("GB", "00MB")):
            return size
        return f"{size[:-2]}00MB" if size.endswith("GB") else f"{size[:-3]}MB"

    def made(self, kind: str, size: str, *options: str) -> str:
        """The path of a log."""
        name = "-".join((kind, self.size(size), *(option.strip("-") for option in options)))
        path = self.folder / f"{name}.log"
        if not path.exists():
            command = [sys.executable, str(HERE / "generate.py"), kind, self.size(size), str(path), *options]
            subprocess.run(command, check=True)
        read_through(str(path))
        return str(path)

    def done(self, path: str) -> None:
        """A log is not needed any more."""
        if not self.keep:
            Path(path).unlink()


def ours(path: str, extra: list[str]) -> list[str]:
    """The command that is measured."""
    return [sys.executable, "-m", "memcheck_cli", "analyze", "--format", "json", *extra, path]


def installed(label: str, path: str, names: tuple[str, ...]) -> list[str]:
    """The yardsticks that can be run here; says which cannot."""
    found = []
    for name in names:
        command = yardsticks(path)[name]
        if shutil.which(command[0]) is None:
            print(f"{label}: without {name}, because `{command[0]}` is not installed", file=sys.stderr)
        elif name == "pandas" and measure(command).code:
            print(f"{label}: without pandas, because it cannot be imported", file=sys.stderr)
        else:
            found.append(name)
    return found


def peak(runs: list[Figures]) -> str:
    """The largest resident set of any process in these runs."""
    return f"{max(run.rss for run in runs) / 2**20:.0f} MiB"


def answered(label: str, runs: list[Figures]) -> None:
    """Says so where there was no answer."""
    for figures in runs:
        if not figures.output.startswith(b"{"):
            print(f"{label}: no answer, exit {figures.code}: {figures.output!r}", file=sys.stderr)
            return


def compare(path: str, label: str, names: tuple[str, ...], rounds: int, extra: list[str]) -> Iterator[str]:
    """The rows of the first table for one file."""
    size = Path(path).stat().st_size
    chosen = installed(label, path, names)
    runs = in_turn([ours(path, extra), *(yardsticks(path)[name] for name in chosen)], rounds)
    mine = [run[0] for run in runs]
    answered(label, mine)
    seconds = median([run.wall for run in mine])
    for place, name in enumerate(chosen, 1):
        wall = median([run[0].wall / run[place].wall for run in runs])
        cpu = median([run[0].cpu / max(run[place].cpu, 1e-3) for run in runs])
        yield (
            f"| {label} | {name} | {wall:.2f} | {cpu:.2f} | {seconds:.3f} s | {size / seconds / 1e6:.0f} MB/s | "
            f"{median([run[place].wall for run in runs]):.3f} s | {peak(mine)} |"
        )


def targets(logs: Logs, rounds: int, extra: list[str]) -> Iterator[str]:
    """Against what one would use instead."""
    yield "| log | against | wall ratio | CPU ratio | memcheck | rate | yardstick | peak RSS |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for kind, size, names in TARGETS:
        path = logs.made(kind, size)
        yield from compare(path, f"{kind} {logs.size(size)}", names, rounds, extra)
        logs.done(path)


def wrapped(logs: Logs, rounds: int, extra: list[str]) -> Iterator[str]:
    """Other shapes of line against the plain one: seconds a line, since wrapping makes lines longer."""
    yield f"| dense {logs.size('200MB')} with | time by that of the bare log | the same a line | memcheck | peak RSS |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    bare = logs.made("dense", "200MB")
    for label, options in SHAPES:
        path = logs.made("dense", "200MB", *options)
        runs = in_turn([ours(path, extra), ours(bare, extra)], rounds)
        mine = [run[0] for run in runs]
        answered(label, mine)
        by_lines = lines_of(bare) / lines_of(path)
        ratio = median([run[0].wall / run[1].wall for run in runs])
        seconds = median([run.wall for run in mine])
        yield f"| {label} | {ratio:.2f} | {ratio * by_lines:.2f} | {seconds:.3f} s | {peak(mine)} |"
        logs.done(path)
    logs.done(bare)


def lines_of(path: str) -> int:
    """Lines of a file."""
    with Path(path).open("rb", buffering=0) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def packed(logs: Logs, rounds: int, extra: list[str]) -> Iterator[str]:
    """Compressed logs against decompressing them and then reading the bare log, which several processes can share, and
    by one process as they are."""
    yield (
        f"| {logs.size('200MB')} | time by (unpacking + bare log) | the same by one process | memcheck | unpacking | "
        "bare log | by one process | peak RSS |"
    )
    yield f"| --- |{' ---: |' * 7}"
    for kind in ("dense", "mixed"):
        bare = logs.made(kind, "200MB")
        for suffix in ("gz", "zst"):
            path = f"{bare}.{suffix}"
            if suffix == "gz":
                with Path(bare).open("rb") as text, gzip.open(path, "wb", 6) as out:
                    shutil.copyfileobj(text, out, 1 << 20)
            else:
                import zstandard

                with Path(bare).open("rb") as text, Path(path).open("wb") as raw:
                    zstandard.ZstdCompressor().copy_stream(text, raw)
            alone = ours(bare, [*extra, "--jobs", "1"])
            runs = in_turn([ours(path, extra), yardsticks(path)["unpack"], ours(bare, extra), alone], rounds)
            mine = [run[0] for run in runs]
            answered(f"{kind} .{suffix}", mine)
            ratios = [median([run[0].wall / (run[1].wall + run[place].wall) for run in runs]) for place in (2, 3)]
            times = " | ".join(f"{median([run[place].wall for run in runs]):.3f} s" for place in range(4))
            yield f"| {kind} .{suffix} | {ratios[0]:.2f} | {ratios[1]:.2f} | {times} | {peak(mine)} |"
            Path(path).unlink()
        logs.done(bare)


def verbs(logs: Logs, rounds: int, extra: list[str]) -> Iterator[str]:
    """What else reads logs, a log beside itself for `diff`, against a plain Python loop over what it reads."""
    yield "| command | log | time by the loop's | memcheck | rate | peak RSS |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for kind in ("dense", "mixed"):
        path = logs.made(kind, "100MB")
        size = Path(path).stat().st_size
        for verb, *flags in VERBS:
            paths = [path, path] if verb == "diff" else [path]
            command = [sys.executable, "-m", "memcheck_cli", verb, *flags, "--format", "json", *extra, *paths]
            runs = in_turn([command, yardsticks(path)["loop"]], rounds)
            mine = [run[0] for run in runs]
            answered(f"{verb} {kind}", mine)
            ratio = median([run[0].wall / (len(paths) * run[1].wall) for run in runs])
            seconds = median([run.wall for run in mine])
            told = " ".join(("memcheck", verb, *flags))
            yield (
                f"| `{told}` | {kind} {logs.size('100MB')} | {ratio:.2f} | {seconds:.2f} s | "
                f"{len(paths) * size / seconds / 1e6:.0f} MB/s | {peak(mine)} |"
            )
        logs.done(path)


def growth(logs: Logs, rounds: int, extra: list[str]) -> Iterator[str]:
    """Memory at several sizes."""
    sizes = [logs.size(size) for size in SIZES]
    yield f"| peak RSS of any one process | {' | '.join(sizes)} |"
    yield f"| --- |{' ---: |' * len(sizes)}"
    for kind in ("dense", "mixed", "sparse"):
        cells = []
        for size in SIZES:
            path = logs.made(kind, size)
            cells.append(peak([measure(ours(path, extra)) for _ in range(min(rounds, 2))]))
            logs.done(path)
        yield f"| {kind} | {' | '.join(cells)} |"


TABLES = {"targets": targets, "wrapped": wrapped, "packed": packed, "verbs": verbs, "growth": growth}


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="logs to measure; without any, those of the tables are made")
    parser.add_argument("--table", action="append", choices=tuple(TABLES), help="only this table")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", action="append", choices=("rg", "loop", "awk", "pandas"), help="for your own logs")
    parser.add_argument("--quick", action="store_true", help="logs of a tenth of the size")
    parser.add_argument("--folder", help="where to make and keep the logs, default: a temporary folder that is removed")
    parser.add_argument("--arguments", default="", help="more arguments for memcheck, such as '--jobs 1'")
    options = parser.parse_args()
    print(f"{machine()}. Files in the page cache, medians of {options.rounds} rounds.", flush=True)
    extra = options.arguments.split()
    for path in options.paths:
        read_through(path)
        names = tuple(options.against or ("rg",))
        print("\n".join(compare(path, Path(path).name, names, options.rounds, extra)), flush=True)
    if options.paths:
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        logs = Logs(Path(options.folder or temporary), options.folder is not None, options.quick)
        for name in options.table or TABLES:
            print(f"\n{name}\n", flush=True)
            for row in TABLES[name](logs, options.rounds, extra):
                print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
