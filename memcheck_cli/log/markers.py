"""Lines that contain one of a few fixed byte strings, found at the speed of memchr, with the standard library alone.

`bytes.find` of a single byte runs at 30 to 100 GB/s, of a longer string at 2 to 3, an alternation of many strings in
`re` at less than 0.2. So one byte is sought that many markers share and that nearly no other line has; where it occurs
the line is looked at. Which bytes those are depends on the log, and is decided on a sample of it, anew whenever too
many lines are looked at in vain. A marker all of whose bytes are frequent is sought as it stands, at the cost of all
others together.

Where some lines are known already (`gaps` names the stretches between them), bytes that those lines hold too are sought
in the gaps alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

SAMPLE = 12 * 1024
_PIECES = 12

# Costs in ns: of a byte passed over by the search for one byte, and for a whole marker; of a line that is looked at; of
# a search in one gap.
_ONE_BYTE = 0.015
_WHOLE = 0.45
_HIT = 400.0
_GAP = 80.0

Span = tuple[int, int]


class _Needle:
    """What is sought: a byte that `group` share, or one whole marker. expected: hits in vain a byte of log."""

    __slots__ = ("expected", "group", "text")

    def __init__(self, text: bytes, group: tuple[bytes, ...], expected: float) -> None:
        self.text = text
        self.group = group
        self.expected = expected


class Markers:
    """Finds lines that contain any of `markers` (non-empty, without line feeds)."""

    def __init__(self, markers: Iterable[bytes]) -> None:
        self.markers = tuple(dict.fromkeys(markers))
        if not self.markers or not all(self.markers) or any(b"\n" in marker for marker in self.markers):
            raise ValueError("markers must be non-empty and without line feeds")
        self._plan: list[_Needle] | None = None
        # What a byte of the log cost with each needle, from the lines looked at in vain; fades when not renewed.
        self._paid: dict[int, float] = {}
        self._inside: set[int] = set()  # bytes of the lines between gaps
        self._passed = 0
        self._until = 1 << 20

    @property
    def needles(self) -> tuple[bytes, ...]:
        """What is sought at present: single bytes, and the markers that have no rare byte. Empty before the first
        search. For choosing markers well."""
        return tuple(needle.text for needle in self._plan or ())

    def find(self, data: bytes | bytearray, start: int, stop: int, gaps: Sequence[Span] | None = None) -> list[Span]:
        """Start and end (behind the line feed) of every line of data[start:stop] with a marker, in order, each once.

        The range begins where a line begins. Its last line may lack its line feed. gaps: the stretches of whole lines,
        in order, that are looked at; None for the whole range.
        """
        if gaps is not None and not gaps:
            return []
        if self._plan is None or (self._passed > self._until and len(self._plan) > 1):
            self._decide(data, [(start, stop)] if gaps is None else gaps)
        plan = self._plan or []
        found: list[Span] = []
        size = stop - start
        self._passed += size
        again = False
        for needle in plan:
            text, group = needle.text, needle.group
            where: Sequence[Span] = ((start, stop),)
            byte = text[0]
            if gaps is not None and (
                byte in self._inside if len(text) == 1 else _WHOLE * size > len(gaps) * _GAP + _WHOLE * _bytes_in(gaps)
            ):
                where = gaps
            if len(text) > 1:
                for a, b in where:
                    _by_marker(data, a, b, text, found)
                continue
            find = data.find
            vain = 0
            for a, b in where:
                place = find(text, a, b)
                if place >= 0:
                    vain += _by_byte(data, a, b, place, text, group, found)
            if vain > 16 + 2 * size * needle.expected:
                if gaps is not None and where is not gaps:
                    self._inside.add(byte)
                else:
                    # The log is not as the sample was: perhaps another byte is better.
                    self._paid[byte] = _HIT * vain / size
                    again = True
        if again:
            self._plan = None
        if found and gaps is not None:
            begins = [a for a, _ in gaps]
            found = [span for span in found if (at := bisect_right(begins, span[0])) and span[0] < gaps[at - 1][1]]
        return sorted(set(found)) if len(plan) > 1 else found

    def _decide(self, data: bytes | bytearray, gaps: Sequence[Span]) -> None:
        sample = _sample(data, gaps)
        between = b"".join(bytes(data[one[1] : min(two[0], one[1] + 400)]) for one, two in pairwise(gaps[:9]))
        self._inside = set(between)
        size = max(len(sample), 1)
        # Bytes that the markers themselves bring are no cost: a sample full of marked lines says nothing else.
        for marker in self.markers:
            sample = sample.replace(marker, b"")
        price: dict[int, float] = {}
        for byte in {byte for marker in self.markers for byte in marker}:
            price[byte] = _ONE_BYTE + max(_HIT * sample.count(byte) / size, self._paid.get(byte, 0.0))
        left = set(self.markers)
        groups: dict[int, set[bytes]] = {}
        while left:
            shares = {byte: sum(byte in marker for marker in left) for byte in price}
            best = min((byte for byte in price if shares[byte]), key=lambda byte: price[byte] / shares[byte])
            if price[best] > _WHOLE * shares[best]:
                break
            group = {marker for marker in left if best in marker}
            groups[best] = group
            left -= group
        _spare(groups, price)
        plan = [
            _Needle(bytes((byte,)), tuple(sorted(group)), (price[byte] - _ONE_BYTE) / _HIT)
            for byte, group in groups.items()
        ]
        plan += [_Needle(marker, (marker,), 0.0) for marker in sorted(left)]
        self._plan = plan
        # A log's beginning is unlike the rest, so the choice is looked at again, ever more rarely.
        self._passed, self._until = 0, min(2 * self._until, 1 << 26)
        self._paid = {byte: paid * 0.75 for byte, paid in self._paid.items() if paid > _ONE_BYTE / 8}


def _spare(groups: dict[int, set[bytes]], price: dict[int, float]) -> None:
    """Leave out bytes whose markers all hold another one that is sought anyway, the dearest first."""
    for byte in sorted(groups, key=lambda byte: price[byte], reverse=True):
        others = [other for other in groups if other != byte]
        if all(any(other in marker for other in others) for marker in groups[byte]):
            for marker in groups.pop(byte):
                groups[min((other for other in others if other in marker), key=lambda other: price[other])].add(marker)


def _bytes_in(gaps: Sequence[Span]) -> int:
    return sum(b - a for a, b in gaps)


def _sample(data: bytes | bytearray, gaps: Sequence[Span]) -> bytes:
    """A few pieces from all over the gaps."""
    if len(gaps) > 1:
        chosen = gaps[:: -(-len(gaps) // _PIECES)]
        return b"".join(bytes(data[a : min(b, a + SAMPLE // len(chosen))]) for a, b in chosen)
    start, stop = gaps[0]
    if stop - start <= SAMPLE:
        return bytes(data[start:stop])
    piece, step = SAMPLE // _PIECES, (stop - start - SAMPLE // _PIECES) // (_PIECES - 1)
    return b"".join(bytes(data[at : at + piece]) for at in range(start, start + step * _PIECES, step))


def _by_byte(
    data: bytes | bytearray,
    start: int,
    stop: int,
    place: int,
    needle: bytes,
    group: tuple[bytes, ...],
    found: list[Span],
) -> int:
    """Adds the lines in which the byte occurs (first at `place`) and a marker of the group too. Returns in how many it
    occurs in vain."""
    find, vain = data.find, 0
    while place >= 0:
        first = data.rfind(b"\n", start, place) + 1 or start
        start = find(b"\n", place, stop) + 1 or stop
        for marker in group:
            if find(marker, first, start) >= 0:
                found.append((first, start))
                break
        else:
            vain += 1
        place = find(needle, start, stop)
    return vain


def _by_marker(data: bytes | bytearray, start: int, stop: int, marker: bytes, found: list[Span]) -> None:
    place = data.find(marker, start, stop)
    while place >= 0:
        first = data.rfind(b"\n", start, place) + 1 or start
        start = data.find(b"\n", place, stop) + 1 or stop
        found.append((first, start))
        place = data.find(marker, start, stop)
