"""Breaks at the terminal that lack what most breaks have."""

from __future__ import annotations

import io

from explained import args, explained, prefill
from made_logs import analysis_of, busy, prefix

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
    assert "TP16 and 23 more too." in text
    assert "TP17 and" not in text


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
