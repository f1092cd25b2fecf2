"""The functions a Python program calls."""

from __future__ import annotations

from pathlib import Path

import pytest

import memcheck_cli
from memcheck_cli.errors import UnreadableError

SAMPLES = Path(__file__).parents[1] / "samples"


def test_analyze():
    answer = memcheck_cli.analyze(SAMPLES / "lost-page.log")
    assert (answer.verdict, answer.exit_code) == ("broken", 1)
    assert answer.first_break is not None
    assert (answer.first_break.pool, answer.first_break.delta, answer.first_break.pages) == ("full", -16, -1)
    assert [hit.signature.id for hit in answer.signatures] == ["page-dropped", "lost-at-finish"]
    assert memcheck_cli.analyze(SAMPLES / "healthy.log").verdict == "balanced"
    assert memcheck_cli.analyze(SAMPLES / "healthy.log").signatures == []
    assert memcheck_cli.analyze(SAMPLES / "two-ranks.log", ranks=["TP0"]).verdict == "balanced"
    assert memcheck_cli.analyze(SAMPLES / "quiet.log", checked_level=1).verdict == "balanced"


def test_read_log():
    frame = memcheck_cli.read_log(SAMPLES / "swa-lost-page.log")
    assert list(frame["pool"].unique()) == ["full", "swa"]
    assert frame.groupby("pool")["iteration"].max().to_dict() == {"full": 15, "swa": 15}
    broken = frame[frame["delta"] != 0]
    assert broken[["pool", "iteration", "line", "delta"]].values.tolist() == [["swa", 15, 43, -64]]
    terms = frame[["available", "evictable", "protected", "session_held", "uncached"]].sum(axis=1)
    assert (terms == frame["accounted"]).all()


def test_read_log_of_idle_reports_and_old_forms():
    frame = memcheck_cli.read_log(SAMPLES / "idle-warning.log", SAMPLES / "old-release.log")
    idle = frame[frame["check"] == "idle"]
    assert len(idle) == 3 and idle["iteration"].isna().all()
    old = frame[frame["check"] == "busy"]
    assert old["total"].isna().all() and old["session_held"].isna().all() and old["uncached"].notna().all()


def test_replay_and_diff():
    replayed = memcheck_cli.replay(SAMPLES / "lost-page.log", rules="0.5.13")
    assert replayed.results[0].agree == replayed.results[0].records == 40
    compared = memcheck_cli.diff(SAMPLES / "pair-good.log", SAMPLES / "pair-bad.log")
    assert compared.outcome == "introduced"


def test_missing_input_is_an_error():
    with pytest.raises(UnreadableError, match="no such file"):
        memcheck_cli.analyze(SAMPLES / "missing.log")


def test_unknown_names():
    with pytest.raises(AttributeError):
        _ = memcheck_cli.nothing  # type: ignore[attr-defined]
