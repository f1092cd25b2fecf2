"""The kernel gives what a plain regular expression gives, on any line, and hands back every line it does not know."""

from __future__ import annotations

import random
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
    # A month 13 makes no time of whatever clock stands behind it.
    rf"\[(?:(?:(?P<date>20\d\d-(?!13)\d\d-\d\d) )?(?P<clock>{_CLOCK}(?:[.,]\d{{3}})?)"
    r"|20\d\d-13-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?)(?P<rank>(?: [A-Z_]+\d+)*)\] "
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
    time = parts["clock"].replace(",", ".") if parts["clock"] else None
    if time and parts["date"]:
        time = f"{parts['date']}T{time}"
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


def reference_of(raw: bytes) -> tuple[Line, Busy]:
    found = reference(raw)
    assert found is not None
    return found


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


def check(kernel: Kernel, data: bytes, start: int, stop: int, teach: bool = True) -> int:
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
        covered = sorted(covered + batch.gaps())
        feeds = [place for place in range(batch.start, batch.stop) if data[place] == 10]
        assert batch.feeds is None or batch.feeds.tolist() == feeds
        assert [first for first, _ in covered] == [batch.start, *(end for _, end in covered[:-1])]
        assert covered[-1][1] == batch.stop
        for row, first, end in reversed(batch.unread):
            places.insert(row, (first, end))
        seen += places
        for _, first, end in batch.unread:
            raw = data[first:end]
            found = reference(raw)
            if found is not None and teach:
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
CLOCKS = ("10:00:00", "23:59:59", "23:59:60", "00:00:00", "24:00:00", "29:00:00", "10:60:00", "10:59:61", "1a:00:00")
ODD_NUMBERS = (
    *("007", "-0", "+5", "", "-", "--5", "00000000012", "1.5", " 5", "5 ", "0x1F", "None", "12345678", "99999999"),
    *("123456789", "-5", "-12345678", "-123456789012", "9" * 15, "9" * 16, "9" * 17, "9" * 18, "9" * 19, "1" * 40),
)
EXTRAS = (
    *("", "", ", withheld={}", ", withheld={}, double_owned={}", ", free_list_duplicates={}"),
    *(", free_list_duplicates=0, withheld={}", ", dcp_physical_page_slack_allowed=True", ", class_free_pages=[1, {}]"),
)
RANKS = ("", " TP0", " TP1", " TP10", " DP1 TP1 EP1", " PP0 ATTN_CP0 MOE_DP1 TP3")
STAMPS = (("2026-03-01 ", ""), ("2026-03-02 ", ""), ("2026-03-01 ", ".{:03}"), ("2026-03-01 ", ",{:03}"), ("", ""))


class Style:
    """What the lines of one writer have in common."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.wrap = WRAPPERS[rng.choice(["none", "none", *WRAPPERS])]
        self.end = rng.choice(["\n", "\n", "\r\n"])
        self.rank, self.pool = rng.choice(RANKS), rng.choice(["full", "swa", "mamba-int8"])
        self.day, self.fraction = rng.choice(STAMPS)
        if rng.random() < 0.05:
            self.day = "2026-13-01 "
        self.extra = rng.choice(EXTRAS)

    def line(self, odd: bool) -> bytes:
        rng = self.rng
        numbers = [str(rng.randrange(10 ** rng.randrange(1, 8))) for _ in FIELDS]
        clock = (
            rng.choice(CLOCKS) if odd and rng.random() < 0.3 else f"{rng.randrange(24):02}:{rng.randrange(60):02}:07"
        )
        if odd and rng.random() < 0.4:
            numbers[rng.randrange(len(numbers))] = rng.choice(ODD_NUMBERS)
        extra = self.extra.format(*(rng.choice(ODD_NUMBERS) if odd else rng.randrange(9999) for _ in range(2)))
        if odd and rng.random() < 0.1:
            extra = rng.choice(EXTRAS).format(1, 2)
        time = self.day + clock + self.fraction.format(rng.randrange(1000))
        raw = self.wrap(busy(self.rank, self.pool, time, tuple(numbers), extra), self.end).encode()
        return mutated(rng, raw) if odd and rng.random() < 0.6 else raw


def mutated(rng: random.Random, raw: bytes) -> bytes:
    """A line with a byte too many, too few, or another, cut, or torn into another."""
    at = rng.randrange(len(raw))
    other = rng.choice([b" ", b"[", b"0", b"9", b"a", b"-", b",", b"=", b"\r", b"\n", b"\xff", b"\0", b"/", b":"])
    what = rng.randrange(7)
    if what == 0:
        return raw[:at] + raw[at + rng.choice([1, 1, 2, 30]) :]
    if what == 1:
        return raw[:at] + raw[: rng.randrange(len(raw))] + raw[at:]
    if what == 2:
        return raw.rstrip() + other + b"\n"
    if what == 3:
        # Two bytes changed places: where both are in one word only an exact comparison sees it.
        return raw[:at] + raw[at + 1 : at + 2] + raw[at : at + 1] + raw[at + 2 :]
    return raw[:at] + other + raw[at + 1 :] if what < 6 else raw[:at] + other + raw[at:]


SHORT = (
    b"\n",
    b"\n\n\n",
    b"\r\n",
    b"Memory Mmmm [Mem noise\n",
    b"x" * 300 + b"\n",
    b"[Mem Check\n",
    b"M\nM\n",
    b"[Mem Che\n",
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_any_lines_in_any_pieces(seed: int) -> None:
    rng = random.Random(seed)
    styles = [Style(rng) for _ in range(rng.randrange(1, 4))]
    kernel = Kernel()
    taught = b"".join(style.line(False) for style in styles for _ in range(2))
    check(kernel, taught, 0, len(taught))
    lines = []
    for _ in range(rng.randrange(1, 80)):
        lines.append(rng.choice(SHORT) if rng.random() < 0.15 else rng.choice(styles).line(rng.random() < 0.7))
    log = b"".join(lines)[: rng.choice([-1, None, None])]
    lead = rng.choice([b"", b"x" * 100, b"a 1\n" * (MARGIN // 4 + 1)])
    behind = rng.choice([b"", b"7\n" + b"x" * MARGIN, b"7, \n" * (MARGIN // 4), b"\n" * MARGIN])
    whole = lead + log + behind
    ends = [0, *[found.end() for found in re.finditer(b"\n", log)], len(log)]
    cuts = sorted({0, len(log), *rng.choices(ends, k=3)})
    with mock.patch.object(kernel_module, "BLOCK", rng.choice([64, 300, 1000, 4096, 1 << 18])):
        for dense in (False, True):
            for first, last in pairwise(cuts):
                kernel._dense = dense
                check(kernel, whole, len(lead) + first, len(lead) + last)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("time", ["2026-03-01 10:00:00", "2026-03-01 10:00:00.125", "10:00:00"])
def test_every_byte_counts(wrapper: str, time: str) -> None:
    """One byte of a known line is another: only digits of clocks and numbers may be."""
    raw = WRAPPERS[wrapper](busy(time=time, more=", withheld=5"), "\n").encode()
    others = [bytes((byte,)) for byte in b"09:;/.a- \r\n\xb0\0" if byte != 10]
    lines = [raw[:at] + other + raw[at + 1 :] for at in range(len(raw) - 1) for other in others]
    kernel = Kernel()
    kernel.learn(raw, *reference_of(raw))
    log = b"".join(lines)
    assert check(kernel, log, 0, len(log), teach=False) > 50
    kernel._dense = True
    assert check(kernel, log, 0, len(log), teach=False) > 50


def test_two_tags_that_differ_late() -> None:
    """The tag is longer than a word; what only begins like it is none."""
    line = busy().encode() + b"\n"
    log = line * 3 + line.replace(b"[Mem Check", b"[Mem Cheat") * 2 + line
    assert check(Kernel(), log, 0, len(log)) == 0
    assert check(Kernel(b"[Mem Che"), line * 90, 0, 90 * len(line)) >= 50


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
    log = CLEAN["plain"][:20_000].rpartition(b"\n")[0] + b"\n"
    for _ in range(3):
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
