"""The kernel gives what a plain regular expression gives, on any line, and hands back every line it does not know."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck_cli.log import kernel as kernel_module
from memcheck_cli.log.blocks import count_lines
from memcheck_cli.log.kernel import FIELDS, MARGIN, NO_TIME, UNDATED, Batch, Kernel
from memcheck_cli.log.records import Busy, Line, PoolText

TAG = b"[Mem Check"
TERMS = FIELDS[1:]
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)"
_OUTER = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?"
_BODY = (
    rf"\[(?:(?P<date>20\d\d-\d\d-\d\d) )?(?P<clock>{_CLOCK}(?:[.,]\d{{3}})?)(?P<rank>(?: [A-Z_]+\d+)*)\] "
    r"\[Mem Check \(BUSY\)\] \[(?P<pool>\w+)\] "
    + ", ".join(rf"{name}=(?P<{name}>-?\d{{1,18}})" for name in FIELDS)
    + r"(?P<extra>(?:, [A-Za-z_]\w*=-?\d{1,18})*+)(?P<slack>, dcp_physical_page_slack_allowed=True)?"
)
REFERENCE = re.compile(
    rf"(?:{_OUTER}Z |sglang-1  \| |(?:\x1b\[36m)?\((?P<process>\w+ pid=\d+)\)(?:\x1b\[0m)? )?{_BODY}\r?\n", re.ASCII
)
DOCKER = re.compile(rf'\{{"log":"{_BODY}(?:\\r)?\\n","stream":"stderr","time":"{_OUTER}Z"\}}\n', re.ASCII)


def reference(raw: bytes) -> tuple[Line, Busy] | None:
    """What one physical line says, or None."""
    text = raw.decode("latin-1")
    found = REFERENCE.fullmatch(text) or DOCKER.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    extra = dict(re.findall(r", (\w+)=(-?\d+)", parts["extra"]))
    if len(extra) != parts["extra"].count(",") or not extra.keys().isdisjoint(FIELDS):
        return None
    clock = parts["clock"].replace(",", ".")
    time = f"{parts['date']}T{clock}" if parts["date"] else clock
    if parts["date"] and int(parts["date"][5:7]) not in range(1, 13):
        time = None
    marks = {"tolerated"} if parts["slack"] else set()
    values = {name: int(value) for name, value in extra.items()}
    if values.get("free_list_duplicates", 0) > 0:
        marks.add("reported")
    pool = PoolText(
        parts["pool"],
        int(parts["total"]),
        {term: int(parts[term]) for term in TERMS},
        {**values, **({"dcp_physical_page_slack_allowed": True} if parts["slack"] else {})},
        frozenset(marks),
    )
    rank = parts["rank"].strip() or "-"
    return Line(1, 0, parts.get("process"), rank, time, True, ""), Busy("B3", (pool,))


def time_text(milliseconds: int, fraction: bool) -> str | None:
    if milliseconds == NO_TIME:
        return None
    dated = milliseconds > UNDATED // 2
    since = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds - (0 if dated else UNDATED))
    # A leap second is printed as 60 and counted as the next minute's 0, which no text can tell afterwards.
    text = since.isoformat(timespec="milliseconds" if fraction else "seconds")
    return text if dated else text.partition("T")[2]


def leap(time: str | None) -> str | None:
    """The time as it reads back: second 60 is second 0 of the next minute."""
    if time is None or ":60" not in time:
        return time
    date, _, clock = time.rpartition("T")
    moment = datetime.fromisoformat(f"{date or '1970-01-01'}T{clock.replace(':60', ':59')}") + timedelta(seconds=1)
    text = moment.isoformat(timespec="milliseconds" if "." in clock else "seconds")
    return text if date else text.partition("T")[2]


def rows_of(kernel: Kernel, batch: Batch) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Offset and content of every recognised line."""
    for row in range(batch.n):
        reading = kernel.readings[batch.reading[row]]
        values = batch.values[:, row].tolist()
        assert kernel.streams[batch.stream[row]] == (reading.process, reading.rank)
        assert kernel.pools[batch.pool[row]] == reading.pool
        extra = {**dict(zip(reading.extra, values[len(FIELDS) :], strict=False)), **reading.fixed}
        time = time_text(int(batch.time[row]), reading.fraction)
        terms = dict(zip(TERMS, values[1 : len(FIELDS)], strict=True))
        said = (reading.process, reading.rank, time, reading.pool, values[0], terms, extra, reading.marks)
        yield int(batch.offset[row]), said


def said_by(found: tuple[Line, Busy]) -> tuple[object, ...]:
    line, message = found
    pool = message.pools[0]
    time = leap(line.time)
    return line.process, line.rank, time, pool.pool, pool.total, dict(pool.terms), dict(pool.extra), pool.marks


def check(kernel: Kernel, data: bytes, start: int, stop: int) -> int:
    """Reads a range, teaching what was not recognised. Everything must be what the reference says. Returns how many
    lines were recognised."""
    expected = []
    at = start
    while at < stop:
        end = data.find(b"\n", at, stop) + 1 or stop
        if TAG in data[at:end]:
            expected.append((at, end))
        at = end
    seen: list[tuple[int, int | None]] = []
    recognised = newlines = 0
    reached = start
    for batch in kernel.read(data, start, stop):
        assert batch.start == reached < batch.stop
        reached = batch.stop
        newlines += batch.newlines
        places: list[tuple[int, int | None]] = []
        for offset, said in rows_of(kernel, batch):
            raw = data[offset : data.index(b"\n", offset, stop) + 1]
            found = reference(raw)
            assert found is not None, raw
            assert said == said_by(found), raw
            places.append((offset, None))
        recognised += batch.n
        covered = list(zip(batch.offset.tolist(), batch.end.tolist(), strict=True))
        assert all(data.find(b"\n", first) + 1 == end for first, end in covered)
        for row, first, end in reversed(batch.gaps()):
            covered.insert(row, (first, end))
        assert [first for first, _ in covered] == [batch.start, *(end for _, end in covered[:-1])]
        assert covered[-1][1] == batch.stop
        for row, first, end in reversed(batch.unread):
            places.insert(row, (first, end))
        seen += places
        for _, first, end in batch.unread:
            raw = data[first:end]
            found = reference(raw)
            if found is not None:
                kernel.learn(raw, *found)
    assert reached == stop
    assert newlines == data.count(b"\n", start, stop)
    assert [place for place, _ in seen] == [place for place, _ in expected]
    assert all(end in (None, expected[index][1]) for index, (_, end) in enumerate(seen))
    return recognised


def busy(
    rank: str = " TP0",
    pool: str = "full",
    time: str = "2026-03-01 10:00:00",
    numbers: tuple[int | str, ...] = (880000, 470314, 293354, 110113, 0, 6219),
    more: str = "",
) -> str:
    pairs = ", ".join(f"{name}={number}" for name, number in zip(FIELDS, numbers, strict=True))
    return f"[{time}{rank}] [Mem Check (BUSY)] [{pool}] {pairs}{more}"


WRAPPERS: dict[str, Callable[[str, str], str]] = {
    "none": lambda text, end: text + end,
    "actions": lambda text, end: f"2026-03-01T09:59:58.1234567Z {text}{end}",
    "ray": lambda text, end: f"\x1b[36m(SGLangEngine pid=4102)\x1b[0m {text}{end}",
    "other": lambda text, end: f"(SGLangEngine pid=53) {text}{end}",
    "compose": lambda text, end: f"sglang-1  | {text}{end}",
    "docker": lambda text, end: (
        f'{{"log":"{text}{end.replace(chr(13), chr(92) + "r").replace(chr(10), chr(92) + "n")}","stream":"stderr",'
        f'"time":"2026-03-01T10:00:01.12345678{len(text) % 3 or ""}Z"}}\n'
    ),
}
numbers = st.one_of(
    st.integers(0, 10**7),
    st.integers(0, 9),
    st.integers(-(10**6), 10**11),
    st.integers(10**15, 10**19),
    st.sampled_from(["007", "-0", "+5", "", "-", "00000000012", "1.5", " 5", "0x1F", "None", "12345678", "99999999"]),
)
times = st.sampled_from(
    [
        "2026-03-01 10:00:00",
        "2026-03-01 23:59:60",
        "2026-03-02 00:00:00",
        "2026-03-01 10:00:01.250",
        "2026-03-01 10:00:01,999",
        "2026-03-01 24:00:00",
        "2026-03-01 10:60:00",
        "2026-03-01 1a:00:00",
        "2026-13-01 10:00:00",
        "10:00:07",
        "2026-03-01 10:00:01.25x",
    ]
)
ranks = st.sampled_from(["", " TP0", " TP1", " TP10", " DP1 TP1 EP1", " PP0 ATTN_CP0 MOE_DP1 TP3"])
odd_ends = (", dcp_physical_page_slack_allowed=True", ", src=census", ", class_free_pages=[1, 2]", ",", " ")
extras = st.sampled_from(
    [
        *("", "", "", ", withheld=32", ", withheld=-1, double_owned=16"),
        *(", free_list_duplicates=0", ", free_list_duplicates=3", ", free_list_duplicates=0, withheld=7"),
        *odd_ends,
    ]
)
plain = st.builds(busy, ranks, st.sampled_from(["full", "swa"]), times, st.tuples(*[st.integers(0, 10**7)] * 6))
strange = st.builds(busy, ranks, st.sampled_from(["full", "swa", "m-i", ""]), times, st.tuples(*[numbers] * 6), extras)


@st.composite
def physical(draw: st.DrawFn) -> bytes:
    """One physical line, most of them whole."""
    text = draw(st.one_of(plain, plain, strange))
    wrap = WRAPPERS[draw(st.sampled_from(["none", "none", *WRAPPERS]))]
    raw = wrap(text, draw(st.sampled_from(["\n", "\n", "\r\n"]))).encode("latin-1")
    what = draw(st.integers(0, 14))
    if what == 0:
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(st.sampled_from([b"\n", b"", b" ", b"[", b"0", b"-", b"\xff", b"\0", raw])) + raw[at:]
    elif what == 1:
        at = draw(st.integers(0, len(raw) - 1))
        raw = raw[:at] + raw[at + draw(st.integers(1, 30)) :]
    elif what == 2:
        raw = draw(st.sampled_from([b"\n", b"\r\n", b"Memory Mmmm [Mem noise\n", b"x" * 300 + b"\n", b"[Mem Check\n"]))
    elif what == 3:
        at = draw(st.integers(0, len(raw) - 1))
        raw = raw[:at] + bytes([draw(st.integers(0, 255))]) + raw[at + 1 :]
    return raw


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_lines_in_any_pieces(data: st.DataObject) -> None:
    pool = data.draw(st.lists(physical(), min_size=1, max_size=12))
    order = data.draw(st.lists(st.integers(0, len(pool) - 1), min_size=1, max_size=60))
    log = b"".join(pool[index] for index in order)
    if data.draw(st.booleans()):
        log = log[:-1]
    kernel = Kernel()
    lead = data.draw(st.sampled_from([b"", b"x" * 100, b"a 1\n" * (MARGIN // 4 + 1)]))
    behind = data.draw(st.sampled_from([b"", b"7, \n" * (MARGIN // 4), b"\n" * MARGIN]))
    whole = lead + log + behind
    ends = [0, *[found.end() for found in re.finditer(b"\n", log)], len(log)]
    cuts = sorted({0, len(log), *(ends[data.draw(st.integers(0, len(ends) - 1))] for _ in range(3))})
    with mock.patch.object(kernel_module, "BLOCK", data.draw(st.sampled_from([64, 300, 1000, 4096, 1 << 18]))):
        for first, last in pairwise(cuts):
            check(kernel, whole, len(lead) + first, len(lead) + last)
        # Again, now that all is learnt.
        kernel._dense = data.draw(st.booleans())
        check(kernel, whole, len(lead), len(lead) + len(log))


def dense_log(lines: int, wrapper: str = "none", end: str = "\n", scale: int = 1, **options: str) -> bytes:
    out = []
    for index in range(lines):
        total = 880000 * scale
        number = index * 37 * scale
        values = (total, total - number - 5, number, 0, 0, 5)
        moment = datetime(2026, 3, 1, 10) + timedelta(milliseconds=index * 41)
        fraction = options.get("fraction")
        time = moment.isoformat(" ", "milliseconds" if fraction else "seconds")
        rank = options.get("rank", " TP{}").format(index % 8)
        text = busy(rank, "full" if index // 8 % 2 else "swa", time, values, options.get("more", "").format(index))
        out.append(WRAPPERS[wrapper](text, end))
    return "".join(out).encode("latin-1")


CLEAN = {
    "plain": dense_log(3000),
    "crlf": dense_log(3000, end="\r\n"),
    "milliseconds": dense_log(3000, fraction="yes"),
    "dp": dense_log(3000, rank=" DP0 TP{0} EP{0}"),
    "no rank": dense_log(3000, rank=""),
    "more terms": dense_log(3000, more=", withheld={0}, double_owned=0"),
    "large": dense_log(3000, scale=1234),
    "larger": dense_log(3000, scale=98765432),
    **{name: dense_log(3000, name) for name in ("actions", "ray", "compose", "docker")},
}


@pytest.mark.parametrize("name", CLEAN)
def test_nearly_all_lines_of_a_clean_log_are_recognised(name: str) -> None:
    kernel = Kernel()
    log = CLEAN[name]
    assert check(kernel, log, 0, len(log)) >= 2700
    # The second time nothing is new.
    assert check(kernel, log, 0, len(log)) == 3000


def test_negative_numbers_stay_recognised() -> None:
    lines = [busy(f" TP{n % 4}", numbers=(1000, 990 + n, -n, 5, 0, 5)).encode() + b"\n" for n in range(2000)]
    log = b"".join(lines)
    assert check(Kernel(), log, 0, len(log)) > 1800


def test_busy_lines_amid_noise() -> None:
    noise = b"[2026-03-01 10:00:00 TP0] Decode batch, #running-req: 7, #token: 19, Memory, Mmm\n" * 30
    log = b"".join(noise + line for line in CLEAN["plain"].splitlines(keepends=True)[:800])
    kernel = Kernel()
    assert check(kernel, log, 0, len(log)) >= 700
    assert check(kernel, log, 0, len(log)) == 800


def test_two_endings_of_one_head() -> None:
    lines = [busy(more=f", withheld={n}" if n % 3 else "").encode() + b"\n" for n in range(900)]
    log = b"".join(lines)
    assert check(Kernel(), log, 0, len(log)) > 800


def test_many_ranks() -> None:
    lines = []
    for rank in range(300):
        for pool in ("full", "swa"):
            lines.append(busy(f" DP{rank // 8} TP{rank}", pool, numbers=(9, 9, 0, 0, 0, 0)).encode() + b"\n")
    log = b"".join(lines)
    kernel = Kernel()
    recognised = [check(kernel, log, 0, len(log)) for _ in range(5)]
    assert recognised[-1] >= 590
    assert len(kernel.streams) == 300


def test_a_line_that_is_new_every_time_is_learnt_ever_more_rarely() -> None:
    lines = [f"({n} pid={n}) ".encode() + busy().encode() + b"\n" for n in range(3000)]
    log = b"".join(lines)
    kernel = Kernel()
    assert check(kernel, log, 0, len(log)) == 0
    assert len(kernel.readings) < 300


def test_forgets_templates_but_not_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_module, "_MOST_HEADS", 5)
    kernel = Kernel()
    for _ in range(3):
        log = CLEAN["plain"]
        check(kernel, log, 0, len(log))
    assert len(kernel._heads) <= 5
    assert len(kernel.streams) == 8
    assert kernel.pools == ["swa", "full"]


def test_a_long_line_and_an_empty_range() -> None:
    log = CLEAN["plain"][:4000].rpartition(b"\n")[0] + b"\n" + b"x" * 900_000 + b"\n" + CLEAN["plain"]
    assert check(Kernel(), log, 0, len(log)) > 2700
    assert list(Kernel().read(b"", 0, 0)) == []


def test_values_are_columns_of_integers() -> None:
    kernel = Kernel()
    log = CLEAN["plain"]
    check(kernel, log, 0, len(log))
    batch = next(kernel.read(log, 0, len(log)))
    assert batch.values.dtype == np.int64
    assert batch.values.shape == (len(FIELDS), batch.n)
    assert (batch.values[1:].sum(axis=0) == batch.values[0]).all()


@given(st.binary(max_size=3000))
def test_count_lines(data: bytes) -> None:
    data = data.replace(b"\x01", b"\n")
    assert count_lines(data, 0, len(data)) == data.count(b"\n")
    assert count_lines(data, len(data) // 3, len(data)) == data.count(b"\n", len(data) // 3)
