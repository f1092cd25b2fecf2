"""What a CI run leaves behind, made up from sample logs: job logs with their marks, archives, JUnit files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "samples"
COMMAND = (
    "command=python3 -m sglang.launch_server --model-path meta-llama/Llama-2-7b-chat-hf --page-size 16 --port 21000"
)


def sample(name: str) -> list[str]:
    """The lines of a sample log."""
    return (SAMPLES / f"{name}.log").read_text("utf-8").splitlines()


def method(cls: str, name: str) -> str:
    """The mark of a test method."""
    return f"[CI Test Method] {cls}.{name}"


def begin(file: str, index: int = 0, last: int = 0) -> list[str]:
    """What the suite prints before a test file."""
    return [".", ".", f"Begin ({index}/{last}):", f"python3 /home/runner/work/sglang/sglang/{file}", ".", "."]


def end(file: str, index: int = 0, last: int = 0, elapsed: int = 12) -> list[str]:
    """What the suite prints behind a test file."""
    return [".", ".", f"End ({index}/{last}):", f"filename='{file}', elapsed={elapsed}, estimated_time=60", ".", "."]


def file_run(
    file: str, lines: Sequence[str], *, cls: str = "TestPool", name: str = "test_decode", index: int = 0, last: int = 0
) -> list[str]:
    """One attempt of a test file with one class and one method, whose server prints `lines`."""
    half = min(4, len(lines))
    return [
        *begin(file, index, last),
        COMMAND,
        *lines[:half],
        method(cls, name),
        *lines[half:],
        *end(file, index, last),
    ]


def retried(file: str, first: Sequence[str], second: Sequence[str], **names: str) -> list[str]:
    """Two attempts of a file; the first fails, the second passes."""
    return [
        *file_run(file, first, **names),  # type: ignore[arg-type]
        "",
        f"[CI Retry] {file} failed with AssertionError (assuming retriable)",
        "[CI Retry] Waiting 60s before retry...",
        "",
        f"[CI Retry] Attempt 2/2 for {file}",
        "",
        *file_run(file, second, **names),  # type: ignore[arg-type]
        "",
        f"✓ PASSED on retry (attempt 2): {file}",
        "",
    ]


def failed(file: str) -> list[str]:
    """What the suite prints where a file failed."""
    return ["", f"✗ FAILED: {file} returned exit code 1", ""]


def job(lines: Iterable[str], *, green: bool) -> list[str]:
    """A job around its suite: the step's head and how it ended."""
    return [
        "##[group]Run cd test && python3 run_suite.py --suite per-commit-1-gpu",
        "\x1b[36;1mcd test && python3 run_suite.py --suite per-commit-1-gpu\x1b[0m",
        "shell: /usr/bin/bash -e {0}",
        "##[endgroup]",
        *lines,
        "Success. Time elapsed: 90.11s" if green else "Fail. Time elapsed: 90.11s",
        *([] if green else ["##[error]Process completed with exit code 255."]),
        "Post job cleanup.",
        "Cleaning up orphan processes",
    ]


def stamped(lines: Iterable[str], first: int = 0) -> list[str]:
    """Lines with GitHub's times before them, the first at second `first` of the day."""
    return [
        f"2026-11-30T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}.1234567Z {line}"
        for at, line in enumerate(lines, first)
    ]


def columns(job_name: str, step: str, lines: Iterable[str]) -> list[str]:
    """Stamped lines as `gh run view --log` prints them."""
    return [f"{job_name}\t{step}\t{line}" for line in lines]


def text(lines: Iterable[str]) -> bytes:
    """Lines as the bytes of a file."""
    return "".join(f"{line}\n" for line in lines).encode()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip archive of them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # with a fixed time, so that equal members give equal archives
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return buffer.getvalue()


def junit(cases: Iterable[tuple[str, str, str | None]], suite: str = "pytest") -> bytes:
    """A JUnit file of (classname, name, text of the failure or None)."""
    from xml.sax.saxutils import escape, quoteattr

    written = []
    for cls, name, failure in cases:
        inner = "" if failure is None else f'<failure message="AssertionError">{escape(failure)}</failure>'
        written.append(f'<testcase classname={quoteattr(cls)} name={quoteattr(name)} time="1.5">{inner}</testcase>')
    head = '<?xml version="1.0" encoding="utf-8"?>'
    return f'{head}<testsuites><testsuite name="{suite}">{"".join(written)}</testsuite></testsuites>'.encode()


def sample_run() -> dict[str, bytes]:
    """The members of samples/ci-run.zip: two jobs, the logs of their steps, and a nested artifact."""
    first, second = "unit-test-1-gpu (0)", "unit-test-1-gpu (1)"
    eagle, swa = "test/registered/spec/test_eagle.py", "test/registered/attention/test_swa.py"
    green = job(
        [
            *retried(eagle, sample("lost-page"), sample("healthy"), cls="TestEaglePage16", name="test_gsm8k"),
            *file_run(
                "test/registered/rl/test_sleep.py", sample("quiet"), cls="TestSleep", name="test_wake", index=1, last=1
            ),
        ],
        green=True,
    )
    red = job(
        [
            *file_run(
                "test/registered/core/test_abort.py", sample("lost-page"), cls="TestAbort", name="test_all", last=1
            ),
            *failed("test/registered/core/test_abort.py"),
            *file_run(swa, sample("swa-lost-page"), cls="TestSwa", name="test_window", index=1, last=1),
            *failed(swa),
        ],
        green=False,
    )
    cases = [
        ("registered.core.test_abort.TestAbort", "test_all", "ConnectionError: the server is gone"),
        ("registered.attention.test_swa.TestSwa", "test_window", "ConnectionError: the server is gone"),
        ("registered.unit.test_tree.TestTree", "test_split", "AssertionError: 3 != 4"),
        ("registered.unit.test_tree.TestTree", "test_insert", None),
    ]
    set_up = text(stamped(["Current runner version: '2.330.0'", "Prepare workflow directory"]))
    return {
        f"0_{first}.txt": set_up + text(stamped(green, 2)),
        f"1_{second}.txt": set_up + text(stamped(red, 2)),
        f"{first}/1_Set up job.txt": set_up,
        f"{first}/2_Run the suite.txt": text(stamped(green, 2)),
        f"{second}/1_Set up job.txt": set_up,
        f"{second}/2_Run the suite.txt": text(stamped(red, 2)),
        "test-results.zip": zipped({"junit.xml": junit(cases)}),
    }
