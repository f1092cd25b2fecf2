"""Containers built in memory for the tests of sources, and what reading them gives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources import Found, Limits, Skipped, Source, Unreadable, find_sources

LINE = b"[2026-11-30 08:15:05 TP0] Decode batch, #running-req: 3, #token: 1234, token usage: 0.05\n"


def text_of(size: int, seed: int = 0) -> bytes:
    """About `size` bytes of lines that do not repeat, ending in a line end."""
    import random

    numbers = random.Random(seed)
    lines = []
    have = 0
    while have < size:
        line = b"[2026-11-30 08:15:%02d TP%d] Decode batch, #token: %d, gen throughput (token/s): %f\n" % (
            numbers.randrange(60),
            numbers.randrange(8),
            numbers.randrange(10**6),
            numbers.random(),
        )
        lines.append(line)
        have += len(line)
    return b"".join(lines)


def zstd(data: bytes, *, write_checksum: bool = False) -> bytes:
    try:
        from compression import zstd as library
    except ImportError:
        import zstandard

        return zstandard.ZstdCompressor(level=3, write_checksum=write_checksum).compress(data)
    return library.compress(data, options={library.CompressionParameter.checksum_flag: int(write_checksum)})


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "bzip2": partial(bz2.compress, compresslevel=1),  # blocks of 100 kB
    "xz": lzma.compress,
    "zstd": zstd,
}


def make_zip(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # with a fixed time, so that equal members give equal archives
            info.compress_type = method
            archive.writestr(info, data)
    return buffer.getvalue()


def make_tar(members: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def found(*paths: str | Path, limits: Limits | None = None, stdin: BinaryIO | None = None) -> list[Found]:
    return list(find_sources([str(path) for path in paths], limits=limits, stdin=stdin))


def sources(*paths: str | Path, limits: Limits | None = None, stdin: BinaryIO | None = None) -> list[Source]:
    """What was found, which must be sources and nothing else."""
    values = found(*paths, limits=limits, stdin=stdin)
    assert all(isinstance(value, Source) for value in values), values
    return [value for value in values if isinstance(value, Source)]


def read(source: Source, size: int = 1 << 20) -> bytes:
    """All of a source, in reads of `size` bytes."""
    with source.open() as stream:
        return b"".join(iter(lambda: stream.read(size), b""))


def read_until_damage(source: Source) -> tuple[bytes, str | None]:
    """What a source gives, and why it ends there."""
    pieces = []
    buffer = bytearray(10_000)
    try:
        with source.open() as stream:
            while got := stream.readinto(buffer):
                pieces.append(bytes(buffer[:got]))
    except UnreadableError as error:
        return b"".join(pieces), str(error)
    return b"".join(pieces), None


def texts(*paths: str | Path, limits: Limits | None = None, stdin: BinaryIO | None = None) -> dict[str, bytes]:
    """Name to text of the sources, and nothing else was found."""
    return {source.name: read(source) for source in sources(*paths, limits=limits, stdin=stdin)}


def told(values: Sequence[Found]) -> dict[str, str]:
    """Name to reason of what was skipped or unreadable."""
    return {value.name: value.reason for value in values if isinstance(value, (Skipped, Unreadable))}


def pipe_of(data: bytes) -> BinaryIO:
    """The reading end of a pipe into which a thread writes `data`."""
    import threading

    reading, writing = os.pipe()

    def write() -> None:
        try:
            with open(writing, "wb") as end:  # noqa: PTH123
                end.write(data)
        except BrokenPipeError:
            pass

    threading.Thread(target=write, daemon=True).start()
    return open(reading, "rb")  # noqa: PTH123
