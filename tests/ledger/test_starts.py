"""What the lines of a server's start tell of it."""

from __future__ import annotations

import pytest

from memcheck_cli.ledger.starts import Starts
from memcheck_cli.log.records import Context, Line


def line(number: int, text: str = "") -> Line:
    return Line(number, number * 100, None, "TP0", f"2026-06-11T08:00:{number:02}", True, text)


def test_flags_and_banner():
    starts = Starts()
    starts.begin(None, 1)
    starts.learn(line(1), Context("", "server-args", {"page_size": 16, "tp_size": 2}))
    assert starts.paged and not starts.held
    starts.learn(line(2), Context("", "banner", {"max_total_num_tokens": 4096}))
    run = starts.run_of(None)
    assert starts.held and starts.told
    assert (run.page_size(None), run.banner_total(None)) == (16, (4096, 2))
    assert (run.start_of(None).args_line, run.start_of(None).time) == (1, "2026-06-11T08:00:01")


def test_flags_quoted_elsewhere_say_nothing_new_of_what_the_command_told():
    starts = Starts()
    starts.learn(line(1), Context("", "command", {"page_size": 64}))
    starts.learn(line(2), Context("", "quoted-flags", {"page_size": 1, "tp_size": 8}))
    run = starts.run_of(None)
    assert (run.flag("page_size", None), run.flag("tp_size", None)) == (64, 8)


@pytest.mark.parametrize(("form", "swa"), [("layers", 50), ("post-capture-layers", 40)])
def test_sizes_after_the_capture_beat_those_before(form: str, swa: int):
    starts = Starts()
    sizes = "full_layer_tokens=100, swa_layer_tokens="
    starts.learn(line(3, sizes + "50"), Context("layers", "pool-sizes", {"full_tokens": 100, "swa_tokens": 50}))
    starts.learn(line(4, sizes + "40"), Context(form, "pool-sizes", {"full_tokens": 100, "swa_tokens": 40}))
    assert starts.run_of(None).layer_tokens("swa", None) == (swa, 3 if swa == 50 else 4)


def test_a_total_sized_again_is_the_banners():
    starts = Starts()
    starts.learn(line(1), Context("", "banner", {"max_total_num_tokens": 100}))
    starts.learn(line(2), Context("", "pool-sizes", {"max_total_num_tokens": 90}))
    assert starts.run_of(None).banner_total(None) == (90, 2)
