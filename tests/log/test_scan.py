"""What the scanner hands to a sink, and what it asks of it."""

from __future__ import annotations

from made_logs import busy, prefix

from memcheck_cli.log.kernel import MARGIN
from memcheck_cli.log.records import Busy, Line, Message
from memcheck_cli.log.scan import Scanner, Sink


class Steady:
    """Nothing is wanted but what always matters."""

    settled = True
    wants_batches = wants_startup = wants_every_line = False


class Lines(Sink):
    """Takes lines and nothing else."""

    def __init__(self) -> None:
        super().__init__(Steady())
        self.numbers: list[int] = []

    def fold(self, line: Line, message: Message | None, /) -> None:
        if isinstance(message, Busy):
            self.numbers.append(line.number)


class Rows(Lines):
    """Takes columns too."""

    def takes(self, streams: object, /) -> bool:
        return True

    def rows(self, kernel: object, batch: object, lo: int, hi: int, base: int, lines, /) -> None:
        self.numbers += lines.tolist()


def scanned(sink: Sink, lines: list[str], kernel_from: int) -> Scanner:
    text = "".join(line + "\n" for line in lines).encode()
    data = bytearray(b"\0" * MARGIN + text + b"\0" * MARGIN)
    scanner = Scanner(sink, kernel_from, 0, len(text))
    half = data.index(b"\n", MARGIN + len(text) // 2) + 1
    scanner.scan(data, MARGIN, half, -MARGIN)
    scanner.scan(data, half, MARGIN + len(text), -MARGIN)
    scanner.finish()
    return scanner


RECORDS = [busy("full", 1000, 1000 - n, n, rank="TP0") for n in range(600)]
SCATTERED = [line for record in RECORDS for line in (record, *[prefix() + "nothing that matters"] * 9)]


def test_who_says_nothing_else_is_handed_every_record_as_a_line():
    sink = Lines()
    assert scanned(sink, SCATTERED, 1 << 62).lines == len(SCATTERED)
    assert sink.numbers == list(range(1, len(SCATTERED), 10))


def test_rows_have_the_numbers_of_their_lines():
    sink = Rows()
    scanned(sink, SCATTERED, 8)
    assert sink.numbers == list(range(1, len(SCATTERED), 10))


def test_scattered_is_said_where_records_stand_far_apart():
    assert scanned(Rows(), SCATTERED, 8).scattered
    assert not scanned(Rows(), RECORDS, 8).scattered
    assert not scanned(Rows(), SCATTERED, 1 << 62).scattered
