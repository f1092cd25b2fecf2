"""Which encoding a text has, whether it is a text at all, and its way to UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memcheck_cli.errors import UnreadableError

SAMPLE = 16 << 10
"""Bytes at the beginning that decide."""


class Encoding(NamedTuple):
    """codec: a Python codec name. mark: bytes of the byte order mark to drop."""

    codec: str = "utf-8"
    mark: int = 0

    @property
    def plain(self) -> bool:
        """The bytes can be delivered as they are."""
        return self.codec == "utf-8" and not self.mark


PLAIN = Encoding()

# UTF-32 stands before UTF-16, whose mark is the beginning of its own.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b")) + b"\x7f"


def encoding_of(head: bytes) -> Encoding:
    """The encoding that the first bytes of a text speak for: a byte order mark, or the NUL in every other byte of
    UTF-16 without one; else the bytes are taken as they are."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return Encoding(codec, len(mark))
    even, odd = head[0:SAMPLE:2], head[1:SAMPLE:2]
    for codec, letters, zeros in (("utf-16-le", even, odd), ("utf-16-be", odd, even)):
        # A log is nearly all ASCII: most high bytes are NUL, hardly a low byte is, and no letter is a control code.
        pairs = len(odd)
        if pairs >= 2 and zeros[:pairs].count(0) >= 0.6 * pairs and _strange(letters[:pairs]) <= 0.02 * pairs:
            # Line ends of single bytes between such letters are no UTF-16.
            return PLAIN if b"\n" in zeros and b"\n" not in letters else Encoding(codec)
    return PLAIN


def is_binary(head: bytes) -> bool:
    """The first bytes are no text in any encoding: too many control codes, NULs or bytes that are no UTF-8.

    A log that mixes in some bytes of another encoding is a text, and so is one that begins with the hole of NULs that
    truncating an open log leaves or ends in the one of a lost write, and one with a NUL between its letters.
    """
    sample = head[:SAMPLE]
    encoding = encoding_of(sample)
    if not encoding.plain:
        sample = sample[encoding.mark :].decode(encoding.codec, "replace").encode("utf-8", "replace")
    written = sample.strip(b"\0")
    if not written:
        return bool(sample)
    share = 0.2
    if 0.2 < written.count(0) / len(written) <= 0.6:
        # UTF-16 that was appended to a file of bytes, or whose line ends were changed: every other byte is NUL.
        written = written.replace(b"\0", b"")
        share = 0.02
    invalid = written.decode("utf-8", "replace").count("�") - written.count("�".encode())
    return _strange(written) + max(0, invalid - 1) > share * len(written)  # the sample may cut one character


def to_utf8(chunks: Iterable[bytes], encoding: Encoding) -> Iterator[bytes]:
    """The chunks as UTF-8, without the byte order mark. What does not decode becomes U+FFFD."""
    if encoding.codec == "utf-8":
        yield from _without(chunks, encoding.mark)
        return
    decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
    try:
        for chunk in _without(chunks, encoding.mark):
            if text := decoder.decode(chunk):
                yield text.encode("utf-8", "replace")
    except UnreadableError:
        if text := decoder.decode(b"", final=True):
            yield text.encode("utf-8", "replace")
        raise
    if text := decoder.decode(b"", final=True):
        yield text.encode("utf-8", "replace")


def _without(chunks: Iterable[bytes], mark: int) -> Iterator[bytes]:
    for chunk in chunks:
        if not mark:
            yield chunk
        else:
            rest = chunk[mark:]
            mark -= min(mark, len(chunk))
            if rest:
                yield rest


def _strange(sample: bytes) -> int:
    return len(sample) - len(sample.translate(None, _CONTROLS))
