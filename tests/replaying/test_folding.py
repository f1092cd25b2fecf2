"""A replay that passes over lines ends as one that is given every line."""

from __future__ import annotations

import io
import random
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import busy
from skimming import Log, OldLog, source_of
from wrapping import WRAPPERS

from memcheck_cli.log.reader import LineReader
from memcheck_cli.replaying.changes import without
from memcheck_cli.replaying.folding import fold_lines
from memcheck_cli.replaying.judgements import Judgement, LogReplay
from memcheck_cli.replaying.logs import LogReplayer

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.log"))


def seen(result: LogReplay, judged: list[Judgement]) -> object:
    """All that a replay knows. judged: the judgements it handed on."""
    told = {one.name: getattr(result, one.name) for one in fields(result) if one.name not in ("against", "what_if")}
    against = result.against
    parted = against and (against.untold, {n: getattr(against, n) for n in against.__slots__ if n != "untold"})
    return (
        told,
        str(parted),
        [str(vars(one)) if hasattr(one, "__dict__") else str(one.breaks) for one in result.what_if],
        judged,
    )


def assert_replayed_the_same(text: bytes, **options: object) -> None:
    answers = []
    for fast in (False, True):
        judged: list[Judgement] = []
        keep = judged.append if options.get("judged") else None
        replayer = LogReplayer("made.log", **(options | {"judged": keep}))  # type: ignore[arg-type]
        if fast:
            lines = fold_lines(source_of(text), io.BytesIO(text), replayer)  # type: ignore[arg-type]
        else:
            reader = LineReader()
            for line, message in (*reader.feed(text), *reader.finish()):
                replayer.fold(line, message)
            lines = reader.lines
        result = replayer.finish()
        result.lines = lines
        answers.append(seen(result, judged))
    assert answers[0] == answers[1]


OPTIONS = st.sampled_from(
    [
        {},
        {},
        {"judged": True},
        {"rules": "0.5.10"},
        {"rules": "0.5.13", "pools": ["full"]},
        {"ranks": ["TP0"]},
        {"against": "0.5.8", "judged": True},
        {"changes": [without("session_held")], "judged": True},
    ]
)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(5, 70), OPTIONS, st.sampled_from(["none", "none", *sorted(WRAPPERS)]))
def test_made_logs(seed: int, pieces: int, options: dict[str, object], wrapper: str):
    lines = Log(random.Random(seed)).lines(pieces)
    if wrapper == "ansi":
        lines = [line for line in lines if "- Captured std" not in line]
    wrapped = lines if wrapper == "none" else WRAPPERS[wrapper](lines)
    assert_replayed_the_same(("\n".join(wrapped) + "\n").encode("utf-8", "surrogateescape"), **options)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 60), OPTIONS)
def test_logs_of_old_releases(seed: int, pieces: int, options: dict[str, object]):
    text = "\n".join(OldLog(random.Random(seed)).lines(pieces)) + "\n"
    assert_replayed_the_same(text.encode(), **options)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases(path: Path):
    assert_replayed_the_same(path.read_bytes())


def test_agreed_checks_are_counted(monkeypatch: pytest.MonkeyPatch):
    """Checks that balance are not judged one by one, but for the last one: nothing shows what the server made of it."""
    judged = []
    judge = LogReplayer._judge
    monkeypatch.setattr(LogReplayer, "_judge", lambda self, *what: judged.append(what) or judge(self, *what))
    lines = [busy("full", 1000, 1000 - n, n, 0, 0, 0, rank=f"TP{rank}") for n in range(300) for rank in (0, 1)]
    text = ("\n".join(lines) + "\n").encode()
    replayer = LogReplayer("made.log")
    fold_lines(source_of(text), io.BytesIO(text), replayer)  # type: ignore[arg-type]
    result = replayer.finish()
    assert (result.records, result.agree, result.unknown, len(judged)) == (600, 598, 2, 2)
