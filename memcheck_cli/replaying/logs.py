"""Replay of server logs: the verdict on every record recomputed, beside what the server itself concluded.

Records are folded check by check, one check late: only the next one shows what the server made of it (`server_word`).
Numbers are tokens (slots for the mamba and request pools).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memcheck_cli.checker.invariant import Verdict, equation, verdict
from memcheck_cli.checker.printing import PoolCheck
from memcheck_cli.checker.releases import Release
from memcheck_cli.checker.server import PAGE_INVARIANTS, POOL_TEXTS, Server
from memcheck_cli.checker.terms import TERMS
from memcheck_cli.forensics.asked import checked_in
from memcheck_cli.ledger import Ledger, Page, Row, Stream
from memcheck_cli.ledger.book import TORN_REPORT
from memcheck_cli.ledger.cuts import could_go_on
from memcheck_cli.ledger.stream import EMPTY
from memcheck_cli.log.batch_lines import BATCH_KINDS
from memcheck_cli.log.records import Busy, Context, Line, Message, PoolText
from memcheck_cli.replaying.changes import Change, judge_with, questions
from memcheck_cli.replaying.judgements import Judgement, LogReplay, pool_check, summed_terms
from memcheck_cli.replaying.parting import DIES_ON_HYBRID, NO_TOTAL, LogPlace, Parting, outcome
from memcheck_cli.replaying.releases_of_log import Candidates
from memcheck_cli.replaying.server_word import FAILED, UNKNOWN, busy_words, completed, failed_pools, idle_words

MOST_LISTED = 10_000
"""Disagreements of a log that are kept; more are counted."""
MOST_WAITING = 100_000
"""Records of the forms without total that wait for one to be told; more are unknown."""

UNSUMMED = ("leak", "pool-bytes", TORN_REPORT)
"""Kinds of notes that are reports of a leak."""

BARE = Busy("B3", (PoolText("", None, {}, {}),))
"""What a bare busy line of the current form tells of its release."""


@dataclass(slots=True)
class _Check:
    """One busy check or idle report of a stream, until the next one shows what the server made of it."""

    kind: str
    report: int
    rows: list[tuple[str, Row]]


CheckSink = Callable[[Stream, Sequence[tuple[str, Row]], bool, Sequence[Page]], None]
"""Is given every busy check in order, with whether its process lived on and the page reports behind it: for `emit`."""


class LogReplayer:
    """Folds the lines of one source.

    rules: the release told, None for the one that fits the log. against: another one, to see where they part.
    changes: what-ifs; a `total` among them also serves forms that print none. ranks, pools: only these. sink: see
    CheckSink. record_sink: is given every busy record as the ledger counts it. judged: every record with both verdicts.
    """

    def __init__(
        self,
        name: str,
        *,
        rules: str | None = None,
        against: str | None = None,
        changes: Sequence[Change] = (),
        ranks: Collection[str] = (),
        pools: Collection[str] = (),
        sink: CheckSink | None = None,
        record_sink: Callable[[Stream, str, Row], None] | None = None,
        judged: Callable[[Judgement], None] | None = None,
    ) -> None:
        self.result = LogReplay(name, what_if=questions(changes))
        self.rules = rules
        self.changes = tuple(changes)
        self.totals = {change.name: change.value for change in changes if change.kind == "total"}
        self.ranks = ranks
        self.pools = pools
        self.sink = sink
        self.record_sink = record_sink
        self.judged = judged
        self.ledger = Ledger(name, self._watch)
        self.learns_from_batches = True  # what releases fit may still depend on batch lines
        self._candidates: dict[int, Candidates] = {}
        self._pending: dict[tuple[int, str | None, str], tuple[Stream, _Check]] = {}
        self._waiting: list[tuple[Judgement, Row, Stream, bool]] = []
        self._servers: dict[tuple[str, str], Server] = {}
        self._judged_forms: set[tuple[int, str]] = set()
        self._silences: dict[tuple[str, bool, int], str] = {}
        self._against = Parting(against) if against is not None else None
        self.result.against = self._against
        # Nobody asks for more than how many records agree.
        self._only_counts = judged is None and sink is None and against is None and not changes
        self._sums: dict[tuple[str, str, bool], tuple[int, ...]] = {}

    # Reading

    def fold(self, line: Line, message: Message | None) -> None:
        """Take the next line, whatever it is."""
        if message is not None:
            run = self.ledger.run_number(line.process)
            self.ledger.fold(line, message)
            run = max(run, self.ledger.run_number(line.process))
            self._candidates_of(run).see(message, line.text)
            if self.learns_from_batches and isinstance(message, Context) and message.kind in BATCH_KINDS:
                self.learns_from_batches = any(
                    not found.hints.knows_enough(kind) for found in self._candidates.values() for kind in BATCH_KINDS
                )
        else:
            self.ledger.fold(line, message)
        self.ledger.openings.clear()

    def see_bare(self) -> None:
        """Bare busy lines of the current form were taken into the ledger."""
        self._candidates_of(self.ledger.run_number(None)).see(BARE, "")

    def finish(self) -> LogReplay:
        """No more lines: judge what still waits."""
        self.ledger.finish()
        for stream, check in list(self._pending.values()):
            self._settle(stream, check, False)
        self._pending.clear()
        for stream in self.ledger.in_order():
            self._lone_assertions(stream)
        for judgement, row, stream, hybrid in self._waiting:
            decided = self._decide(judgement, row, stream, last=True, hybrid=hybrid)
            self._set_against(decided, stream, hybrid)
            self._count(decided)
        self._waiting.clear()
        # Named at the end: later lines may have narrowed down the release. What they narrow changes no verdict.
        self.result.rules = {self.rules or self._candidates_of(run).newest(form) for run, form in self._judged_forms}
        self.result.checked = checked_in([self.ledger])
        self.result.rejected = self.ledger.rejected_count
        self.result.unsummed = self._unsummed()
        return self.result

    def _unsummed(self) -> int:
        """Reports of the server, on the ranks and pools asked for, that print no sum to be judged."""
        ledger = self.ledger
        count = sum(note.kind in UNSUMMED and self._covers(note.rank, None) for note in ledger.notes)
        if self.rules is None or (self.rules != "dev" and Release.parse(self.rules) in PAGE_INVARIANTS):
            count += sum(self._covers(stream.rank, page.pool) for stream in ledger.in_order() for page in stream.pages)
        return count

    def _candidates_of(self, run: int) -> Candidates:
        found = self._candidates.get(run)
        if found is None:
            found = self._candidates[run] = Candidates()
            self.learns_from_batches = True
        return found

    def _watch(self, stream: Stream, check: str, pool: str, row: Row) -> None:
        """The ledger counted a record."""
        if check == "busy" and self.record_sink is not None and (not self.ranks or stream.rank in self.ranks):
            self.record_sink(stream, pool, row)
        key = (stream.run, stream.process, stream.rank)
        pending = self._pending.get(key)
        report = stream.idle_reports if check == "idle" else row.iteration or 0
        if pending is not None:
            open_check = pending[1]
            if open_check.kind == check and open_check.report == report:
                open_check.rows.append((pool, row))
                return
            self._settle(stream, open_check, True)
        self._pending[key] = (stream, _Check(check, report, [(pool, row)]))

    def _settle(self, stream: Stream, check: _Check, lived_on: bool) -> None:
        """Judge a check now that it is known what came behind it."""
        rows = [(pool, row) for pool, row in check.rows if pool != EMPTY]
        if lived_on and self._only_counts and check.kind == "busy" and self._count_agreed(stream, rows):
            return
        if check.kind == "busy":
            if not lived_on:
                rows = completed(stream, rows)
            failed = failed_pools(stream, rows)
            last_line = max((row.line for _, row in check.rows), default=0)
            pages = [page for page in stream.pages[-2:] if page.line > last_line]
            lived = (lived_on or bool(pages)) and not failed  # the page check runs behind both assertions
            if self.sink is not None and (not self.ranks or stream.rank in self.ranks):
                self.sink(stream, check.rows, lived_on and not failed, pages)
            words = busy_words(stream, rows, failed, lived)
        else:
            words = idle_words(rows)
        hybrid = any(pool == "swa" for pool, _ in rows)
        for pool, row in rows:
            if self._covers(stream.rank, pool):
                self._judge(stream, check.kind, pool, row, words[pool], hybrid)

    def _count_agreed(self, stream: Stream, rows: list[tuple[str, Row]]) -> bool:
        """Count the records of a busy check that the server passed and that balance by the rules, if nothing else is to
        be known of any of them: most checks of most logs. Answers whether they were; else all must be judged."""
        hybrid = any(pool == "swa" for pool, _ in rows)
        if stream.asserted or stream.pages or stream.burst.repeated or self._silent(stream, "busy", hybrid):
            return False
        for pool, row in rows:
            total, terms = row.total, row.terms
            if total is None or row.marks or row.extra or row.cut or pool == "req" or None in terms:
                return False
            rules = self.rules_for(stream, row)
            key = (rules, pool, hybrid)
            places = self._sums.get(key)
            if places is None:
                server = self.server(rules, "busy", pool, hybrid)
                summed = server.equation.summed if server.equation is not None else ()
                places = self._sums[key] = tuple(TERMS.index(name) for name in summed)
            if sum(terms[place] for place in places) != total:  # type: ignore[misc]
                return False
        result = self.result
        for pool, row in rows:
            if self._covers(stream.rank, pool):
                self._judged_forms.add((stream.run, row.form))
                result.records += 1
                result.decided += 1
                result.agree += 1
                result.pools.setdefault(pool, [0, 0])[0] += 1
        return True

    def _covers(self, rank: str, pool: str | None) -> bool:
        """Whether a record or report was asked for; pool: None where none is told."""
        return (not self.ranks or rank in self.ranks) and (not self.pools or pool is None or pool in self.pools)

    # Our verdict

    def rules_for(self, stream: Stream, row: Row) -> str:
        """The release whose rules a record is held to: the one told, else the one that fits the log best."""
        return self.rules or self._candidates_of(stream.run).newest(row.form)

    def server(self, rules: str, check: str, pool: str, hybrid: bool) -> Server:
        """The simulated server that judges by `rules`."""
        cache = "mamba" if pool.startswith("mamba") else "hybrid" if hybrid else "radix"
        key = (rules, cache)
        server = self._servers.get(key)
        if server is None:
            server = self._servers[key] = Server(rules, 2, cache=cache)
        return server

    def _judge(self, stream: Stream, kind: str, pool: str, row: Row, word: str, hybrid: bool) -> None:
        rules = self.rules_for(stream, row)
        self._judged_forms.add((stream.run, row.form))
        place = LogPlace(
            stream.run, stream.process, stream.rank, pool, kind, row.iteration if kind == "busy" else None, row.line,
            row.time,
        )  # fmt: skip
        check = pool_check(pool, row)
        judgement = Judgement(place, check, rules, None, word, summed=self._summed(rules, kind, check, row, hybrid))
        silent = self._silent(stream, kind, hybrid)
        if silent:
            self._set_against(judgement, stream, hybrid)
            self._count(_unknown(judgement, f"by the rules of {rules}: {silent}"))
            return
        decided = self._decide(judgement, row, stream, last=False, hybrid=hybrid)
        if decided.ours is None and decided.why == _WAIT:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append((judgement, row, stream, hybrid))
                return
            decided = _unknown(judgement, "too many records without a total")
        self._set_against(decided, stream, hybrid)
        self._count(decided)

    def _silent(self, stream: Stream, kind: str, hybrid: bool) -> str:
        """Why the rules asked for never judge a record of this stream, or nothing."""
        if kind != "busy" or self.rules is None:
            return ""
        return self.silence(self.rules, stream, hybrid)

    def _topk(self, stream: Stream) -> int:
        """The width of speculation the log tells, 1 where it tells none."""
        run = self.ledger.runs.get(stream.run)
        topk = run.flag("speculative_eagle_topk", stream.process) if run else None
        if run is None or type(topk) is not int:
            return 1
        return 1 if run.flags(stream.process).get("speculative_algorithm", "") is None else topk

    def silence(self, rules: str, stream: Stream, hybrid: bool) -> str:
        """Why a server under `rules` would have said nothing on this stream, or nothing."""
        if rules == "dev":
            return ""
        topk = self._topk(stream)
        key = (rules, hybrid, topk)
        if key not in self._silences:
            one = Server(rules, 2, topk=topk)
            reason = one.silent()
            if reason is None and hybrid and one.release not in POOL_TEXTS:
                reason = DIES_ON_HYBRID
            self._silences[key] = reason or ""
        return self._silences[key]

    def _decide(self, judgement: Judgement, row: Row, stream: Stream, *, last: bool, hybrid: bool = False) -> Judgement:
        """Give our verdict, or say why there is none; _WAIT where a later line may tell what is missing."""
        pool, place = judgement.pool, judgement.place
        marks = row.marks
        if "skipped" in marks:
            server = self.server(judgement.rules, place.check, pool.pool, True)
            if server.skips(pool):
                return _with(judgement, Verdict(0, 0, False, None))
            return _unknown(judgement, "the ring's text has no uncached tokens to sum")
        total = pool.total if pool.total is not None else self.total_of(stream, pool.pool)
        if total is None:
            why = "this form prints no total, and neither an assertion nor the start-up tells it (--total POOL=N)"
            return _unknown(judgement, why if last else _WAIT)
        if pool.total is None:
            pool = pool._replace(total=total)
            judgement = judgement._replace(pool=pool)
        if place.pool == "req":
            return self._decide_requests(judgement, stream)
        ours = self._verdict(judgement, row, hybrid)
        if ours.leak and could_go_on(row, ours.delta):
            return _unknown(judgement, "the log ends in this line, which may be cut in its last number")
        if ours.delta < 0 and ours.leak and "session_unprinted" in marks and place.check == "busy":
            candidates = self._candidates_of(stream.run)
            ambiguous = self.rules is None and candidates.may_sum_unprinted(row.form) and not self.sessions_off(stream)
            if judgement.rules.startswith("0.5.10") or ambiguous:
                if judgement.server == FAILED or self.sessions_off(stream):
                    return _with(judgement, ours)
                why = f"off by {ours.delta:+d}, but 0.5.10 sums session_held without printing it"
                return _unknown(judgement, why if last or not ambiguous else _WAIT)
        return _with(judgement, ours)

    def _verdict(self, judgement: Judgement, row: Row, hybrid: bool) -> Verdict:
        pool = judgement.pool
        server = self.server(judgement.rules, judgement.place.check, pool.pool, hybrid)
        if judgement.place.check == "busy":
            return server.judge(pool)
        return verdict(
            pool.terms,
            pool.total or 0,
            summed=judgement.summed,
            tolerated="tolerated" in row.marks,
            reported="reported" in row.marks,
            extra=pool.extra_sum,
        )

    def _summed(self, rules: str, kind: str, pool: PoolCheck, row: Row, hybrid: bool) -> Sequence[str]:
        """The terms that the equation of a record sums."""
        if pool.pool == "req":
            return TERMS
        server = self.server(rules, kind, pool.pool, hybrid)
        if kind == "busy":
            return server.equation.summed if server.equation is not None else ()
        # Idle reports keep the equation of the form they are printed in: the same names mean different things there.
        summed: tuple[str, ...] = TERMS
        if self.rules is not None and len(pool.terms) == len(TERMS):
            told = equation(self.rules, "idle", server.cache) if self.rules != "dev" else None
            summed = told.summed if told is not None else TERMS
        return summed_terms(row, summed)

    def _decide_requests(self, judgement: Judgement, stream: Stream) -> Judgement:
        run = self.ledger.runs.get(stream.run)
        mode = run.flag("disaggregation_mode", stream.process) if run else None
        pool = judgement.pool
        ours = verdict(pool.terms, pool.total or 0)
        if mode == "decode" or (ours.delta > 0 and mode is None):
            return _unknown(judgement, "request slots are compared with a size that is not printed")
        return _with(judgement, ours)

    def total_of(self, stream: Stream, pool: str) -> int | None:
        """A total that the text does not print: from an assertion, the start-up lines, or told."""
        for known in stream.asserted:
            if known.pool == pool and known.total is not None:
                return known.total
        run = self.ledger.runs.get(stream.run)
        if run is not None and pool == "full":
            banner = run.banner_total(stream.process)
            if banner is not None:
                return banner[0]
        if run is not None:
            sized = run.layer_tokens(pool, stream.process)
            if sized is not None:
                return sized[0]
        return self.totals.get(pool)

    def sessions_off(self, stream: Stream) -> bool:
        """Whether the log tells that streaming sessions are off."""
        run = self.ledger.runs.get(stream.run)
        return run is not None and run.flag("enable_streaming_session", stream.process) is False

    def _lone_assertions(self, stream: Stream) -> None:
        """Assertions without a record: their own numbers are the record."""
        for asserted, row, _ in stream.lone_assertions:
            if not self._covers(stream.rank, asserted.pool):
                continue
            rules = self.rules_for(stream, row)
            self._judged_forms.add((stream.run, row.form))
            place = LogPlace(
                stream.run, stream.process, stream.rank, asserted.pool, "busy", None, asserted.line, row.time
            )
            check = pool_check(asserted.pool, row)
            summed = self._summed(rules, "busy", check, row, asserted.pool == "swa")
            judgement = Judgement(place, check, rules, None, FAILED, summed=summed)
            if row.named_terms():
                self._count(self._decide(judgement, row, stream, last=True))
            elif asserted.total is None or asserted.accounted is None:
                self._count(_unknown(judgement, "the assertion names no sum"))
            else:
                check = check._replace(total=asserted.total, extra_sum=asserted.accounted)
                judgement = judgement._replace(pool=check)
                self._count(_with(judgement, verdict({"available": asserted.accounted}, asserted.total)))

    # Folding judgements

    def _count(self, judgement: Judgement) -> None:
        result = self.result
        place, ours = judgement.place, judgement.ours
        result.records += 1
        pool = result.pools.setdefault(place.pool, [0, 0])
        pool[0] += 1
        if self.judged is not None:
            self.judged(judgement)
        if ours is None:
            result.unknown += 1
            result.unknown_reasons[judgement.why] = result.unknown_reasons.get(judgement.why, 0) + 1
            return
        result.decided += 1
        if ours.leak:
            pool[1] += 1
            result.breaks += 1
            if result.first_break is None or (result.first_break.place.line > place.line):
                result.first_break = judgement
        for question in result.what_if:
            if not judgement.pool.ring:
                server = self.server(judgement.rules, place.check, place.pool, place.pool == "swa")
                question.add(place, server, judgement.pool, ours, judgement.summed)
        if judgement.server == UNKNOWN:
            result.unknown += 1
            why = "nothing after it shows what the server concluded"
            result.unknown_reasons[why] = result.unknown_reasons.get(why, 0) + 1
        elif ours.leak == (judgement.server == FAILED):
            result.agree += 1
        else:
            result.disagreements += 1
            if len(result.disagree) < MOST_LISTED:
                result.disagree.append((judgement, self._reason(judgement, ours)))

    def _reason(self, judgement: Judgement, ours: Verdict) -> str:
        rules = judgement.rules
        if ours.leak:
            said = f"{ours.kind} of {ours.delta:+d} by the rules of {rules}" if ours.delta else f"reported by {rules}"
            printed = sum(judgement.pool.terms.get(term, 0) for term in TERMS)
            if judgement.pool.total is not None and printed == judgement.pool.total:
                return f"{said}, which leave out a term that is printed; the server let it pass"
            return f"{said}; the server let it pass: a later check of this rank follows (its asserts may be off)"
        off = f"off by {ours.delta:+d} and tolerated" if ours.tolerated else "balanced"
        return f"{off} by the rules of {rules}; the server called it a leak"

    def _set_against(self, judgement: Judgement, stream: Stream, hybrid: bool) -> None:
        """Set the other rules beside ours for this record."""
        against = self._against
        pool, place = judgement.pool, judgement.place
        if against is None or place.check != "busy" or pool.ring:
            return
        words = []
        for rules in (judgement.rules, against.rules):
            silent = self.silence(rules, stream, hybrid)
            if silent:
                words.append(silent)
            else:
                words.append(outcome(judge_with(self.server(rules, "busy", pool.pool, hybrid), pool, ())))
            if words[-1] == NO_TOTAL:
                against.untold[rules] = against.untold.get(rules, 0) + 1
        against.add(place, *words)


_WAIT = "waiting"


def _with(judgement: Judgement, ours: Verdict) -> Judgement:
    return judgement._replace(ours=ours)


def _unknown(judgement: Judgement, why: str) -> Judgement:
    return judgement._replace(why=why)


def release_or_dev(text: str) -> str:
    """A release as `--rules` names it, `dev` included, in its plain spelling. Raises ReleaseError."""
    return text if text == "dev" else str(Release.parse(text))
