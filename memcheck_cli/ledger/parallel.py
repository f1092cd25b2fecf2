"""One large plain file read by several processes, with the answers of one.

The file is cut into chunks at line ends. Forked processes read them (`chunks`); this one folds what they found into
its ledger, strictly in the order of the file, and reads itself whatever they could not know to be wanted. So the answer
does not depend on where a chunk ends, nor on how many processes there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memcheck_cli.ledger.chunks import LEARN_FROM, ChunkReader, Found, Groups, Lines, line_start
from memcheck_cli.ledger.forked import POSSIBLE, Forked
from memcheck_cli.ledger.pieces import SPLIT_FROM

if TYPE_CHECKING:
    from memcheck_cli.ledger.pieces import Pieces
    from memcheck_cli.ledger.progress import Progress
    from memcheck_cli.ledger.skim import LedgerSink
    from memcheck_cli.log.scan import Scanner
    from memcheck_cli.sources import Source

CHUNK = 16 << 20
"""Bytes of one chunk, at most."""

AHEAD = 2
"""Chunks that wait for each process while it reads another one."""


USELESS = 4
"""Chunks after which a team is sent home if most of what was read had to be read here."""


MOST_PEERS = 256
"""Peers that are compared in the chunks; where there are more, questions would become long."""


class Task(NamedTuple):
    """A chunk to be read: see `ChunkReader.read`."""

    start: int
    stop: int
    groups: Groups


class Team(Protocol):
    """Who reads chunks; `forked.Forked` is one."""

    size: int

    def ask(self, number: int, question: Any, /) -> None:
        """A chunk to be read, not more than AHEAD for each of the team before the first is taken back."""

    def take(self) -> tuple[int, Any]:
        """The next chunk that is done, and what was found; None where nobody reads it any more."""

    def close(self) -> None:
        """No more chunks."""


def _reading(reader: ChunkReader) -> Callable[[Task], Found]:
    return lambda task: reader.read(*task)


class Folding:
    """Folds what was found in chunks into a ledger. position: up to where the file was read; a line begins there.
    unaided: bytes that had to be read here.

    wanted: markers of the lines that are among what was found.
    """

    def __init__(
        self, scanner: Scanner, sink: LedgerSink, pieces: Pieces, position: int, wanted: tuple[bytes, ...]
    ) -> None:
        self.position = position
        self.unaided = 0
        self._scanner = scanner
        self._sink = sink
        self._pieces = pieces
        self._wanted = frozenset(wanted)

    def fold(self, found: Found) -> None:
        """The next chunk."""
        reader = self._scanner.reader
        first = reader.lines
        if found.line_ends and not reader.unwrapper.line_ends_seen:
            reader.unwrapper.see_line_ends()
        for item in found.items:
            if item.start > self.position and not self._as_believed():
                self.scan(item.start)
            reader.lines = first + item.before
            self.position = item.start
            if isinstance(item, Lines):
                self._read(item)
            elif self._as_believed() and item.stretch is not None and self._sink.take(item, first):
                self.position = item.stop
                reader.lines = first + item.after
                reader.unwrapper.see_unquoted()
            else:
                self.scan(item.stop)
        if not self._as_believed():
            self.scan(found.stop)
        self.position = found.stop
        reader.lines = first + found.lines
        self.scan(found.end)

    def scan(self, stop: int) -> None:
        """Read on to an offset, without help."""
        pieces = self._pieces
        if stop > self.position:
            self.unaided += stop - self.position
            for piece in pieces.of_range(self.position, stop):
                pieces.hand_to(self._scanner, piece)
            self._sink.flush()
            self.position = stop

    def line_start(self, at: int) -> int | None:
        """See `chunks.line_start`."""
        return line_start(self._pieces.passed, at)

    def _as_believed(self) -> bool:
        """Whether nothing is wanted that was not looked for."""
        return self._wanted.issuperset(self._scanner.wanted())

    def _read(self, item: Lines) -> None:
        last = len(item.raws) - 1
        for number, raw in enumerate(item.raws):
            following = item.digit_follows if number == last else item.raws[number + 1][:1].isdigit()
            self._scanner.line(raw, self.position, following)
            self.position += len(raw)


def read_parts(
    folding: Folding,
    team: Team,
    size: int,
    chunk: int,
    groups: Callable[[], Groups],
    told: Callable[[int], bool],
    meanwhile: Callable[[], object] = bool,
) -> None:
    """Read a file of `size` bytes from where `folding` stands, with the help of a team.

    The last line, if it has no line end, and what was appended meanwhile is left over. groups: see `chunks`. told: is
    told how far the file was read, and answers whether to stop. meanwhile: called once the first chunks were given out.
    """
    start = folding.position
    borders = [*range(start, size, chunk), size]
    given = 0
    done: dict[int, Found | None] = {}
    try:
        for number, border in enumerate(borders[1:]):
            while given < min(number + team.size * (1 + AHEAD), len(borders) - 1):
                team.ask(given, Task(borders[given], borders[given + 1], groups()))
                given += 1
            if number == 0:
                meanwhile()
            while number not in done:
                answer, found = team.take()
                done[answer] = found
            found = done.pop(number)
            if found is None:
                end = folding.line_start(border)
                if end is None:
                    return
                folding.scan(end)
            elif found.start != folding.position:
                return  # no line begins there any more, or none at all
            else:
                folding.fold(found)
            if told(folding.position) or (number >= USELESS and 2 * folding.unaided > folding.position - start):
                return
    finally:
        team.close()


class Splitting:
    """How several processes share one file. jobs: how many. chunk: bytes of a chunk at most, None to choose them by the
    file. smallest: bytes of a file that is worth it. patience: bytes after which they begin though streams may still be
    dumps. team: who reads chunks; of a size, and of what makes their readers. meanwhile: called once, while they begin.
    """

    def __init__(
        self,
        jobs: int,
        chunk: int | None = None,
        smallest: int = SPLIT_FROM,
        patience: int = 8 << 20,
        team: Callable[[int, Callable[[], Callable[[Any], object]]], Team] = Forked,
        learn_from: int = LEARN_FROM,
        meanwhile: Callable[[], object] = bool,
    ) -> None:
        self.jobs = jobs
        self.patience = patience
        self._chunk = chunk
        self._smallest = smallest
        self._team = team
        self._learn_from = learn_from
        self._meanwhile = meanwhile

    def suits(self, source: Source) -> bool:
        """Whether a source can be split and is large enough."""
        if self.jobs < 2 or source.path is None or source.members:
            return False
        return (source.size or 0) >= self._smallest and (self._team is not Forked or POSSIBLE)

    def read(
        self,
        scanner: Scanner,
        sink: LedgerSink,
        pieces: Pieces,
        at: int,
        wanted: tuple[bytes, ...],
        progress: Progress,
    ) -> int:
        """Read a file on from offset `at`; answers how far it was read."""

        def told(position: int) -> bool:
            progress.passed(position, sink.ledger)
            return progress.stopped

        def peers() -> Groups:
            groups = sink.ledger.peering()
            return groups if sum(len(others) for _, others in groups) <= MOST_PEERS else ()

        source = pieces.source
        size = source.size or 0
        chunk = self._chunk or max(1 << 20, min(CHUNK, (size - at) // (4 * self.jobs)))
        if size - at < 2 * chunk:
            return at
        sink.flush()
        if scanner.busy:
            # Once for all of them.
            import memcheck_cli.ledger.columns
            import memcheck_cli.log.kernel  # noqa: F401
        folding = Folding(scanner, sink, pieces, at, wanted)
        block = len(pieces.buffer)
        team = self._team(self.jobs, lambda: _reading(ChunkReader(source, wanted, block, self._learn_from)))
        read_parts(folding, team, size, chunk, peers, told, self._meanwhile)
        return folding.position
