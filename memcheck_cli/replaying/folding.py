"""The lines of a log that matter into its replay, without reading every one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.bare_records import BareRecords, Printed
from memcheck_cli.ledger.pieces import Pieces
from memcheck_cli.log.context import AROUND_MARKERS, BATCH_MARKERS, STRUCTURAL_MARKERS
from memcheck_cli.log.lines import TAGS
from memcheck_cli.log.scan import NEVER, TAG, Scanner

if TYPE_CHECKING:
    import re
    from io import RawIOBase

    from memcheck_cli.log.records import Line, Message
    from memcheck_cli.replaying.logs import LogReplayer
    from memcheck_cli.sources import Source

HINTING = tuple(
    marker
    for marker in dict.fromkeys((*STRUCTURAL_MARKERS, *AROUND_MARKERS, *TAGS))
    if marker not in BATCH_MARKERS and marker != TAG
)
"""What every line but batch lines holds that may tell which release printed the log."""


class _Folding:
    """Hands lines on to a replay: a `log.scan.Sink`."""

    tells_batches = False

    def __init__(self, replayer: LogReplayer) -> None:
        self._replayer = replayer
        self._ledger = replayer.ledger
        self._bare = BareRecords(replayer.ledger)

    @property
    def settled(self) -> bool:
        """See `log.scan.Sink`, as the others."""
        return self._ledger.settled

    @property
    def wants_batches(self) -> bool:
        return self._ledger.wants_batches

    @property
    def wants_startup(self) -> bool:
        return self._ledger.wants_startup

    @property
    def wants_every_line(self) -> bool:
        return self._ledger.wants_every_line

    @property
    def observed(self) -> tuple[bytes, ...]:
        return HINTING + BATCH_MARKERS if self._replayer.learns_from_batches else HINTING

    def fold(self, line: Line, message: Message | None, /) -> None:
        """A line, read exactly."""
        self._replayer.fold(line, message)

    def records(self, printed: Sequence[Printed], line: int, /) -> int:
        """Whole bare busy lines of the current form."""
        self._replayer.see_bare()
        taken = self._bare.take(printed, line)
        self._ledger.openings.clear()
        return taken

    def batch(self, printed: re.Match[bytes], line: int, offset: int, /) -> None:
        """None come: batch lines are folded."""

    def takes(self, streams: Iterable[tuple[str | None, str]], /) -> bool:
        """No columns: every record is judged."""
        return False

    def rows(self, kernel: Any, batch: Any, lo: int, hi: int, base: int, lines: Any, /) -> None:
        """None come: see `takes`."""

    def flush(self) -> None:
        """Nothing is held back."""


def fold_lines(source: Source, stream: RawIOBase, replayer: LogReplayer) -> int:
    """Fold the lines of a source that was opened; answers how many there are. Damage ends them, and is kept in the
    result."""
    pieces = Pieces(source, stream)
    pieces.passed.kept = False
    scanner = Scanner(_Folding(replayer), NEVER, size=source.size)
    try:
        for piece in pieces:
            if piece.part is None:
                pieces.hand_to(scanner, piece)
    except (UnreadableError, OSError) as error:
        replayer.result.error = reason(error)
    scanner.finish()
    return scanner.lines


def reason(error: UnreadableError | OSError) -> str:
    """Why something cannot be read, without its name."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
