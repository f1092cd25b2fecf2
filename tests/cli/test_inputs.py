"""What is said of PATH arguments."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from memcheck_cli.cli.artifacts import command


def test_one_entry_was_and_two_entries_were_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".one").write_text("x\n")
    told = CliRunner().invoke(command, [str(tmp_path)], standalone_mode=False).stderr
    assert "(1 entry was passed over: binary, hidden or links)" in told
    (tmp_path / ".two").write_text("x\n")
    told = CliRunner().invoke(command, [str(tmp_path)], standalone_mode=False).stderr
    assert "(2 entries were passed over: binary, hidden or links)" in told
