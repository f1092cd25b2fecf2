"""Rotated logs: what is joined, in which order, and where each part begins."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest
from packing import COMPRESS, LINE, found, make_tar, make_zip, read, read_until_damage, sources, text_of, texts, told

from memcheck_cli.sources import Part, Source
from memcheck_cli.sources.rotation import rotated_sets

JOINED = {
    "numbers": (["server.log", "server.log.1", "server.log.2.gz", "server.log.10"], "server.log", [3, 2, 1, 0]),
    "numbers alone": (["server.log.1", "server.log.2.zst"], "server.log", [1, 0]),
    "with a gap": (["server.log", "server.log.3"], "server.log", [1, 0]),
    "from 0 behind a base": (["server.log", "server.log.0", "server.log.1"], "server.log", [2, 1, 0]),
    "any base with its file": (["stdout", "stdout.1"], "stdout", [1, 0]),
    "packed base": (["server.log.gz", "server.log.1.gz"], "server.log", [1, 0]),
    "days": (["server.log", "server.log.2026-11-30", "server.log.2026-11-29"], "server.log", [2, 1, 0]),
    "logrotate days": (["server.log-20261130", "server.log-20261201.gz"], "server.log", [0, 1]),
    "hours": (["server.log.2026-11-30_09", "server.log.2026-11-30_08", "server.log"], "server.log", [1, 0, 2]),
    "seconds": (["0.log", "0.log.20261130-081505.gz", "0.log.20261130-071505"], "0.log", [2, 1, 0]),
    "days inside": (["server.log", "server-20261130.log.gz", "server-20261129.log"], "server.log", [2, 1, 0]),
    "packed twin": (["server.log", "server.log.1", "server.log.1.gz"], "server.log", [1, 0]),
}
APART = {
    "a file by itself": ["server.log"],
    "one part": ["server.log.1"],
    "ranks": ["rank.log.0", "rank.log.1"],
    "workers": ["worker.1", "worker.2"],
    "ports": ["server.log", "server.log.30000", "server.log.30001"],
    "pieces of split": ["server.log.00", "server.log.01"],
    "days of separate runs": ["server-20261130.log", "server-20261201.log"],
    "numbers inside": ["server.1.log", "server.2.log", "server.log"],
    "no date": ["server.log.20269930", "server.log.20261399"],
    "two ways": ["server.log", "server.log.1", "server.log.2026-11-30"],
    "other directory": ["a/server.log", "b/server.log.1"],
    "versions": ["sglang-0.5.8", "sglang-0.5.12"],
}


@pytest.mark.parametrize("names, base, order", JOINED.values(), ids=JOINED)
def test_joined(names: list[str], base: str, order: list[int]) -> None:
    assert [(found.base, list(found.order)) for found in rotated_sets(names)] == [(base, order)]
    shuffled = list(range(len(names)))
    random.Random(7).shuffle(shuffled)
    mixed: list[str | None] = [f"dir/{names[index]}" for index in shuffled]
    (rotated,) = rotated_sets([None, *mixed, "dir/other.log"])
    assert rotated.base == f"dir/{base}"
    assert [shuffled[index - 1] for index in rotated.order] == order


@pytest.mark.parametrize("names", APART.values(), ids=APART)
def test_apart(names: list[str]) -> None:
    assert rotated_sets(list(names)) == []


def test_a_file_is_in_one_set() -> None:
    names = ["server.log", "server.log.1", "server.log.2", "server.log.2.1"]
    (rotated,) = rotated_sets(names)
    assert rotated.order == (2, 1, 0)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A rotated set on disk in the current directory; name to plain text, oldest first."""
    monkeypatch.chdir(tmp_path)
    plain = {"server.log.2.gz": text_of(60_000, 2), "server.log.1": text_of(50_000, 1), "server.log": text_of(40_000)}
    Path("logs").mkdir()
    for name, text in plain.items():
        Path("logs", name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return plain


def assert_joined(source: Source, plain: dict[str, bytes], prefix: str) -> None:
    texts = list(plain.values())
    assert source.name == f"{prefix}server.log"
    assert (source.path, source.size) == (None, None)
    for _ in range(2):
        assert read(source, 9999) == b"".join(texts)
        first, second, third = (Part(prefix + name, 0) for name in plain)
        assert source.parts == [
            first,
            Part(second.name, len(texts[0])),
            Part(third.name, len(texts[0]) + len(texts[1])),
        ]
    assert [read(member) for member in source.members] == texts
    assert source.part_at(0).name == source.part_at(len(texts[0]) - 1).name == f"{prefix}server.log.2.gz"
    assert source.part_at(len(texts[0])).name == f"{prefix}server.log.1"
    assert source.part_at(10**9).name == f"{prefix}server.log"


@pytest.mark.parametrize(
    "paths",
    [
        ["logs"],
        ["logs/server.log*"],
        ["logs/server.log", "logs/server.log.1", "logs/server.log.2.gz"],
        ["logs/server.log.2.gz", "logs/server.log", "logs/server.log.1"],
    ],
)
def test_from_disk(paths: list[str], logs: dict[str, bytes]) -> None:
    (source,) = sources(*paths)
    assert_joined(source, logs, "logs/")


@pytest.mark.parametrize("pack", [make_zip, make_tar, lambda members: COMPRESS["xz"](make_tar(members))])
def test_from_archives(pack: object, logs: dict[str, bytes]) -> None:
    members = {
        f"job/{name}": Path("logs", name).read_bytes() for name in ("server.log.1", "server.log", "server.log.2.gz")
    }
    members["job/other.log"] = LINE
    other, source = sources("-", stdin=io.BytesIO(pack(members)))  # type: ignore[operator]
    assert other.name == "-/job/other.log"
    assert_joined(source, logs, "-/job/")


def test_one_part_alone_is_a_file(logs: dict[str, bytes]) -> None:
    (source,) = sources("logs/server.log.1")
    assert (source.name, source.path) == ("logs/server.log.1", "logs/server.log.1")
    (source,) = sources("logs/server.log")
    assert source.path == "logs/server.log"


def test_it_stands_where_its_first_part_was_given(logs: dict[str, bytes]) -> None:
    Path("a.log").write_bytes(LINE)
    Path("b.log").write_bytes(LINE)
    names = [source.name for source in sources("a.log", "logs/server.log.1", "b.log", "logs/server.log")]
    assert names == ["a.log", "logs/server.log", "b.log"]
    values = found("logs/server.log.1", "logs")
    assert [value.name for value in values if isinstance(value, Source)] == ["logs/server.log"]
    assert told(values) == {"logs/server.log.1": "the same as logs/server.log.1"}


def test_encodings_and_compressions_mix(tmp_path: Path) -> None:
    parts = {
        "server.log.3": LINE.decode().encode("utf-16"),
        "server.log.2": COMPRESS["zstd"]("first é\n".encode("utf-16-be")),
        "server.log.1": b"\xef\xbb\xbf" + LINE,
        "server.log": LINE,
    }
    for name, data in parts.items():
        (tmp_path / name).write_bytes(data)
    # UTF-16 without a mark, inside zstd, of a handful of letters
    (source,) = sources(tmp_path)
    assert read(source) == LINE + "first é\n".encode() + LINE + LINE
    sizes = [0, len(LINE), len(LINE) + 9, 2 * len(LINE) + 9]
    assert [part.offset for part in source.parts] == sizes


def test_a_record_cut_by_the_rotation_is_not_joined(tmp_path: Path) -> None:
    for name, data in {
        "server.log.2": b"",
        "server.log.1": LINE + b"[Mem Che",
        "server.log": b"ck (BUSY)]\n" + LINE,
    }.items():
        (tmp_path / name).write_bytes(data)
    (source,) = sources(tmp_path)
    assert read(source) == LINE + b"[Mem Che\nck (BUSY)]\n" + LINE
    assert source.parts == [
        Part(f"{tmp_path}/server.log.2", 0),
        Part(f"{tmp_path}/server.log.1", 0),
        Part(f"{tmp_path}/server.log", len(LINE) + 9, after_cut=True),
    ]


def test_a_damaged_part_is_read_so_far_and_the_others_too(tmp_path: Path) -> None:
    old, new = text_of(80_000, 1), text_of(3000)
    (tmp_path / "server.log.2").write_bytes(gzip.compress(old)[:10_000])
    (tmp_path / "server.log.1").write_bytes(LINE)
    (tmp_path / "server.log").write_bytes(new)
    (source,) = sources(tmp_path)
    text, reason = read_until_damage(source)
    assert reason == f"{tmp_path}/server.log.2: truncated gzip data"
    assert text.endswith(b"\n" + LINE + new)
    second = source.parts[1]
    assert second.after_cut and old.startswith(text[: second.offset - 1])
    assert not source.parts[2].after_cut


def test_what_is_no_text_of_the_set_comes_by_itself(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(LINE)
    (tmp_path / "server.log.1").write_bytes(LINE * 2)
    (tmp_path / "server.log.2").write_bytes(make_zip({"inside.log": LINE * 3}))
    (tmp_path / "server.log.3").write_bytes(random.Random(1).randbytes(2000))
    (tmp_path / "server.log.4").write_bytes(gzip.compress(LINE)[:10])
    values = found(tmp_path)
    assert {value.name: read(value) for value in values if isinstance(value, Source)} == {
        f"{tmp_path}/server.log.2/inside.log": LINE * 3,
        f"{tmp_path}/server.log": LINE * 3,
    }
    assert told(values) == {
        f"{tmp_path}/server.log.3": "binary",
        f"{tmp_path}/server.log.4": "truncated gzip data",
    }


def test_a_set_of_which_one_text_is_left_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "libcache").write_bytes(b"notes\n")
    (tmp_path / "libcache.1").write_bytes(random.Random(1).randbytes(2000))
    values = found(tmp_path)
    (source,) = [value for value in values if isinstance(value, Source)]
    assert source.path == source.name == f"{tmp_path}/libcache"


def test_the_separate_texts_of_a_packed_twin(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(LINE)
    (tmp_path / "server.log.1").write_bytes(LINE * 2)
    (tmp_path / "server.log.1.gz").write_bytes(gzip.compress(LINE * 2))
    assert texts(tmp_path) == {f"{tmp_path}/server.log": LINE * 3, f"{tmp_path}/server.log.1.gz": LINE * 2}
