"""Containers: round trips singly and stacked, and members that want to go somewhere."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packing import COMPRESS, LINE, found, make_tar, make_zip, read, read_until_damage, sources, text_of, texts, told

from memcheck_cli.sources import Limits, Skipped, Source, Unreadable

ZIP_METHODS = {"stored": 0, "deflated": 8, "bzip2": 12, "lzma": 14}
TAR_FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
LAYERS = [*COMPRESS, *(f"zip-{name}" for name in ZIP_METHODS), *(f"tar-{name}" for name in TAR_FORMATS)]


def packed_in(layer: str, data: bytes, name: str) -> tuple[bytes, str]:
    """`data` in one more container, and what that adds to the name."""
    kind, _, detail = layer.partition("-")
    if kind == "zip":
        return make_zip({name: data}, ZIP_METHODS[detail]), f"/{name}"
    if kind == "tar":
        return make_tar({name: data}, TAR_FORMATS[detail]), f"/{name}"
    return COMPRESS[kind](data), ""


@given(
    layers=st.lists(st.sampled_from(LAYERS), min_size=1, max_size=4),
    tail=st.binary(max_size=300),
    repeats=st.integers(1, 400),
)
@settings(deadline=None, max_examples=80)
def test_any_stack_of_containers_gives_the_bytes_back(layers: list[str], tail: bytes, repeats: int) -> None:
    plain = data = LINE * (repeats + 20) + tail
    name = ""
    for number, layer in enumerate(layers):
        data, more = packed_in(layer, data, f"m{number}")
        name = more + name
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bundle"
        path.write_bytes(data)
        for stdin in (None, io.BytesIO(data)):
            given_path = str(path) if stdin is None else "-"
            (source,) = sources(given_path, stdin=stdin)
            assert source.name == given_path + name
            assert source.path is None
            assert read(source, 777) == plain
            assert read(source) == plain


@given(
    members=st.dictionaries(
        st.text("abc/ä", min_size=1, max_size=6).map(lambda t: t.strip("/") or "x"), st.integers(0, 50), max_size=6
    ),
    form=st.sampled_from(["zip", *TAR_FORMATS]),
    compressed=st.booleans(),
)
@settings(deadline=None)
def test_members_come_by_name(members: dict[str, int], form: str, compressed: bool) -> None:
    clean = {"/".join(part for part in name.split("/") if part): LINE * count for name, count in members.items()}
    data = make_zip(clean) if form == "zip" else make_tar(clean, TAR_FORMATS[form])
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bundle"
        path.write_bytes(COMPRESS["gzip"](data) if compressed else data)
        if not clean:
            assert all(isinstance(value, Skipped) for value in found(path)) or form != "zip"
            return
        result = texts(path)
        assert result == {f"{path}/{name}": text for name, text in clean.items()}
        assert list(result) == sorted(result, key=lambda name: name.split("/"))


def test_an_archive_by_any_name_and_a_text_by_any_name(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(make_zip({"x.gz": LINE, "y.txt": COMPRESS["xz"](LINE)}))
    (tmp_path / "b.tar.gz").write_bytes(LINE)
    assert texts(tmp_path) == {
        f"{tmp_path}/a.log/x.gz": LINE,
        f"{tmp_path}/a.log/y.txt": LINE,
        f"{tmp_path}/b.tar.gz": LINE,
    }


def test_several_members_and_frames_are_one_text(tmp_path: Path) -> None:
    skippable = b"\x5f\x2a\x4d\x18\x05\x00\x00\x00hello"
    for number, data in enumerate(
        [
            COMPRESS["gzip"](LINE) + COMPRESS["gzip"](b"") + COMPRESS["gzip"](LINE) + bytes(1000),
            COMPRESS["bzip2"](LINE) + COMPRESS["bzip2"](LINE),
            COMPRESS["xz"](LINE) + bytes(8) + COMPRESS["xz"](LINE),
            skippable + COMPRESS["zstd"](LINE) + skippable + COMPRESS["zstd"](b"") + COMPRESS["zstd"](LINE) + skippable,
        ]
    ):
        path = tmp_path / f"several-{number}"
        path.write_bytes(data)
        assert texts(path) == {str(path): LINE * 2}


def test_many_small_members(tmp_path: Path) -> None:
    for kind in ("gzip", "zstd"):
        path = tmp_path / kind
        path.write_bytes(COMPRESS[kind](b"x\n") * 3000)
        assert texts(path) == {str(path): b"x\n" * 3000}


def test_the_same_text_is_given_to_every_reader(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    members = {f"{number}.log": text_of(50_000, number) for number in range(5)}
    path.write_bytes(COMPRESS["gzip"](make_tar(members)))
    listed = sources(path)
    streams = [source.open() for source in listed]  # all at a time, read in turns
    result = [b""] * len(streams)
    while any(pieces := [stream.read(7000) for stream in streams]):
        result = [before + piece for before, piece in zip(result, pieces, strict=True)]
    assert result == list(members.values())


def test_nothing_is_left_in_the_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spool))
    path = tmp_path / "outer.zip"
    path.write_bytes(
        make_zip({"inner.zip": make_zip({"a.log": LINE}), "b.tgz": COMPRESS["gzip"](make_tar({"b.log": LINE}))})
    )
    listed = sources(path)
    assert [read(source) for source in listed] == [LINE, LINE]
    assert list(spool.iterdir()) == []


def test_a_full_temporary_directory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    path = tmp_path / "b.tgz"
    path.write_bytes(COMPRESS["gzip"](make_tar({"b.log": LINE})))
    (value,) = found(path)
    assert isinstance(value, Unreadable) and "temporary file" in value.reason


def test_many_archives_take_few_open_files(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number:02}.zip").write_bytes(make_zip({"inner.zip": make_zip({"a.log": LINE})}))
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0  # noqa: PTH208
    listed = sources(tmp_path)
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before + 3  # noqa: PTH208
    assert all(read(source) == LINE for source in listed)


def test_members_of_no_use_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    members = {
        "__MACOSX/._a.log": LINE,
        ".git/config": LINE,
        "a.log": LINE,
        "image.png": b"\x89PNG\r\n\x1a\n" + os.urandom(3000),
    }
    for data in (make_zip(members), make_tar(members), COMPRESS["gzip"](make_tar(members))):
        path.write_bytes(data)
        values = found(path)
        assert [value.name for value in values if isinstance(value, Source)] == [f"{path}/a.log"]
        assert told(values) == {
            f"{path}/__MACOSX/._a.log": "hidden",
            f"{path}/.git/config": "hidden",
            f"{path}/image.png": "binary",
        }


def test_foreign_containers_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.7z").write_bytes(b"7z\xbc\xaf\x27\x1c\x00\x04" + os.urandom(100))
    (tmp_path / "b.zip").write_bytes(make_zip({"c.lz4": b"\x04\x22\x4d\x18" + os.urandom(100)}))
    assert told(found(tmp_path)) == {
        f"{tmp_path}/a.7z": "packed with 7-Zip, which is not supported",
        f"{tmp_path}/b.zip/c.lz4": "packed with LZ4, which is not supported",
    }


# Path tricks


TRICKS = {
    "/etc/passwd": "etc/passwd",
    "../../../../tmp/owned.log": "tmp/owned.log",
    "./job/./server.log": "job/server.log",
    "a/../../b.log": "a/b.log",
    "esc\x1b]0;owned\x07.log": "esc\\x1b]0;owned\\x07.log",
    "line\nend.log": "line\\x0aend.log",
    "right\u202eto-left.log": "right\\u202eto-left.log",
    "..": "?",
}


@pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])
def test_names_of_members_lead_nowhere(kind: str, tmp_path: Path) -> None:
    members = {name: LINE + name.encode() for name in TRICKS}
    data = make_zip(members) if kind == "zip" else make_tar(members)
    path = tmp_path / "bundle"
    path.write_bytes(COMPRESS["gzip"](data) if kind == "tgz" else data)
    before = sorted(tmp_path.rglob("*"))
    assert texts(path) == {f"{path}/{shown}": LINE + name.encode() for name, shown in TRICKS.items()}
    assert sorted(tmp_path.rglob("*")) == before


def test_very_long_names_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    path.write_bytes(make_tar({"x" * 100_000: LINE}))
    (source,) = sources(path)
    assert len(source.name) < 2000


def test_separators_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(make_zip({"job\\server.log": LINE}))
    assert list(texts(path)) == [f"{path}/job/server.log"]


def test_links_and_devices_in_archives_are_skipped(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind in {
            "s": tarfile.SYMTYPE,
            "h": tarfile.LNKTYPE,
            "c": tarfile.CHRTYPE,
            "f": tarfile.FIFOTYPE,
        }.items():
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("z.log")
        info.size = len(LINE)
        archive.addfile(info, io.BytesIO(LINE))
    tar = tmp_path / "a.tar"
    tar.write_bytes(buffer.getvalue())
    values = found(tar)
    assert told(values) == {
        f"{tar}/s": "a link",
        f"{tar}/h": "a hard link",
        f"{tar}/c": "a device",
        f"{tar}/f": "a pipe",
    }
    assert [read(value) for value in values if isinstance(value, Source)] == [LINE]

    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w") as zipped:
        link = zipfile.ZipInfo("link")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        zipped.writestr(link, "/etc/passwd")
    assert found(packed) == [Skipped(f"{packed}/link", "a link")]


def test_of_equal_names_the_last_member_counts(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar"
    first, second = make_tar({"a.log": b"old\n"}), make_tar({"a.log": b"new\n"})
    path.write_bytes(first[:1024] + second)
    values = found(path)
    assert told(values) == {f"{path}/a.log": "a later member has the same name"}
    assert [read(value) for value in values if isinstance(value, Source)] == [b"new\n"]


def test_encrypted_members_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    data = bytearray(make_zip({"a.log": LINE, "b.log": LINE}))
    data[6] |= 1  # the local header of the first, and its entry in the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    values = found(path)
    assert told(values) == {f"{path}/a.log": "encrypted"}
    assert [value.name for value in values if isinstance(value, Source)] == [f"{path}/b.log"]


def test_unknown_zip_methods_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    data = bytearray(make_zip({"a.log": LINE}))
    data[data.index(b"PK\x01\x02") + 10] = 9
    path.write_bytes(data)
    assert told(found(path)) == {f"{path}/a.log": "packed by a method that is not supported (deflate64)"}


def test_zstd_and_xz_members_of_a_zip(tmp_path: Path) -> None:
    for method, kind in ((93, "zstd"), (95, "xz")):
        packed = COMPRESS[kind](LINE)
        data = bytearray(make_zip({"a.log": packed}, 0))
        entry = data.index(b"PK\x01\x02")
        for at in (8, entry + 10):
            data[at : at + 2] = method.to_bytes(2, "little")
        import zlib

        for at in (14, entry + 16):
            data[at : at + 4] = zlib.crc32(LINE).to_bytes(4, "little")
        for at in (22, entry + 24):
            data[at : at + 4] = len(LINE).to_bytes(4, "little")
        path = tmp_path / f"{kind}.zip"
        path.write_bytes(data)
        assert texts(path) == {f"{path}/a.log": LINE}


# Sparse members


def sparse_gnu(pieces: list[tuple[int, bytes]], whole: int) -> bytes:
    """A sparse member in GNU's own form, as `tar --sparse` writes it."""
    info = tarfile.TarInfo("hole.log")
    info.type = b"S"
    info.size = sum(len(data) for _, data in pieces)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    pairs = [(offset, len(data)) for offset, data in pieces] + [(whole, 0)]

    def field(number: int) -> bytes:
        return b"%011o\0" % number

    for number, (offset, size) in enumerate(pairs[:4]):
        header[386 + 24 * number : 410 + 24 * number] = field(offset) + field(size)
    header[482] = len(pairs) > 4
    header[483:495] = field(whole)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    blocks = bytes(header)
    rest = pairs[4:]
    while rest:
        block = b"".join(field(offset) + field(size) for offset, size in rest[:21]).ljust(504, b"\0")
        rest = rest[21:]
        blocks += block + bytes([bool(rest)]) + bytes(7)
    data = b"".join(data for _, data in pieces)
    return blocks + data + bytes(-len(data) % 512) + make_tar({"next.log": LINE})


def sparse_pax(pieces: list[tuple[int, bytes]], whole: int) -> bytes:
    """The same in the form of POSIX archives (1.0)."""
    numbers = [len(pieces), *(number for offset, data in pieces for number in (offset, len(data)))]
    table = "".join(f"{number}\n" for number in numbers).encode()
    table += bytes(-len(table) % 512)
    data = table + b"".join(data for _, data in pieces)
    info = tarfile.TarInfo("GNUSparseFile.0/hole.log")
    info.size = len(data)
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "hole.log",
        "GNU.sparse.realsize": str(whole),
    }
    return info.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % 512) + make_tar({"next.log": LINE})


@pytest.mark.parametrize("build", [sparse_gnu, sparse_pax])
@pytest.mark.parametrize("count", [1, 3, 4, 30])
def test_sparse_members_have_their_holes(build: object, count: int, tmp_path: Path) -> None:
    pieces = [(4096 + 24576 * number, LINE * (150 + number)) for number in range(count)]
    whole = 24576 * (count + 1)
    expected = bytearray(whole)
    for offset, data in pieces:
        expected[offset : offset + len(data)] = data
    path = tmp_path / "sparse.tar"
    archive = build(pieces, whole)  # type: ignore[operator]
    for data in (archive, COMPRESS["gzip"](archive)):
        path.write_bytes(data)
        values = {value.name: value for value in found(path)}
        assert isinstance(values[f"{path}/next.log"], Source)
        hole = values[f"{path}/hole.log"]
        assert isinstance(hole, Source)
        assert read(hole) == bytes(expected)


def test_a_sparse_bomb_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "sparse.tar"
    path.write_bytes(sparse_gnu([(0, LINE * 300)], 1 << 32))
    values = {value.name: value for value in found(path, limits=Limits(ratio_after=1 << 20))}
    hole = values[f"{path}/hole.log"]
    assert isinstance(hole, Source)
    text, reason = read_until_damage(hole)
    assert reason is not None and "bomb" in reason
    assert text.startswith(LINE) and len(text) < 40 << 20


# Tars that are made to hurt


def tar_header(**fields: object) -> bytearray:
    info = tarfile.TarInfo("a.log")
    for name, value in fields.items():
        setattr(info, name, value)
    return bytearray(info.tobuf(tarfile.GNU_FORMAT))


def checked(header: bytearray) -> bytes:
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def test_a_negative_size_ends_the_archive(tmp_path: Path) -> None:
    header = tar_header()
    header[124:136] = b"\xff" * 11 + b"\x00"
    path = tmp_path / "bad.tar"
    path.write_bytes(make_tar({"good.log": LINE})[:1024] + checked(header) + bytes(1024))
    values = found(path)
    assert [value.name for value in values if isinstance(value, Source)] == [f"{path}/good.log"]
    assert "damaged tar archive (at byte 1,024)" in told(values).values()


def test_an_enormous_extended_header_is_not_read(tmp_path: Path) -> None:
    for kind in (b"x", b"L", b"g"):
        header = tar_header(type=kind)
        header[124:136] = b"\x80" + (1 << 50).to_bytes(11, "big")
        path = tmp_path / "bad.tar"
        path.write_bytes(checked(header) + LINE * 100)
        (value,) = found(path)
        assert isinstance(value, Unreadable) and "too long" in value.reason


def test_a_member_beyond_the_end_is_truncated(tmp_path: Path) -> None:
    header = tar_header(size=1 << 40)
    path = tmp_path / "bad.tar"
    for data in (checked(header) + LINE * 100, COMPRESS["gzip"](checked(header) + LINE * 100)):
        path.write_bytes(data)
        source, broken = found(path)
        assert isinstance(source, Source)
        text, reason = read_until_damage(source)
        assert text == LINE * 100
        assert reason is not None and "truncated" in reason
        assert broken == Unreadable(str(path), "truncated tar archive")


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=40), st.sampled_from([b"x", b"L", b"S", b"0", b"g", b"K"]))
@settings(deadline=None)
def test_extended_headers_may_hold_anything(records: list[bytes], kind: bytes) -> None:
    data = b"".join(b"%d %s\n" % (len(record) + len(str(len(record))) + 2, record) for record in records)
    archive = (
        checked(tar_header(type=kind, size=len(data))) + data + bytes(-len(data) % 512) + make_tar({"a.log": LINE})
    )
    for value in found("-", stdin=io.BytesIO(archive)):
        if isinstance(value, Source):
            read_until_damage(value)


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_damaged_archives_never_raise_anything_else(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["zip", "tar", "tgz", "nested"]))
    members = {"a.log": LINE * 30, "dir/b.log.gz": COMPRESS["gzip"](LINE * 30), "c.zip": make_zip({"d.log": LINE})}
    archive = make_zip(members) if kind in ("zip", "nested") else make_tar(members)
    if kind == "nested":
        archive = make_zip({"outer.tar": make_tar({"inner.zip": archive})})
    if kind == "tgz":
        archive = COMPRESS["gzip"](archive)
    damaged = bytearray(archive)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    for value in found("-", stdin=io.BytesIO(bytes(damaged[:cut]) if data.draw(st.booleans()) else bytes(damaged))):
        if isinstance(value, Source):
            _, reason = read_until_damage(value)
            assert reason is None or "\n" not in reason
            assert value.name.isprintable()


# Truncated zips


def streamed_zip(members: dict[str, bytes]) -> bytes:
    """As a program writes it into a pipe: sizes behind the data."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            piece = bytes(memoryview(data))  # type: ignore[arg-type]
            self.data += piece
            return len(piece)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        for name, data in members.items():
            archive.writestr(name, data)
    return bytes(pipe.data)


@pytest.mark.parametrize("build", [make_zip, streamed_zip])
def test_a_zip_without_its_end_gives_the_members_before_the_cut(build: object, tmp_path: Path) -> None:
    members = {f"{number}.log": text_of(30_000, number) for number in range(3)}
    data = build(members)  # type: ignore[operator]
    path = tmp_path / "cut.zip"
    path.write_bytes(data)
    assert list(texts(path).values()) == list(members.values())
    third = data.index(b"2.log")
    path.write_bytes(data[: third + 3000])
    values = found(path)
    listed = [value for value in values if isinstance(value, Source)]
    assert [value.name for value in listed] == [f"{path}/{number}.log" for number in range(3)]
    assert [read(source) for source in listed[:2]] == list(members.values())[:2]
    text, reason = read_until_damage(listed[2])
    assert members["2.log"].startswith(text) and 0 < len(text) < 30_000
    assert reason is not None and "truncated" in reason
    assert values[-1] == Unreadable(str(path), "truncated or damaged zip archive")


def test_a_wrong_checksum_is_told_after_the_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    data = bytearray(make_zip({"a.log": LINE * 50}))
    data[data.index(b"PK\x01\x02") + 16] ^= 1
    path.write_bytes(data)
    (source,) = sources(path)
    assert read_until_damage(source) == (LINE * 50, "damaged: the checksum is wrong")
