"""Outputs that take nothing, outputs that are inputs, and standard streams that are closed, for every verb."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERBS = {
    "analyze": ("analyze samples/lost-page.log", 1),
    "artifacts": ("artifacts samples/ci-run.zip", 1),
    "artifacts, quiet": ("artifacts samples/quiet.log", 3),
    "audit": ("audit samples/spec_tests", 0),
    "diff": ("diff samples/pair-good.log samples/pair-bad.log", 1),
    "explain": ("explain", 0),
    "explain one": ("explain page-dropped", 0),
    "forms": ("forms", 0),
    "forms, one": ("forms B3", 0),
    "forms, a text": ("forms hello", 3),
    "replay": ("replay samples/lost-page.log", 1),
    "replay --emit 1": ("replay samples/lost-page.log --emit 1", 1),
    "replay --emit 2": ("replay samples/lost-page.log --emit 2", 1),
    "replay --as-test": ("replay samples/lost-page.log --as-test", 1),
}
FORMS = [name for name in VERBS if "--" not in name]


def shell(line: str, folder: Path = ROOT) -> tuple[int, str]:
    """The exit code and what is said on stderr."""
    ran = subprocess.run(
        ["bash", "-c", f'"$0" -m memcheck_cli {line}', sys.executable],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
    )
    assert "Traceback" not in ran.stderr and "Exception" not in ran.stderr, ran.stderr
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_is_a_trouble_of_the_output(verb: str) -> None:
    line = VERBS[verb][0]
    told = "memcheck: the answer cannot be written to {}: No space left on device\n"
    assert shell(f"{line} > /dev/full") == (4, told.format("standard output"))
    assert shell(f"{line} -o /dev/full") == (4, told.format("/dev/full"))


@pytest.mark.parametrize("verb", FORMS)
def test_a_full_disk_under_json(verb: str) -> None:
    code, told = shell(f"{VERBS[verb][0]} --format json > /dev/full")
    assert (code, told.count("\n")) == (4, 1) and "standard output" in told


@pytest.mark.parametrize(
    "line",
    ["artifacts samples/ci-run.zip --json", "artifacts samples/ci-run.zip --junit", "analyze torn.log --rejects"],
)
def test_a_full_disk_under_other_answers(line: str, tmp_path: Path) -> None:
    (tmp_path / "torn.log").write_text("[2026-06-11 08:15:01] [Mem Check (BUSY)] [full] total=100, avail\n")
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    code, told = shell(f"{line} /dev/full", tmp_path)
    assert (code, told) == (4, "memcheck: the answer cannot be written to /dev/full: No space left on device\n")


@pytest.mark.parametrize("verb", VERBS)
def test_closed_standard_streams_change_no_exit_code(verb: str) -> None:
    line, code = VERBS[verb]
    said = shell(line)[1]
    assert shell(f"{line} >&-") == (code, said)
    assert shell(f"{line} <&-") == (code, said)
    assert shell(f"{line} 2>&-") == (code, "")
    assert shell(f"{line} <&- >&- 2>&-") == (code, "")


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("forms - <&-", 4, "there is no standard input"),
        ("forms - 0>/dev/null", 4, "-: "),
        ("artifacts - <&-", 4, "there is no standard input"),
        ("replay - <&-", 4, "there is no standard input"),
        ("diff - samples/healthy.log <&-", 4, "there is no standard input"),
        ("diff samples/healthy.log - <&-", 4, "there is no standard input"),
        ("artifacts <&-", 2, "name a log"),
        ("replay <&-", 2, "name a log"),
        ("explain x >&-", 2, "no signature"),
        ("audit samples/nowhere >&-", 4, "samples/nowhere"),
    ],
)
def test_standard_input_that_is_not_there(line: str, code: int, told: str) -> None:
    got, said = shell(line)
    assert got == code and told in said.splitlines()[-1]


@pytest.mark.parametrize("verb", ["analyze A", "diff A A", "artifacts A", "replay A", "replay A --emit 2", "audit A"])
def test_an_input_is_not_written_over(verb: str, tmp_path: Path) -> None:
    text = (ROOT / "samples" / "healthy.log").read_bytes()
    (tmp_path / "A").write_bytes(text)
    (tmp_path / "link").symlink_to("A")
    for name in ("A", "./A", "link"):
        code, told = shell(f"{verb} -o {name}", tmp_path)
        assert (code, told) == (2, f"memcheck: {name} is an input, and would be written over\n")
    assert (tmp_path / "A").read_bytes() == text


def test_two_answers_do_not_share_a_file(tmp_path: Path) -> None:
    (tmp_path / "A").write_bytes((ROOT / "samples" / "healthy.log").read_bytes())
    assert shell("artifacts A --json x --junit ./x", tmp_path)[0] == 2
    assert shell("artifacts A --baseline A --json A", tmp_path)[0] == 2
    assert shell("artifacts A --json /dev/null --junit /dev/null", tmp_path)[0] == 0
