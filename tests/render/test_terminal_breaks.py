"""Breaks at the terminal that lack what most breaks have."""

from __future__ import annotations

import io

from explained import args, explained, prefill
from made_logs import analysis_of, assertion, busy, prefix

from memcheck_cli.forensics.analysis import Scope, analyze_readings
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.ledger.reading import SourceReading
from memcheck_cli.render.terminal import print_analysis


def told(lines: list[str], verbose: bool = True) -> str:
    output = io.StringIO()
    print_analysis(analysis_of(lines), output, verbose)
    return output.getvalue()


def test_page_reports_have_no_delta() -> None:
    report = f"{prefix('TP0')}KV double free: sub-pool 0 has 3 duplicate pages."
    text = told([busy("full", 100, 90, 0, 0, 0, 10, rank="TP0"), report, report])
    assert "2 records of this series break." in text


def test_an_event_of_many_ranks_names_some() -> None:
    lines = [busy("full", 100, 80, 0, 0, 0, 10, rank=f"TP{n}") for n in range(40)]
    text = " ".join(told(lines, verbose=False).split())
    assert "TP16 (line 17) and 23 more too." in text
    assert "TP17 (line" not in text


def test_what_could_not_be_read_needs_no_advice_on_the_server() -> None:
    output = io.StringIO()
    analysis = analyze_readings([SourceReading("no.log", error="no such file or directory")], Settings(), Scope())
    print_analysis(analysis, output)
    assert output.getvalue() == "UNDECIDED  nothing of the input could be read.\n0 lines were read.\n"
    assert analysis.exit_code == 4


def test_what_keeps_the_check_from_running_has_to_change_first() -> None:
    for flags, told in (({}, "server check: set SGLANG"), ({"pp_size": 2}, "change what stands under `Not checked`")):
        output = io.StringIO()
        print_analysis(explained([args(**flags), prefill()]), output)
        assert told in " ".join(output.getvalue().split())


def test_an_event_of_several_ranks_is_told_once() -> None:
    lines = [busy("full", 100, 80, 0, 0, 0, 10, rank=rank) for rank in ("TP0", "TP1", "TP2")]
    lines.append(busy("full", 100, 80, 0, 0, 0, 7, rank="TP3"))
    text = " ".join(told(lines, verbose=False).split())
    assert "The same event was seen by TP1 (line 2), TP2 (line 3) too." in text
    assert [part.split(":")[0] for part in text.split("ALSO ")[1:]] == [" pool full on TP3".strip()]
    assert "ALSO pool full on TP1" in " ".join(told(lines).split())


def test_equal_ranks_of_two_processes_are_told_apart() -> None:
    line = busy("full", 100, 80, 0, 0, 0, 10, rank="TP0")
    text = " ".join(told([f"node-1  | {line}", f"node-2  | {line}"], verbose=False).split())
    assert "The same event was seen by TP0 of node-2 (line 2) too." in text


def test_a_page_report_before_any_check() -> None:
    text = " ".join(told([f"{prefix('TP0')}KV double free: sub-pool 0 has 3 duplicate pages."]).split())
    assert "BROKEN pool full on TP0: in a page check, made.log:1" in text


def test_page_reports_have_no_balance_sheet() -> None:
    report = f"{prefix('TP0')}KV double free: sub-pool 0 has 3 duplicate pages."
    assert "first broken" not in told([busy("full", 100, 90, 0, 0, 0, 10, rank="TP0"), report])


def test_an_assertion_without_a_record_stands_among_the_streams() -> None:
    text = told(assertion("full", 100, 80, 0, 0, 0, 10, rank="TP1"))
    row = next(line for line in text.splitlines() if line.startswith("TP1"))
    assert row.split() == ["TP1", "-", "0", "0", "full", "1", "1"]


def test_one_token_is_one() -> None:
    assert "1 token missing: nobody owns it" in told([busy("full", 100, 80, 0, 0, 0, 19)])
