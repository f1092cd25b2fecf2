"""Records to checks: runs, streams, ring dumps, iterations and gaps of one source, in bounded memory."""

from memcheck_cli.ledger.book import Ledger, Note, Opening
from memcheck_cli.ledger.rows import Row, Segment, Series
from memcheck_cli.ledger.runs import Run
from memcheck_cli.ledger.stream import Page, Stream

__all__ = ["Ledger", "Note", "Opening", "Page", "Row", "Run", "Segment", "Series", "Stream"]
