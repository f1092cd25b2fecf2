"""Learnt heads as arrays: how the kernel finds, for a thousand lines at once, which head each begins with.

A head is told by a few of its 64-bit words, those that no clock digit of any head touches and that differ most. A
random multiplier that sends all heads to different slots of a small table is sought once; afterwards a multiplication,
a shift and a look-up name the only head that a line can have, and comparing all bytes with it decides.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from memcheck_cli.log.blocks import ABOVE_NINE, HIGH, ZEROS, Array, Scratch, Windows
from memcheck_cli.log.templates import Piece

NO_TIME = -(1 << 62)
"""Time of lines without a time of their own."""
UNDATED = -(1 << 60)
"""Time of lines whose time has no date: UNDATED + milliseconds since midnight."""

_DAY = 86_400_000
_WORDS = 4

_ONE, _EIGHT, _TEN = np.uint64(1), np.uint64(8), np.uint64(10)
_CLOCK = np.uint64(int.from_bytes(b"00:00:00", "little"))
_FRACTION = np.uint64(int.from_bytes(b".000\0\0\0\0", "little"))
_PAIRS = np.uint64(0x00FF_0000_FF00_00FF)
_RANGES = np.uint64((128 - 24) | (128 - 60) << 24 | (128 - 61) << 48)
_MINUTES = np.uint64(60 | 3600 << 24)


class HeadRow(NamedTuple):
    """What the tables need of one learnt head. endings: ending code to reading code, the preferred ending first."""

    piece: Piece
    anchor: int
    clock: int
    day: int
    dated: bool
    fraction: bool
    endings: dict[int, int]


def words_of(texts: Sequence[bytes], shift: int, width: int) -> Array:
    """Byte strings as rows of little-endian 64-bit words, each beginning `shift` bytes into its row of `width`."""
    rows = b"".join((b"\0" * shift + text).ljust(width, b"\0") for text in texts)
    return np.frombuffer(rows, "<u8").reshape(len(texts), width // 8).copy()


class Tables:
    """Arrays over all heads (T of them) for one state of learning.

    shift: bytes before a line's start at which its window begins, so that a common clock stands at a whole word.
    width: bytes of the window. text, mask: (T, width/8) words of the heads. columns: the words that make the hash,
    masks and factors: uint64 scalars for each. slots: hash to head. size: bytes of each head. anchors: the different
    distances from a line's start to the tag, the longest first. clock: (T,) where the clock stands, common_clock: the
    word of the window it is at if all heads agree, else -1. base: (T,) milliseconds that a clock counts from.
    has_clock, has_fraction: (T,) 0 or 1. outer: None, or (T, width/8) words with 255 for every masked digit that is not
    the line's own clock. first: (T,) preferred ending, one_ending: that ending if all heads have the same, else -1.
    reading: (T, E) reading code or -1.
    """

    def __init__(self, heads: Sequence[HeadRow], endings: int) -> None:
        clocks = {head.clock for head in heads}
        clock = next(iter(clocks)) if len(clocks) == 1 else -1
        self.shift = -clock % 8 if clock >= 0 else 0
        longest = max(len(head.piece.text) for head in heads)
        # Room behind the longest head so that the word with the milliseconds is inside.
        self.width = -(-(longest + self.shift) // 8) * 8
        texts = [head.piece.text for head in heads]
        masks = [head.piece.mask for head in heads]
        self.text = words_of(texts, self.shift, self.width)
        self.mask = words_of(masks, self.shift, self.width)
        self.size = np.array([len(text) for text in texts], np.int64)
        self.anchors = sorted({head.anchor for head in heads}, reverse=True)
        self.clock = np.array([max(head.clock, 0) for head in heads], np.int64)
        self.common_clock = (clock + self.shift) // 8 if clock >= 0 else -1
        self.base = np.array(
            [NO_TIME if h.clock < 0 else h.day * _DAY if h.dated else UNDATED for h in heads], np.int64
        )
        self.has_clock = np.array([head.clock >= 0 for head in heads], np.int64)
        self.has_fraction = np.array([head.fraction for head in heads], np.int64)
        self.fractions = len({head.fraction for head in heads}) == 1 and heads[0].fraction
        self.any_fraction = bool(self.has_fraction.any())
        outer = [_outer_digits(head) for head in heads]
        self.outer = words_of(outer, self.shift, self.width) if any(any(row) for row in outer) else None
        self.first = np.array([next(iter(head.endings)) for head in heads], np.int64)
        self.one_ending = -1
        self.prefer(int(self.first[0]), self.first[:0])
        self.reading = np.full((len(heads), endings), -1, np.int32)
        for row, head in enumerate(heads):
            for ending, reading in head.endings.items():
                self.reading[row, ending] = reading
        self.columns, self.masks = _telling_words(self.text, self.mask)
        self.factors, self.bits, self.slots = _slots(self.text, self.columns, self.masks)

    def prefer(self, ending: int, heads: Array) -> None:
        """Makes one ending the preferred one of some heads."""
        self.first[heads] = ending
        self.one_ending = int(self.first[0]) if (self.first == self.first[0]).all() else -1

    def find(self, windows: Windows, scratch: Scratch, starts: Array, bad: Array) -> tuple[Array, Array, bool]:
        """Which head each line has, its time, and whether any has none; those have a bit set in `bad`."""
        n, get = len(starts), scratch.get
        x, y, z = get("x", n), get("y", n), get("z", n)
        window = windows.gather(self.width, starts - self.shift if self.shift else starts)
        x.fill(0)
        for column, mask, factor in zip(self.columns, self.masks, self.factors, strict=True):
            np.bitwise_and(window[:, column], mask, out=y)
            np.multiply(y, factor, out=y)
            np.add(x, y, out=x)
        np.right_shift(x, np.uint64(64 - self.bits), out=x)
        head = self.slots.take(x.view(np.int64), out=get("head", n, np.int64), mode="clip")
        columns = self.width // 8
        left = self.text.take(head, axis=0, out=get("left", n, columns=columns), mode="clip")
        np.bitwise_xor(left, window, out=left)
        left &= self.mask.take(head, axis=0, out=get("mask", n, columns=columns), mode="clip")
        bad.fill(0)
        if left.any():
            for column in range(columns):
                np.bitwise_or(bad, left[:, column], out=bad)
        if self.outer is not None:
            digits = self.outer.take(head, axis=0, out=get("mask", n, columns=columns), mode="clip")
            np.bitwise_xor(window, ZEROS, out=left)
            left &= digits
            np.bitwise_or(left, left + ABOVE_NINE, out=left)
            left &= HIGH
            if left.any():
                for column in range(columns):
                    np.bitwise_or(bad, left[:, column], out=bad)
        # The clock: hh:mm:ss is one word; as digits, then pairs, then seconds.
        if self.common_clock >= 0:
            clock = window[:, self.common_clock]
            part = window[:, self.common_clock + 1] if self.any_fraction else None
        else:
            pair = windows.gather(16, starts + self.clock.take(head, mode="clip"))
            clock, part = pair[:, 0], pair[:, 1]
            present = self.has_clock.take(head, mode="clip").view(np.uint64)
        np.bitwise_xor(clock, _CLOCK, out=x)
        if self.common_clock < 0:
            np.multiply(x, present, out=x)
        np.add(x, ABOVE_NINE, out=y)
        np.bitwise_or(y, x, out=z)
        np.multiply(x, _TEN, out=y)
        np.right_shift(x, _EIGHT, out=x)
        np.add(x, y, out=x)
        np.bitwise_and(x, _PAIRS, out=x)
        # z: not a digit; y: hours from 24, minutes from 60, seconds from 61 on
        np.add(x, _RANGES, out=y)
        np.bitwise_or(y, z, out=y)
        np.bitwise_and(y, HIGH, out=y)
        np.bitwise_or(bad, y, out=bad)
        np.multiply(x, _MINUTES, out=y)
        np.right_shift(y, np.uint64(24), out=y)
        np.bitwise_and(y, np.uint64(0xFFFFFF), out=y)
        np.right_shift(x, np.uint64(48), out=x)
        np.add(x, y, out=x)
        np.multiply(x, np.uint64(1000), out=x)
        if part is not None and self.any_fraction:
            np.bitwise_xor(part, _FRACTION, out=y)
            np.bitwise_and(y, np.uint64(0xFFFFFF00), out=y)
            if not self.fractions:
                np.multiply(y, self.has_fraction.take(head, mode="clip").view(np.uint64), out=y)
            np.add(y, np.uint64(0x76767600), out=z)
            np.bitwise_or(z, y, out=z)
            np.bitwise_and(z, np.uint64(0x80808000), out=z)
            np.bitwise_or(bad, z, out=bad)
            for shift, scale in ((8, 100), (16, 10), (24, 1)):
                np.right_shift(y, np.uint64(shift), out=z)
                np.bitwise_and(z, np.uint64(15), out=z)
                np.multiply(z, np.uint64(scale), out=z)
                np.add(x, z, out=x)
        time = self.base.take(head, out=get("time", n, np.int64), mode="clip")
        np.add(time, x.view(np.int64), out=time)
        return head, time, bool(bad.any())


def _outer_digits(head: HeadRow) -> bytes:
    own = range(head.clock, head.clock + 12) if head.clock >= 0 else range(0)
    return bytes(0 if keep or index in own else 255 for index, keep in enumerate(head.piece.mask))


def _telling_words(text: Array, mask: Array) -> tuple[list[int], list[Any]]:
    """A few word columns, with the bytes in them that are literal in every head, that tell the heads apart."""
    common = np.bitwise_and.reduce(mask, axis=0)
    words = (text & common).T.tolist()
    # numpy.unique would load numpy.ma, which takes longer than all the rest here.
    groups = [0] * len(text)
    known = 1
    columns: list[int] = []
    while len(columns) < _WORDS:
        counts = [len(set(zip(groups, column, strict=True))) for column in words]
        best = counts.index(max(counts))
        if columns and counts[best] <= known:
            break
        columns.append(best)
        codes: dict[tuple[int, int], int] = {}
        groups = [codes.setdefault(pair, len(codes)) for pair in zip(groups, words[best], strict=True)]
        known = len(codes)
        if known == len(text):
            break
    return columns, [common[column] for column in columns]


def _slots(text: Array, columns: list[int], masks: list[Any]) -> tuple[list[Any], int, Array]:
    """Factors, the number of bits to keep of the sum of products, and the table from those to heads.

    Heads that the columns do not tell apart share a slot: the one learnt last has it.
    """
    rng = random.Random(len(text))
    words = [text[:, column] & mask for column, mask in zip(columns, masks, strict=True)]
    distinct = len(set(zip(*(word.tolist() for word in words), strict=True)))
    best: tuple[int, list[Any], int, Array] = (-1, [], 0, text[:, 0])
    # The smallest table in which a few trials find places for all; of twice as many bits as the number of heads has,
    # every second trial does.
    size = len(text).bit_length()
    for bits in range(size + 3, max(size + 4, min(2 * size, 18) + 1)):
        for _ in range(12):
            factors = [np.uint64(rng.getrandbits(64) | 1) for _ in columns]
            hashes = np.zeros(len(text), np.uint64)
            for word, factor in zip(words, factors, strict=True):
                hashes += word * factor
            hashes >>= np.uint64(64 - bits)
            found = len(set(hashes.tolist()))
            if found > best[0]:
                best = (found, factors, bits, hashes)
            if found == distinct:
                break
        if best[0] == distinct:
            break
    _, factors, bits, hashes = best
    slots = np.zeros(1 << bits, np.int64)
    slots[hashes.astype(np.int64)] = np.arange(len(text))
    return factors, bits, slots
