"""Numbers of many lines at once: the texts between them, the tail behind them, and the digits themselves."""

from __future__ import annotations

import numpy as np

from memcheck_cli.log.blocks import ABOVE_NINE, HIGH, ZEROS, Array, Scratch, Windows
from memcheck_cli.log.tables import words_of
from memcheck_cli.log.templates import FIELDS, Piece

_ONE, _EIGHT, _TEN = np.uint64(1), np.uint64(8), np.uint64(10)
_QUADS = np.uint64(0x000000FF000000FF)
_QUADS_UP = np.uint64(100 + (1_000_000 << 32))
_QUADS_DOWN = np.uint64(1 + (10_000 << 32))
_POWERS = np.array([10**exponent for exponent in range(9)], np.int64)


class Ending:
    """What stands behind a head: the texts between the numbers, where the numbers go, and the tail.

    slow: positions of the numbers that were seen negative or with more than eight digits; those take another path.
    """

    __slots__ = ("columns", "gaps", "in_order", "slow", "tail", "tail_digits", "tail_mask", "tail_text")

    def __init__(self, columns: tuple[int, ...], gaps: tuple[bytes, ...], tail: Piece) -> None:
        self.columns = columns
        self.in_order = columns == tuple(range(len(columns)))
        # Every gap as words that end where the number begins: (words, masks of the bytes that belong to the gap).
        self.gaps = []
        for gap in gaps:
            width = -(-len(gap) // 8) * 8
            text = words_of([gap.rjust(width, b"\0")], 0, width)[0]
            mask = words_of([(b"\xff" * len(gap)).rjust(width, b"\0")], 0, width)[0]
            self.gaps.append((len(gap), text, [None if word == 2**64 - 1 else word for word in mask]))
        self.tail = tail
        self.slow: set[int] = set()
        width = -(-len(tail.text) // 8) * 8
        self.tail_text = words_of([tail.text], 0, width)[0]
        self.tail_mask = words_of([tail.mask], 0, width)[0]
        digits = bytes(255 - keep for keep in tail.mask)
        self.tail_digits = words_of([digits], 0, width)[0] if any(digits) else None

    def note(self, values: Array) -> None:
        """Remembers which numbers of these rows, read the careful way, are beyond the fast way."""
        for index, column in enumerate(self.columns):
            row = values[column]
            if len(row) and (row.min() < 0 or row.max() >= 10**8):
                self.slow.add(index)

    def read(
        self, windows: Windows, scratch: Scratch, first: Array, careful: bool = False
    ) -> tuple[Array, Array | None, Array]:
        """Reads numbers and tail behind heads. first: where the first digit stands; it is overwritten.

        Returns (values, None or an array that is not 0 where a row does not fit, where each line ends).
        """
        n, get, count = len(first), scratch.get, len(self.columns)
        wrong, x, y = get("wrong", n), get("x", n), get("y", n)
        low, size, shift = get("low", n, np.uint8), get("size", n, np.uint8), get("shift", n, np.uint8)
        words = scratch.fields("words", count, n)
        slow: dict[int, Array] = {}
        wrong.fill(0)
        low.fill(255)
        place = first
        for index in range(count):
            if index:
                length, text, masks = self.gaps[index - 1]
                np.add(place, length, out=place)
                lead = len(text)
                got = windows.gather(8 * lead + 16, place - 8 * lead)
                for column in range(lead):
                    np.bitwise_xor(got[:, column], text[column], out=x)
                    mask = masks[column]
                    if mask is not None:
                        np.bitwise_and(x, mask, out=x)
                    np.bitwise_or(wrong, x, out=wrong)
                digits = got[:, lead]
            else:
                digits = windows.gather(16, place)[:, 0]
            if careful or index in self.slow:
                slow[index] = _careful_number(windows, place, digits, wrong)
                continue
            word = words[index]
            np.bitwise_xor(digits, ZEROS, out=word)
            # A bit at the top of every byte that is no digit; count the zeros below the lowest: 8 * digits + 7, or 64.
            np.add(word, ABOVE_NINE, out=x)
            np.bitwise_or(x, word, out=x)
            np.bitwise_and(x, HIGH, out=x)
            np.subtract(x, _ONE, out=y)
            np.invert(x, out=x)
            np.bitwise_and(x, y, out=x)
            np.bitwise_count(x, out=size)
            np.minimum(low, size, out=low)
            np.bitwise_and(size, 0x78, out=shift)
            np.subtract(64, shift, out=shift)
            np.copyto(x, shift)
            np.left_shift(word, x, out=word)
            np.right_shift(size, 3, out=size)
            np.add(place, size, out=place)
        if low.min() < 8:
            np.bitwise_or(wrong, low < 8, out=wrong)
        _to_numbers(words, scratch.fields("more", count, n))
        values = self._place(words, slow, n)
        self._check_tail(windows, place, wrong)
        np.add(place, len(self.tail.text), out=place)
        return values, (wrong if wrong.any() else None), place

    def _place(self, words: Array, slow: dict[int, Array], n: int) -> Array:
        if self.in_order and len(self.columns) >= len(FIELDS):
            values = words.view(np.int64)
            for index, column in slow.items():
                values[index] = column
            return values
        values = np.zeros((max(len(FIELDS), max(self.columns) + 1), n), np.int64)
        for index, column in enumerate(self.columns):
            values[column] = slow[index] if index in slow else words[index].view(np.int64)
        return values

    def _check_tail(self, windows: Windows, place: Array, wrong: Array) -> None:
        if len(self.tail.text) == 1:
            feeds = windows.bytes.take(place, mode="clip")
            if (feeds != 10).any():
                np.bitwise_or(wrong, feeds != 10, out=wrong)
            return
        columns = len(self.tail_text)
        window = windows.gather(8 * columns, place)
        left = window ^ self.tail_text
        left &= self.tail_mask
        if left.any():
            np.bitwise_or(wrong, left.any(axis=1), out=wrong)
        if self.tail_digits is not None:
            window ^= ZEROS
            window &= self.tail_digits
            window |= window + ABOVE_NINE
            window &= HIGH
            if window.any():
                np.bitwise_or(wrong, window.any(axis=1), out=wrong)


def _careful_number(windows: Windows, place: Array, digits: Array, wrong: Array) -> Array:
    """A number of up to sixteen digits, perhaps negative. Moves `place` behind it."""
    negative = (digits & np.uint64(255)) == 0x2D
    np.add(place, negative, out=place)
    pair = windows.gather(16, place)
    high, low = pair[:, 0] ^ ZEROS, pair[:, 1] ^ ZEROS
    sizes = []
    for word in (high, low):
        flags = (word | (word + ABOVE_NINE)) & HIGH
        size = (np.bitwise_count((flags - _ONE) & ~flags) >> 3).astype(np.uint64)
        word <<= np.uint64(64) - (size << np.uint64(3))
        sizes.append(size)
    more = np.where(sizes[0] == 8, sizes[1], 0).astype(np.int64)
    np.bitwise_or(wrong, sizes[0] == 0, out=wrong)
    both = np.stack((high, low))
    _to_numbers(both, np.empty_like(both))
    numbers = both.view(np.int64)
    value = numbers[0] * _POWERS[more] + np.where(more > 0, numbers[1], 0)
    np.add(place, sizes[0].astype(np.int64) + more, out=place)
    return np.where(negative, -value, value)


def _to_numbers(words: Array, more: Array) -> None:
    """Eight digits (0 to 9 in each byte, the first in the lowest) to the number they are, in place."""
    np.multiply(words, _TEN, out=more)
    np.right_shift(words, _EIGHT, out=words)
    np.add(words, more, out=words)
    np.right_shift(words, np.uint64(16), out=more)
    np.bitwise_and(words, _QUADS, out=words)
    np.multiply(words, _QUADS_UP, out=words)
    np.bitwise_and(more, _QUADS, out=more)
    np.multiply(more, _QUADS_DOWN, out=more)
    np.add(words, more, out=words)
    np.right_shift(words, np.uint64(32), out=words)
