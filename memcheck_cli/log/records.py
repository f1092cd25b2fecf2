"""What the readers hand on: plain data, one class per kind of message.

A *line* is one physical line of a source with its collector's wrapping and its time and rank prefix taken off
(`Line`). What its text means is a *message*, one of the classes below. `lines.read_message` makes a message from a
text, `context.read_context` makes `Context` messages; the ledger folds them. Numbers of tokens, slots or pages are
plain ints, exactly as printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from memcheck_cli.checker.terms import TERMS as TERMS

Value = int | float | str | bool | None | list[object] | dict[str, object]
"""A value of an extra `name=value` pair: a number, a word, or a list, set (kept as a list) or dict of them."""

NOTHING: Mapping[str, Value] = {}
"""No values: what a message has that printed none."""


class Line(NamedTuple):
    """One physical line without its wrapping.

    number: from 1, in the decompressed member. offset: byte offset of its first byte there. process: what the
    collector says wrote it, or None. rank: the rank tokens joined by one space, "-" where there are none. time: the
    server's own time as ISO 8601 (`2026-06-11T08:15:05`, milliseconds kept when printed; `08:15:05` where no date is
    printed), or None. prefixed: a bracket (or logging-config) prefix stood before `text`. text: the message part.
    whole: False for a last line without a line end, or one that was cut because of its length.
    copies: from a collector's `[repeated Nx across cluster]`; such a line counts once. copied: a test runner's or a
    reply's repetition of a line. captured: inside captured output that a test runner prints behind a failure.
    """

    number: int
    offset: int
    process: str | None
    rank: str
    time: str | None
    prefixed: bool
    text: str
    whole: bool = True
    copies: int = 1
    copied: bool = False
    captured: bool = False


class PoolText(NamedTuple):
    """One pool's accounting as the checker printed it.

    pool: `full`, `swa`, `mamba`, `mamba-active`, `mamba-int8`, another printed label, or `full` where nothing says
    otherwise. total: None where it was not printed. terms: canonical name (see TERMS) to number, only what was printed.
    extra: every other `name=value` pair by its printed name. marks, any of:

    * `tolerated`: the server forgives an imbalance (DCP slack).
    * `reported`: the server calls it a leak although it may balance (unaligned_sharded_counts, duplicate slots);
      beats `tolerated`.
    * `skipped`: a SWA ring text, never checked.
    * `available_holds_evictable`: idle forms A-F, the printed available already contains evictable and the parts
      were not printed on this line.
    * `protected_not_summed`: idle form G of hybrid models prints protected and leaves it out of the equation.
    * `protected_if_hierarchical`: idle forms B-F sum protected only with hierarchical cache; so does form G of plain
      models before 0.5.2, while 0.5.2-0.5.9 always sum it.
    * `session_unprinted`: form B1 and the full pool of idle form G-mamba; 0.5.10 prints the same text and sums
      session_held without showing it.
    """

    pool: str
    total: int | None
    terms: Mapping[str, int]
    extra: Mapping[str, Value] = NOTHING
    marks: frozenset[str] = frozenset()


class Busy(NamedTuple):
    """A `[Mem Check (BUSY)]` text: one pool (two in form B2; none in the empty full line of an all-SWA model)."""

    form: str
    pools: tuple[PoolText, ...]


class Idle(NamedTuple):
    """The first line of an idle report of the token pools.

    pools: the pool texts on this line (possibly none). raised: it stood behind `ValueError:`; else it was a warning.
    copied: the line is a test runner's copy of an error line (pytest's `E   `).
    Continuation lines without prefix may follow; they are read as `PoolLine` or `PoolParts`.
    extra: values of the report that belong to no pool on this line (full_leaked and swa_leaked of form H).
    label: a pool label at the end of the line, broken from its numbers: an unlabelled `PoolLine` follows.
    crashed: the rank that the text itself names (Ray: `Scheduler PP0 TP1 crashed: …`), else empty.
    """

    form: str
    pools: tuple[PoolText, ...]
    raised: bool = False
    copied: bool = False
    extra: Mapping[str, Value] = NOTHING
    label: str | None = None
    crashed: str = ""


class PoolLine(NamedTuple):
    """A pool text on a line of its own, without head: belongs to an idle report it directly continues, else to a
    watchdog dump (which is no check).

    labelled: False where the numbers stand without a pool label and without a name that tells the pool; then the
    label is the one the line before ended with (`Idle.label`, `PoolParts.label`), if there was one.
    """

    form: str
    pool: PoolText
    labelled: bool = True


class PoolParts(NamedTuple):
    """A continuation line of an old idle form that prints a part of the pool text before it (forms C to F:
    `self.tree_cache.evictable_size()=<n>`), or a pool label broken from its numbers.

    parts: canonical name to number. extra: other values by their printed name. label: the line is nothing but this
    pool label; its numbers follow."""

    form: str
    parts: Mapping[str, int]
    extra: Mapping[str, Value] = NOTHING
    label: str | None = None


class RequestPool(NamedTuple):
    """An idle report of the request-slot pool. Unit: slots. session_held is None in forms that do not print it.
    extra: further values by their printed name. crashed: as in `Idle`."""

    form: str
    available: int
    session_held: int | None
    total: int
    raised: bool = False
    copied: bool = False
    extra: Mapping[str, Value] = NOTHING
    crashed: str = ""


class BusyAssertion(NamedTuple):
    """The assertion that follows a busy check that leaks.

    pool: the pool it names (`full`, `swa`; None in the old text without a pool name, which is the only pool).
    text: the pool text it repeats, or None. accounted, total: its two numbers, None where not printed.
    copied: a test runner's copy of the line. crashed: as in `Idle`.
    """

    form: str
    pool: str | None
    text: PoolText | None
    accounted: int | None
    total: int | None
    copied: bool = False
    crashed: str = ""


class PageReport(NamedTuple):
    """A page-invariant report. kind: `double-free` or `use-after-free`; pool: from the sub-pool, else None;
    pages: the number printed; sample: printed page ids. crashed: as in `Idle`."""

    form: str
    kind: str
    pool: str | None
    pages: int
    sample: tuple[int, ...] = ()
    raised: bool = False
    copied: bool = False
    crashed: str = ""


class Unnumbered(NamedTuple):
    """The checker reported, or died, without numbers.

    kind: `leak` (it is a leak report without numbers: 0.5.6's RuntimeError, bare assertions of the uncached sum),
    `crash` (the checker itself failed: NotImplementedError on old hybrid servers, the batch comparison of
    0.5.11-0.5.12.post1; no leak), `tree-sanity`, `pool-bytes`, `unsupported` (the top-k > 1 warning: no busy check).
    `bare`: an `AssertionError` without text, which only the traceback before it can tell; see `lines.settle_bare`.
    what: a short name of what happened. detail: the text that says so, shortened.
    continuation: a further line of the report before it (violations of pool-bytes and tree-sanity).
    """

    form: str
    kind: str
    what: str
    detail: str
    copied: bool = False
    continuation: bool = False


class Torn(NamedTuple):
    """A line that bears a checker tag but cannot be read whole. reason: one sentence. pool: the label when it is
    certain. busy: the tag was the busy one, so the line breaks the sequence of its stream.
    continues: of an idle report or assertion that ends right behind a whole `name=value` pair and its comma: the text.
    An editor may have wrapped it, so `lines.read_message(continues + " " + next unprefixed text, prefixed)` may
    succeed; else empty.
    report: what the server reported in it, by its undamaged head: `idle`, `requests`, `assertion`, `pages`, else empty;
    raised, copied, crashed: as in `Idle`."""

    form: str
    reason: str
    busy: bool = True
    pool: str | None = None
    continues: str = ""
    report: str = ""
    raised: bool = False
    copied: bool = False
    crashed: str = ""


class Context(NamedTuple):
    """Any other line that explains a break. kind: see `context.KINDS`. values: what was read from it."""

    form: str
    kind: str
    values: Mapping[str, Value] = NOTHING


Message = Busy | Idle | PoolLine | PoolParts | RequestPool | BusyAssertion | PageReport | Unnumbered | Torn | Context
"""What a text means. form: the id of the entry in `dialects` that matched it."""
