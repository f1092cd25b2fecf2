"""Small cuts of real logs: what must lead, what must not appear, and that clean logs point to nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from explained import args, assertion, busy, crash, decode, explained, full, hits, idle, prefill, prefix

from memcheck_cli.forensics.signatures import BY_ID, Signature

LOGS = Path(__file__).parent / "logs"
OWNED_TWICE = {"freed-twice", "batch-counted-twice", "requests-counted-twice", "free-list-overfull", "page-freed-twice"}
LOST = {"page-dropped", "lost-at-finish", "both-pools-lost", "swa-one-page", "batch-not-counted"}
PATHS = {"after-retract", "after-abort", "batch-abandoned", "session-tail", "spec-overallocation", "constant-offset"}

# What was done to the server: the signature that must lead, and those that must not appear.
EXPECTED: dict[str, tuple[str, set[str]]] = {
    "l2-lost-page-full": ("page-dropped", OWNED_TWICE | PATHS | {"lost-at-finish", "batch-not-counted"}),
    "l2-finish-leak-page16": ("page-dropped", OWNED_TWICE | PATHS),
    "l2-pair-lost-page-bad": ("page-dropped", OWNED_TWICE | PATHS),
    "l2-double-free": ("freed-twice", LOST | PATHS | {"batch-counted-twice"}),
    "l2-double-count": ("batch-counted-twice", LOST | PATHS | {"freed-twice", "free-list-overfull"}),
    "l2-swa64-lost-swa-page": ("swa-one-page", OWNED_TWICE | PATHS | {"both-pools-lost"}),
    "l2-swa64-lost-both": ("both-pools-lost", OWNED_TWICE | PATHS | {"swa-one-page", "swa-only"}),
    "l2-swap-page-invariants": ("lost-and-freed-twice", LOST | PATHS | {"freed-twice"}),
    "l1-ring-full": ("page-dropped", OWNED_TWICE | PATHS),
    "l1-ring-swa64": ("swa-one-page", OWNED_TWICE | PATHS | {"both-pools-lost", "batch-not-counted"}),
    "l1-asserts-off": ("page-dropped", OWNED_TWICE | PATHS | {"same-each-time", "grows-per-cycle", "gone-again"}),
    "l2-tp2-tp1-leaks": ("page-dropped", OWNED_TWICE | PATHS | {"all-ranks-alike", "ranks-part"}),
    "l1-tp2-tp1-dumps": ("page-dropped", OWNED_TWICE | PATHS | {"all-ranks-alike", "ranks-part"}),
    "idle-strict-swa64": ("swa-one-page", OWNED_TWICE | PATHS | {"boot-owner", "hidden-in-uncached"}),
    "idle-warn": ("page-dropped", OWNED_TWICE | PATHS | {"boot-owner", "same-each-time", "grows-per-cycle"}),
    "0.5.8-l2-lost-page": ("page-dropped", OWNED_TWICE | PATHS | {"parked-chunk", "idle-batch-uncounted"}),
    "0.5.12-l2-lost-page": ("page-dropped", OWNED_TWICE | PATHS | {"parked-chunk"}),
}
CLEAN = sorted(
    path.stem for path in LOGS.glob("*.log") if "clean" in path.stem or "recorded" in path.stem or "good" in path.stem
)


def log(name: str) -> bytes:
    return (LOGS / f"{name}.log").read_bytes()


@pytest.mark.parametrize("name", EXPECTED)
def test_what_leads(name: str) -> None:
    leads, never = EXPECTED[name]
    analysis = explained(log(name))
    found = hits(analysis)
    assert analysis.verdict == "broken"
    assert found[0] == leads
    assert not never & set(found)
    text = log(name).decode().split("\n")
    for hit in analysis.explanation.hits:
        assert hit.points_to.startswith("points to ")
        assert all(1 <= fact.line <= len(text) for fact in hit.evidence)


@pytest.mark.parametrize("name", CLEAN)
def test_clean_logs_point_to_nothing(name: str) -> None:
    for trends in (False, True):
        analysis = explained(log(name), trends=trends)
        assert hits(analysis) == []
        assert analysis.breaks == []
        assert [item for item in analysis.findings if item.kind != "tolerated-imbalance"] == []


def test_every_cut_is_used() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == {*EXPECTED, *CLEAN}
    assert set().union(*(never for _, never in EXPECTED.values())) <= set(BY_ID)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_exact_reader_explains_the_same(name: str) -> None:
    fast, exact = explained(log(name)), explained(log(name), exact=True)
    assert [(h.signature.id, h.event, h.evidence) for h in fast.explanation.hits] == [
        (h.signature.id, h.event, h.evidence) for h in exact.explanation.hits
    ]
    assert fast.explanation.advice == exact.explanation.advice
    assert [e.surroundings for e in fast.explanation.evidence.values()] == [
        e.surroundings for e in exact.explanation.evidence.values()
    ]


# Ranks


def test_only_the_parted_rank_is_named() -> None:
    analysis = explained(log("l2-tp2-tp1-leaks"))
    (divergence,) = [item for item in analysis.findings if item.kind == "peer-divergence"]
    assert divergence.more["terms"].keys() == {"available"}
    evidence = analysis.explanation.evidence[1]
    assert evidence.moves.wrong.term == "available" and evidence.moves.wrong.how == "peer"
    assert "one-rank-only" in hits(analysis)


def test_a_silent_rank_of_a_dump_is_unchecked() -> None:
    analysis = explained(log("l1-tp2-tp1-dumps"))
    assert [(item.rank, item.line is not None) for item in analysis.unchecked] == [("TP0", True)]


# Ranking


def test_no_signature_fits() -> None:
    lines = [args(page_size=64), prefill(), busy("full", 4096, 3000, 0, 1000, 0, 96), *idle(full(4096, 4000, 92))]
    assert "page-dropped" in hits(explained(lines))
    reported = prefix() + "Decode batch, #running-req: 1"
    odd = [args(page_size=64, tp_size=1), reported, *crash("Full Pool Mem Leak Detected! [full] total=7")]
    assert explained(odd).explanation is None or hits(explained(odd)) == []


def test_a_retraction_far_before_is_weaker_than_the_dropped_page() -> None:
    retract = prefix() + "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62"
    batches = [line for _ in range(5) for line in (prefill(), decode(3))]
    near = [args(), *batches, retract, *idle(full(4096, 4000, 80))]
    far = [args(), retract, *batches, *idle(full(4096, 4000, 80))]
    assert hits(explained(near))[0] == "after-retract"
    assert hits(explained(far))[0] == "page-dropped"
    assert "after-retract" in hits(explained(far))


def test_events_of_the_run_before_do_not_count() -> None:
    abort = prefix() + "Abort running request. req.rid='7f3a'"
    first = [args(), prefill(), busy("full", 4096, 4000, 0, 0, 0, 96), abort]
    second = [args(), prefill(), *idle(full(4096, 4000, 80))]
    assert "after-abort" not in hits(explained(first + second))
    assert "after-abort" in hits(explained([*second[:2], abort, *second[2:]]))


def test_one_event_of_several_ranks_is_explained_once() -> None:
    lines = [args(tp_size=4), prefill(rank="TP0")]
    for rank in range(4):
        lines += idle(full(4096, 4080), rank=f"TP{rank}")
    found = hits(explained(lines))
    assert len(found) == len(set(found))
    assert "all-ranks-alike" in found


def test_strongest_first() -> None:
    for name in EXPECTED:
        strengths = [hit.strength for hit in explained(log(name)).explanation.hits]
        assert strengths == sorted(strengths, reverse=True)


def test_assertion_without_record() -> None:
    analysis = explained([args(), prefill(), *assertion("full", 4096, 4000, 0, 0, 0, 80)])
    assert hits(analysis) == ["page-dropped"]


@pytest.mark.parametrize("form", ["json", "terminal"])
def test_a_healthy_log_loads_no_signature(form: str) -> None:
    code = (
        "import sys; from memcheck_cli.cli.analyze import command; "
        f"command.main(sys.argv[1:] + ['--format', {form!r}], standalone_mode=False); "
        "print([name for name in sys.modules if 'signatures.' in name or name in ('numpy', 'pandas')], file=sys.stderr)"
    )
    log = str(LOGS / "l2-clean-full.log")
    done = subprocess.run([sys.executable, "-c", code, log], capture_output=True, text=True, check=True)
    assert "alanced" in done.stdout or "BALANCED" in done.stdout
    assert done.stderr.strip() == "[]"


def test_a_page_freed_twice_in_the_step_of_an_allocation_is_no_false_alarm() -> None:
    rows = [(3000 - at, 0, 1000, 0, 96 + at) for at in range(6)]
    token = [busy("full", 4096, *row) for row in [*rows, (2995, 0, 1000, 0, 102)]]
    found = explained([args(), prefill(), *token])
    assert hits(found) == ["freed-twice"]
    assert found.explanation.evidence[1].moves.wrong.term == "available"
    page = [busy("full", 4096, 2944, 0, 1040, 0, 112), busy("full", 4096, 2944, 0, 1040, 0, 128)]
    found = explained([args(page_size=16), prefill(), *page])
    assert hits(found)[0] == "freed-twice"
    assert found.explanation.evidence[1].moves.wrong is None


def test_an_uncached_that_rose_lost_no_batch() -> None:
    start = [args(page_size=16), prefill(), busy("full", 4096, 3000, 1000, 48, 0, 48)]
    fell = busy("full", 4096, 2984, 1000, 48, 0, 16)
    rose = busy("full", 4096, 2936, 1000, 48, 0, 64)
    assert hits(explained([*start, fell]))[0] == "batch-not-counted"
    assert "batch-not-counted" not in hits(explained([*start, rose]))
    now = [busy("full", 4096, 3016, 1000, 48, 0, 32), busy("full", 4096, 2952, 1000, 48, 0, 48)]
    assert "batch-not-counted" not in hits(explained([*start, *now]))


def test_a_few_tokens_short_in_uncached_are_no_batch() -> None:
    rows = [(3000 - 7 * at, 0, 1000, 0, 96 + 7 * at) for at in range(4)]
    short = [busy("full", 4096, *row) for row in [*rows, (2972, 0, 1000, 0, 121)]]
    found = explained([args(), prefill(), *short])
    assert found.explanation.evidence[1].moves.wrong.term == "uncached"
    assert hits(found)[0] == "page-dropped" and "batch-not-counted" not in hits(found)


def test_an_idle_break_behind_a_busy_one_was_not_hidden_in_uncached() -> None:
    clean = [args(), prefill(), busy("full", 4096, 3000, 0, 1000, 0, 96)]
    assert "hidden-in-uncached" in hits(explained([*clean, *idle(full(4096, 3000, 1048))]))
    more = idle(full(4096, 3000, 999))  # 97 are missing, and 96 were uncached
    assert "hidden-in-uncached" not in hits(explained([*clean, *more]))
    broken = busy("full", 4096, 3000, 0, 1000, 0, 48)
    found = explained([*clean, broken, *idle(full(4096, 3000, 1048))])
    assert len(found.breaks) == 2
    assert "hidden-in-uncached" not in hits(found)


@pytest.mark.parametrize("signature", BY_ID.values(), ids=BY_ID)
def test_the_sentence_of_a_signature_speaks_of_one_as_of_many(signature: Signature) -> None:
    if "{amount}" in signature.points_to:
        number = r"(its|the) \{amount|\(\{amount|\{amount\}( of \S+ \S+)? (was|were|is|are|stand)\b"
        assert re.search(number, signature.points_to) is None
    assert signature.counts in ("tokens", "slots", "pages")
