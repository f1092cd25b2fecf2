"""Every collector's wrapping, singly and in stacks, gives back the plain log."""

from __future__ import annotations

import json

import pytest
from growth import assert_linear_in
from hypothesis import given, settings
from hypothesis import strategies as st
from wrapping import AFTERWARDS, WRAPPERS, Wrapping, stack, stacks

from memcheck_cli.log.prefixes import split_prefix
from memcheck_cli.log.wrappers import Unwrapped, Unwrapper
from memcheck_cli.log.wrappers.plain import plain

PLAIN = [
    "[2026-11-30 01:32:51] server_args=ServerArgs(model_path='m', tp_size=2, page_size=16, nnodes=1, "
    "disable_overlap_schedule=False, enable_hierarchical_cache=True, hicache_write_policy='write_through')",
    "[2026-11-30 01:32:53 TP0] max_total_num_tokens=4096, chunked_prefill_size=256, max_prefill_tokens=16384, "
    "max_running_requests=8, context_len=4096, available_cpu_mem=21.80 GB",
    "[2026-11-30 01:32:53 TP0] [Mem Check (BUSY)] [full] total=4096, available=3960, evictable=0, protected=0, "
    "session_held=0, uncached=136",
    "[2026-11-30 01:32:53 TP1] [Mem Check (BUSY)] [full] total=4096, available=3960, evictable=0, protected=0, "
    "session_held=0, uncached=136",
    "[2026-11-30 01:31:50] [Mem Check (BUSY)] [swa] total=2048, available=384, evictable=128, protected=704, "
    "session_held=0, uncached=768",
    "[2026-11-30 01:32:53 TP0] Decode batch, #running-req: 5, #token: 1511, token usage: 0.37, cpu graph: False, "
    "gen throughput (token/s): 83.52, #queue-req: 0",
    "[2026-11-30 01:36:24] [Mem Check (BUSY)] available_size=129, evictable_size=2123, protected_size=1740, "
    "uncached_size=103",
    "[2026-11-30 01:32:55 TP1] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/usr/local/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 5296, in on_idle',
    '    self.invariant_checker._report_leak("pool", "\\n".join(messages))',
    "AssertionError: Full Pool Mem Leak Detected! [full] total=4096, available=114, evictable=2943, protected=968, "
    "session_held=0, uncached=70",
    "[2026-11-30 01:34:55] pool memory leak detected! [full] total=4096, available=18, evictable=4077, protected=0, "
    "session_held=0, uncached=0",
    "ValueError: pool memory leak detected! [full] total=4096, available=704, evictable=3392, protected=0, "
    "session_held=0, uncached=0",
    "[swa] total=2048, available=320, evictable=1664, protected=0, session_held=0, uncached=0",
    "AssertionError: Mem Leak Detected! total_tokens=4095 vs self.max_total_num_tokens=4096",
    "[2026-11-30 01:32:56] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
]
"""Lines as the server printed them."""

MATTERS = ("[Mem Check", "etected!", "server_args=", "[swa]")

BUSY = PLAIN[2]


def unwrap(physical: list[str]) -> list[Unwrapped]:
    unwrapper = Unwrapper()
    lines: list[Unwrapped] = []
    offset = 0
    for number, text in enumerate(physical, 1):
        lines += unwrapper.feed(number, offset, text)
        offset += len(text.encode()) + 1
    return lines + unwrapper.finish()


def hold(wrapping: Wrapping, plain: list[str]) -> None:
    """That every plain line comes back as it was, from where it stood, with its writer."""
    physical = wrapping(plain)
    by_number: dict[int, Unwrapped] = {}
    for line in unwrap(physical):
        by_number.setdefault(line.number, line)
    offsets = [0]
    for text in physical:
        offsets.append(offsets[-1] + len(text.encode()) + 1)
    for number, text in zip(wrapping.numbers(plain), plain, strict=True):
        if not wrapping.exact and not any(tag in text for tag in MATTERS):
            continue
        line = by_number[number]
        got, wanted = split_prefix(line.text.strip()), split_prefix(text.strip())
        assert got == wanted
        assert (line.process, line.copies, line.copied, line.captured, line.whole, line.offset) == (
            wrapping.process,
            1,
            wrapping.copied,
            wrapping.captured,
            True,
            offsets[number - 1],
        )


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_comes_off(name: str) -> None:
    hold(WRAPPERS[name], PLAIN)


@pytest.mark.parametrize("outer", WRAPPERS)
def test_stacks_of_two_come_off(outer: str) -> None:
    for name, inner in stacks():
        if name == outer:
            wrapping = stack(WRAPPERS[outer], WRAPPERS[inner])
            # Indentation within indentation, and the like, is known only where it stands before something known.
            wrapping.exact = wrapping.exact and outer not in AFTERWARDS
            hold(wrapping, PLAIN)


def test_three_layers() -> None:
    hold(stack(stack(WRAPPERS["docker-json-parts"], WRAPPERS["ansi"]), WRAPPERS["ray-time"]), PLAIN)
    hold(stack(stack(WRAPPERS["gh-run-view"], WRAPPERS["compose-colour"]), WRAPPERS["ray-colour"]), PLAIN)
    hold(stack(stack(WRAPPERS["quote"], WRAPPERS["kubectl"]), WRAPPERS["verl"]), PLAIN)


def test_bare_lines_stay_as_they_are() -> None:
    unwrapper = Unwrapper()
    for number, text in enumerate(PLAIN, 1):
        [line] = unwrapper.feed(number, 7 * number, text)
        assert line == Unwrapped(number, 7 * number, None, None, text, 1, False, False, True)
    assert unwrapper.bare
    assert unwrapper.layers == ()
    assert unwrapper.finish() == []


def test_writers_with_different_wrappers_interleave() -> None:
    names = ["compose", "ray-colour", "docker-json-parts", "cri-parts", "kubectl", "crlf", "srun", "journal-short"]
    physical = []
    expected = []
    for index, text in enumerate(PLAIN):
        for name in names:
            wrapping = WRAPPERS[name]
            expected.append((len(physical) + 1, wrapping.process, text))
            physical += wrapping.per_line(index, text)
    got = [(line.number, line.process, line.text.strip()) for line in unwrap(physical)]
    assert sorted(got, key=lambda item: item[0]) == [(number, name, text.strip()) for number, name, text in expected]


def test_layers_are_named() -> None:
    unwrapper = Unwrapper()
    text = json.dumps({"log": f"\x1b[36m(Engine pid=1)\x1b[0m {BUSY}\n", "stream": "stderr", "time": "t"})
    [line] = unwrapper.feed(1, 0, f"2026-09-01T00:00:00.1234567Z {text}")
    assert unwrapper.layers == ("github-actions", "docker-json", "ansi", "ray")
    assert not unwrapper.bare
    assert (line.process, line.outer_time, line.text) == ("Engine pid=1", "t", BUSY)


def test_outer_time_is_apart_from_the_servers() -> None:
    for text, outer in [
        ("2026-09-01T00:00:00.436246479+02:00 stderr F ", "2026-09-01T00:00:00.436246479+02:00"),
        ("[2026-09-01 00:00:00] [/bin/sh@<0,0>]: ", "2026-09-01 00:00:00"),
        ("[2026-09-01 00:00:00] (Worker pid=34) ", "2026-09-01 00:00:00"),
        ("Sep 01 00:00:00 gpu-3 python3[123]: ", "Sep 01 00:00:00"),
        ("2026-09-01 00:00:00.5 ", "2026-09-01 00:00:00.5"),
    ]:
        [line] = unwrap([text + BUSY])
        assert line.outer_time == outer
        assert split_prefix(line.text).time == "2026-11-30T01:32:53"
    [line] = unwrap(["2026-09-01T00:00:00.500Z host-pod INFO TP0] Decode batch, #running-req: 5"])
    assert (line.outer_time, line.process) == ("2026-09-01T00:00:00.500Z", "host-pod")
    assert split_prefix(line.text) == (None, "TP0", True, "Decode batch, #running-req: 5")


@pytest.mark.parametrize(
    "text",
    [
        "id  | name",
        "note | see below",
        "0: what a user wrote",
        "[3] reference",
        "> what somebody said",
        "gpu-3 sglang starts",
        "Sep 01 it was",
        "(see pid file) for more",
        '{"text": "[2026-11-30 01:32:53] x", "n": 1}',
        '{"messages": []}',
        '{"log": 5}',
        "{not json}",
        "[pod] x",
        "[1,2] x",
        "E  = mc2",
        "a\tb\tc",
        "step|7",
        "2026-01-02 was a day",
        "2026-01-02T03:04:05 is no zoned time",
    ],
)
def test_user_text_is_no_wrapper(text: str) -> None:
    [line] = unwrap([text])
    assert (line.text, line.process, line.outer_time, line.copied) == (text, None, None, False)


def test_an_ambiguous_label_is_learnt_from_a_line_of_the_server() -> None:
    lines = unwrap(["api  | frame 1", f"api  | {BUSY}", "api  | frame 2", "db  | frame 3"])
    assert [(line.process, line.text) for line in lines] == [
        (None, "api  | frame 1"),
        ("api", BUSY),
        ("api", "frame 2"),
        (None, "db  | frame 3"),
    ]


def test_rays_tail_and_its_advice() -> None:
    advice = (
        " (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see "
        "https://docs.ray.io/en/master/ray-observability/user-guides/configure-logging.html#log-deduplication "
        "for more options.)"
    )
    for tail in (
        " [repeated 3x across cluster]",
        f" [repeated 3x across cluster]{advice}",
        "\x1b[32m [repeated 3x across cluster]\x1b[0m",
        f"[32m [repeated 3x across cluster]{advice}[0m  ",
    ):
        [line] = unwrap([f"(SGLangEngine pid=4102, ip=10.0.0.7) {BUSY}{tail}"])
        assert (line.text, line.copies, line.process) == (BUSY, 3, "SGLangEngine pid=4102")
    [line] = unwrap([f"{BUSY} [repeated 3 times]"])
    assert (line.text, line.copies) == (f"{BUSY} [repeated 3 times]", 1)


def test_actions_heads() -> None:
    stamp = "2026-09-01T00:00:00.1234567Z "
    lines = unwrap([f"\ufeff{stamp}##[group]Run suite", f"{stamp}##[error]{PLAIN[10]}", f"{stamp}##[endgroup]"])
    assert [(line.text, line.copied) for line in lines] == [("Run suite", False), (PLAIN[10], True), ("", False)]
    [line] = unwrap([f"job\tUNKNOWN STEP\t\ufeff{stamp}{BUSY}"])
    assert (line.process, line.text) == ("job", BUSY)


def test_pytest_copies_and_captured_sections() -> None:
    physical = [
        "____ TestPool.test_leak ____",
        ">       assert not full_leak",
        f"E       {PLAIN[10]}",
        "----------------------------- Captured stderr call -----------------------------",
        BUSY,
        PLAIN[9],
        "------------------------------ Captured log call -------------------------------",
        "===================== short test summary info =====================",
        BUSY,
    ]
    lines = unwrap(physical)
    assert [line.copied for line in lines] == [number == 3 for number in range(1, 10)]
    assert [line.captured for line in lines] == [5 <= number <= 8 for number in range(1, 10)]
    assert lines[2].text == PLAIN[10]


def test_quotes_are_copies_only_of_what_stands_less_quoted() -> None:
    assert [line.copied for line in unwrap([f"> {BUSY}", f"> {BUSY}"])] == [False, False]
    assert [line.copied for line in unwrap([BUSY, f"> {BUSY}"])] == [False, True]
    assert [line.copied for line in unwrap([f"> {BUSY}", f">> {BUSY}", BUSY, f"> {BUSY}"])] == [
        False,
        True,
        False,
        True,
    ]


def test_fences_are_nothing() -> None:
    assert [line.text for line in unwrap(["```", "```text", "~~~", "  ```", f"```{BUSY}", f"{BUSY}```"])] == [
        BUSY,
        BUSY,
    ]


def test_a_torn_docker_record_is_not_whole() -> None:
    record = json.dumps({"log": f"{BUSY}\n", "stream": "stderr", "time": "t"})
    cut = record.index("uncached") + 10
    [line] = unwrap([record[:cut]])
    assert (line.text, line.whole) == (BUSY[: cut - len('{"log": "')], False)
    [line] = unwrap([record[: record.index("stderr")]])
    assert (line.text, line.whole) == (BUSY, True)
    [line] = unwrap([record[: record.index("\\n") + 1]])
    assert (line.text, line.whole) == (BUSY, False)


def test_parts_without_their_end_are_not_whole() -> None:
    stamp = "2026-09-01T00:00:00Z"
    [line] = unwrap([f"{stamp} stderr P {BUSY[:50]}", f"{stamp} stderr P {BUSY[50:90]}"])
    assert (line.number, line.text, line.whole) == (1, BUSY[:90], False)
    lines = unwrap([f"{stamp} stderr P {BUSY[:50]}", f"{stamp} stderr F {BUSY}"])
    assert [(line.number, line.text, line.whole) for line in lines] == [(1, BUSY[:50], False), (2, BUSY, True)]


def test_parts_are_joined_per_stream() -> None:
    stamp = "2026-09-01T00:00:00Z"
    unwrapper = Unwrapper()
    assert unwrapper.feed(1, 0, f"{stamp} stderr P {BUSY[:50]}") == []
    assert unwrapper.needs_all_lines
    [line] = unwrapper.feed(2, 100, f"{stamp} stdout F between")
    assert line.text == "between"
    [line] = unwrapper.feed(3, 200, f"{stamp} stderr F {BUSY[50:]}")
    assert (line.number, line.offset, line.text, line.whole) == (1, 0, BUSY, True)
    assert not unwrapper.needs_all_lines


def test_docker_records_of_16_kib_are_joined_though_no_line_end_was_seen() -> None:
    long = f"[2026-11-30 01:32:53] {'x' * 40000}"
    pieces = [long[at : at + 16384] for at in range(0, len(long), 16384)]
    records = [json.dumps({"log": piece, "stream": "stderr", "time": "t"}) for piece in pieces[:-1]]
    records.append(json.dumps({"log": pieces[-1] + "\n", "stream": "stderr", "time": "t"}))
    [line] = unwrap(records)
    assert (line.number, line.text, line.whole) == (1, long, True)


def test_half_surrogates_do_not_get_out() -> None:
    for text in ('{"log":"a \\ud83d b\\n","stream":"stderr","time":"t"}', '{"message":"a \\udc00"}', '{"log":"\\ud83d'):
        for line in unwrap([text]):
            line.text.encode()


def test_several_lines_in_one_record() -> None:
    lines = unwrap([json.dumps({"message": "\n".join(PLAIN[11:14])}), BUSY])
    assert [(line.number, line.text) for line in lines] == [(1, PLAIN[11]), (1, PLAIN[12]), (1, PLAIN[13]), (2, BUSY)]


def test_progress_bars_before_a_line() -> None:
    bar = "Capturing batches: 100%|####| 3/3 [00:01<00:00,  2.77it/s]"
    assert [line.text for line in unwrap([f"{bar}{BUSY}", f"\r{bar}\r{bar}{BUSY}", f"{bar}\r{BUSY}", bar])] == [
        BUSY,
        BUSY,
        BUSY,
        bar,
    ]


def _skipping(physical: list[str]) -> tuple[list[Unwrapped], set[int]]:
    """What a reader gets that skips what it may."""
    unwrapper = Unwrapper()
    fed: set[int] = set()
    lines: list[Unwrapped] = []
    for number, text in enumerate(physical, 1):
        data = text.encode()
        marked = any(marker in data for marker in unwrapper.sticky_markers)
        if not (marked or b"=" in data or unwrapper.needs_all_lines):
            continue
        if number > 1 and number - 1 not in fed and not plain(text, 0):
            lines += unwrapper.feed(number - 1, 0, physical[number - 2])
        lines += unwrapper.feed(number, 0, text)
        fed.add(number)
    return lines + unwrapper.finish(), fed


EXTRA = [
    *PLAIN,
    "what a user wrote",
    "ValueError: something else",
    "x = 5",
    "0: y=3",
    "api | z=3",
    "----- Captured stderr call -----",
    "=== 1 failed ===",
    "____ test_next ____",
    "",
    "```",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            # What a terminal broke at any character is put together only where every line is read: at the beginning.
            st.sampled_from(sorted(set(WRAPPERS) - {"nuls", "pasted-80-columns", "pasted-terminal"})),
            st.lists(st.sampled_from(EXTRA), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_skipping_lines_changes_no_other_line(stretches: list[tuple[str, list[str]]]) -> None:
    physical = [text for name, lines in stretches for text in WRAPPERS[name](lines)]
    skipped, fed = _skipping(physical)
    every = []
    unwrapper = Unwrapper()
    for number, text in enumerate(physical, 1):
        every += unwrapper.feed(number, 0, text)
    every += unwrapper.finish()
    assert [line for line in skipped if line.number in fed] == [line for line in every if line.number in fed]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["docker-json", "docker-json-parts", "compose", "cri", "cri-parts", "ray"]), st.booleans()
        ),
        min_size=1,
        max_size=6,
    )
)
def test_quiet_blocks_may_be_read_in_part(blocks: list[tuple[str, bool]]) -> None:
    """Only the lines with a tag of blocks that are quiet, all lines of the others."""
    picked, every = Unwrapper(), Unwrapper()
    got: list[Unwrapped] = []
    wanted: list[Unwrapped] = []
    number = fed = 0
    before = ""
    for name, short in blocks:
        physical = WRAPPERS[name](["[2026-11-30 01:32:53 TP0] x"] if short else PLAIN)
        quiet = picked.quiet("".join(f"{text}\n" for text in physical).encode())
        for text in physical:
            number += 1
            wanted += every.feed(number, 0, text)
            if not quiet or picked.needs_all_lines or "[Mem" in text:
                if fed < number - 1:
                    got += picked.feed(number - 1, 0, before)
                got += picked.feed(number, 0, text)
                fed = number
            before = text
    assert [line for line in got if "[Mem Check" in line.text] == [line for line in wanted if "[Mem Check" in line.text]


PIECES = [
    "[2026-11-30 01:32:53 TP0] ",
    "[Mem Check (BUSY)] ",
    "[full] total=1, ",
    "uncached=4",
    "(a pid=1) ",
    "api | ",
    "0: ",
    "> ",
    "E   ",
    '{"log":"',
    '","stream":"stderr","time":"t"}',
    '{"message":"x',
    "2026-09-01T00:00:00Z stderr P ",
    "2026-09-01T00:00:00.1234567Z ",
    "\x1b[36m",
    "\x1b]0;",
    "\x9b1m",
    "\r",
    "\x00",
    "\ufeff",
    "```",
    "    ",
    "\\",
    "\\u00",
    " [repeated 3x across cluster]",
    "server_args=ServerArgs(",
    "leak detected! ",
    "12%|#| [",
    "\ud7ff\U0001f600",
    "Sep  1 00:00:00 h p[1]: ",
    "----- Captured stderr call -----",
    "9" * 30,
]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join), max_size=8))
def test_nothing_that_is_printed_breaks_it(physical: list[str]) -> None:
    physical = [text.replace("\n", "") for text in physical]
    for line in unwrap(physical):
        assert 1 <= line.number <= len(physical)
        assert "\n" not in line.text


@pytest.mark.parametrize(
    "unit",
    [
        *("[", "> ", "a | ", "\x1b]", "\x1b[", "\x1b", '{"', '{"log":"', "E   ", "0", "0: ", " ", "\t", "\r", "("),
        *("(a pid=1) ", "[0] ", "\x00", "\ufeff", "`", "=", "a.", "a=1, ", "{1, ", "[repeated ", "12%|", "\\u001b[3"),
        *("2026-09-01T00:00:00Z ", "Sep  1 00:00:00 h p: ", "\\", '\\"', "TP0] "),
    ],
)
@pytest.mark.parametrize("head", ["", f"{PLAIN[2][:60]}", '{"log":"', "2026-09-01T00:00:00Z stderr P ", "api | "])
def test_long_lines_take_linear_time(head: str, unit: str) -> None:
    assert_linear_in(head + unit * (300_000 // len(unit)), lambda text: unwrap([text, text]))
