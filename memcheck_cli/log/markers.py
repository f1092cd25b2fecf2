"""Lines that contain one of a few fixed byte strings, found at the speed of memchr, with the standard library alone.

`bytes.find` of a single byte runs at 30 to 100 GB/s, of a longer string at 3, an alternation of many strings in `re` at
less than 0.2.
So one byte is sought that many markers share and that nearly no other line has; where it occurs the line is looked at.
Which bytes those are depends on the log, and is decided on a sample of it, anew whenever too many lines are looked at
in vain. A marker all of whose bytes are frequent is sought as it stands, at the cost of all others together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SAMPLE = 32 * 1024
_PIECES = 16

# Costs in ns: of a byte passed over by the search for one byte, and for a whole marker; of a line that is looked at.
_ONE_BYTE = 0.02
_WHOLE = 0.35
_HIT = 500.0


class Markers:
    """Finds lines that contain any of `markers` (non-empty, without line feeds)."""

    def __init__(self, markers: Iterable[bytes]) -> None:
        self.markers = tuple(dict.fromkeys(markers))
        if not self.markers or not all(self.markers) or any(b"\n" in marker for marker in self.markers):
            raise ValueError("markers must be non-empty and without line feeds")
        self._plan: list[tuple[bytes, re.Pattern[bytes], float]] | None = None
        # What a byte of the log cost with each needle, from the lines looked at in vain; fades when not renewed.
        self._paid: dict[int, float] = {}
        self._passed = 0
        self._until = 1 << 20

    @property
    def needles(self) -> tuple[bytes, ...]:
        """What is sought at present: single bytes, and the markers that have no rare byte. Empty before the first
        search. For choosing markers well."""
        return tuple(needle for needle, _, _ in self._plan or ())

    def find(self, data: bytes | bytearray, start: int, stop: int) -> list[tuple[int, int]]:
        """Start and end (behind the line feed) of every line of data[start:stop] with a marker, in order, each once.

        The range begins where a line begins. Its last line may lack its line feed.
        """
        if self._plan is None or (self._passed > self._until and len(self._plan) > 1):
            self._decide(data, start, stop)
        plan = self._plan or []
        found: list[tuple[int, int]] = []
        size = stop - start
        self._passed += size
        again = False
        for needle, pattern, expected in plan:
            if len(needle) > 1:
                _by_marker(data, start, stop, needle, found)
                continue
            vain = _by_byte(data, start, stop, needle, pattern, found)
            if vain > 16 + 2 * size * expected:
                # The log is not as the sample was: perhaps another byte is better.
                self._paid[needle[0]] = _HIT * vain / size
                again = True
        if again:
            self._plan = None
        return sorted(set(found)) if len(plan) > 1 else found

    def _decide(self, data: bytes | bytearray, start: int, stop: int) -> None:
        sample = _sample(data, start, stop)
        size = max(len(sample), 1)
        # Bytes that the markers themselves bring are no cost: a sample full of marked lines says nothing else.
        for marker in self.markers:
            sample = sample.replace(marker, b"")
        price: dict[int, float] = {}
        for byte in {byte for marker in self.markers for byte in marker}:
            price[byte] = _ONE_BYTE + max(_HIT * sample.count(byte) / size, self._paid.get(byte, 0.0))
        left = set(self.markers)
        plan: list[tuple[bytes, re.Pattern[bytes], float]] = []
        while left:
            shares = {byte: [marker for marker in left if byte in marker] for byte in price}
            best = min((byte for byte in price if shares[byte]), key=lambda byte: price[byte] / len(shares[byte]))
            if price[best] > _WHOLE * len(shares[best]):
                break
            plan.append((bytes((best,)), _pattern(shares[best]), (price[best] - _ONE_BYTE) / _HIT))
            left.difference_update(shares[best])
        plan += [(marker, _pattern([marker]), 0.0) for marker in sorted(left)]
        self._plan = plan
        # A log's beginning is unlike the rest, so the choice is looked at again, ever more rarely.
        self._passed, self._until = 0, min(2 * self._until, 1 << 26)
        self._paid = {byte: paid * 0.75 for byte, paid in self._paid.items() if paid > _ONE_BYTE / 8}


def _pattern(markers: Iterable[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(marker) for marker in sorted(markers)))


def _sample(data: bytes | bytearray, start: int, stop: int) -> bytes:
    """A few pieces from all over the range."""
    if stop - start <= SAMPLE:
        return bytes(data[start:stop])
    piece, step = SAMPLE // _PIECES, (stop - start - SAMPLE // _PIECES) // (_PIECES - 1)
    return b"".join(bytes(data[at : at + piece]) for at in range(start, start + step * _PIECES, step))


def _by_byte(
    data: bytes | bytearray,
    start: int,
    stop: int,
    needle: bytes,
    pattern: re.Pattern[bytes],
    found: list[tuple[int, int]],
) -> int:
    """Adds the lines in which the byte occurs and the pattern too. Returns in how many it occurs in vain."""
    find, search, vain = data.find, pattern.search, 0
    place = find(needle, start, stop)
    while place >= 0:
        first = data.rfind(b"\n", start, place) + 1 or start
        start = find(b"\n", place, stop) + 1 or stop
        if search(data, first, start):
            found.append((first, start))
        else:
            vain += 1
        place = find(needle, start, stop)
    return vain


def _by_marker(data: bytes | bytearray, start: int, stop: int, marker: bytes, found: list[tuple[int, int]]) -> None:
    place = data.find(marker, start, stop)
    while place >= 0:
        first = data.rfind(b"\n", start, place) + 1 or start
        start = data.find(b"\n", place, stop) + 1 or stop
        found.append((first, start))
        place = data.find(marker, start, stop)
