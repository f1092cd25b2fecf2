"""Lines pasted with wrapped ends come together again, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wrapping import wrap_at_blanks

from memcheck_cli.log.wrappers import Unwrapped, Unwrapper
from memcheck_cli.log.wrappers.pasted import COMPLETE, IN_SET, OPEN, WRONG, shape

PREFIX = "[2026-11-30 01:32:53 TP0] "
FULL = "[full] total=4096, available=3960, evictable=0, protected=0, session_held=0, uncached=136"
SWA = "[swa] total=2048, available=384, evictable=128, protected=704, session_held=0, uncached=832"
BUSY = f"{PREFIX}[Mem Check (BUSY)] {FULL}"


def unwrap(physical: list[str]) -> list[Unwrapped]:
    unwrapper = Unwrapper()
    lines: list[Unwrapped] = []
    for number, text in enumerate(physical, 1):
        follows = number < len(physical) and physical[number][:1].isdigit()
        lines += unwrapper.feed(number, 0, text, True, follows)
    return lines + unwrapper.finish()


def texts(*physical: str) -> list[str]:
    return [line.text for line in unwrap(list(physical))]


@pytest.mark.parametrize(
    ("text", "tag", "state"),
    [
        (f" {FULL}", "busy", COMPLETE),
        (f" {FULL}, class_free_pages=[1, 2]", "busy", COMPLETE),
        (f" {FULL}, class_free_pages=[1, 2", "busy", IN_SET),
        (f" {FULL}, unaligned_sharded_counts={{'available': 3", "busy", IN_SET),
        (f" {FULL}, withheld=3, double_owned_src=census", "busy", COMPLETE),
        (f" {FULL},", "busy", OPEN),
        (f" {FULL} [repeated 3x across cluster]", "idle", COMPLETE),
        (f" {FULL} [repeated 3x", "idle", OPEN),
        (f" {FULL[:-3]}", "busy", OPEN),
        (f" {FULL[:40]}", "busy", OPEN),
        (" [full]", "busy", OPEN),
        (" [fu", "busy", OPEN),
        ("", "busy", OPEN),
        (" [full] total=1, evictable=2", "busy", WRONG),
        (" [full] total=1, available=2, available=3", "busy", WRONG),
        (" [full] total=1, available=2[2026-11-30 01:32:53 TP1] [Mem Check (BUSY)]", "busy", WRONG),
        (" [full] total=1000000000000000000000", "busy", WRONG),
        (" [full] total=\u0661", "busy", WRONG),
        (" [swa] unified ring (leak-check skipped): available=5, evictable=0, total=9", "busy", COMPLETE),
        (" [swa] unified ring (leak-check skipped): available=5", "busy", OPEN),
        (" [swa] unified ring (lea", "busy", OPEN),
        (" available_size=5, evictable_size=0, protected_size=0, uncached_size=9", "busy", COMPLETE),
        (" available_size=5, evictable_size=0", "busy", OPEN),
        (" total_tokens=5 vs self.max_total_num_tokens=9", "assertion", COMPLETE),
        (" total_tokens=5", "assertion", OPEN),
        (" total_tokens=5 vs", "assertion", OPEN),
        (" self.max_total_num_tokens=5, available_size=1, evictable_size=2, protected_size=0", "idle", COMPLETE),
        ("available_size=31, total_size=32", "idle", COMPLETE),
        (" full: (full_available=1 + full_evictable=2 +", "busy", OPEN),
        (" leak detected again", "idle", WRONG),
    ],
)
def test_how_a_text_stands_to_the_grammar(text: str, tag: str, state: int) -> None:
    assert shape(text, tag) == state


LOG = [
    f"{PREFIX}server_args=ServerArgs(model_path='m', tp_size=2, page_size=16, disable_overlap_schedule=False, "
    "enable_hierarchical_cache=True, hicache_write_policy='write_through', schedule_policy='fcfs', max_queued=None)",
    f"{PREFIX}max_total_num_tokens=4096, chunked_prefill_size=256, max_prefill_tokens=16384, max_running_requests=8, "
    "context_len=4096, available_cpu_mem=21.80 GB",
    BUSY,
    f"{PREFIX}[Mem Check (BUSY)] {SWA}",
    BUSY.replace("TP0", "TP1").replace("uncached=136", "uncached=40137"),
    f"{PREFIX}[Mem Check (BUSY)] {FULL}, class_free_pages=[{', '.join(str(page) for page in range(990, 1040))}]",
    f"{PREFIX}[Mem Check (BUSY)] available_size=129, evictable_size=2123, protected_size=1740, uncached_size=103",
    f"{PREFIX}Scheduler hit an exception: Traceback (most recent call last):",
    f"AssertionError: Full Pool Mem Leak Detected! {FULL}",
    f"{PREFIX}pool memory leak detected! {FULL}",
    f"ValueError: pool memory leak detected! {FULL}",
    SWA,
    f"[mamba] total=24, available=20, evictable=3, protected=0, session_held=0, uncached=0, leaked_full_pages=None, "
    f"leaked_mamba_pages={{{', '.join(str(page) for page in range(80, 150))}}}",
    "AssertionError: Mem Leak Detected! total_tokens=4095 vs self.max_total_num_tokens=4096",
    f"{PREFIX}SIGQUIT received.",
]
TAGGED = [text for text in LOG if "[Mem" in text or "etected!" in text or "server_args" in text or text[0] == "["]
TAGGED = [text for text in TAGGED if "SIGQUIT" not in text and "Scheduler" not in text and "max_prefill" not in text]


@pytest.mark.parametrize("width", range(56, 170))
def test_an_editors_wraps_are_undone(width: int) -> None:
    physical = [part for text in LOG for part in wrap_at_blanks(text, width)]
    starts = {}
    number = 1
    for text in LOG:
        starts[text] = number
        number += len(wrap_at_blanks(text, width))
    got = {line.text: line.number for line in unwrap(physical)}
    for text in TAGGED:
        assert got.get(text) == starts[text]


@pytest.mark.parametrize("width", range(56, 170))
def test_a_terminals_wraps_are_undone(width: int) -> None:
    physical = [text[at : at + width] for text in LOG for at in range(0, len(text), width)]
    lines = unwrap(physical)
    got = [line.text for line in lines if line.whole]
    for text in TAGGED:
        if text not in got and text[width : width + 2] == ", ":
            # Cut between two pairs: what stands before is whole in itself.
            assert text[:width] in got
        elif text not in got:
            # Cut within its last number before the width was known: what is left of it is marked.
            assert [line for line in lines if text.startswith(line.text) and not line.whole]
            assert 0 < len(text) - width < 3


@pytest.mark.parametrize("width", range(60, 140))
def test_a_record_alone_that_a_terminal_cut_is_never_read_wrong(width: int) -> None:
    physical = [BUSY[at : at + width] for at in range(0, len(BUSY), width)]
    for line in unwrap(physical):
        if line.text != BUSY and shape(line.text.partition("(BUSY)]")[2], "busy") == COMPLETE:
            assert not line.whole


@pytest.mark.parametrize("cut", range(len(PREFIX) + 19, len(BUSY)))
def test_a_torn_record_is_not_joined_with_the_rest_of_another(cut: int) -> None:
    """Heads and tails of two records, line upon line, among lines that no terminal has cut."""
    other = BUSY.replace("available=3960", "available=3832").replace("evictable=0", "evictable=128")
    whole = BUSY.replace("uncached=136", "uncached=0")
    got = [line.text for line in unwrap([whole, BUSY[:cut], other[cut:], whole]) if line.whole]
    made = [text for text in got if text != whole and shape(text.partition("(BUSY)]")[2], "busy") == COMPLETE]
    # What is complete was printed, or was broken at a blank, as an editor does, or within its last number.
    assert all(text in (BUSY, other) for text in made) or " " in (BUSY[cut - 1], other[cut]) or made == [BUSY[:cut]]


def test_only_the_next_line_can_go_on() -> None:
    head, tail = BUSY[:80], BUSY[80:]
    for between in ("", "x", BUSY.replace("TP0", "TP1"), "```"):
        assert BUSY not in texts(head, between, tail)
    assert texts(head, tail) == [BUSY]


def test_two_records_are_never_one() -> None:
    head = f"{PREFIX}[Mem Check (BUSY)] [full] total=4096, available=3960,"
    for tail in (
        BUSY,
        SWA,
        "session_held=0, uncached=136",
        "available=3960, evictable=0, protected=0, session_held=0, uncached=136",
        "protected=0, evictable=0, session_held=0, uncached=136",
        "evictable=0, protected=0, session_held=0, uncached=136 and more",
        "see below",
        "1234",
        "'evictable=0'",
    ):
        assert texts(head, tail) == [head, tail]


def test_the_rest_of_another_writers_line_is_not_taken() -> None:
    head = f"{PREFIX}[Mem Check (BUSY)] [full] total=4096, available=3960,"
    tail = "evictable=0, protected=0, session_held=0, uncached=136"
    assert texts(f"a  | {head}", tail) == [f"{head} {tail}"]
    assert texts(f"(A pid=1) {head}", f"(A pid=1) {tail}") == [f"{head} {tail}"]
    assert texts(f"(A pid=1) {head}", f"(B pid=2) {tail}") == [head, tail]


def test_the_text_of_a_model_without_a_full_pool_is_whole() -> None:
    for head in (f"{PREFIX}[Mem Check (BUSY)] ", f"{PREFIX}pool memory leak detected! "):
        assert texts(head, SWA) == [head, SWA]
        assert texts(head.rstrip(), FULL) == [f"{head}{FULL}"]
    assert texts(f"{PREFIX}pool memory leak detected!", SWA) == [f"{PREFIX}pool memory leak detected!", SWA]


def test_a_number_that_may_go_on_is_not_whole() -> None:
    lines = unwrap([BUSY, BUSY, "42", BUSY])
    assert [(line.text, line.whole) for line in lines] == [(BUSY, True), (BUSY, False), ("42", True), (BUSY, True)]
    lines = unwrap([BUSY, "2026-11-30 01:32:54 INFO x", BUSY])
    assert all(line.whole for line in lines)


def test_server_arguments_that_never_end_are_left_alone() -> None:
    head = f"{PREFIX}server_args=ServerArgs(model_path='m',"
    assert texts(head, "tp_size=2,", "", BUSY) == [head, "tp_size=2,", "", BUSY]
    assert texts(head, "tp_size=2, page_size=16)", BUSY) == [f"{head} tp_size=2, page_size=16)", BUSY]


def test_rays_tail_may_be_wrapped_too() -> None:
    text = f"(A pid=1) {PREFIX}pool memory leak detected! {FULL} [repeated 3x across cluster]"
    for width in range(80, 190):
        lines = [line for line in unwrap(wrap_at_blanks(text, width)) if line.text]
        assert [(line.text, line.process) for line in lines] == [
            (f"{PREFIX}pool memory leak detected! {FULL}", "A pid=1")
        ]


def test_a_long_set_is_put_together_in_linear_time() -> None:
    pages = ", ".join(str(page) for page in range(100_000, 140_000))
    text = f"[mamba] total=24, available=20, evictable=3, protected=0, session_held=0, uncached=0, leaked={{{pages}}}"
    assert texts(*wrap_at_blanks(text, 120)) == [text]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LOG), st.integers(0, 200), st.integers(0, 200)), max_size=8))
def test_torn_lines_lose_nothing(pieces: list[tuple[str, int, int]]) -> None:
    """Whatever is joined, every character of every line comes out once and in order."""
    physical = [text[start : start + size] for text, start, size in pieces]
    got = "".join(line.text for line in sorted(unwrap(physical), key=lambda line: line.number))
    assert got.replace(" ", "") == "".join(physical).replace(" ", "")


@pytest.mark.parametrize(
    "message",
    [
        "KV double free: sub-pool 1 has 12 duplicate pages.",
        "KV page use-after-free: 12 owner page refs are in the free pool, sample pages=[14, 215, 3016].",
        "Scheduler hit an exception: Traceback (most recent call last):",
    ],
)
def test_page_reports_and_crashes_are_joined(message: str) -> None:
    text = f"{PREFIX}{message}"
    for width in range(48, len(text)):
        assert texts(*wrap_at_blanks(text, width)) == [text]
        # A terminal that cut in a word must have cut all lines; one piece alone as long as the cut is no doubt.
        pieces = [text[at : at + width] for at in range(0, len(text), width)]
        assert texts(*pieces) == [text], pieces
    assert texts(text, "pages.") == [text, "pages."]


def test_a_report_behind_its_head_alone_is_joined() -> None:
    head = "ValueError: token_to_kv_pool_allocator memory leak detected! "
    rest = "available_size=990, protected_size=0, self.max_total_num_tokens=1000"
    assert texts(head, rest) == [head + rest]
    text = head + rest
    for width in range(45, len(head)):
        assert texts(*(text[at : at + width] for at in range(0, len(text), width))) == [text]


def test_the_last_number_goes_on_behind_two_pieces_of_one_length() -> None:
    text = f"{PREFIX}[Mem Check (BUSY)] {FULL}"[:-1]
    width = len(text) // 2
    longer = text + "6" if len(text) == 2 * width else text[:-1] + "36"
    pieces = [longer[:width], longer[width : 2 * width], longer[2 * width :]]
    (line,) = unwrap(pieces)
    assert (line.text, line.whole) == (longer, True)


def test_editors_cut_no_numbers() -> None:
    first, second = unwrap([*wrap_at_blanks(BUSY, 90), "6"])
    assert (first.text, first.whole, second.text) == (BUSY, True, "6")
