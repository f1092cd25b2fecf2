"""The explanation at a terminal: at most 80 columns and two screens, every sentence with its lines."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from explained import args, busy, decode, explained, full, hits, idle, mamba, prefill, prefix, requests

import memcheck_cli
from memcheck_cli.forensics.analysis import Analysis
from memcheck_cli.render.analysis_json import document
from memcheck_cli.render.terminal import print_analysis

LOGS = sorted((Path(__file__).parent.parent / "forensics" / "logs").glob("*.log"))
BROKEN = [log for log in LOGS if not re.search("clean|recorded|good", log.name)]
SCREENS = 2 * 38


def printed(analysis: Analysis, verbose: bool = False) -> str:
    out = io.StringIO()
    print_analysis(analysis, out, verbose)
    return out.getvalue()


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
@pytest.mark.parametrize("verbose", [False, True])
def test_narrow_and_short(log: Path, verbose: bool) -> None:
    text = printed(explained(log.read_bytes()), verbose)
    assert all(len(line) <= 80 for line in text.split("\n") if "/" not in line and "`" not in line)
    assert verbose or text.count("\n") <= SCREENS


@pytest.mark.parametrize("log", BROKEN, ids=lambda log: log.stem)
def test_order_and_wording(log: Path) -> None:
    analysis = explained(log.read_bytes())
    text = printed(analysis)
    places = [text.index(part) for part in ("BROKEN", "What it points to", "What to do now", "Streams")]
    assert places == sorted(places)
    assert analysis.explanation.hits[0].signature.id in text
    told = text[places[1] : places[3]]
    for paragraph in re.split(r"\n(?=  \S|\n)", told):
        words = " ".join(paragraph.split())
        if words and words not in ("What it points to", "Around it", "What to do now"):
            assert re.search(r"lines? \d+", words), words
    assert "points to" in told


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_json_has_the_promised_keys(log: Path) -> None:
    answer = json.loads(json.dumps(document(explained(log.read_bytes()))))
    assert isinstance(answer["signatures"], list)
    for one in answer["signatures"]:
        assert {"id", "points_to", "event", "evidence"} <= one.keys()
        assert all(isinstance(fact["line"], int) and fact["text"] for fact in one["evidence"])
    assert bool(answer["signatures"]) is (log in BROKEN)
    assert bool(answer["advice"]) is (log in BROKEN)
    for found in answer["breaks"]:
        assert found["explanation"].keys() >= {"moves", "printed_sets", "over_time", "around", "release"}


def test_control_characters_of_a_log_do_not_reach_the_terminal() -> None:
    evil = prefix() + "Abort running request. req.rid='\x1b]0;x\x07\u202e'"
    lines = [args(), prefill(), busy("full", 4096, 4000, 0, 0, 0, 96), evil, *idle(full(4096, 4000))]
    for verbose in (False, True):
        text = printed(explained(lines), verbose)
        assert "after-abort" in text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_no_signature_is_said() -> None:
    lines = [args(), prefill(), busy("full", 4096, 4000, 0, 0, 0, 96), *idle(full(4096, 4000, 0))]
    analysis = explained(lines)
    analysis.explanation.hits.clear()
    assert "No known signature fits the numbers on line 7." in printed(analysis)


def test_a_quiet_log_explains_nothing() -> None:
    text = printed(explained([args(), prefill(), busy("full", 4096, 4000, 0, 0, 0, 96)]))
    assert "points to" not in text and "What to do" not in text


def test_a_stronger_signature_of_another_break_stands_first() -> None:
    lines = [args(), prefill(), decode(7), *idle(full(4096, 3000, 1000), warn=True), *requests(57, 64)]
    analysis = explained(lines)
    told = " ".join(printed(analysis).split()).partition("What it points to")[2]
    assert hits(analysis)[0] == "batch-lost" and analysis.breaks[0].pool == "full"
    assert told.startswith(" batch-lost points to a whole batch lost")
    assert "page-dropped points to" in told
    assert told.index("Tell apart: batch-lost") < told.index("Tell apart: page-dropped")


def test_what_other_breaks_point_to_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a short name is not broken by the lines
    lost = [args(page_size=16), prefill(), busy("full", 4096, 3000, 0, 1000, 0, 96)]
    (tmp_path / "a.log").write_text("\n".join([*lost, busy("full", 4096, 2984, 0, 1000, 0, 96), ""]))
    (tmp_path / "b.log").write_text("\n".join([args(), prefill(), *idle(full(4096, 4096), mamba(96, 99)), ""]))
    analysis = memcheck_cli.analyze(".")
    told = " ".join(printed(analysis).split()).partition("What it points to")[2]
    assert told.startswith(" page-dropped points to")
    assert re.search(r"Of the other breaks: mamba-slot-twice \(\S*b.log, line \d+\); -v shows them", told)
