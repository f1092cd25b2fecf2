"""Tell a level-1 ring dump from a level-2 stream, and lay a ring that is dumped again over the earlier dump.

At level 1 the server keeps its last 1000 busy messages and logs them all at once when a check leaks, just before the
assertion (0.5.13 on, `self_check_during_busy`). With Python's asserts off it goes on and logs the whole ring again at
every later leak, so most of such a dump was seen before: it is the earlier dump, cut at its front to the ring's
capacity, plus at least one new check at its end.
"""

from __future__ import annotations

from functools import lru_cache

from memcheck_cli.ledger.rows import Row

CAPACITY = 1000
"""Messages (not iterations) that SGLang's ring holds."""

Mark = tuple[object, ...]
Entry = tuple[str, Row]


@lru_cache(maxsize=64)
def second_of(time: str | None) -> int | None:
    """The whole second a server time names, on a scale good for differences; None where there is no time."""
    if time is None:
        return None
    date, _, clock = time.rpartition("T")
    try:
        seconds = int(clock[0:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:8])
        if date:
            year, month, day = int(date[0:4]), int(date[5:7]), int(date[8:10])
            # Days since an arbitrary epoch (civil calendar), without importing datetime on the hot path.
            shifted = year - (month <= 2)
            days = 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400
            days += (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day
            seconds += days * 86400
    except ValueError:
        return None
    return seconds


class Burst:
    """The records of one stream for as long as they may all be one dump, and what is dumped again after it.

    `add` is given every busy record of the stream in order until `over` is True; it answers with the records that are
    new (none while a repeated dump is being read, all that were held back when it turns out to be none).
    """

    __slots__ = ("_checks", "_dump", "_earliest", "_held", "_latest", "_leaked", "over", "repeated")

    def __init__(self) -> None:
        self.over = False
        self.repeated = False
        self._dump: list[Mark] = []  # the burst so far, then the last whole dump
        self._leaked = False  # the last check of `_dump` breaks: it may be a whole dump
        self._held: list[Entry] | None = None  # records after a whole dump, not yet told apart
        self._checks: list[tuple[int, bool]] = []  # per held check: its first record, whether it breaks
        self._earliest: int | None = None
        self._latest: int | None = None

    @property
    def complete(self) -> bool:
        """All records so far are one burst that ends in a leak."""
        return not self.over and self._leaked and not self._held

    @property
    def wants_batches(self) -> bool:
        """A batch line printed now would matter."""
        return not self.over and (bool(self._held) if self._held is not None else bool(self._dump))

    @property
    def held_from(self) -> int | None:
        """Line of the first record that is held back, None where none is."""
        return self._held[0][1].line if self._held else None

    def add(self, pool: str, row: Row, opens: bool, breaks: bool, current_form: bool) -> list[Entry]:
        """One more record. opens: it opens a new check. breaks: it does not balance (or is reported)."""
        if self._held is not None or (opens and self._leaked):
            return self._after_dump(pool, row, opens, breaks)
        if not current_form or len(self._dump) >= CAPACITY or not self._in_time(row):
            self.over = True
            return [(pool, row)]
        self._dump.append(_mark(pool, row))
        self._leaked = breaks or (self._leaked and not opens)
        return [(pool, row)]

    def batch_line(self) -> list[Entry]:
        """A batch line was printed: it ends the burst unless a whole dump stands before it."""
        if self._held:
            fresh = self._settle()
            if self._held:
                return fresh + self.give_up()
            return fresh
        if self._held is None and self._dump and not self._leaked:
            self.over = True
        elif self._held is None and self._leaked:
            self._held = []
        return []

    def end(self) -> list[Entry]:
        """No more records: settle what is held back. Half a repetition is none: its records are new checks."""
        if not self._held:
            return []
        fresh = self._settle()
        return fresh + self.give_up() if self._held else fresh

    def give_up(self) -> list[Entry]:
        """This is no dump: hand back what was held and look no further."""
        held, self._held = self._held or [], []
        self.over = True
        self._dump = []
        return held

    def _in_time(self, row: Row) -> bool:
        second = second_of(row.time)
        if second is None:
            return True
        if self._earliest is None or self._latest is None:
            self._earliest = self._latest = second
            return True
        self._earliest = min(self._earliest, second)
        self._latest = max(self._latest, second)
        return self._latest - self._earliest <= 1

    def _after_dump(self, pool: str, row: Row, opens: bool, breaks: bool) -> list[Entry]:
        if self._held is None:
            self._held = []
        fresh: list[Entry] = []
        if opens and self._checks and self._checks[-1][1]:
            fresh = self._settle()
        if not self._held:
            self._checks = []
            self._earliest = self._latest = None
            if _mark(pool, row) not in self._dump:
                self._held.append((pool, row))
                return fresh + self.give_up()
        self._held.append((pool, row))
        if opens or not self._checks:
            self._checks.append((len(self._held) - 1, breaks))
        elif breaks:
            self._checks[-1] = (self._checks[-1][0], True)
        if len(self._held) > CAPACITY or not self._in_time(row):
            return fresh + self.give_up()
        return fresh

    def _settle(self) -> list[Entry]:
        """Where the held records are the earlier dump plus new checks, keep only those; else hold on."""
        held = self._held or []
        if not self._checks or not self._checks[-1][1]:
            return []
        marks = [_mark(pool, row) for pool, row in held]
        old = self._dump
        for start, _ in reversed(self._checks):
            new = len(marks) - start
            cut = max(0, len(old) + new - CAPACITY)
            # Checks that are all alike prove nothing: numbers may repeat.
            if len(old) - cut == start and marks[:start] == old[cut:] and any(mark != marks[0] for mark in marks):
                fresh = held[start:]
                self._dump = marks
                self._held = []
                self._checks = []
                self.repeated = True
                return fresh
        return []


def _mark(pool: str, row: Row) -> Mark:
    extra = tuple(sorted((name, repr(value)) for name, value in row.extra.items())) if row.extra else ()
    return (pool, row.total, row.terms, extra, row.marks)
