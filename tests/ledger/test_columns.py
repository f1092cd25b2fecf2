"""Records come as columns with the numbers that they have one by one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from made_logs import busy
from skimming import source_of

from memcheck_cli.ledger import Row, Stream
from memcheck_cli.ledger.columns import Columns, Taken, time_text
from memcheck_cli.ledger.reading import read_source
from memcheck_cli.log.kernel import Kernel
from memcheck_cli.log.records import TERMS, Context, Line


class OneByOne:
    """Keeps every record."""

    markers: tuple[bytes, ...] = ()

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], list[tuple[object, ...]]] = {}

    def record(self, stream: Stream, check: str, pool: str, row: Row) -> None:
        assert check == "busy"
        numbers = (row.iteration, row.line, row.time, row.total, *row.terms, *(row.extra or {}).values())
        self.seen.setdefault((stream.rank, pool), []).append(numbers)

    def context(self, run: int, line: Line, message: Context) -> None:
        """No matter."""


class AtOnce(OneByOne):
    """The same of columns."""

    calls = 0

    def has_room(self, records: int) -> bool:
        return True

    def columns(self, stream: Stream, pool: str, taken: Taken) -> None:
        self.calls += 1
        assert tuple(taken.terms) == TERMS
        times = [time_text(when, False) for when in taken.time.tolist()]
        numbers = (column.tolist() for column in (taken.total, *taken.terms.values(), *taken.extra.values()))
        rows = zip(taken.iteration.tolist(), taken.line.tolist(), times, *numbers, strict=True)
        self.seen.setdefault((stream.rank, pool), []).extend(rows)


def test_who_takes_columns_is_told_the_same_numbers():
    lines = [
        busy(
            pool, 1000, 1000 - n, n, 0, 0, 0, rank=rank, clock=f"08:{n // 60:02}:{n % 60:02}", extra=f", held_back={n}"
        )
        for n in range(900)
        for rank in ("TP0", "TP1")
        for pool in ("full", "swa")
    ]
    text = ("\n".join(lines) + "\n").encode()
    one, all_of_them = OneByOne(), AtOnce()
    read_source(source_of(text), one, exact=True)
    read_source(source_of(text), all_of_them, head=0, kernel_from=4, block=16 << 10)
    assert all_of_them.calls >= 4
    assert all_of_them.seen == one.seen
    assert len(one.seen["TP1", "swa"]) == 900


def batch_of(offsets: list[int]) -> SimpleNamespace:
    numbers = np.array(offsets)
    names = ("offset", "end", "time", "reading", "stream", "pool")
    return SimpleNamespace(values=np.array([offsets]), **dict.fromkeys(names, numbers))


@pytest.mark.parametrize(
    ("capacity", "span", "parts"),
    [
        (100, 1 << 62, [[0, 10, 20, 30, 90]]),
        (2, 1 << 62, [[0, 10], [20, 30], [90]]),
        (100, 50, [[0, 10, 20, 30], [90]]),
    ],
)
def test_columns_are_flushed_where_they_are_full(capacity: int, span: int, parts: list[list[int]]):
    columns = Columns(Kernel(), capacity, span)
    flushed: list[list[int]] = []

    def flush() -> None:
        flushed.append(columns.offset[: columns.n].tolist())
        assert columns.line[: columns.n].tolist() == [offset + 1 for offset in flushed[-1]]
        columns.n = 0

    offsets = [0, 10, 20, 30, 90]
    for lo, hi in ((0, 1), (1, 4), (4, 5)):
        columns.extend(batch_of(offsets), lo, hi, 0, np.array(offsets[lo:hi]) + 1, flush)
    flush()
    assert flushed == parts
