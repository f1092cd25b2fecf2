"""Damage: everything before it is given, then one reason; nothing else is ever raised."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packing import COMPRESS, LINE, found, pipe_of, read_until_damage, sources, text_of, texts, zstd

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources import Source, Unreadable, decompress
from memcheck_cli.sources.decompress import codec, decompressed, gzip_header_end

TEXT = text_of(400_000)


class Feed:
    """Compressed bytes in chunks of a size. once: they can be had a single time."""

    def __init__(self, data: bytes, size: int = 1 << 16, *, once: bool = False) -> None:
        self.data = data
        self.size = size
        self.again = not once

    def chunks(self) -> Iterator[bytes]:
        for start in range(0, len(self.data), self.size):
            yield self.data[start : start + self.size]


def outcome(kind: str, data: bytes, size: int = 1 << 16, *, once: bool = False) -> tuple[bytes, str | None]:
    pieces = []
    try:
        for piece in decompressed(codec(kind), Feed(data, size, once=once)):
            pieces.append(piece)
    except UnreadableError as error:
        return b"".join(pieces), str(error)
    return b"".join(pieces), None


def by_the_book(kind: str, data: bytes) -> bytes:
    """What the standard library gives when it is fed byte by byte until it fails or the bytes end."""
    new = {"gzip": lambda: zlib.decompressobj(31), "bzip2": bz2.BZ2Decompressor, "xz": lzma.LZMADecompressor}[kind]
    decompressor = new()
    out = []
    for number in range(len(data)):
        try:
            out.append(decompressor.decompress(data[number : number + 1]))
        except (zlib.error, OSError, lzma.LZMAError):
            break
        if decompressor.eof:
            break
    return b"".join(out)


WAYS = [("gzip-isal", "gzip"), *((kind, kind) for kind in COMPRESS)]
"""What to decompress with what: gzip with ISA-L and with the standard library alone."""


@pytest.fixture(params=[kind for _, kind in WAYS], ids=[way for way, _ in WAYS])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The compression of a test that runs for each of `WAYS`."""
    if "isal" in request.node.name:
        pytest.importorskip("isal")
    else:
        monkeypatch.setattr(decompress, "_isal", lambda: None)
    return str(request.param)


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_chunks_of_any_size(kind: str, size: int) -> None:
    text = TEXT[:20_000]
    assert outcome(kind, COMPRESS[kind](text) + COMPRESS[kind](text), size) == (text * 2, None)


@pytest.mark.parametrize("keep", [1, 5, 12, 30, 500, 30_000, -1, -4, -9])
def test_truncated_data_are_given_up_to_the_cut(kind: str, keep: int) -> None:
    data = COMPRESS[kind](TEXT)[:keep]
    text, reason = outcome(kind, data)
    assert reason == f"truncated {kind} data"
    assert TEXT.startswith(text)
    if kind != "zstd":
        assert text == by_the_book(kind, data)
    else:  # whole blocks
        assert len(text) > len(TEXT) * max(0, keep) // len(COMPRESS[kind](TEXT)) - (128 << 10)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("share", [0.001, 0.3, 0.6, 0.99])
def test_damaged_data_are_given_up_to_the_damage(kind: str, once: bool, share: float) -> None:
    data = bytearray(COMPRESS[kind](TEXT))
    at = max(20, int(share * len(data)))
    data[at : at + 40] = b"\xa5" * 40
    text, reason = outcome(kind, bytes(data), once=once)
    assert reason is not None and reason.startswith(f"damaged {kind} data")
    if kind == "zstd":  # whole blocks, see below
        return
    expected = by_the_book(kind, bytes(data))
    if once:  # what comes through a pipe is lost from the call on that met the damage
        assert expected.startswith(text)
    else:
        assert text == expected
        # The first codes that are wrong may still mean something; before them all is right.
        assert len(text) > len(TEXT) * (share - 0.4)


def test_damage_in_a_zstd_frame_leaves_the_blocks_before_it() -> None:
    data = bytearray(zstd(TEXT))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    text, reason = outcome("zstd", bytes(data))
    assert reason is not None and reason.startswith("damaged zstd data")
    assert TEXT.startswith(text[: 128 << 10]) and len(text) >= 128 << 10


def test_a_wrong_checksum_is_told_behind_the_text(kind: str) -> None:
    data = bytearray(zstd(LINE, write_checksum=True) if kind == "zstd" else COMPRESS[kind](LINE))
    at = {"gzip": -6, "bzip2": -2, "xz": -25, "zstd": -2}[kind]
    data[at] ^= 0x55
    text, reason = outcome(kind, bytes(data))
    assert reason is not None and reason.startswith(f"damaged {kind} data")
    assert text == (LINE if kind != "bzip2" else b"") or (kind, text) == ("bzip2", LINE)


def test_something_else_behind_the_end(kind: str) -> None:
    assert outcome(kind, COMPRESS[kind](LINE) + b"\0\0\0junk") == (
        LINE,
        f"something else follows behind the end of the {kind} data",
    )


@given(
    kind=st.sampled_from(sorted(COMPRESS)),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 10**6),
    size=st.sampled_from([3, 100, 1 << 16]),
)
@settings(deadline=None, max_examples=150)
def test_any_damage_ends_in_one_reason(kind: str, changes: list[tuple[int, int]], cut: int, size: int) -> None:
    data = bytearray(COMPRESS[kind](TEXT[:6000]) + COMPRESS[kind](TEXT[6000:9000]))
    for at, value in changes:
        data[at % len(data)] = value
    given_bytes = bytes(data[: cut % (len(data) + 1)])
    text, reason = outcome(kind, given_bytes, size)
    assert reason is None or ("\n" not in reason and len(reason) < 200)
    if not changes:
        assert TEXT[:9000].startswith(text)


@given(st.binary(max_size=400), st.sampled_from(sorted(COMPRESS)))
@settings(deadline=None)
def test_bytes_that_only_begin_like_it(tail: bytes, kind: str) -> None:
    start = COMPRESS[kind](LINE)
    for head in (start[:4], start[:10], start[:18]):
        outcome(kind, head + tail)


# gzip


FLAGS = st.sets(st.sampled_from(["extra", "name", "comment", "checksum"]))


def with_header(body: bytes, flags: set[str], text: bytes) -> bytes:
    """A gzip member with optional header fields."""
    bits = sum({"checksum": 2, "extra": 4, "name": 8, "comment": 16}[flag] for flag in flags)
    header = b"\x1f\x8b\x08" + bytes([bits]) + bytes(5) + b"\xff"
    if "extra" in flags:
        header += len(text).to_bytes(2, "little") + text
    if "name" in flags:
        header += text.replace(b"\0", b"") + b"\0"
    if "comment" in flags:
        header += text.replace(b"\0", b"") + b"\0"
    if "checksum" in flags:
        header += (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little")
    return header + body


@given(flags=FLAGS, text=st.binary(max_size=40), size=st.integers(1, 50))
@example(flags={"name", "comment"}, text=b"server.log", size=13)
@settings(deadline=None)
def test_headers_in_pieces(flags: set[str], text: bytes, size: int) -> None:
    data = with_header(gzip.compress(LINE * 50)[10:], flags, text)
    assert outcome("gzip", data + data, size) == (LINE * 100, None)
    header = data[: gzip_header_end(data)]
    for cut in range(len(header)):
        assert gzip_header_end(data[:cut]) is None


@pytest.mark.parametrize("isal", [False, True])
def test_headers_that_are_none(isal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not isal:
        monkeypatch.setattr(decompress, "_isal", lambda: None)
    body = gzip.compress(LINE)[10:]
    wrong_checksum = bytearray(with_header(body, {"checksum"}, b""))
    wrong_checksum[10] ^= 1
    endless = b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 200_000
    for data in (
        bytes(wrong_checksum),
        b"\x1f\x8b\x08\xe0" + bytes(6) + body,
        b"\x1f\x8b\x07" + bytes(7) + body,
        endless,
    ):
        text, reason = outcome("gzip", data)
        assert text == b""
        assert reason is not None and ("damaged gzip data" in reason or "truncated gzip data" in reason)


def test_a_mistake_of_the_fast_decompressor_is_made_good(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(TEXT)

    class Mistaken:
        eof = False
        needs_input = True
        unused_data = b""

        def __init__(self) -> None:
            self.body = zlib.decompressobj(31)
            self.fed = 0

        def decompress(self, piece: bytes, limit: int = -1) -> bytes:
            self.fed += len(piece)
            if self.fed > len(data) // 2:
                raise ValueError("no")
            return self.body.decompress(piece)

    right = codec("gzip")
    wrong = decompress.Codec("gzip", Mistaken, right.exact, (ValueError,), right.starts)
    assert b"".join(decompressed(wrong, Feed(data, 5000))) == TEXT


# zstd


def test_zstd_frames_of_all_shapes() -> None:
    zstandard = pytest.importorskip("zstandard")

    for text in (b"", b"x", TEXT[:300], TEXT, bytes(1 << 20), b"ab" * 200_000):
        for options in ({"write_checksum": True}, {"write_content_size": False}, {"level": 19}, {"threads": 2}):
            data = zstandard.ZstdCompressor(**options).compress(text)
            assert outcome("zstd", data, 1000) == (text, None)
        stream = zstandard.ZstdCompressor().compressobj()
        data = b"".join(stream.compress(text[at : at + 999]) for at in range(0, len(text), 999)) + stream.flush()
        assert outcome("zstd", data) == (text, None)


def test_every_cut_of_a_zstd_file_is_told() -> None:
    data = zstd(LINE * 3, write_checksum=True) + b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd(LINE)
    ends = {len(zstd(LINE * 3, write_checksum=True)), len(data) - len(zstd(LINE)), len(data)}
    for cut in range(1, len(data) + 1):
        _, reason = outcome("zstd", data[:cut])
        assert (reason is None) == (cut in ends), cut


def test_zstd_with_a_dictionary() -> None:
    zstandard = pytest.importorskip("zstandard")

    samples = [text_of(2000, seed) for seed in range(200)]
    trained = zstandard.train_dictionary(4096, samples)
    data = zstandard.ZstdCompressor(dict_data=trained).compress(LINE * 100)
    assert outcome("zstd", data) == (b"", "damaged zstd data (it needs a dictionary) after 0 decompressed bytes")


def test_a_zstd_block_that_says_it_is_enormous() -> None:
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + ((1 << 20) << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"A"
    text, reason = outcome("zstd", frame)
    assert text == b"" and reason is not None and "a block is too large" in reason


# As sources


def test_a_damaged_file_is_a_source_up_to_the_damage(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(COMPRESS[kind](TEXT)[:-20_000])
    (source,) = sources(path)
    text, reason = read_until_damage(source)
    assert reason == f"truncated {kind} data"
    assert TEXT.startswith(text)
    with source.open() as stream:  # and again
        assert stream.read(10) == text[:10]


def test_a_file_without_any_sound_byte_is_unreadable(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(COMPRESS[kind](TEXT)[:18])
    (value,) = found(path)
    assert value == Unreadable(str(path), f"truncated {kind} data")


def test_the_reason_comes_again_with_every_later_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(gzip.compress(TEXT)[:5000])
    (source,) = sources(path)
    with source.open() as stream:
        first = stream.read()
        assert TEXT.startswith(first) and first
        for _ in range(3):
            with pytest.raises(UnreadableError, match="truncated gzip data"):
                stream.read(100)
            with pytest.raises(UnreadableError, match="truncated gzip data"):
                stream.readinto(bytearray(100))
        assert stream.read(0) == b""


def test_damage_inside_damage(tmp_path: Path) -> None:
    inner = gzip.compress(TEXT)
    path = tmp_path / "server.log"
    path.write_bytes(bz2.compress(inner)[:-3000])
    for value in found(path):
        assert isinstance(value, (Source, Unreadable))
        if isinstance(value, Source):
            text, reason = read_until_damage(value)
            assert TEXT.startswith(text) and reason == "truncated bzip2 data"
    path.write_bytes(gzip.compress(inner)[:-3000])
    (source,) = sources(path)
    text, reason = read_until_damage(source)
    assert TEXT.startswith(text) and len(text) > 200_000 and reason == "truncated gzip data"


def test_a_damaged_pipe_of_any_length() -> None:
    data = bytearray(gzip.compress(TEXT))
    data[-20_000:-19_900] = bytes(100)
    (source,) = sources("-", stdin=pipe_of(bytes(data)))
    text, reason = read_until_damage(source)
    assert reason is not None and text == by_the_book("gzip", bytes(data))


def test_lzma_members_of_a_zip_with_and_without_an_end_mark(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA1, "preset": 6}]
    alone = lzma.compress(TEXT, format=lzma.FORMAT_ALONE, filters=filters)
    packed = b"\x09\x04" + struct.pack("<H", 5) + alone[:5] + alone[13:]  # with an end mark
    path = tmp_path / "a.zip"
    name = b"a.log"
    for flags in (2, 0):
        local = struct.pack(
            "<4sHHHHHIIIHH", b"PK\x03\x04", 63, flags, 14, 0, 0, zlib.crc32(TEXT), len(packed), len(TEXT), len(name), 0
        )
        entry = struct.pack(
            "<4sHHHHHHIIIHHHHHII",
            b"PK\x01\x02",
            63,
            63,
            flags,
            14,
            0,
            0,
            zlib.crc32(TEXT),
            len(packed),
            len(TEXT),
            len(name),
            0,
            0,
            0,
            0,
            0,
            0,
        )
        end = struct.pack(
            "<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry) + len(name), len(local) + len(name) + len(packed), 0
        )
        path.write_bytes(local + name + packed + entry + name + end)
        assert texts(path) == {f"{path}/a.log": TEXT}


def test_files_of_the_command_line_tools_read_from_memory() -> None:
    buffer = io.BytesIO()
    with gzip.GzipFile("server.log", "wb", fileobj=buffer, mtime=0) as file:  # with the file's name in the header
        file.write(TEXT)
    assert texts("-", stdin=io.BytesIO(buffer.getvalue())) == {"-": TEXT}
