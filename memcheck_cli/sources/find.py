"""From paths to sources: containers are opened until a text stands there, rotated logs are joined."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from memcheck_cli.counting import counted
from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.blobs import Blob, DiskBlob, PackedBlob
from memcheck_cli.sources.budget import Budget, Meter
from memcheck_cli.sources.entries import Entry, Listed
from memcheck_cli.sources.interface import Found, Limits, Part, Skipped, Source, Unreadable
from memcheck_cli.sources.magic import ARCHIVES, COMPRESSED, foreign, kind
from memcheck_cli.sources.streams import ChunkStream, PlainFile
from memcheck_cli.sources.text import PLAIN, SAMPLE, Encoding, encoding_of, is_binary, to_utf8
from memcheck_cli.sources.walk import entries_of_paths

if TYPE_CHECKING:
    from memcheck_cli.sources.rotation import RotatedSet
    from memcheck_cli.sources.spool import Spool

_ENOUGH = 512
"""Bytes of a pipe to wait for: they tell what something is, a tar header has its mark at the end of them."""


def find_sources(
    paths: Sequence[str], *, limits: Limits | None = None, stdin: BinaryIO | None = None
) -> Iterator[Found]:
    """The texts behind `paths`, in their order; directories and archives in the order of names.

    A path is a file, a directory, a pattern, or `-` for `stdin` (its bytes; None: there is none). What cannot be read
    or is passed over comes as a value among the sources. It raises nothing. The sources can be opened later and in any
    order (`Source.once` apart), also in a forked process.
    """
    finder = _Finder(limits or Limits(), stdin)
    return finder.found(list(entries_of_paths(paths, stdin)), 0, None)


class _Bare(NamedTuple):
    """What is left of an entry without its compression. depth: containers around it. archive: `zip`, `tar`, or None
    for a text."""

    blob: Blob
    depth: int
    archive: str | None = None
    encoding: Encoding = PLAIN


class _Finder:
    def __init__(self, limits: Limits, stdin: BinaryIO | None) -> None:
        self._limits = limits
        self._budget = Budget(limits)
        self._spool: Spool | None = None

    def found(self, listed: Sequence[Listed], depth: int, outer: Meter | None) -> Iterator[Found]:
        """What is behind the things listed, which stand inside `depth` containers; outer: the zip's around them."""
        of_set: dict[int, RotatedSet] = {}
        if len(listed) > 1:
            from memcheck_cli.sources.rotation import rotated_sets

            sets = rotated_sets([item.place if isinstance(item, Entry) else None for item in listed])
            of_set = {index: rotated for rotated in sets for index in rotated.order}
        for index, item in enumerate(listed):
            if not isinstance(item, Entry):
                yield item
            elif (rotated := of_set.get(index)) is None:
                yield from self._entry(item, depth, outer)
            elif index == min(rotated.order):
                parts = [listed[number] for number in rotated.order]
                yield from self._rotated(
                    [part for part in parts if isinstance(part, Entry)], rotated.base, depth, outer
                )

    def _entry(self, entry: Entry, depth: int, outer: Meter | None) -> Iterator[Found]:
        bare = self._bare(entry, depth, outer)
        yield from self._opened(entry, bare, outer) if isinstance(bare, _Bare) else [bare]

    def _opened(self, entry: Entry, bare: _Bare, outer: Meter | None) -> Iterator[Found]:
        if bare.archive is None:
            yield _source(entry, bare)
            return
        listed = list(self._members(entry.name, bare, outer))
        yield from self.found(_in_order(listed, entry.name), bare.depth, outer)
        if not listed:
            yield Skipped(entry.name, "an empty archive")

    def _rotated(self, entries: Sequence[Entry], base: str, depth: int, outer: Meter | None) -> Iterator[Found]:
        """The entries as one source, oldest first; what turns out to be no text of the set comes by itself."""
        members = []
        for entry in entries:
            bare = self._bare(entry, depth, outer)
            if isinstance(bare, _Bare) and bare.archive is None:
                members.append(_source(entry, bare))
            else:
                yield from self._opened(entry, bare, outer) if isinstance(bare, _Bare) else [bare]
        if len(members) == 1:
            yield members[0]
        elif members:
            name = _sibling(members[0].name, base)
            once = any(member.once for member in members)
            yield Source(name, _open_joined, decoded=True, once=once, members=tuple(members))

    def _bare(self, entry: Entry, depth: int, outer: Meter | None) -> _Bare | Skipped | Unreadable:
        """The entry with its layers of compression taken off."""
        blob = entry.blob
        packed = False
        while True:
            try:
                head = _head(blob)
                what = kind(head)
                if what not in COMPRESSED:
                    break
                depth = self._deeper(depth)
                from memcheck_cli.sources.decompress import codec

                blob = PackedBlob(blob, codec(what), Meter(self._budget, outer))
                packed = True
            except UnreadableError as error:
                return Unreadable(entry.name, str(error))
        if what in ARCHIVES:
            if what == "zip" or not packed:
                try:
                    depth = self._deeper(depth)
                except UnreadableError as error:
                    return Unreadable(entry.name, str(error))
            if isinstance(blob, PackedBlob):
                blob.meter.single = False
            return _Bare(blob, depth, archive=what)
        if name := foreign(head):
            return Unreadable(entry.name, f"packed with {name}, which is not supported")
        if not entry.direct and is_binary(head):
            return Skipped(entry.name, "binary")
        return _Bare(blob, depth, encoding=encoding_of(head))

    def _one_spool(self) -> Spool:
        if self._spool is None:
            from memcheck_cli.sources.spool import Spool

            self._spool = Spool(self._limits.total_bytes)
        return self._spool

    def _deeper(self, depth: int) -> int:
        if depth >= self._limits.depth:
            raise UnreadableError(f"more than {counted(self._limits.depth, 'container')} inside each other (limit)")
        return depth + 1

    def _members(self, name: str, bare: _Bare, outer: Meter | None) -> Iterator[Listed]:
        if bare.archive == "tar":
            from memcheck_cli.sources.tar import tar_members

            yield from tar_members(bare.blob, name, self._one_spool(), self._budget, outer)
            return
        from memcheck_cli.sources.zip import zip_members

        try:
            disk = bare.blob.on_disk() or self._one_spool().keep(bare.blob.chunks())
            yield from zip_members(disk, name, self._budget, outer)
        except UnreadableError as error:
            yield Unreadable(name, str(error))


def _head(blob: Blob) -> bytes:
    """The first bytes. Raises `UnreadableError` where a damage leaves none."""
    if isinstance(blob, DiskBlob):
        head = blob.read_at(0, SAMPLE)
        if not head and blob.flaw is not None:
            raise UnreadableError(blob.flaw)
        return head
    head = b""
    enough = _ENOUGH if blob.once else SAMPLE
    chunks = blob.chunks()
    try:
        for chunk in chunks:
            head += chunk
            if len(head) >= enough:
                break
    except UnreadableError:
        if not head:
            raise
    finally:
        _close(chunks)
    return head[:SAMPLE]


def _source(entry: Entry, bare: _Bare) -> Source:
    blob, encoding = bare.blob, bare.encoding
    if entry.path is not None and blob is entry.blob and encoding.codec == "utf-8":
        path, mark = entry.path, encoding.mark
        whole = entry.size and not mark  # a file of /proc has no size and yet bytes
        return Source(
            entry.name,
            lambda _: PlainFile(path, start=mark),
            path=path if whole else None,
            size=entry.size if whole else None,
        )
    live = blob.once and not isinstance(blob, PackedBlob)

    def opened(_: Source) -> io.RawIOBase:
        return ChunkStream(to_utf8(blob.chunks(), encoding), fill=not live)

    return Source(entry.name, opened, decoded=blob is not entry.blob or not encoding.plain, once=blob.once)


def _open_joined(source: Source) -> io.RawIOBase:
    return ChunkStream(_joined(source))


def _joined(source: Source) -> Iterator[bytes]:
    """The members one behind the other, noting in `source.parts` where each begins."""
    offset = 0
    cut = damaged = False
    damages = []
    for index, member in enumerate(source.members):
        if cut:
            yield b"\n"
            offset += 1
        if index >= len(source.parts):
            source.parts.append(Part(member.name, offset, cut or damaged))
        cut = damaged = False
        try:
            with member.open() as stream:
                while chunk := stream.read(256 << 10):
                    offset += len(chunk)
                    cut = not chunk.endswith(b"\n")
                    yield chunk
        except UnreadableError as error:
            damages.append(f"{member.name}: {error}")
            damaged = True
    if damages:
        raise UnreadableError("; ".join(damages))


def _in_order(listed: Iterable[Listed], archive: str) -> list[Listed]:
    """Members by name, what is said of the archive as a whole behind them. Of equal names the last one counts, as when
    the archive is unpacked."""
    ordered = sorted(listed, key=lambda item: (item.name == archive, item.name.split("/")))
    result: list[Listed] = []
    for item, following in zip_longest(ordered, ordered[1:]):
        if isinstance(item, Entry) and isinstance(following, Entry) and item.name == following.name:
            result.append(Skipped(item.name, "a later member has the same name"))
        else:
            result.append(item)
    return result


def _sibling(name: str, base: str) -> str:
    """The name of the set: the directory as its files show it, and the base."""
    directory, slash, _ = name.rpartition("/")
    return directory + slash + base.rpartition("/")[2]


def _close(chunks: Iterator[bytes]) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
