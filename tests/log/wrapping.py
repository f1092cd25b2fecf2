"""Puts on what `memcheck_cli.log.wrappers` takes off: a plain log as a collector would have kept it.

`WRAPPERS[name](lines)` gives the physical lines, without line feeds, of a plain log's lines. `Wrapping.numbers` says
where each plain line went, `Wrapping.process` what the wrapper names as the writer, `stack` puts one around another.
"""

from __future__ import annotations

import json
from collections.abc import Callable

PerLine = Callable[[int, str], list[str]]


class Wrapping:
    """per_line: index of a plain line and the line to its physical lines. head, tail: lines around all of them.
    process: the writer it names. time: whether it prints times of its own. copied: whether it marks lines as copies.
    exact: every text comes back as it was; else only the lines that matter do (checker lines, server arguments)."""

    def __init__(
        self,
        per_line: PerLine,
        *,
        process: str | None = None,
        head: tuple[str, ...] = (),
        tail: tuple[str, ...] = (),
        copied: bool = False,
        captured: bool = False,
        exact: bool = True,
    ) -> None:
        self.per_line = per_line
        self.process = process
        self.head = head
        self.tail = tail
        self.copied = copied
        self.captured = captured
        self.exact = exact

    def _parts(self, lines: list[str]) -> list[list[str]]:
        return [self.per_line(index, line) for index, line in enumerate(lines)]

    def __call__(self, lines: list[str]) -> list[str]:
        return [*self.head, *(part for parts in self._parts(lines) for part in parts), *self.tail]

    def numbers(self, lines: list[str]) -> list[int]:
        """The physical line number, from 1, of the first part of every plain line."""
        numbers = []
        number = len(self.head) + 1
        for parts in self._parts(lines):
            numbers.append(number)
            number += len(parts)
        return numbers


class _Stack(Wrapping):
    def __init__(self, outer: Wrapping, inner: Wrapping) -> None:
        super().__init__(
            inner.per_line,
            process=inner.process or outer.process,
            copied=inner.copied or outer.copied,
            captured=inner.captured or outer.captured,
            exact=inner.exact and outer.exact,
        )
        self._outer = outer
        self._inner = inner

    def __call__(self, lines: list[str]) -> list[str]:
        return self._outer(self._inner(lines))

    def numbers(self, lines: list[str]) -> list[int]:
        outer = self._outer.numbers(self._inner(lines))
        return [outer[number - 1] for number in self._inner.numbers(lines)]


def stack(outer: Wrapping, inner: Wrapping) -> Wrapping:
    """`outer` around `inner` around the lines."""
    return _Stack(outer, inner)


def _clock(index: int) -> str:
    return f"{index // 3600 % 24:02}:{index // 60 % 60:02}:{index % 60:02}"


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def _before(form: str) -> PerLine:
    """A form with {clock} for the collector's own time of the day."""
    return lambda index, line: [form.replace("{clock}", _clock(index)) + line]


def _json(**more: object) -> PerLine:
    return lambda index, line: [json.dumps({"message": line, "level": "INFO", **more})]


def _docker(line: str, index: int, stream: str = "stderr") -> str:
    time = f"2026-09-01T{_clock(index)}.123456789Z"
    return json.dumps({"log": line, "stream": stream, "time": time}, separators=(",", ":"), ensure_ascii=False)


def _docker_parts(index: int, line: str) -> list[str]:
    return [_docker(piece, index) for piece in _pieces(f"{line}\n", 61)]


def _cri_parts(index: int, line: str) -> list[str]:
    pieces = _pieces(line, 53)
    flags = ["P"] * (len(pieces) - 1) + ["F"]
    time = f"2026-09-01T{_clock(index)}.436246479+02:00"
    return [f"{time} stderr {flag} {piece}" for flag, piece in zip(flags, pieces, strict=True)]


def wrap_at_blanks(line: str, width: int) -> list[str]:
    """As an editor wraps: at the last blank that fits, which goes."""
    parts = []
    while len(line) > width:
        at = line.rfind(" ", 1, width + 1)
        if at < 0 or not line[:at].strip():
            break
        parts.append(line[:at])
        line = line[at + 1 :]
    return [*parts, line]


WRAPPERS: dict[str, Wrapping] = {
    "docker-json": Wrapping(lambda index, line: [_docker(f"{line}\n", index)]),
    "docker-json-parts": Wrapping(_docker_parts),
    "docker-json-no-line-ends": Wrapping(lambda index, line: [_docker(line, index)]),
    "docker-json-attrs": Wrapping(
        lambda index, line: [
            json.dumps({"log": f"{line}\n", "stream": "stdout", "attrs": {"tag": "x"}, "time": "2026-09-01T00:00:00Z"})
        ]
    ),
    "docker-timestamps": Wrapping(_before("2026-09-01T{clock}.123456789Z ")),
    "compose": Wrapping(_before("sglang-node1  | "), process="sglang-node1"),
    "compose-colour": Wrapping(_before("\x1b[36msglang-1     | \x1b[0m"), process="sglang-1"),
    "swarm": Wrapping(_before("sglang.1.x2k9@gpu-3    | "), process="sglang.1.x2k9@gpu-3"),
    "cri": Wrapping(_before("2026-09-01T{clock}.436246479+02:00 stderr F ")),
    "cri-parts": Wrapping(_cri_parts),
    "kubectl": Wrapping(_before("[pod/engine-7d9f-abcde/sglang] "), process="pod/engine-7d9f-abcde/sglang"),
    "kubectl-timestamps": Wrapping(
        _before("[pod/engine-0/sglang] 2026-09-01T{clock}.436246479Z "), process="pod/engine-0/sglang"
    ),
    "stern": Wrapping(_before("engine-7d9f6c5b4-abcde sglang "), process="pod/engine-7d9f6c5b4-abcde/sglang"),
    "ray": Wrapping(_before("(SGLangEngine pid=4102) "), process="SGLangEngine pid=4102"),
    "ray-ip": Wrapping(_before("(SGLangEngine pid=4102, ip=10.0.0.7) "), process="SGLangEngine pid=4102"),
    "ray-colour": Wrapping(_before("\x1b[36m(SGLangEngine pid=35)\x1b[0m "), process="SGLangEngine pid=35"),
    "ray-no-escape": Wrapping(_before("[36m(SGLangEngine pid=35)[0m "), process="SGLangEngine pid=35"),
    "ray-time": Wrapping(_before("[2026-09-01 {clock}] (Engine(rank=1) pid=35) "), process="Engine(rank=1) pid=35"),
    "verl": Wrapping(
        lambda index, line: [json.dumps({"log": f"\x1b[36m(WorkerDict pid=61, ip=10.0.0.1)\x1b[0m {line}"})],
        process="WorkerDict pid=61",
    ),
    "json": Wrapping(_json(ts="2026-09-01T00:00:00Z")),
    "json-kubernetes": Wrapping(
        lambda index, line: [
            json.dumps({"log": line, "kubernetes": {"pod_name": "engine-0", "container_name": "sglang"}})
        ],
        process="pod/engine-0/sglang",
    ),
    "fluentd": Wrapping(
        lambda index, line: [f"2026-09-01 {_clock(index)}.000000000 +0000 kube.engine: " + json.dumps({"log": line})]
    ),
    "mpirun": Wrapping(_before("[2026-09-01 {clock}] [/bin/sh@<0,1>]: "), process="/bin/sh@<0,1>"),
    "mpirun-tag": Wrapping(_before("[1,0]<stderr>:"), process="1,0"),
    "mpirun-5": Wrapping(_before("[prterun-gpu3-77@1,3]<stdout>: "), process="prterun-gpu3-77@1,3"),
    "mpich": Wrapping(_before("[3] "), process="3"),
    "srun": Wrapping(_before("12: "), process="12"),
    "srun-padded": Wrapping(_before(" 0: "), process="0"),
    "journal-short": Wrapping(_before("Sep 01 {clock} gpu-3 python3[123]: "), process="python3[123]"),
    "journal-precise": Wrapping(_before("Sep 01 {clock}.123456 gpu-3 python3[123]: "), process="python3[123]"),
    "journal-iso": Wrapping(_before("2026-09-01T{clock}+0200 gpu-3 sglang.service[9]: "), process="sglang.service[9]"),
    "journal-full": Wrapping(_before("Tue 2026-09-01 {clock} UTC gpu-3 python3[123]: "), process="python3[123]"),
    "journal-unix": Wrapping(_before("1788220800.123456 gpu-3 python3[123]: "), process="python3[123]"),
    "journal-json": Wrapping(
        lambda index, line: [json.dumps({"MESSAGE": line, "_PID": "7", "SYSLOG_IDENTIFIER": "python3"})],
        process="python3[7]",
    ),
    "syslog": Wrapping(_before("Sep  1 {clock} gpu-3 sglang: "), process="sglang"),
    "syslog-5424": Wrapping(_before("<13>1 2026-09-01T{clock}.123Z gpu-3 sglang 77 - - "), process="sglang[77]"),
    "github-actions": Wrapping(_before("2026-09-01T{clock}.1234567Z ")),
    "gh-run-view": Wrapping(
        _before("test (2, h100)\tRun suite\t2026-09-01T{clock}.1234567Z "), process="test (2, h100)"
    ),
    "ts": Wrapping(
        lambda index, line: [f"Sep 01 {_clock(index)} {line}" if line[:1] == "[" and line[1:2].isdigit() else line]
    ),
    "pytest-error": Wrapping(_before("E   "), copied=True),
    "pytest-captured": Wrapping(
        _before(""),
        head=("=== FAILURES ===", "_____ TestPool.test_leak _____", "----- Captured stderr call -----"),
        tail=("=========== short test summary info ===========", "FAILED test_pool.py"),
        captured=True,
    ),
    "ansi": Wrapping(lambda index, line: [f"\x1b[1;31m{line[:9]}\x1b[0m{line[9:]}\x1b]0;title\x07\x1b[K"]),
    "crlf": Wrapping(lambda index, line: [f"{line}\r"]),
    "caret-m": Wrapping(lambda index, line: [f"{line}^M"]),
    "bom": Wrapping(lambda index, line: [f"\ufeff{line}" if index == 0 else line]),
    "nuls": Wrapping(lambda index, line: ["".join(f"{character}\0" for character in line)]),
    "overwritten": Wrapping(
        lambda index, line: [f"load:  50%|##   | 1/2 [00:01<00:01]\r{line}" if line[1:3] == "20" and index else line]
    ),
    "fence": Wrapping(_before(""), head=("It fails like this:", "", "```text"), tail=("```", "Any idea?")),
    "quote": Wrapping(_before("> ")),
    "quote-twice": Wrapping(_before(">> ")),
    "indented": Wrapping(_before("    ")),
    "padded": Wrapping(lambda index, line: [f"{line}      "]),
    "pasted-editor": Wrapping(lambda index, line: wrap_at_blanks(line, 90), exact=False),
    "pasted-narrow-editor": Wrapping(lambda index, line: wrap_at_blanks(line, 72), exact=False),
    "pasted-terminal": Wrapping(lambda index, line: _pieces(line, 100), exact=False),
    "pasted-80-columns": Wrapping(lambda index, line: _pieces(line, 80), exact=False),
}
"""By name. Every one keeps the order of the lines."""

# What is done to the file's text afterwards; how it is pasted in the end.
AFTERWARDS = {
    "crlf",
    "caret-m",
    "bom",
    "nuls",
    "padded",
    "fence",
    "quote",
    "quote-twice",
    "indented",
    "pytest-captured",
}
PASTED = {name for name in WRAPPERS if name.startswith("pasted")}
OUTERMOST = {"gh-run-view", *AFTERWARDS, *PASTED}
KEEPS_PARTS = {name for name in WRAPPERS if name.startswith(("docker-json", "cri"))}
# Too long in front of the tag, or an object that would have to be put together first, to be pasted with wrapped ends.
NEVER_PASTED = {
    *KEEPS_PARTS,
    *OUTERMOST,
    *(name for name in WRAPPERS if "json" in name),
    "verl",
    "fluentd",
    "kubectl-timestamps",
    "syslog-5424",
    "journal-iso",
    "journal-full",
    "ansi",
}


def stacks() -> list[tuple[str, str]]:
    """The pairs of wrappers, outer and inner, that make sense around each other."""
    pairs = []
    for outer in WRAPPERS:
        for inner in WRAPPERS:
            if inner in OUTERMOST or outer == inner or (outer in KEEPS_PARTS and inner in KEEPS_PARTS):
                continue
            if outer in PASTED and inner in NEVER_PASTED:
                continue
            if outer == "padded" and inner == "cri-parts":
                # Blanks at the end of a part belong to the line.
                continue
            pairs.append((outer, inner))
    return pairs
