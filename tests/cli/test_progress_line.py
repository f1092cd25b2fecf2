"""Progress on a terminal, and Ctrl-C: what was read until then is told, and the exit code is 130."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

import pytest
from made_logs import busy

from memcheck_cli.cli import progress
from memcheck_cli.cli.progress import Display
from memcheck_cli.ledger.book import Ledger
from memcheck_cli.ledger.reading import read_source
from memcheck_cli.sources import Source

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")


def analyze(*arguments: str, **more: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "memcheck_cli", "analyze", "--format", "json", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, **more)  # type: ignore[call-overload,no-any-return]


def wait_until_read(pipe: IO[bytes]) -> None:
    """Wait until a process has taken all that was written to it, and a little longer."""
    for _ in range(600):
        time.sleep(0.05)
        if not int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder):
            break
    time.sleep(0.3)


def line(n: int, lost: int = 0) -> bytes:
    return (
        busy("full", 1000, 900, 0, 0, 0, 100 - lost, rank="TP0", clock=f"08:{n // 60:02}:{n % 60:02}").encode() + b"\n"
    )


def test_an_interrupted_pipe_tells_what_came():
    text = b"".join(line(n, 16 if n == 5 else 0) for n in range(10))
    process = analyze("-")
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(text)
    process.stdin.flush()
    wait_until_read(process.stdin)
    os.kill(process.pid, signal.SIGINT)
    told = json.loads(process.stdout.read())
    errors = process.stderr.read().decode()
    process.stdin.close()
    assert process.wait() == 130
    assert told["verdict"] == "broken"
    assert told["first_break"]["line"] == 6
    assert told["sources"][0]["error"] == f"interrupted after {len(text)} bytes"
    assert errors == f"memcheck: -: interrupted after {len(text)} bytes\n"


def test_several_sources_are_all_named(tmp_path: Path):
    """The one that was being read, and those that were not."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(line(1))
    process = analyze(str(tmp_path / "a.log"), "-", str(tmp_path / "b.log"))
    assert process.stdin is not None and process.stdout is not None
    text = b"".join(line(n) for n in range(10))
    process.stdin.write(text)
    process.stdin.flush()
    wait_until_read(process.stdin)
    os.kill(process.pid, signal.SIGINT)
    told = json.loads(process.stdout.read())
    process.stdin.close()
    assert process.wait() == 130
    errors = [source["error"] for source in told["sources"]]
    assert errors == [None, f"interrupted after {len(text)} bytes", "interrupted before it was read"]


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_a_line_is_kept_up_to_date(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    ledger = Ledger("x")
    with Display() as display:
        display.size = 4_000_000_000
        display.passed(100, ledger)
        assert shown(capsys) == ""  # what is quick needs no word
        clock[0] += 1
        display.passed(400_000_000, ledger)
        assert shown(capsys) == "\rmemcheck: 400 MB of 4.0 GB, 400 MB/s, 0 breaks so far\x1b[K"
        clock[0] += 0.1
        display.passed(500_000_000, ledger)
        assert shown(capsys) == ""
        text = line(0) + line(9) + line(10, 16)
        reading = read_source(Source("y", lambda _: __import__("io").BytesIO(text)))
        display.done(reading, 1_000_000_000)
        clock[0] += 0.9
        display.passed(0, ledger)
        assert shown(capsys) == "\rmemcheck: 1.0 GB of 4.0 GB, 500 MB/s, 1 break so far\x1b[K"
    assert shown(capsys) == "\r\x1b[K"


@pytest.mark.parametrize("terminal, term", [(False, "xterm"), (True, "dumb")])
def test_nothing_where_nobody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, term: str
):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(progress, "AFTER", 0)
    monkeypatch.setenv("TERM", term)
    with Display() as display:
        time.sleep(0.01)
        display.passed(10**9, Ledger("x"))
    assert shown(capsys) == ""


def test_the_handler_of_others_stays(monkeypatch: pytest.MonkeyPatch):
    """A shell's background job ignores Ctrl-C, and so do we."""
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with Display():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with Display() as display:
            os.kill(os.getpid(), signal.SIGINT)
            assert display.stopped
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
