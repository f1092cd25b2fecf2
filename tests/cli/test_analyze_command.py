"""What `analyze` says beside its answer."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from memcheck_cli.cli.main import memcheck

SAMPLES = Path(__file__).parents[2] / "samples"


def test_a_recording_is_sent_to_the_verb_that_reads_it() -> None:
    path = SAMPLES / "recorded-swa64.record.jsonl"
    done = CliRunner().invoke(memcheck, ["analyze", str(path)], standalone_mode=False)
    assert done.return_value == 3
    assert done.stderr == f"memcheck: {path} is a recording: `memcheck replay` reads it\n"
    assert CliRunner().invoke(memcheck, ["analyze", str(SAMPLES / "healthy.log")], standalone_mode=False).stderr == ""
