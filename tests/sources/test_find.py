"""Paths, directories, patterns, pipes: what is read, in which order, under which name."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from packing import COMPRESS, LINE, found, make_tar, make_zip, pipe_of, read, sources, text_of, texts, told

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources import Part, Skipped, Source, Unreadable, find_sources


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_plain_file_is_read_by_the_caller_itself(here: Path) -> None:
    (here / "server.log").write_bytes(LINE * 3)
    (source,) = sources("server.log")
    assert (source.name, source.path, source.size) == ("server.log", "server.log", 3 * len(LINE))
    assert not source.decoded and not source.once and source.members == ()
    assert source.parts == [Part("server.log", 0)]
    with source.open() as stream:
        assert isinstance(stream, io.FileIO)
        buffer = bytearray(10)
        assert stream.readinto(buffer) == 10
        assert buffer == LINE[:10]
    assert read(source) == read(source) == LINE * 3


def test_names_are_as_the_user_gave_them(here: Path) -> None:
    (here / "logs" / "job").mkdir(parents=True)
    (here / "logs" / "job" / "server.log").write_bytes(LINE)
    for given, name in (
        ("logs", "logs/job/server.log"),
        ("logs/", "logs/job/server.log"),
        ("./logs", "./logs/job/server.log"),
        (".", "./logs/job/server.log"),
        ("logs/job/server.log", "logs/job/server.log"),
        (str(here), f"{here}/logs/job/server.log"),
    ):
        assert [source.name for source in sources(given)] == [name]


def test_paths_keep_their_order_and_directories_go_by_name(here: Path) -> None:
    (here / "dir" / "b").mkdir(parents=True)
    for name in ("dir/c.log", "dir/a.log", "dir/b/z.log", "dir/b/a.log", "later.log", "first.log"):
        (here / name).write_bytes(LINE)
    names = [source.name for source in sources("later.log", "dir", "first.log")]
    assert names == ["later.log", "dir/a.log", "dir/b/a.log", "dir/b/z.log", "dir/c.log", "first.log"]


def test_empty_file_is_a_source_without_bytes(here: Path) -> None:
    (here / "empty.log").write_bytes(b"")
    assert texts("empty.log") == {"empty.log": b""}


def test_one_file_is_read_once(here: Path) -> None:
    (here / "dir").mkdir()
    (here / "dir" / "a.log").write_bytes(LINE)
    (here / "hard.log").hardlink_to(here / "dir" / "a.log")
    (here / "soft.log").symlink_to(here / "dir" / "a.log")
    values = found("dir/a.log", "dir", "./dir/../dir/a.log", "hard.log", "soft.log", "dir")
    assert [type(value) for value in values] == [Source, *[Skipped] * 5]
    assert told(values)["hard.log"] == "the same as dir/a.log"
    same = "dir/a.log"
    assert [type(value) for value in found(same, same)] == [Source, Skipped]
    assert [type(value) for value in found("dir", "dir/a.log")] == [Source, Skipped]


def test_hidden_things_are_passed_over_unless_named(here: Path) -> None:
    (here / "dir" / ".git").mkdir(parents=True)
    (here / "dir" / ".git" / "config").write_bytes(LINE)
    (here / "dir" / ".hidden.log").write_bytes(LINE)
    assert told(found("dir")) == {"dir/.git": "hidden", "dir/.hidden.log": "hidden"}
    assert texts("dir/.hidden.log") == {"dir/.hidden.log": LINE}
    assert texts("dir/.git") == {"dir/.git/config": LINE}


def test_links_in_a_directory(here: Path) -> None:
    (here / "outside").mkdir()
    (here / "outside" / "pod.log").write_bytes(LINE)
    (here / "dir" / "..data").mkdir(parents=True)
    (here / "dir" / "..data" / "mounted.log").write_bytes(LINE * 2)
    (here / "dir" / "server.log").write_bytes(LINE * 3)
    (here / "dir" / "loop").symlink_to(here / "dir")
    (here / "dir" / "elsewhere").symlink_to(here / "outside")
    (here / "dir" / "latest.log").symlink_to("server.log")
    (here / "dir" / "mounted.log").symlink_to("..data/mounted.log")
    (here / "dir" / "pod.log").symlink_to(here / "outside" / "pod.log")
    (here / "dir" / "dangling.log").symlink_to("nowhere")
    (here / "dir" / "zero").symlink_to("/dev/zero")
    values = found("dir")
    assert {value.name: read(value) for value in values if isinstance(value, Source)} == {
        "dir/mounted.log": LINE * 2,
        "dir/pod.log": LINE,
        "dir/server.log": LINE * 3,
    }
    assert told(values) == {
        "dir/..data": "hidden",
        "dir/dangling.log": "no such file or directory",
        "dir/elsewhere": "a link to a directory",
        "dir/latest.log": "a link to server.log",
        "dir/loop": "a link to a directory",
        "dir/zero": "a pipe, socket or device",
    }
    assert list(texts("dir/elsewhere")) == ["dir/elsewhere/pod.log"]


def test_binary_files_of_a_directory_are_skipped_and_text_of_any_encoding_is_not(here: Path) -> None:
    (here / "dir").mkdir()
    (here / "dir" / "weights.bin").write_bytes(os.urandom(5000))
    (here / "dir" / "zeros").write_bytes(bytes(5000))
    (here / "dir" / "program").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(2000))
    (here / "dir" / "latin.log").write_bytes(LINE * 9 + b"Gr\xfc\xdfe \xe9\xe8\n")
    (here / "dir" / "truncated-while-open.log").write_bytes(bytes(3000) + LINE)
    (here / "dir" / "wide.log").write_bytes((LINE * 3).decode().encode("utf-16"))
    values = found("dir")
    assert told(values) == {"dir/program": "binary", "dir/weights.bin": "binary", "dir/zeros": "binary"}
    assert [value.name for value in values if isinstance(value, Source)] == [
        "dir/latin.log",
        "dir/truncated-while-open.log",
        "dir/wide.log",
    ]
    data = (here / "dir" / "weights.bin").read_bytes()
    assert texts("dir/weights.bin") == {"dir/weights.bin": data}  # who names it, gets it


def test_a_directory_with_nothing_readable_gives_no_source_and_says_why(here: Path) -> None:
    (here / "empty").mkdir()
    (here / "nested" / "empty").mkdir(parents=True)
    (here / "nothing.zip").write_bytes(make_zip({}))
    assert found("empty") == [Skipped("empty", "an empty directory")]
    assert found("nested") == [Skipped("nested/empty", "an empty directory")]
    assert found("nothing.zip") == [Skipped("nothing.zip", "an empty archive")]


def test_what_is_missing_is_unreadable_and_the_rest_is_read(here: Path) -> None:
    (here / "a.log").write_bytes(LINE)
    values = found("missing.log", "a.log", "", "nul\0byte", "x" * 5000)
    assert [type(value) for value in values] == [Unreadable, Source, Unreadable, Unreadable, Unreadable]
    assert values[0] == Unreadable("missing.log", "no such file or directory")
    assert values[3].name == "nul\\x00byte"


def test_patterns_where_no_such_file_exists(here: Path) -> None:
    (here / "deep" / "er").mkdir(parents=True)
    for name in ("b.log", "a.log", "a.txt", "deep/er/c.log", "[x].log", ".hidden.log"):
        (here / name).write_bytes(LINE)
    assert [source.name for source in sources("*.log")] == ["[x].log", "a.log", "b.log"]
    assert [source.name for source in sources("**/*.log")] == ["[x].log", "a.log", "b.log", "deep/er/c.log"]
    assert [source.name for source in sources("de*")] == ["deep/er/c.log"]
    assert [source.name for source in sources("[x].log")] == ["[x].log"]  # there is such a file
    assert found("*.nothing") == [Unreadable("*.nothing", "no file matches the pattern")]


def test_names_cannot_speak_to_the_terminal(here: Path) -> None:
    (here / "dir").mkdir()
    os.close(os.open(os.fsencode(here / "dir") + b"/bad\xff\x1b[31m\n.log", os.O_CREAT | os.O_WRONLY))
    (source,) = sources("dir")
    assert source.name == "dir/bad\\xff\\x1b[31m\\x0a.log"
    assert read(source) == b""
    source.name.encode()


@pytest.fixture
def unprivileged(here: Path) -> Iterator[None]:
    """Root may read everything, so for this test it is somebody else."""
    here.chmod(0o755)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


def test_without_permission(here: Path, request: pytest.FixtureRequest) -> None:
    (here / "dir").mkdir()
    (here / "dir" / "secret.log").write_bytes(LINE)
    (here / "dir" / "secret.log").chmod(0)
    (here / "closed").mkdir(mode=0)
    request.getfixturevalue("unprivileged")
    assert told(found("dir", "closed")) == {"dir/secret.log": "permission denied", "closed": "permission denied"}


def test_a_file_that_goes_away_is_unreadable_when_opened(here: Path) -> None:
    (here / "a.log").write_bytes(LINE)
    (source,) = sources("a.log")
    (here / "a.log").unlink()
    with pytest.raises(UnreadableError, match="no such file or directory"):
        source.open()


def test_inputs_are_left_as_they_are(here: Path) -> None:
    (here / "dir").mkdir()
    for name, data in {
        "a.log": LINE,
        "b.gz": COMPRESS["gzip"](LINE),
        "c.tar.gz": COMPRESS["gzip"](make_tar({"x": LINE})),
    }.items():
        (here / "dir" / name).write_bytes(data)
        (here / "dir" / name).chmod(0o444)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (here / "dir").iterdir()}
    texts("dir")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (here / "dir").iterdir()} == before


# stdin


def test_stdin_is_named_by_a_dash_and_stands_where_it_was_given(here: Path) -> None:
    (here / "a.log").write_bytes(LINE)
    assert texts("-", "a.log", stdin=io.BytesIO(LINE * 2)) == {"-": LINE * 2, "a.log": LINE}
    assert found("-") == [Unreadable("-", "there is no standard input")]


@pytest.mark.parametrize("size", [0, 1, 600, 9_000_000])
def test_a_pipe(size: int) -> None:
    data = text_of(size)[:size]
    (source,) = sources("-", stdin=pipe_of(data))
    assert source.once and source.path is None
    assert read(source) == data
    if size > 5_000_000:
        with pytest.raises(UnreadableError, match="only once"):
            read(source)


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_compressed_pipe(kind: str) -> None:
    data = text_of(300_000)
    assert texts("-", stdin=pipe_of(COMPRESS[kind](data))) == {"-": data}


def test_an_archive_through_a_pipe() -> None:
    members = {"job/b.log": text_of(200_000), "job/a.log": LINE}
    expected = {"-/job/a.log": LINE, "-/job/b.log": members["job/b.log"]}
    for packed in (
        make_zip(members),
        make_tar(members),
        COMPRESS["gzip"](make_tar(members)),
        COMPRESS["zstd"](make_zip(members)),
    ):
        result = texts("-", stdin=pipe_of(packed))
        assert result == expected
        assert list(result) == list(expected)


def test_a_file_behind_a_redirection_is_read_from_where_it_stands(here: Path) -> None:
    (here / "a.log").write_bytes(b"first\n" + LINE * 20)
    with (here / "a.log").open("rb") as stdin:
        stdin.readline()
        (source,) = sources("-", stdin=stdin)
        assert read(source) == read(source) == LINE * 20
    (here / "a.zip").write_bytes(make_zip({"a.log": LINE}))
    with (here / "a.zip").open("rb") as stdin:
        assert texts("-", stdin=stdin) == {"-/a.log": LINE}


def test_stdin_twice_is_read_once(here: Path) -> None:
    assert [type(value) for value in found("-", "-", stdin=io.BytesIO(LINE))] == [Source, Skipped]
    assert [type(value) for value in found("-", "-", stdin=pipe_of(LINE))] == [Source, Skipped]
    (here / "a.log").write_bytes(LINE)
    with (here / "a.log").open("rb") as stdin:
        assert [type(value) for value in found("a.log", "-", stdin=stdin)] == [Source, Skipped]


def test_odd_kinds_of_stdin(here: Path) -> None:
    with open(os.devnull, "rb") as null:  # noqa: PTH123
        assert texts("-", stdin=null) == {"-": b""}
    closed = io.BytesIO()
    closed.close()
    assert isinstance(found("-", stdin=closed)[0], Unreadable)
    directory = os.open(here, os.O_RDONLY)
    with _Descriptor(directory) as stdin:
        assert found("-", stdin=stdin) == [Unreadable("-", "is a directory")]


class _Descriptor(io.BytesIO):
    """A directory as stdin: Python itself refuses to make a file of it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def fileno(self) -> int:
        return self._number

    def close(self) -> None:
        os.close(self._number)
        super().close()


def test_a_pipe_that_does_not_block() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def write() -> None:
        for _ in range(3):
            threading.Event().wait(0.02)
            os.write(writing, LINE * 10)
        os.close(writing)

    threading.Thread(target=write, daemon=True).start()
    with open(reading, "rb") as stdin:  # noqa: PTH123
        assert texts("-", stdin=stdin) == {"-": LINE * 30}


def test_a_live_pipe_gives_what_is_there() -> None:
    reading, writing = os.pipe()
    os.write(writing, LINE * 10)
    with open(reading, "rb") as stdin:  # noqa: PTH123
        (source,) = sources("-", stdin=stdin)
        with source.open() as stream:
            assert stream.readinto(bytearray(1 << 20)) == 10 * len(LINE)
            os.write(writing, b"more")
            assert stream.read(1 << 20) == b"more"
            os.close(writing)
            assert stream.read(1 << 20) == b""


def test_a_named_pipe_is_read_only_when_named(here: Path) -> None:
    (here / "dir").mkdir()
    os.mkfifo(here / "dir" / "fifo")
    assert found("dir") == [Skipped("dir/fifo", "a pipe, socket or device")]

    def write() -> None:
        (here / "dir" / "fifo").write_bytes(COMPRESS["gzip"](LINE))

    threading.Thread(target=write, daemon=True).start()
    assert texts("dir/fifo") == {"dir/fifo": LINE}


def test_a_socket_is_never_read(here: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert found("socket") == [Unreadable("socket", "a socket")]


def test_a_process_substitution() -> None:
    stdin = pipe_of(LINE * 3)
    assert texts(f"/dev/fd/{stdin.fileno()}") == {f"/dev/fd/{stdin.fileno()}": LINE * 3}


def test_the_path_of_stdin_is_stdin() -> None:
    assert texts("/dev/stdin", stdin=pipe_of(LINE)) == {"/dev/stdin": LINE}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_file_that_has_no_size_but_bytes() -> None:
    (source,) = sources("/proc/self/status")
    assert source.path is None
    assert b"VmRSS" in read(source)


def test_finding_is_lazy_about_paths_further_on(here: Path) -> None:
    (here / "a.log").write_bytes(LINE)
    (here / "broken.zip").write_bytes(b"PK\x03\x04")
    iterator = find_sources(["a.log", "broken.zip"])
    assert isinstance(next(iterator), Source)
    iterator.close()  # type: ignore[attr-defined]
