"""The exact reader: whole texts become numbers, damaged ones become `Torn`, everything else is nothing."""

from __future__ import annotations

import re

import pytest
from growth import assert_linear_in
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memcheck_cli.log.dialects import CONTEXT_KINDS, DIALECTS
from memcheck_cli.log.lines import (
    BUSY_LINE,
    CONTINUATION_TAGS,
    HEAD_TAGS,
    TAGS,
    read_message,
    read_traceback_hint,
    settle_bare,
)
from memcheck_cli.log.prefixes import split_prefix
from memcheck_cli.log.records import (
    TERMS,
    Busy,
    BusyAssertion,
    Idle,
    Message,
    PageReport,
    PoolLine,
    PoolParts,
    PoolText,
    RequestPool,
    Torn,
    Unnumbered,
)

FULL = "[full] total=4096, available=3000, evictable=64, protected=32, session_held=0, uncached=1000"
SWA = "[swa] total=1024, available=900, evictable=100, protected=24, session_held=0, uncached=0"
BUSY = f"[Mem Check (BUSY)] {FULL}"
PREFIX = "[2026-06-11 08:15:03 TP1] "
SAMPLES = [split_prefix(sample) for form in DIALECTS if form.kind not in CONTEXT_KINDS for sample in form.samples]


def busy(text: str) -> PoolText:
    message = read_message(text, True)
    assert isinstance(message, Busy), message
    (pool,) = message.pools
    return pool


# Busy lines


def test_the_current_busy_line() -> None:
    pool = busy(BUSY)
    assert (pool.pool, pool.total) == ("full", 4096)
    assert pool.terms == {"available": 3000, "evictable": 64, "protected": 32, "session_held": 0, "uncached": 1000}
    assert not pool.extra and not pool.marks


def test_no_prefix_is_fine_too() -> None:
    assert read_message(BUSY, False) == read_message(BUSY, True)


@pytest.mark.parametrize("tail", ["", " ", "   \t", "\r", " [repeated 3x across cluster]"])
def test_tails_that_say_nothing(tail: str) -> None:
    assert read_message(BUSY + tail, True) == read_message(BUSY, True)


def test_the_order_of_names_does_not_matter() -> None:
    text = "[Mem Check (BUSY)] [full] uncached=1, available=2, evictable=3, protected=4, total=15, session_held=5"
    pool = busy(text)
    assert pool.total == 15
    assert pool.terms == {"available": 2, "evictable": 3, "protected": 4, "session_held": 5, "uncached": 1}


def test_any_label_is_a_pool() -> None:
    assert busy(BUSY.replace("[full]", "[mamba-int8]")).pool == "mamba-int8"
    assert busy(BUSY.replace("[full] ", "[swa]  ")).pool == "swa"


def test_other_names_of_a_term_are_known() -> None:
    text = BUSY
    for term in TERMS:
        text = text.replace(f"{term}=", f"{term}_size=")
    assert busy(text.replace("total=", "total_size=")).terms == busy(BUSY).terms


@pytest.mark.parametrize("name", ["total", *TERMS])
def test_a_missing_name_is_damage(name: str) -> None:
    text = re.sub(rf"{name}=\d+(, )?", "", BUSY).rstrip(", ")
    assert isinstance(read_message(text, True), Torn)


@pytest.mark.parametrize("name", ["total", *TERMS])
@pytest.mark.parametrize("value", ["None", "1.5", "x", "[1]", "1234567890123456789", "", "-", "\u0661"])
def test_a_count_is_an_integer_of_at_most_18_digits(name: str, value: str) -> None:
    assert isinstance(read_message(re.sub(rf"\b{name}=\d+", f"{name}={value}", BUSY), True), Torn)


def test_a_name_printed_twice_is_damage() -> None:
    assert isinstance(read_message(f"{BUSY}, total=4096", True), Torn)
    assert isinstance(read_message(f"{BUSY}, x=1, x=2", True), Torn)


def test_a_negative_term_is_a_value() -> None:
    assert busy(BUSY.replace("session_held=0", "session_held=-1664")).terms["session_held"] == -1664


def test_unknown_names_are_kept_by_name() -> None:
    pool = busy(f"{BUSY}, withheld=5, kinds={{'a': [1, 2]}}, ids={{3, 4}}, src=live, ratio=0.5, on=False, none=None")
    assert pool.extra == {
        "withheld": 5,
        "kinds": {"a": [1, 2]},
        "ids": [3, 4],
        "src": "live",
        "ratio": 0.5,
        "on": False,
        "none": None,
    }
    assert pool.terms == busy(BUSY).terms


def test_the_ring_of_a_swa_pool_is_skipped_and_may_have_no_total() -> None:
    text = "[Mem Check (BUSY)] [swa] unified ring (leak-check skipped): available=9, evictable=0, total="
    assert busy(text + "12").marks == {"skipped"}
    assert busy(text + "12").total == 12
    assert busy(text + "None").total is None
    assert isinstance(read_message(text + "Non", True), Torn)
    assert isinstance(read_message(text[:-8], True), Torn)


def test_the_dcp_suffix_is_tolerated_only_when_it_is_whole() -> None:
    assert busy(f"{BUSY}, dcp_physical_page_slack_allowed=True").marks == {"tolerated"}
    assert not busy(f"{BUSY}, dcp_physical_page_slack_allowed=False").marks
    assert isinstance(read_message(f"{BUSY}, dcp_physical_page_slack_allowed=Tru", True), Torn)
    assert isinstance(read_message(f"{BUSY}, dcp_phys", True), Torn)
    assert isinstance(read_message(f"{BUSY}, ", True), Torn)


def test_duplicates_are_reported_only_when_there_are_some() -> None:
    assert busy(f"{BUSY}, free_list_duplicates=2").marks == {"reported"}
    assert not busy(f"{BUSY}, free_list_duplicates=0").marks


def test_the_empty_full_line_opens_a_check_without_a_pool() -> None:
    assert read_message("[Mem Check (BUSY)] ", True) == Busy("B3-empty", ())
    assert read_message("[Mem Check (BUSY)]", True) == Busy("B3-empty", ())


def test_the_old_line_may_not_print_session_held() -> None:
    text = "[Mem Check (BUSY)] available_size=7, evictable_size=2, protected_size=1, uncached_size=4"
    assert busy(text).marks == {"session_unprinted"}
    held = busy(text + ", session_held=3")
    assert (held.terms["session_held"], held.marks) == (3, set())


def test_the_development_line_must_agree_with_its_own_sum() -> None:
    (sample,) = next(form.samples for form in DIALECTS if form.id == "B2")
    text = split_prefix(sample).text
    assert isinstance(read_message(text, True), Busy)
    assert isinstance(read_message(text.replace(") = 1000", ") = 1001"), True), Torn)
    assert isinstance(read_message(text[:-1], True), Torn)


# Damage


@pytest.mark.parametrize(
    ("text", "pool"),
    [
        ("[Mem Check", None),
        ("[Mem Check (BU", None),
        ("[Mem Check (BUSY)] [", None),
        ("[Mem Check (BUSY)] [swa", None),
        ("[Mem Check (BUSY)] [swa]", "swa"),
        ("[Mem Check (BUSY)] [swa] total=1024, avail", "swa"),
        ("[Mem Check (BUSY)] [swa] total=1024, available=900, evictable=100, protected=24", "swa"),
        ("[Mem Check (BU[2026-06-11 08:15:03 TP1] [Mem Check (BUSY)] " + FULL, None),
        ("[Mem Check (BUSY)] [full] total=40[2026-06-11 08:15:03 TP1] [Mem Check (BUSY)] " + FULL, "full"),
        (BUSY + "[2026-06-11 08:15:03 TP0] Decode batch, #running-req: 1", "full"),
        (BUSY + " and more", "full"),
        ("[Mem Check (IDLE)] " + FULL, None),
        ("[Mem Check (BUSY)]" + FULL, None),
    ],
)
def test_a_tagged_text_that_is_not_whole_is_torn(text: str, pool: str | None) -> None:
    message = read_message(text, True)
    assert isinstance(message, Torn)
    assert (message.busy, message.pool) == (True, pool)
    assert message.reason


@pytest.mark.parametrize(
    "text",
    [
        f"Decode batch, #running[2026-06-11 08:15:03 TP1] {BUSY}",
        f"Decode batch, #running[2026-06-11 08:15:03] {BUSY}",
        f"Decode batch, #running[2026-06-11 08:15:03.120 DP1 TP1] {BUSY[:40]}",
        f"Decode batch, #run{BUSY}",
        f"Decode batch, #runTP1] {BUSY}",
        f"[2026-06-11 08:15:03 TP1] {BUSY}",
        f'INFO:     127.0.0.1:35154 - "POST /generate HTTP/1.1" 200 OK{PREFIX}{BUSY}',
        f"pool memory leak detected! [full] total=40{PREFIX}{BUSY}",
    ],
)
def test_two_writers_in_one_line_are_torn_and_never_a_value(text: str) -> None:
    message = read_message(text, True)
    assert isinstance(message, Torn) and message.busy


@pytest.mark.parametrize(
    "text",
    [
        f"Receive: obj=GenerateReqInput(rid='a', text='{PREFIX}{BUSY}', image_data=None)",
        f"Receive: obj=GenerateReqInput(rid='a', text='why does my log say {BUSY}?')",
        f"Finish: obj=GenerateReqInput(text='x'), out={{'text': 'see {PREFIX}{BUSY}'}}",
        f'the server printed "{BUSY}"',
        "set the level to 2 to get [Mem Check (BUSY)] lines",
        f"user said: {BUSY}",
    ],
)
def test_a_users_text_that_quotes_the_tag_is_nothing(text: str) -> None:
    assert read_message(text, True) is None


def test_a_line_with_an_unknown_prefix_is_counted_and_not_believed() -> None:
    assert isinstance(read_message(f"worker three: {BUSY}", False), Torn)
    assert read_message("read about [Mem Check (BUSY)] in the manual", False) is None
    assert read_message('    logger.info(f"[Mem Check (BUSY)] {message}")', False) is None


@pytest.mark.parametrize(
    "text",
    ["able=5, evictable=0, protected=0, session_held=0, uncached=3", "total=4, avail", "uncached=3", "] total=3"],
)
def test_the_rest_of_a_line_cut_at_its_start_bears_no_tag(text: str) -> None:
    assert read_message(text, False) is None
    assert read_message(text, True) is None


@pytest.mark.parametrize(
    "name", ["proctable", "sessionrotected", "protecictable", "tected", "avail", "session_heldrotected"]
)
def test_a_name_left_over_from_two_is_damage(name: str) -> None:
    text = BUSY.replace(", protected=", f", {name}=128, protected=")
    assert isinstance(read_message(text, True), Torn)


@pytest.mark.parametrize("name", ["withheld", "reserved", "unprotected", "draft_evictable", "total_held"])
def test_a_fork_may_add_names_between_the_known_ones(name: str) -> None:
    assert busy(BUSY.replace(", protected=", f", {name}=128, protected=")).extra == {name: 128}


@pytest.mark.parametrize("name", ["evicted", "session_cached", "held"])
def test_behind_the_known_ones_any_name_is_fine(name: str) -> None:
    assert busy(f"{BUSY}, {name}=128").extra == {name: 128}


# Idle reports


def test_an_idle_report_behind_an_error_or_as_a_warning() -> None:
    text = f"pool memory leak detected! {FULL}"
    warned, raised = read_message(text, True), read_message(f"ValueError: {text}", False)
    assert isinstance(warned, Idle) and isinstance(raised, Idle)
    assert (warned.raised, raised.raised) == (False, True)
    assert warned.pools == raised.pools
    assert read_message(f"ValueError: {text}", True) is None, "an error line has no prefix"


@pytest.mark.parametrize("head", ["E   ", "E       ", "   ", ""])
def test_a_test_runners_copy(head: str) -> None:
    message = read_message(f"{head}ValueError: pool memory leak detected! {FULL}", False)
    assert isinstance(message, Idle)
    assert message.copied == head.startswith("E")


@pytest.mark.parametrize("prefixed", [True, False])
def test_a_crash_line_of_ray_names_the_rank(prefixed: bool) -> None:
    message = read_message(f"Scheduler PP0 TP1 crashed: pool memory leak detected! {FULL}", prefixed)
    assert isinstance(message, Idle)
    assert (message.raised, message.crashed) == (True, "PP0 TP1")
    message = read_message(f"Scheduler PP0 TP1 crashed: Full Pool Mem Leak Detected! {FULL}", prefixed)
    assert isinstance(message, BusyAssertion) and message.crashed == "PP0 TP1"
    assert read_message("Scheduler PP0 TP1 crashed: CUDA error", prefixed) is None


def test_a_label_broken_from_its_numbers() -> None:
    head = read_message("ValueError: pool memory leak detected! [full]", False)
    rest = read_message(FULL.removeprefix("[full] "), False)
    assert isinstance(head, Idle) and isinstance(rest, PoolLine)
    assert (head.pools, head.label, rest.labelled) == ((), "full", False)
    assert read_message("[swa]", False) == PoolParts("I-empty", {}, {}, "swa")
    assert read_message("[INFO]", False) is None


def test_a_report_wrapped_by_an_editor_can_be_joined() -> None:
    first, second = "ValueError: pool memory leak detected! [full] total=4096, available=3000,", FULL.split(", ", 2)[2]
    torn = read_message(first, False)
    assert isinstance(torn, Torn) and not torn.busy
    joined = read_message(f"{torn.continues} {second}", False)
    assert isinstance(joined, Idle)
    assert joined.pools[0] == busy(BUSY)
    cut = read_message(first[:-3], False)
    assert isinstance(cut, Torn) and not cut.continues


@pytest.mark.parametrize(
    "text",
    [
        "pool memory leak detected! [full] total=4096, avail",
        "pool memory leak detected! [full] total=4096, available=3000, evictable=64",
        "pool memory leak detected! [full] total=4096, available=3000, evictable=64, protected=32, session_he",
        "pool memory leak detected! [full] total=4096, available=3000, evictable=64, protected=32, session_held=0",
        "pool memory leak detected! what",
        "token_to_kv_pool_allocator memory leak detected! self.max_total_num_tokens=1000, available_size=7",
        "token_to_kv_pool_allocator memory leak detected! available_size=7, protected_size=0",
        "KV cache pool leak detected!available_size=7",
        "req_to_token_pool memory leak detected!available_size=31, session_held=0",
        "req_to_token_pool memory leak detected!",
        "KV double free: sub-pool 0 has 3 dup",
        "KV page use-after-free: 3 owner page refs are in the free pool, sample pages=[1, 2",
    ],
)
def test_a_cut_report_is_torn(text: str) -> None:
    for message in (read_message(text, True), read_message(f"ValueError: {text}", False)):
        assert isinstance(message, Torn) and not message.busy


def test_a_report_torn_into_another_line_is_counted() -> None:
    message = read_message(f"Decode batch, #run{PREFIX}pool memory leak detected! {FULL}", True)
    assert isinstance(message, Torn) and not message.busy
    assert read_message("Receive: obj=X(text='pool memory leak detected! [full] total=1')", True) is None


def test_prose_about_leaks_is_nothing() -> None:
    for text in (
        "Possible EventEmitter memory leak detected! 11 listeners",
        "no memory leak detected!",
        "leak detected!",
    ):
        assert read_message(text, True) is None
        assert read_message(text, False) is None


def test_fork_terms_of_an_old_idle_report_are_kept() -> None:
    message = read_message(
        "ValueError: token_to_kv_pool_allocator memory leak detected! self.max_total_num_tokens=10, available_size=7, "
        "evictable_size=2, protected_size=0, external_uncached_held=1, effective_evictable_size=2",
        False,
    )
    assert isinstance(message, Idle)
    assert message.pools[0].extra == {"external_uncached_held": 1, "effective_evictable_size": 2}
    assert message.pools[0].total == 10


def test_request_pools_keep_what_they_do_not_know() -> None:
    message = read_message(
        "req_to_token_pool memory leak detected! available_size=31, session_held=0, total_size=32, pre_alloc=4", True
    )
    assert message == RequestPool("req-session", 31, 0, 32, False, False, {"pre_alloc": 4})


def test_a_sub_pool_without_a_name_is_told_by_number() -> None:
    message = read_message("KV double free: sub-pool 2 has 3 duplicate pages.", True)
    assert isinstance(message, PageReport) and message.pool == "sub-pool 2"


def test_pool_lines_stand_on_lines_without_prefix_only() -> None:
    assert isinstance(read_message(SWA, False), PoolLine)
    assert isinstance(read_message(f"  {SWA}", False), PoolLine)
    assert read_message(SWA, True) is None
    torn = read_message(SWA[:40], False)
    assert isinstance(torn, Torn) and (torn.busy, torn.pool) == (False, "swa")
    assert read_message("[INFO] total=3 files", False) is None


# Assertions


@pytest.mark.parametrize("name", ["Full", "SWA"])
def test_an_assertion_repeats_the_pools_text(name: str) -> None:
    text = FULL if name == "Full" else SWA
    message = read_message(f"AssertionError: {name} Pool Mem Leak Detected! {text}", False)
    assert isinstance(message, BusyAssertion)
    assert (message.pool, message.text) == (name.lower(), busy(f"[Mem Check (BUSY)] {text}"))
    assert read_message(f"AssertionError: {name} Pool Mem Leak Detected! {text}", True) is None
    cut = read_message(f"AssertionError: {name} Pool Mem Leak Detected! {text[:40]}", False)
    assert isinstance(cut, Torn) and (cut.busy, cut.pool) == (False, name.lower())


@pytest.mark.parametrize(
    "text",
    [
        '    assert not full_leak, f"Full Pool Mem Leak Detected! {full_msg}"',
        'assert not full_leak, f"Full Pool Mem Leak Detected! {full_msg}"',
        '    assert total_tokens == self.max_total_num_tokens, f"Mem Leak Detected! {total_tokens=} vs {self.max=}"',
        '    self._report_leak("pool", "\\n".join(messages))',
        '    raise ValueError(f"pool memory leak detected! {msg}")',
        f"Full Pool Mem Leak Detected! {FULL}",
        f">       AssertionError: Full Pool Mem Leak Detected! {FULL}",
        f"some text AssertionError: Full Pool Mem Leak Detected! {FULL}",
    ],
)
def test_quoted_source_lines_are_nothing(text: str) -> None:
    assert read_message(text, False) is None


# Errors without text


def test_frames_name_their_function() -> None:
    frame = '  File "/x/scheduler_runtime_checker_mixin.py", line 88, in _get_batch_uncached_size'
    assert read_traceback_hint(frame) == "_get_batch_uncached_size"
    assert read_traceback_hint('  File "<string>", line 4, in __eq__') == "__eq__"
    assert read_traceback_hint('  File "x", line 4') is None
    assert read_traceback_hint("    self.check_memory()") is None


def bare(text: str) -> Unnumbered:
    message = read_message(text, False)
    assert isinstance(message, Unnumbered)
    return message


@pytest.mark.parametrize("function", ["_get_batch_uncached_size", "_get_total_uncached_sizes", "_add_owner"])
def test_a_bare_assertion_of_the_checker_is_a_leak_report(function: str) -> None:
    settled = settle_bare(bare("AssertionError"), function)
    assert settled is not None and settled.kind == "leak" and function in settled.detail


@pytest.mark.parametrize("function", [None, "forward_batch_generation"])
def test_any_other_bare_assertion_is_nobodys(function: str | None) -> None:
    assert settle_bare(bare("AssertionError"), function) is None


def test_crashes_of_the_checker_are_no_leaks() -> None:
    missing, compared = (
        bare("NotImplementedError"),
        bare("RuntimeError: Boolean value of Tensor with more than one value is ambiguous"),
    )
    assert missing.kind == compared.kind == "crash"
    assert settle_bare(missing, "evictable_size") == missing
    assert settle_bare(compared, "__eq__") == compared
    assert settle_bare(missing, "forward") is None
    assert settle_bare(missing, None) == missing


def test_bare_errors_have_no_prefix_and_no_text() -> None:
    for text in ("AssertionError", "NotImplementedError"):
        assert read_message(text, True) is None
        assert read_message(f"{text}: something", False) is None


def test_the_report_that_failed_in_0_5_6_is_a_leak() -> None:
    assert bare("RuntimeError: Please use `envs.YOUR_FLAG.get()` instead of `envs.YOUR_FLAG`").kind == "leak"


# Properties


def flat(value: object, path: str = "") -> list[tuple[str, object]]:
    """Every leaf of a message with where it stands."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        head = f"{path}/{value.pool}" if isinstance(value, PoolText) else path
        return [leaf for name, held in value._asdict().items() for leaf in flat(held, f"{head}.{name}")]
    if isinstance(value, dict):
        return [leaf for name, held in value.items() for leaf in flat(held, f"{path}.{name}")]
    if isinstance(value, tuple | list):
        return [
            leaf
            for at, held in enumerate(value)
            for leaf in flat(held, f"{path}[{at}]" if path.endswith("sample") else path)
        ]
    return [(path, value)]


def integers(message: Message | None) -> list[int]:
    return [value for _, value in flat(message) if type(value) is int]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bool]:
    """Samples that were cut, spliced into each other, and had characters lost or added."""
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        prefix = draw(st.sampled_from(SAMPLES))
        text = draw(st.sampled_from(["", PREFIX, "Decode batch, #run", "E   ", "ValueError: "])) + prefix.text
        start = draw(st.sampled_from([0, 0, 0, draw(st.integers(0, len(text)))]))
        end = draw(st.sampled_from([len(text), len(text), draw(st.integers(0, len(text)))]))
        pieces.append(text[start:end])
    text = draw(st.sampled_from(["", "", " ", ", ", "\n"])).join(pieces)
    if draw(st.booleans()) and text:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(max_size=3)) + text[at + draw(st.integers(0, 2)) :]
    return text, draw(st.booleans())


def holds_tag(message: Message, text: str) -> bool:
    data = text.encode("utf-8", "replace")
    going_on = isinstance(message, PoolLine | PoolParts) or getattr(message, "continuation", False)
    if isinstance(message, Torn) and not message.busy:
        going_on = True
    return any(tag in data for tag in (TAGS if going_on else HEAD_TAGS))


@given(st.text(max_size=300), st.booleans())
@example("E   ", False)
@example("UserWarning: ", False)
@example(": UserWarning: ", False)
def test_any_text_is_survived(text: str, prefixed: bool) -> None:
    read_message(text, prefixed)


@settings(max_examples=600)
@given(damaged())
def test_no_value_that_is_not_in_the_text(case: tuple[str, bool]) -> None:
    text, prefixed = case
    message = read_message(text, prefixed)
    for number in integers(message):
        assert str(number) in text
    if message is not None:
        assert holds_tag(message, text), message


@pytest.mark.parametrize("tag", TAGS)
def test_every_tag_is_needed(tag: bytes) -> None:
    others = [other for other in TAGS if other != tag]
    texts = [prefix.text for prefix in SAMPLES]
    texts += ["AssertionError", "[full]", "[swa]", "[mamba]"]
    texts += ["Scheduler TP0 crashed: page of another owner leaked into class 3"]
    texts += ["SWA accounting invariant violated: available + evictable (100 + 30) exceeds capacity (120) by 10"]
    needed = [text for text in texts if not any(other in text.encode() for other in others)]
    assert any(read_message(text, text.startswith("Scheduler")) is not None for text in needed)
    assert not set(HEAD_TAGS) & set(CONTINUATION_TAGS)


def shown(message: Message | None) -> dict[str, object]:
    return dict(flat(message)) if message is not None and not isinstance(message, Torn) else {}


@pytest.mark.parametrize("number", range(len(SAMPLES)), ids=lambda number: f"{number}-{SAMPLES[number].text[:24]}")
def test_cutting_a_sample_anywhere_never_changes_a_number(number: int) -> None:
    """What is read of a cut line is what the whole line says, but for digits cut off the last number."""
    prefix = SAMPLES[number]
    whole = {
        path: value for path, value in shown(read_message(prefix.text, prefix.prefixed)).items() if type(value) is int
    }
    for end in range(len(prefix.text)):
        cut = prefix.text[:end]
        message = read_message(cut, prefix.prefixed)
        for path, value in shown(message).items():
            if type(value) is not int or path not in whole:
                continue
            last = re.search(rf"[= ]{value}\Z", cut.rstrip()) and str(whole[path]).startswith(str(value))
            assert value == whole[path] or last, (cut, path)


def test_a_cut_busy_line_is_torn_up_to_its_last_number() -> None:
    for end in range(len("[Mem Check (BUSY)] ") + 1, len(BUSY) - len("1000")):
        assert isinstance(read_message(BUSY[:end], True), Torn), BUSY[:end]


@pytest.mark.parametrize(
    "text",
    [
        "[Mem Check (BUSY)] [full] " + "a=1, " * 200_000,
        "[Mem Check (BUSY)] " + "[" * 1_000_000,
        "[Mem Check (BUSY)] [full] total=" + "9" * 1_000_000,
        "[Mem Check" * 100_000,
        BUSY.replace("protected=", "p" * 1_000_000 + "=1, protected="),
        "x [Mem Check (BUSY)] " * 50_000,
        BUSY + ", leaked_full_pages={" + "1, " * 300_000,
        BUSY + " " * 1_000_000 + "x",
        "[Mem Check (BUSY/SWA)] full: (full_available=" + "1" * 1_000_000,
        "UserWarning: " * 80_000,
        "/a:" * 300_000 + "1: UserWarning: x",
        "pool memory leak detected! " * 40_000,
        "a etected! " * 90_000,
        "x" + "KV cache pool leak detected!" * 40_000,
        "E   " * 250_000,
        " " * 1_000_000,
        "\t" * 500_000 + "E" + " " * 500_000,
        "[swa] total=1, " * 70_000,
        "Scheduler TP1 " * 70_000,
        "KV page use-after-free: 3 owner page refs are in the free pool, sample pages=[" + "1, " * 300_000,
        "  File " + '"' * 1_000_000,
        "[repeated 3x across cluster]" * 40_000,
        "SWA Radix tree sanity check failed, ping " + "x" * 1_000_000,
    ],
    ids=lambda text: text.strip()[:24],
)
@pytest.mark.parametrize("prefixed", [True, False])
def test_time_is_linear_in_the_line(text: str, prefixed: bool) -> None:
    assert_linear_in(text, lambda front: read_message(front, prefixed))
    assert_linear_in(text, read_traceback_hint)


# The fast expression


@st.composite
def busy_lines(draw: st.DrawFn) -> str:
    number = st.integers(-9, 10**7) | st.integers(-(10**19), 10**19)
    ranks = draw(st.sampled_from(["", " TP0", " DP1 TP3", " PP1 ATTN_CP0 TP0", "TP0", " tp0", " T P1"]))
    stamp = draw(st.sampled_from(["2026-06-11 08:15:03", "2026-06-11 08:15:03.125", "2026-13-11 08:15:03", "08:15:03"]))
    names = ["total", *TERMS]
    if draw(st.integers(0, 9)) == 0:
        names = draw(st.permutations(names))
    pairs = [f"{name}={draw(number)}" for name in names]
    more = ["withheld", "double_owned", "total", "x.y", "free_list_duplicates", "page_size"]
    for name in draw(st.lists(st.sampled_from(more), max_size=3)):
        pairs.append(f"{name}={draw(st.sampled_from(['3', '-1', 'None', '[1, 2]', 'live']))}")
    label = draw(st.sampled_from(["full", "swa", "mamba-int8", "1x"]))
    tail = draw(st.sampled_from(["", "", "", " ", ",", "\r"]))
    return f"[{stamp}{ranks}] [Mem Check (BUSY)] [{label}] {', '.join(pairs)}{tail}"


@settings(max_examples=500)
@given(busy_lines())
def test_the_fast_expression_says_what_the_exact_reader_says(line: str) -> None:
    match = BUSY_LINE.match(line.encode() + b"\n")
    prefix = split_prefix(line.rstrip("\r"))
    message = read_message(prefix.text, prefix.prefixed)
    if match is None:
        return
    names = [pair.partition(b"=")[0] for pair in match[10].split(b", ")[1:]]
    if len(set(names)) != len(names):
        return
    assert isinstance(message, Busy)
    (pool,) = message.pools
    stamp, ranks, label, *counts = (group.decode() for group in match.groups()[:9])
    assert prefix.time == stamp.replace(" ", "T") and prefix.rank == (ranks.strip() or "-")
    assert pool.pool == label
    assert [int(count) for count in counts] == [pool.total, *pool.terms.values()]
    assert match[10].decode() == "".join(f", {name}={value}" for name, value in pool.extra.items())
    assert not pool.marks


def test_the_fast_expression_matches_what_servers_print() -> None:
    for prefix in ("[2026-06-11 08:15:03] ", "[2026-06-11 08:15:03.125 DP1 PP0 TP1] "):
        for end in (b"\n", b"\r\n"):
            assert BUSY_LINE.match(f"{prefix}{BUSY}".encode() + end)
            assert BUSY_LINE.match(f"{prefix}{BUSY}, withheld=32".encode() + end)
    assert not BUSY_LINE.match(f"{PREFIX}{BUSY}".encode()), "without its line end the last number may be cut"
    assert not BUSY_LINE.match(f"{PREFIX}{BUSY}, free_list_duplicates=1\n".encode()), "has a meaning"
