"""The lines that were rejected, for a person who wants to see them: one a line, four columns with tabs between."""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING

from memcheck_cli.render.console import showable
from memcheck_cli.render.safe import escaped

if TYPE_CHECKING:
    from memcheck_cli.ledger.rejects import Reject

_IN_MEMORY = 1 << 20
_BLOCK = 1 << 16


class Rejects:
    """Takes rejects while sources are read, however many; a context manager.

    They are put aside until everything is read, so that the file they go to can be none of those that are read.
    """

    def __init__(self) -> None:
        self._file: IO[str] = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8")  # noqa: SIM115  # see __exit__

    def __enter__(self) -> Rejects:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __call__(self, reject: Reject) -> None:
        """One more."""
        columns = (reject.source, str(reject.line), reject.reason, reject.text)
        self._file.write("\t".join(map(escaped, columns)) + "\n")

    def write_to(self, output: IO[str]) -> None:
        """Write all that were taken."""
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            output.write(showable(block, getattr(output, "encoding", None)))
