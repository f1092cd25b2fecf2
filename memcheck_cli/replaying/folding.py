"""The lines of a log that matter into its replay, without reading every one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcheck_cli.errors import UnreadableError
from memcheck_cli.ledger.bare_records import BareRecords, Printed
from memcheck_cli.ledger.pieces import Pieces
from memcheck_cli.log.context import AROUND_MARKERS, BATCH_MARKERS, STRUCTURAL_MARKERS
from memcheck_cli.log.lines import TAGS
from memcheck_cli.log.scan import NEVER, TAG, Scanner, Sink

if TYPE_CHECKING:
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


class _Folding(Sink):
    """Hands lines on to a replay, every record as a row: each is judged."""

    def __init__(self, replayer: LogReplayer) -> None:
        super().__init__(replayer.ledger)
        self._replayer = replayer
        self._bare = BareRecords(replayer.ledger)

    @property
    def observed(self) -> tuple[bytes, ...]:
        """See `Sink`, as the others."""
        return HINTING + BATCH_MARKERS if self._replayer.learns_from_batches else HINTING

    def fold(self, line: Line, message: Message | None, /) -> None:
        self._replayer.fold(line, message)

    def records(self, printed: Sequence[Printed], line: int, /) -> int:
        self._replayer.see_bare()
        taken = self._bare.take(printed, line)
        self._replayer.ledger.openings.clear()
        return taken


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
