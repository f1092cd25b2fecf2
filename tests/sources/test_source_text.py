"""Encodings and what counts as a text."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packing import COMPRESS, LINE, make_zip, pipe_of, read, sources, text_of, texts

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.text import Encoding, encoding_of, is_binary, to_utf8

LOG = (LINE * 20).decode() + "sampling 采样 ünïcode 🙂 done\r\n" + (LINE * 3).decode()
MARKED = {
    "utf-8-sig": "utf-8-sig",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
    "utf-32-le": "utf-32-le",
    "utf-32-be": "utf-32-be",
}


def marked(text: str, codec: str) -> bytes:
    """With a byte order mark."""
    return text.encode(codec) if codec == "utf-8-sig" else ("\ufeff" + text).encode(codec)


def in_chunks(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    start = 0
    for size in [*sizes, len(data)]:
        yield data[start : start + size]
        start += size


@pytest.mark.parametrize("codec", MARKED)
def test_a_byte_order_mark_tells(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    for text in (LOG, "", "x", "\n"):
        path.write_bytes(marked(text, codec))
        (source,) = sources(path)
        assert read(source) == text.encode()
        assert source.path is None  # offsets of the file are not those of the text
        assert source.decoded == (codec != "utf-8-sig")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    for text in (LOG, "ab\n", LOG * 50):
        path.write_bytes(text.encode(codec))
        assert texts(path) == {str(path): text.encode()}
        assert texts("-", stdin=pipe_of(text.encode(codec))) == {"-": text.encode()}


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    codec=st.sampled_from(sorted(MARKED)),
    sizes=st.lists(st.integers(0, 7), max_size=200),
)
@settings(deadline=None)
def test_characters_across_borders(text: str, codec: str, sizes: list[int]) -> None:
    data = marked(text, codec)
    encoding = encoding_of(data)
    assert encoding.mark
    assert b"".join(to_utf8(in_chunks(data, sizes), encoding)) == text.encode()


@given(
    st.binary(max_size=300),
    st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]),
    st.lists(st.integers(1, 5), max_size=50),
)
def test_any_bytes_become_utf8(data: bytes, codec: str, sizes: list[int]) -> None:
    result = b"".join(to_utf8(in_chunks(data, sizes), Encoding(codec)))
    result.decode("utf-8")
    assert result == data.decode(codec, "replace").encode()


@given(st.binary(max_size=300), st.lists(st.integers(0, 5), max_size=50))
def test_other_bytes_are_left_alone(data: bytes, sizes: list[int]) -> None:
    assume(not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE, codecs.BOM_UTF8)))
    assert b"".join(to_utf8(in_chunks(data, sizes), Encoding())) == data


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300))
def test_text_without_nul_is_never_taken_for_utf16(text: str) -> None:
    data = text.encode()
    if not data.startswith(codecs.BOM_UTF8):
        assert encoding_of(data) == Encoding()


def test_damage_in_a_wide_text_gives_what_was_read() -> None:
    def broken() -> Iterator[bytes]:
        yield LOG.encode("utf-16-le")[:501]
        raise UnreadableError("gone")

    pieces = []
    with pytest.raises(UnreadableError, match="gone"):
        for piece in to_utf8(broken(), Encoding("utf-16-le")):
            pieces.append(piece)
    assert b"".join(pieces) == LOG[:250].encode() + "\ufffd".encode()


def test_every_encoding_in_every_container(tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    for codec in MARKED:
        for pack in COMPRESS.values():
            path.write_bytes(make_zip({"a.log": pack(marked(LOG, codec)), "b.log": marked(LOG, codec)}))
            assert texts(path) == {f"{path}/a.log": LOG.encode(), f"{path}/b.log": LOG.encode()}


def test_what_is_binary() -> None:
    assert is_binary(os.urandom(4000))
    assert is_binary(bytes(100))
    assert is_binary(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00\x01\x00\x00\x00" * 10)
    assert is_binary(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05hello\x94." * 3)  # a pickle
    numbers = b"".join(number.to_bytes(2, "little") for number in range(2000))
    assert is_binary(numbers)


def test_what_is_text() -> None:
    for data in (
        b"",
        LINE,
        b"x",
        "日志 内存泄漏\n".encode() * 50,
        ("日志".encode("gb18030") + LINE) * 50,
        b"\x1b[36m(WorkerDict pid=61)\x1b[0m " + LINE,
        b"50%|#####     |\r" * 50,
        bytes(1000) + LINE,
        LINE[:40] + b"\0\0\0" + LINE,
        "日".encode()[:2],
        LOG.encode("utf-16"),
        LOG.encode("utf-16-le"),
    ):
        assert not is_binary(data), data[:40]
    for cut in range(16_380, 16_390):  # the sample ends inside a character
        assert not is_binary(("é" * 10_000).encode()[:cut])


def test_stdin_of_bytes_one_by_one() -> None:
    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return super().read1(1)

    data = text_of(3000).decode()
    for codec in MARKED:
        assert texts("-", stdin=Slow(marked(data, codec))) == {"-": data.encode()}


def test_nuls_between_the_letters_are_a_text() -> None:
    line = b"[2026-11-30 08:15:05] a line of the server"
    spaced = b"".join(bytes((letter, 0)) for letter in line)
    assert not is_binary((spaced + b"\n") * 20)  # its line ends are no UTF-16, so every second line is shifted
    assert not is_binary((line + b"\n") * 4 + (spaced + b"\n\0") * 20)  # UTF-16 appended to bytes
    assert encoding_of((spaced + b"\r\n") * 20).plain
    assert encoding_of((spaced + b"\r\0\n\0") * 20).codec == "utf-16-le"
    assert is_binary(bytes(range(1, 30)) * 20 + bytes(300))
