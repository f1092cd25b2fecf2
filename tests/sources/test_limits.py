"""Bombs and quines: unreadable, in little memory and time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packing import COMPRESS, LINE, found, make_tar, make_zip, read, read_until_damage, sources, texts, told, zstd

from memcheck_cli.sources import Limits, Source, Unreadable, find_sources

MIB = 1 << 20
BOMB_LINE = b"A" * 1023 + b"\n"
TIGHT = Limits(ratio=100, ratio_after=2 * MIB)


def bomb(kind: str, size: int = 24 * MIB) -> bytes:
    """`size` bytes of equal lines, packed."""
    block = BOMB_LINE * 1024
    if kind == "gzip":
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb") as file:
            for _ in range(size // MIB):
                file.write(block)
        return buffer.getvalue()
    packers: dict[str, Callable[[], object]] = {"bzip2": bz2.BZ2Compressor, "xz": lzma.LZMACompressor}
    if kind in packers:
        packer = packers[kind]()
        return b"".join(packer.compress(block) for _ in range(size // MIB)) + packer.flush()  # type: ignore[attr-defined]
    return zstd(block) * (size // MIB)


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_bomb_is_given_up(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bomb(kind))
    tracemalloc.start()
    try:
        (source,) = sources(path, limits=TIGHT)
        with source.open() as stream:
            length, buffer = 0, bytearray(MIB)
            with pytest.raises(Exception, match="100-fold"):
                while got := stream.readinto(buffer):
                    length += got
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert length <= 12 * MIB
    assert peak < 16 * MIB


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_bomb_that_is_honest_is_not_even_opened(method: int, tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    path.write_bytes(make_zip({"bomb.log": BOMB_LINE * 8 * 1024, "good.log": LINE}, method))
    values = found(path, limits=TIGHT)
    assert told(values) == {f"{path}/bomb.log": "expands more than 100-fold (limit): a decompression bomb?"}
    assert [value.name for value in values if isinstance(value, Source)] == [f"{path}/good.log"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_bomb_that_lies_about_its_size_is_given_up(method: int, tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    data = bytearray(make_zip({"bomb.log": BOMB_LINE * 12 * 1024}, method))
    for at in (22, data.rindex(b"PK\x01\x02") + 24):
        data[at : at + 4] = (1000).to_bytes(4, "little")
    path.write_bytes(data)
    tracemalloc.start()
    try:
        for value in found(path, limits=TIGHT):
            if isinstance(value, Source):
                text, reason = read_until_damage(value)
                assert reason is not None
                assert len(text) < 30 * MIB
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 * MIB  # the text above is held twice by this test


def test_an_archive_of_many_small_bombs_is_given_up_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "bombs.zip"
    one = BOMB_LINE * 1024
    path.write_bytes(make_zip({f"{number:03}.log": one for number in range(60)}))
    limits = Limits(ratio=100, ratio_after=8 * MIB)
    given = 0
    reasons = set()
    for value in found(path, limits=limits):
        if isinstance(value, Source):
            text, reason = read_until_damage(value)
            given += len(text)
            reasons.add(reason)
        else:
            reasons.add(value.reason)
    assert given < 40 * MIB
    assert "expands more than 100-fold (limit): a decompression bomb?" in reasons


def test_members_that_share_their_data_count_each_time(tmp_path: Path) -> None:
    """The directory names one packed text over and over, as overlapping zip bombs do."""
    data = make_zip({"a.log": BOMB_LINE * 1024})
    start = data.index(b"PK\x01\x02")
    entry = data[start : data.index(b"PK\x05\x06")]
    many = b"".join(entry.replace(b"a.log", b"%05d" % number) for number in range(3000))
    end = bytearray(data[data.index(b"PK\x05\x06") :])
    end[8:12] = (3000).to_bytes(2, "little") * 2
    end[12:16] = len(many).to_bytes(4, "little")
    path = tmp_path / "overlap.zip"
    path.write_bytes(data[:start] + many + bytes(end))
    given = 0
    for value in found(path, limits=Limits(ratio=100, ratio_after=8 * MIB)):
        if isinstance(value, Source):
            given += len(read_until_damage(value)[0])
    assert given < 100 * MIB


def test_limits_for_one_member_and_for_all(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz", "c.gz"):
        (tmp_path / name).write_bytes(gzip.compress(LINE * 20_000))
    size = len(LINE) * 20_000
    (tmp_path / "d.log").write_bytes(LINE * 40_000)
    for limits, whole in (
        (Limits(member_bytes=size), ["a.gz", "b.gz", "c.gz", "d.log"]),
        (Limits(member_bytes=size - 1), ["d.log"]),
        (Limits(total_bytes=2 * size), ["a.gz", "b.gz", "d.log"]),
    ):
        outcomes = {}
        for source in find_sources([str(tmp_path)], limits=limits):  # a look at the beginning counts as well
            read = read_until_damage(source) if isinstance(source, Source) else (b"", source.reason)
            outcomes[Path(source.name).name] = read
        assert [name for name, (_, reason) in outcomes.items() if reason is None] == whole
        assert all("limit" in reason for _, reason in outcomes.values() if reason is not None)


def test_reading_again_counts_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(LINE * 1000))
    (source,) = sources(path, limits=Limits(total_bytes=1000 * len(LINE)))
    for _ in range(3):
        assert read(source) == LINE * 1000


def test_depth(tmp_path: Path) -> None:
    data = LINE
    for _ in range(4):
        data = gzip.compress(data)
    path = tmp_path / "a.log"
    path.write_bytes(data)
    assert texts(path) == {str(path): LINE}
    path.write_bytes(gzip.compress(data))
    assert found(path) == [Unreadable(str(path), "more than 4 containers inside each other (limit)")]
    assert texts(path, limits=Limits(depth=5)) == {str(path): LINE}


def test_a_compressed_tar_is_one_container(tmp_path: Path) -> None:
    data = LINE
    for number in range(4):
        data = gzip.compress(make_tar({f"{number}.log": data}))
    path = tmp_path / "a.tgz"
    path.write_bytes(data)
    assert texts(path) == {f"{path}/3.log/2.log/1.log/0.log": LINE}
    path.write_bytes(make_zip({"4.tgz": data}))
    (value,) = found(path)
    assert value == Unreadable(f"{path}/4.tgz/3.log/2.log/1.log", "more than 4 containers inside each other (limit)")


def test_archives_that_hold_many_of_themselves_end(tmp_path: Path) -> None:
    """As a quine would go on: each level holds the next several times."""
    data = LINE
    for level in range(8):
        data = make_zip({f"{number}.zip" if level else f"{number}.log": data for number in range(4)})
    path = tmp_path / "tree.zip"
    path.write_bytes(data)
    values = found(path)
    assert values and all(isinstance(value, Unreadable) for value in values)
    assert len(values) == 4**4


def test_members(tmp_path: Path) -> None:
    members = {f"{number:02}.log": LINE for number in range(20)}
    for name, data in (("a.zip", make_zip(members)), ("a.tar", make_tar(members))):
        path = tmp_path / name
        path.write_bytes(data)
        values = found(path, limits=Limits(members=10))
        assert len([value for value in values if isinstance(value, Source)]) == 10
        assert values[-1] == Unreadable(str(path), "more than 10 archive members (limit)")


def test_a_zip_directory_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(make_zip({f"{number}{'x' * 2000}.log": b"" for number in range(1000)}))
    (value,) = found(path, limits=Limits(members=100))
    assert value == Unreadable(str(path), "the directory of the zip archive is too large (limit)")


def test_what_is_put_into_a_temporary_file_is_bounded() -> None:
    data = make_tar({"a.log": LINE * 20_000})
    values = found("-", stdin=io.BytesIO(data), limits=Limits(total_bytes=MIB))
    assert values == [Unreadable("-", "unpacking it takes more than 1 MiB on disk (limit)")]


def test_ordinary_logs_stay_far_from_the_limits() -> None:
    """A log that repeats itself as much as a log can."""
    lines = b"".join(
        b"[2026-11-30 %02d:%02d:%02d] INFO: 127.0.0.1 - GET /health 200 OK\n" % (n // 3600, n // 60 % 60, n % 60)
        for n in range(12_000)
    )
    for kind, pack in COMPRESS.items():
        assert texts("-", stdin=io.BytesIO(pack(lines)), limits=Limits(ratio_after=0)) == {"-": lines}, kind
