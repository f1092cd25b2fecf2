"""Conditions on the numbers of the broken record: direction, pool, pages, terms."""

from __future__ import annotations

from memcheck_cli.counting import counted
from memcheck_cli.forensics.evidence import Evidence, balances
from memcheck_cli.forensics.moves import spell
from memcheck_cli.forensics.signatures.model import Condition, Fact, Proof
from memcheck_cli.forensics.signatures.proofs import holds, terms_of

# Direction, check and pool


def the_sum(e: Evidence) -> Fact:
    """The broken record in one fact."""
    found = e.found
    if found.delta is None:
        return Fact(e.line, f"{found.kind}: {counted(found.pages or 0, 'page')}")
    many = "missing" if found.delta < 0 else "too many"
    verdict = f"{abs(found.delta)} {many}" if found.delta else "it balances"
    return Fact(
        e.line, f"[{found.pool}] {terms_of(found.row)}: sum {found.accounted} of total {found.total}, {verdict}"
    )


def leak(e: Evidence) -> Proof | None:
    """Something is owned by nobody."""
    return holds(e.found.kind == "leak", the_sum(e))


def overcount(e: Evidence) -> Proof | None:
    """Something is owned twice."""
    return holds(e.found.kind == "overcount", the_sum(e))


def reported(e: Evidence) -> Proof | None:
    """The server calls it a leak although it balances."""
    return holds(e.found.kind == "reported", the_sum(e))


def busy(e: Evidence) -> Proof | None:
    """A busy check broke."""
    return holds(e.found.check == "busy")


def idle(e: Evidence) -> Proof | None:
    """An idle report."""
    return holds(e.found.check == "idle")


def token_pool(e: Evidence) -> Proof | None:
    """A pool that counts tokens."""
    return holds(not e.in_slots and e.found.check != "pages")


def pool_is(name: str) -> Condition:
    """The pool has this name."""
    return lambda e: holds(e.found.pool == name)


def mamba(e: Evidence) -> Proof | None:
    """A pool of Mamba states."""
    return holds(e.found.pool is not None and e.found.pool.startswith("mamba"))


def other_balances(pool: str) -> Condition:
    """Another pool balances in the same check."""

    def balanced(e: Evidence) -> Proof | None:
        even, line = balances(pool, e)
        return holds(even, Fact(line or e.line, f"[{pool}] balances in the same check"))

    return balanced


def sibling_breaks(pool: str, sign: int) -> Condition:
    """Another pool breaks in the same check, in this direction."""

    def breaks(e: Evidence) -> Proof | None:
        for other in e.siblings:
            if other.pool == pool and other.delta is not None and other.delta * sign > 0:
                many = "missing" if other.delta < 0 else "too many"
                return (Fact(other.row.line, f"[{pool}] breaks in the same check: {abs(other.delta)} {many}"),)
        return None

    return breaks


# Pages


def whole_pages(e: Evidence) -> Proof | None:
    """A whole number of pages; where the page size is not known, of a size that fits all numbers."""
    found = e.found
    if found.page_size is not None:
        if found.pages is None:
            return None
        return (Fact(e.line, f"{found.delta:+} is {counted(abs(found.pages), 'page')} of {found.page_size}"),)
    return size_not_told(e)


def size_not_told(e: Evidence) -> Proof | None:
    """The page size is not in the log: the sizes that fit, none claimed."""
    if e.found.page_size is not None or e.in_slots or not e.sizes:
        return None
    told = ", ".join(map(str, e.sizes))
    return (Fact(e.line, f"the page size is not in the log; sizes that fit every number seen: {told}"),)


def large_pages(e: Evidence) -> Proof | None:
    """Pages of more than one token."""
    size = e.found.page_size
    return holds(size > 1 if size is not None else max(e.sizes, default=1) > 1)


def no_page_multiple(e: Evidence) -> Proof | None:
    """What is off is no whole number of pages."""
    found = e.found
    return holds(
        found.page_size is not None and found.page_size > 1 and found.pages is None and not e.in_slots,
        Fact(e.line, f"{found.delta} is no multiple of the page size {found.page_size}"),
    )


def one_page(e: Evidence) -> Proof | None:
    """Exactly one page; where the size is not known, of the largest size that fits all numbers."""
    found = e.found
    if found.page_size is not None:
        return holds(found.pages in (1, -1), Fact(e.line, f"{found.delta:+} is exactly one page of {found.page_size}"))
    largest = max(e.sizes, default=0)
    text = f"{found.delta:+} is one page if the page size, which is not in the log, is {largest}"
    return holds(largest and abs(e.delta) == largest, Fact(e.line, text))


def page_size_1(e: Evidence) -> Proof | None:
    """Pages of one token."""
    return holds(e.found.page_size == 1)


# Terms


def above_total(name: str) -> Condition:
    """One term alone is more than the whole pool."""

    def above(e: Evidence) -> Proof | None:
        value, total = e.term(name), e.found.total
        over = value is not None and total is not None and value > total
        return holds(over, Fact(e.line, f"{name}={value} alone is more than the total {total}"))

    return above


def term_is(name: str, value: int) -> Condition:
    """A term has this value."""
    return lambda e: holds(e.term(name) == value, Fact(e.line, f"{name}={value}"))


def negative_term(e: Evidence) -> Proof | None:
    """A term below zero."""
    for name, value in e.row.named_terms().items():
        if value < 0:
            facts = [Fact(e.line, f"{name}={value}: a count below zero is impossible")]
            if e.found.accounted is not None and e.found.accounted - value == e.found.total:
                facts.append(Fact(e.line, f"the other terms sum to the total {e.found.total} already"))
            return tuple(facts)
    return None


def locked_at_idle(e: Evidence) -> Proof | None:
    """Something is locked although no request runs."""
    broken = {e.found.pool, *(other.pool for other in e.siblings)}
    rows = [e.row, *(row for pool, row in e.sheet.items() if pool not in broken)]
    protected = [(row, value) for row in rows if (value := row.named_terms().get("protected", 0)) > 0]
    if e.found.check != "idle" or not protected:
        return None
    return tuple(Fact(row.line, f"protected={value} at an idle check") for row, value in protected)


def equals_available(e: Evidence) -> Proof | None:
    """What is too many is exactly what is free."""
    available = e.term("available")
    same = available == e.delta and e.delta > 1 and (e.term("evictable") or 0) > 0
    return holds(same, Fact(e.line, f"the {e.delta} too many equal available={available}"))


def uncached_doubled(e: Evidence) -> Proof | None:
    """What is too many is exactly half of uncached, which jumped by at least as much."""
    uncached, before = e.term("uncached"), e.before("uncached")
    if not uncached or uncached != 2 * e.delta or (before is not None and uncached - before < e.delta):
        return None
    facts = [Fact(e.line, f"uncached={uncached} is twice the {e.delta} that are too many")]
    if before is not None and e.found.witness is not None:
        facts.append(Fact(e.found.witness.line, f"uncached was {before} in the last balanced record"))
    return tuple(facts)


def few_units(e: Evidence) -> Proof | None:
    """So little is off that chance could make it."""
    size = e.found.page_size or max(e.sizes, default=1)
    return holds(e.delta <= size, Fact(e.line, f"only {e.delta} too many, which may equal half of uncached by chance"))


def held_and_running(e: Evidence) -> Proof | None:
    """A session holds at least as much as is too many, and so do the running requests."""
    held, uncached = e.term("session_held") or 0, e.term("uncached") or 0
    fits = 0 < e.delta <= min(held, uncached)
    return holds(fits, Fact(e.line, f"session_held={held} and uncached={uncached} both cover the {e.delta} too many"))


def wrong_is(*names: str) -> Condition:
    """Something tells which term is off, and it is one of these."""

    def told(e: Evidence) -> Proof | None:
        wrong = e.moves.wrong if e.moves else None
        if wrong is None or wrong.term not in names:
            return None
        return (Fact(wrong.lines[-1], f"{wrong.text}, so {wrong.term} is the term that is off"),)

    return told


def wrong_not(*names: str) -> Condition:
    """No other term than these is told to be off."""

    def may_be(e: Evidence) -> Proof | None:
        wrong = e.moves.wrong if e.moves else None
        return holds(wrong is None or wrong.term in names)

    return may_be


def unexplained(e: Evidence) -> Proof | None:
    """What the moves leave over."""
    moves = e.moves
    if moves is None or not moves.remainder:
        return None
    facts = []
    for name, rest in moves.remainder.items():
        what = "left it and arrived in no term" if rest < 0 else "appeared in it and left no term"
        facts.append(Fact(moves.lines[1], f"{name}: {abs(rest)} {what} since line {moves.lines[0]}"))
    return tuple(facts)


def request_finished(e: Evidence) -> Proof | None:
    """Locks were given back in the broken step, as when requests finish."""
    if e.found.witness is None or e.found.witness.check != "busy" or e.found.check != "busy" or e.found.gap:
        return None
    changes = e.found.moved or {}
    unlocked = changes.get("protected", 0) < 0 < changes.get("evictable", 0)
    text = f"{spell(changes)} since line {e.found.witness.line}: requests finished in this step"
    return holds(unlocked, Fact(e.line, text))


def plain_decode(e: Evidence) -> Proof | None:
    """Nothing but an allocation happened in the broken step."""
    changes = e.found.moved
    if changes is None or e.found.witness is None or e.found.check != "busy" or e.found.gap:
        return None
    quiet = not any(changes.get(name) for name in ("evictable", "protected", "session_held"))
    text = f"only available and uncached moved since line {e.found.witness.line}: no request came or finished"
    return holds(quiet and (changes.get("uncached") or 0) >= 0, Fact(e.line, text))


def everything_missing(e: Evidence) -> Proof | None:
    """The whole pool is missing."""
    total = e.found.total or 0
    return holds(total > 1 and -e.delta == total, Fact(e.line, f"the whole pool of {total} is missing"))


def sibling_smaller(pool: str) -> Condition:
    """Another pool breaks in the same check and direction, by less."""

    def smaller(e: Evidence) -> Proof | None:
        for other in e.siblings:
            if other.pool == pool and other.delta is not None and other.delta * e.delta > 0:
                less = abs(other.delta) < abs(e.delta)
                return holds(less, Fact(other.row.line, f"[{pool}] is off by {other.delta:+}, less than {e.delta:+}"))
        return None

    return smaller


def page_kind(kind: str) -> Condition:
    """The page check found this."""
    return lambda e: holds(e.found.check == "pages" and e.found.kind == kind, the_sum(e))


def sums_hold(e: Evidence) -> Proof | None:
    """Every pool balances in the check before a page report."""
    rows = e.sheet.values()
    even = [row for row in rows if row.total is not None and row.accounted == row.total]
    if not even or len(even) < len(rows):
        return None
    return tuple(Fact(row.line, f"{terms_of(row)}: sum {row.accounted}, the total") for row in even)


def not_available(e: Evidence) -> Proof | None:
    """What is too many is not what is free."""
    return holds(equals_available(e) is None)


def doubled_surely(e: Evidence) -> Proof | None:
    """uncached doubled, and by more than chance makes."""
    return uncached_doubled(e) if few_units(e) is None else None


def sibling_lost_tokens(e: Evidence) -> Proof | None:
    """A token pool lost something in the same idle check."""
    for other in e.siblings:
        if other.pool != e.found.pool and other.delta is not None and other.delta < 0:
            return (Fact(other.row.line, f"[{other.pool}] misses {-other.delta} in the same check"),)
    return None
