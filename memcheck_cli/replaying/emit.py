"""What a server at level 1 or 2 would have printed for the checks of a log.

Level 2: the busy lines, each in place of the one it was read from, with the same bytes around the message. Level 1:
nothing, or the ring as it is dumped when a check leaks, and the assertion behind it. As in a real dump every line has
the time of the leak.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from memcheck_cli.checker import messages, printing
from memcheck_cli.checker.printing import PoolCheck
from memcheck_cli.checker.releases import NEWEST
from memcheck_cli.checker.server import POOL_TEXTS, RING, RING_MESSAGES, Server
from memcheck_cli.counting import counted
from memcheck_cli.ledger import Page, Row, Stream
from memcheck_cli.ledger.cuts import could_go_on
from memcheck_cli.ledger.stream import EMPTY
from memcheck_cli.replaying.judgements import pool_check, sum_breaks
from memcheck_cli.replaying.logs import LogReplayer
from memcheck_cli.replaying.raw_lines import Around, RawLines
from memcheck_cli.replaying.releases_of_log import releases_of_form
from memcheck_cli.replaying.server_word import completed, failed_pools

Write = Callable[[bytes], object]
_DRAIN_AT = 1024


def _page_text(page: Page) -> str:
    if page.kind == "double-free":
        return printing.double_free(1 if page.pool == "swa" else 0, page.pages)
    return printing.use_after_free(page.pages, page.sample)


def _may_be_cut(row: Row) -> bool:
    """The record may balance where its last number had more digits: nothing can be told of it."""
    return row.total is not None and could_go_on(row, row.accounted - row.total)


def _with_unprinted(server: Server, pool: PoolCheck, row: Row) -> PoolCheck:
    """The pool as a check that passed saw it: 0.5.10 sums session_held without printing it, so a deficit is that."""
    if "session_unprinted" not in row.marks or not str(server.release).startswith("0.5.10") or pool.total is None:
        return pool
    missing = -server.judge(pool).delta
    return pool._replace(terms={**pool.terms, "session_held": missing}) if missing > 0 else pool


class Emitter:
    """Base of both levels: knows the replayer whose rules and totals it prints by."""

    def __init__(self, raw: RawLines, write: Write) -> None:
        self.raw = raw
        self.write = write
        self.replayer: LogReplayer | None = None
        self._no_total: dict[str, None] = {}

    def rules(self, row: Row) -> str:
        """The release that prints: the one told, else the newest that prints the form the record was read in.

        Not the one that fits the log best: 0.5.11-0.5.12.post1 print the form too, but have no ring at level 1.
        """
        assert self.replayer is not None
        if self.replayer.rules is not None:
            return self.replayer.rules
        if row.form == "B2":
            return "dev"
        printing = releases_of_form(row.form)
        return printing[-1] if printing else NEWEST

    def pool(self, stream: Stream, pool: str, row: Row) -> PoolCheck:
        """A record as the checker's input, its total found elsewhere where it prints none."""
        assert self.replayer is not None
        found = pool_check(pool, row)
        if found.total is None:
            found = found._replace(total=self.replayer.total_of(stream, pool))
        if found.total is None:
            self._no_total[pool] = None
        return found

    def around(self, row: Row) -> Around:
        """The bytes around the message of a record."""
        return self.raw.around(row.line)

    def check(self, stream: Stream, rows: Sequence[tuple[str, Row]], lived_on: bool, pages: Sequence[Page]) -> None:
        """One whole busy check, empty full line included. lived_on: the server printed a later check. pages: what the
        page check reported behind it."""
        raise NotImplementedError

    def finish(self) -> None:
        """No more checks."""

    def untold(self) -> list[str]:
        """What the log tells and the printed lines do not, in sentences: they give no such break back."""
        streams = self._streams()
        told = []
        idle = sum(stream.idle_reports for stream in streams)
        if idle:
            reports = counted(idle, "idle report is", "idle reports are")
            told.append(f"{reports} not printed again: --emit prints what the busy check does")
        lone = sum(len(stream.lone_assertions) for stream in streams)
        if lone:
            told.append(f"{counted(lone, 'assertion')} without a record cannot be printed again")
        for pool in self._no_total:
            told.append(f"nothing before its records tells the total of the pool {pool}: name it with --total {pool}=N")
        return told

    def _streams(self) -> list[Stream]:
        assert self.replayer is not None
        ranks = self.replayer.ranks
        return [stream for stream in self.replayer.ledger.in_order() if not ranks or stream.rank in ranks]


class Level2(Emitter):
    """Prints every busy line. Lines of several ranks keep the order they had."""

    def __init__(self, raw: RawLines, write: Write) -> None:
        super().__init__(raw, write)
        self._servers: dict[str, Server] = {}
        self._heap: list[tuple[int, int, bytes]] = []
        self._pushed = 0
        self._without_total = False

    def record(self, stream: Stream, pool: str, row: Row) -> None:
        """One busy record, as it is counted."""
        rules = self.rules(row)
        server = self._server(rules)
        if not self._line_by_line(server, row):
            return
        if pool == EMPTY:
            text = messages.BUSY_HEAD
        elif server.prints_pools:
            text = printing.busy_line(server.pool_text(self.pool(stream, pool, row)))
        else:
            text = printing.without_total(self.pool(stream, pool, row))
            self._without_total = True
        self._push(row.line, self.around(row).line(text))

    def check(self, stream: Stream, rows: Sequence[tuple[str, Row]], lived_on: bool, pages: Sequence[Page]) -> None:
        """One whole check: for rules that print one line for all its pools, or die on some."""
        pools = [(pool, row) for pool, row in rows if pool != EMPTY]
        if not pools:
            return
        server = self._server(self.rules(rows[0][1]))
        if self._line_by_line(server, rows[0][1]):
            return
        hybrid = any(pool == "swa" for pool, _ in pools)
        if server.dev and hybrid:
            one = Server("dev", 2, cache="hybrid")
        elif server.prints_pools or not hybrid:
            one = server
        else:
            return  # these releases die on hybrid pools before they print anything
        if not one.dev and not one.prints_pools:
            self._without_total = True
        texts = one.messages([self.pool(stream, pool, row) for pool, row in pools])
        for text, (_, row) in zip(texts, pools, strict=False):
            self._push(row.line, self.around(row).line(text))

    def finish(self) -> None:
        """Print what waits for its turn."""
        while self._heap:
            self.write(heappop(self._heap)[2])

    def untold(self) -> list[str]:
        """See `Emitter`."""
        told = super().untold()
        pages = sum(len(stream.pages) for stream in self._streams())
        if pages:
            reports = counted(pages, "report of the page check is", "reports of the page check are")
            told.append(f"{reports} not printed again: --emit 2 prints the busy lines alone")
        if self._without_total:
            told.append(
                "these lines print no total, and what told it is not printed again "
                f"(--rules {POOL_TEXTS.first} or newer prints it)"
            )
        return told

    def _server(self, rules: str) -> Server:
        server = self._servers.get(rules)
        if server is None:
            server = self._servers[rules] = Server(rules, 2)
        return server

    @staticmethod
    def _line_by_line(server: Server, row: Row) -> bool:
        """Each record is a line of its own: under the pool texts, and where the log has the old form already."""
        return not server.dev and row.form != "B2" and (server.prints_pools or row.form == "B1")

    def _push(self, line: int, text: bytes) -> None:
        self._pushed += 1
        heappush(self._heap, (line, self._pushed, text))
        if len(self._heap) >= _DRAIN_AT:
            self._drain()

    def _drain(self) -> None:
        """Print all lines that no record still held back by the ledger can come before."""
        assert self.replayer is not None
        held = [stream.burst.held_from for stream in self.replayer.ledger.streams.values()]
        first = min((line for line in held if line is not None), default=None)
        while self._heap and (first is None or self._heap[0][0] < first):
            self.write(heappop(self._heap)[2])


class Level1(Emitter):
    """Prints nothing until a check leaks; then the ring, and the assertion unless the server ran without asserts."""

    def __init__(self, raw: RawLines, write: Write, ring_messages: int = RING_MESSAGES) -> None:
        super().__init__(raw, write)
        self.ring_messages = ring_messages
        self._servers: dict[tuple[int, str | None, str], Server] = {}
        self._ringless: dict[str, int] = {}
        self._pages = 0

    def check(self, stream: Stream, rows: Sequence[tuple[str, Row]], lived_on: bool, pages: Sequence[Page]) -> None:
        """One whole check: keep its messages, and on a leak print what a server does then."""
        shown = completed(stream, [(pool, row) for pool, row in rows if pool != EMPTY])
        if not shown or any(_may_be_cut(row) for _, row in shown):
            return
        key = (stream.run, stream.process, stream.rank)
        server = self._server(key, rows)
        if server.alive:
            self._check(server, stream, shown, len(shown) < len(rows), lived_on, pages)
        if not server.alive and not lived_on:
            del self._servers[key]  # the log shows this end too: what follows is another start

    def _check(
        self,
        server: Server,
        stream: Stream,
        shown: Sequence[tuple[str, Row]],
        all_swa: bool,
        lived_on: bool,
        pages: Sequence[Page],
    ) -> None:
        server.all_swa = all_swa
        if lived_on and any(sum_breaks(row) for _, row in shown):
            server.asserts = False  # by its own numbers it should have died here
        assert self.replayer is not None
        failed = failed_pools(stream, shown)
        sessions_off = self.replayer.sessions_off(stream)
        checked = []
        for name, row in shown:
            pool = self.pool(stream, name, row)
            checked.append(pool if name in failed or sessions_off else _with_unprinted(server, pool, row))
        answer = server.check(checked)
        around = self.around(shown[-1][1])._replace(end=b"\n")
        if answer.failed and not server.keeps_ring:
            rules = self.rules(shown[0][1])
            self._ringless[rules] = self._ringless.get(rules, 0) + 1
        self._pages += len(pages)
        for message in answer.printed:
            self.write(around.line(message))
        if answer.raised is not None:
            self._raise(around, answer.raised)
            return
        for page in pages:
            if lived_on:
                self.write(around.line(_page_text(page)))
            else:
                self._raise(around, f"ValueError: {_page_text(page)}")
                server.alive = False

    def untold(self) -> list[str]:
        """See `Emitter`."""
        told = super().untold()
        for rules, breaks in self._ringless.items():
            told.append(
                f"of {counted(breaks, 'break')} by the rules of {rules} the assertion alone is printed: these releases "
                f"keep no ring at level 1 (--rules {RING.first} or newer prints one)"
            )
        if self._pages:
            reports = counted(self._pages, "report of the page check stands", "reports of the page check stand")
            told.append(f"{reports} without the checks before, as at level 1: which check came before is not told")
        return told

    def _raise(self, around: Around, error: str) -> None:
        """The record a dying scheduler logs."""
        self.write(around.line(printing.SCHEDULER_EXCEPTION))
        self.write(around.line(error, bracket=False))
        self.write(around.line("", bracket=False))

    def _server(self, key: tuple[int, str | None, str], rows: Sequence[tuple[str, Row]]) -> Server:
        server = self._servers.get(key)
        if server is None:
            rules = self.rules(rows[0][1])
            cache = "hybrid" if any(pool == "swa" for pool, _ in rows) else "radix"
            server = self._servers[key] = Server(rules, 1, cache=cache, ring_messages=self.ring_messages)
        return server
