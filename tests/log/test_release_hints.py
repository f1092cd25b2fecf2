"""Which release printed a log, and why a server cannot have been checked."""

# ruff: noqa: E501 - whole log lines stand on one line
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.checker.releases import RELEASES, Release, ReleaseError
from memcheck_cli.log.context import read_context
from memcheck_cli.log.dialects import DIALECTS
from memcheck_cli.log.lines import read_message
from memcheck_cli.log.prefixes import split_prefix
from memcheck_cli.log.records import Busy, PoolText, Value
from memcheck_cli.log.release_hints import (
    EXTRA_BOUNDS,
    FIELD_BOUNDS,
    FORM_BOUNDS,
    PATH_BOUNDS,
    VALUE_BOUNDS,
    ReleaseHints,
    ReleaseRange,
    spoken,
    why_unchecked,
)

DATA = Path(__file__).parent / "data"


def told_by(lines: Iterable[str]) -> ReleaseRange:
    hints = ReleaseHints()
    for line in lines:
        _, _, prefixed, text = split_prefix(line)
        message = read_message(text, prefixed) or read_context(text, prefixed)
        if message is not None:
            hints.add(message, text)
    return hints.best()


def server_args(release: str) -> str:
    return "[2026-11-30 02:31:12] " + (DATA / f"server_args-{release}.txt").read_text(encoding="utf-8").rstrip("\n")


AT = "[2026-11-30 02:31:12 TP0] "
PREFILL = f"{AT}Prefill batch, #new-seq: 1, #new-token: 9, #cached-token: 0, token usage: 0.50, #running-req: 7, #queue-req: 2"
DECODE = f"{AT}Decode batch, #running-req: 7, #token: 900, token usage: 0.50"
B1 = f"{AT}[Mem Check (BUSY)] available_size=700, evictable_size=200, protected_size=50, uncached_size=50"
B3 = (
    f"{AT}[Mem Check (BUSY)] [full] total=1000, available=700, evictable=200, protected=50, session_held=0, uncached=50"
)
CHECKER = '  File "/usr/lib/python3/site-packages/sglang/srt/managers/'


@pytest.mark.parametrize(
    ("lines", "low", "high"),
    [
        ([], None, None),
        ([server_args("0.5.8")], "0.5.7", "0.5.8.post1"),
        ([server_args("0.5.12")], "0.5.12", "0.5.12.post1"),
        ([server_args("0.5.23")], "0.5.23", None),
        # too short to be a server's own whole text: what is missing says nothing
        ([f"{AT}server_args=ServerArgs(model_path='m', page_size=1)"], "0.4.4", "0.5.18"),
        ([f"{AT}server_args={{'model_path': 'm'}}"], "0.5.19", None),
        ([B1], "0.5.6", "0.5.10.post1"),
        ([B1, f"{PREFILL}, "], "0.5.6", "0.5.8.post1"),
        ([B1, f"{PREFILL}, input throughput (token/s): 1.5, cuda graph: False"], "0.5.9", "0.5.9"),
        ([B1, f"{PREFILL}, cuda graph: False, input throughput (token/s): 1.5"], "0.5.10rc0", "0.5.10.post1"),
        ([B3], "0.5.11", None),
        ([B3, f"{PREFILL}, #pending-token: 3, cuda graph: False, input throughput (token/s): 1.5"], "0.5.11", None),
        ([B3, f"{AT}KV Cache is allocated. #tokens: 1536, K size: 0.00 GB, V size: 0.00 GB"], "0.5.11", "0.5.12.post1"),
        ([B3, f"{AT}KV Cache is allocated. dtype: torch.half, #tokens: 1536, K size: 0.00 GB, V size: 0.00 GB"], "0.5.13", None),
        ([B3, f'{CHECKER}scheduler_runtime_checker_mixin.py", line 1, in f'], "0.5.11", "0.5.12.post1"),
        ([B3, f'{CHECKER}scheduler_components/invariant_checker.py", line 1, in f'], "0.5.13", None),
        ([f"{B3}, dcp_physical_page_slack_allowed=True"], "0.5.15", None),
        ([f"{B3}, class_free_pages=[1, 2]"], "0.5.21", None),
        ([f"{AT}[Mem Check (BUSY)] [swa] unified ring (leak-check skipped): available=9, evictable=0, total=10"], "0.5.20", None),
        ([f"{AT}Tree cache initialized: source=default impl=X hybrid_swa=True hybrid_ssm=False hicache_attached=False"], "0.5.13", None),
        (["sglang==0.5.12"], "0.5.12", "0.5.12"),
        (["image: lmsysorg/sglang:v0.5.12.post1-cu126", B3], "0.5.12.post1", "0.5.12.post1"),
        (["sglang==0.5.12.dev3+g1a2b3c4"], "0.5.11", "0.5.12"),
        (["sglang==0.5.9+cu128"], "0.5.9", "0.5.9"),
        (["sglang==0.7.0"], "0.7.0", "0.7.0"),
        ([f"{AT}Prefill batch. #new-seq: 1, #new-token: 9, #cached-token: 0, token usage: 0.50, #running-req: 7, #queue-req: 2, "],
         "0.4.3.post3", "0.5.3.post3"),
        ([f"{AT}Prefill batch. #new-seq: 1, #new-token: 9, #cached-token: 0, cache hit rate: 1.00%, token usage: 0.50, "
          "#running-req: 7, #queue-req: 2"], None, "0.4.3.post2"),
        ([f"{DECODE}, cuda graph: True, gen throughput (token/s): 1.0, #queue-req: 0"], "0.5.9", None),
        ([f"{DECODE}, cuda graph: True, gen throughput (token/s): 1.0, #queue-req: 0, fwd occupancy: 9.0%"], "0.5.11", "0.5.20"),
        ([f"{PREFILL}, #pending-token: 3, #bootstrap-req: 1, #inflight-req: 0, cuda graph: False, input throughput (token/s): 1.5"],
         "0.5.12", "0.5.15.post1"),
        ([f"{AT}KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.1 -> 0.2"], "0.4.7", "0.5.6.post2"),
        ([f"{AT}KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 64, #new_token_ratio: 0.1 -> 0.2"],
         "0.5.7", None),
        (["/a/b.py:9: UserWarning: Runtime memory check (busy) is not supported when speculation topk > 1."], "0.5.7", "0.5.12.post1"),
    ],
)  # fmt: skip
def test_what_lines_tell(lines: list[str], low: str | None, high: str | None) -> None:
    found = told_by(lines)
    assert (found.low, found.high) == (low, high), found.reasons


def test_reasons_are_those_that_set_the_borders() -> None:
    found = told_by([B1, f"{PREFILL}, ", f"{AT}SIGQUIT received. signum=None, frame=None."])
    assert found.reasons == (
        "the checker's form B1: 0.5.6 to 0.5.10.post1",
        "a Prefill line that ends in a comma: 0.5.4 to 0.5.8.post1",
    )


def test_a_certain_hint_beats_a_weak_one() -> None:
    found = told_by(
        [B3, f"{AT}KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.1 -> 0.2"]
    )
    assert (found.low, found.high) == ("0.5.11", None)
    assert found.reasons[-1] == "the other hints do not fit and are left out"


def test_contradicting_certain_hints_leave_the_release_open_and_keep_the_reasons() -> None:
    found = told_by([B1, B3])
    assert (found.low, found.high) == (None, None)
    assert found.reasons == (
        "the checker's form B1: 0.5.6 to 0.5.10.post1",
        "the checker's form B3: 0.5.11 or later",
        "these do not fit together, so the release is not known",
    )
    assert told_by(["sglang==0.5.12", "sglang==0.5.11"])[:2] == (None, None)


def test_contradicting_weak_hints_leave_the_release_open() -> None:
    found = told_by(
        [f"{PREFILL}, ", f"{PREFILL}, #pending-token: 3, cuda graph: False, input throughput (token/s): 1.5"]
    )
    assert found[:2] == (None, None)


def test_an_uninstalled_version_is_not_the_one_that_ran() -> None:
    lines = [
        "Found existing installation: sglang 0.5.10",
        "  Uninstalling sglang-0.5.10:",
        "Successfully installed sglang-0.5.12",
    ]
    assert told_by(lines)[:2] == ("0.5.12", "0.5.12")


def test_spans_of_one_s_own() -> None:
    hints = ReleaseHints()
    hints.add_span("a ring was dumped", "0.5.13", None, certain=True)
    assert hints.best() == ("0.5.13", None, ("a ring was dumped: 0.5.13 or later",))
    hints.add_span("nothing", None, None)
    hints.add_span("up to the newest", None, RELEASES[-1])
    assert hints.best()[:2] == ("0.5.13", None)
    with pytest.raises(ReleaseError):
        hints.add_span("odd", "yesterday", None)


def test_many_lines_of_a_kind_cost_nothing_and_change_nothing() -> None:
    hints = ReleaseHints()
    busy = Busy("B3", (PoolText("full", 10, {"available": 10}),))
    for _ in range(1000):
        hints.add(busy)
    assert hints.best()[:2] == ("0.5.11", None)


TABLES = (FORM_BOUNDS, VALUE_BOUNDS, FIELD_BOUNDS, PATH_BOUNDS, EXTRA_BOUNDS)


@pytest.mark.parametrize("table", TABLES)
def test_tables_name_releases_in_order(table: dict[object, tuple[str | None, str | None]]) -> None:
    for key, (low, high) in table.items():
        assert low is not None or high is not None, key
        assert {low, high} <= {None, *RELEASES}, key
        assert low is None or high is None or Release.parse(low) <= Release.parse(high), key


def test_every_sample_of_a_form_fits_the_releases_of_that_form() -> None:
    """Whatever a hint says of a sample, the releases that print the sample stay in the range."""
    for dialect in DIALECTS:
        for sample in dialect.samples:
            found = told_by(sample.split("\n"))
            assert "these do not fit" not in found.reasons[-1:], (dialect.id, found)


@given(
    st.lists(
        st.tuples(st.sampled_from([None, *RELEASES]), st.sampled_from([None, *RELEASES]), st.booleans()), max_size=6
    )
)
def test_the_range_is_the_intersection_or_nothing(spans: list[tuple[str | None, str | None, bool]]) -> None:
    spans = [(a, b, c) for a, b, c in spans if a is None or b is None or Release.parse(a) <= Release.parse(b)]
    hints = ReleaseHints()
    for number, (low, high, certain) in enumerate(spans):
        hints.add_span(f"hint {number}", low, high, certain)
    low, high, _ = hints.best()
    fitting = [
        name for name in RELEASES if all(
            (a is None or Release.parse(a) <= Release.parse(name)) and (b is None or Release.parse(name) <= Release.parse(b))
            for a, b, _ in spans
        )
    ]  # fmt: skip
    if fitting:
        assert low in (None, fitting[0]) and high in (None, fitting[-1])
        assert low is not None or fitting[0] == RELEASES[0]
        assert high is not None or fitting[-1] == RELEASES[-1]


@pytest.mark.parametrize(
    ("flags", "low", "high", "words"),
    [
        ({}, None, None, []),
        ({"pp_size": 1, "disaggregation_mode": "null", "enable_pdmux": False, "log_level": "info"}, None, None, []),
        ({"pp_size": 2}, None, None, ["pp_size=2"]),
        ({"disaggregation_mode": "prefill"}, "0.5.23", None, ["disaggregation_mode=prefill"]),
        ({"disaggregation_mode": "decode"}, "0.5.23", None, ["disaggregation_mode=decode"]),
        ({"enable_pdmux": True}, None, None, ["enable_pdmux"]),
        ({"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 8}, "0.5.9", "0.5.9", ["speculative_eagle_topk=8"]),
        ({"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 8}, None, None, ["not known well enough"]),
        ({"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 8}, "0.5.12", "0.5.14", ["not known well enough"]),
        ({"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 8}, "0.5.13", None, []),
        ({"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 8}, "0.5.6", "0.5.6.post2", []),
        ({"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 1}, "0.5.9", "0.5.9", []),
        ({"speculative_algorithm": None, "speculative_eagle_topk": 8}, "0.5.9", "0.5.9", []),
        ({"log_level": "warning"}, None, None, ["log level warning"]),
        ({"log_level": "ERROR"}, None, None, ["log level error"]),
        ({"log_level": "debug"}, None, None, []),
        ({}, None, "0.5.3.post3", ["no busy check before 0.5.4"]),
        ({}, "0.4.0", "0.5.4", []),
        ({}, "0.5.4", "0.5.5.post3", ["prints no line"]),
        ({"disable_overlap_schedule": True}, "0.5.5", "0.5.5", ["prints no line", "overlap loop only"]),
        ({"disable_overlap_schedule": True}, "0.5.6", "0.5.6", []),
        ({"enable_hisparse": True}, "0.5.12", None, ["skip the idle check"]),
        ({"enable_hisparse": True}, "0.5.10", "0.5.11", []),
        ({"pp_size": 2, "disaggregation_mode": "decode"}, None, None, ["pp_size=2", "disaggregation_mode=decode"]),
    ],
)  # fmt: skip
def test_why_a_server_was_not_checked(
    flags: dict[str, Value], low: str | None, high: str | None, words: list[str]
) -> None:
    reasons = why_unchecked(flags, low, high)
    assert len(reasons) == len(words), reasons
    for reason, word in zip(reasons, words, strict=True):
        assert word in reason


def test_a_log_level_given_beats_the_flag() -> None:
    assert why_unchecked({"log_level": "info"}, None, None, "critical") == [
        "log level critical: busy lines and the ring dump are printed at level info only."
    ]
    assert why_unchecked({"log_level": "warning"}, None, None, "info") == []


def test_ranges_in_words() -> None:
    assert spoken(None, None) == "any release"
    assert spoken("0.5.9", "0.5.9") == "0.5.9"
    assert spoken("0.5.9", "0.5.10") == "0.5.9 to 0.5.10"
    assert spoken("0.5.9", None) == "0.5.9 or later"
    assert spoken(None, "0.5.9") == "0.5.9 or earlier"


def test_what_a_kind_of_line_tells_is_known_at_some_time():
    hints = ReleaseHints()
    text = "Decode batch. #running-req: 1, #token: 4, token usage: 0.00, #queue-req: 0"
    message = read_context(text, True)
    assert message is not None and message.kind == "decode"
    lines = 0
    while not hints.knows_enough("decode"):
        hints.add(message, text)
        lines += 1
        assert lines < 1000
    assert not hints.knows_enough("prefill")
    best = str(hints.best())
    other = "Decode batch [7], #running-req: 1, #full token: 4, full token usage: 0.00, #queue-req: 0"
    newer = read_context(other, True)
    assert newer is not None
    hints.add(newer, other)
    assert str(hints.best()) == best
