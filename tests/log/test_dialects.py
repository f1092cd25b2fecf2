"""Every form of the checker's texts is data, and every sample of it reads back as that form with the right numbers."""

from __future__ import annotations

import re

import pytest

from memcheck_cli.checker.invariant import EXTRA_SIGNS
from memcheck_cli.checker.invariant import NO_SLOTS as UNCOUNTED
from memcheck_cli.checker.releases import RELEASES, Release
from memcheck_cli.log.context import read_context
from memcheck_cli.log.dialects import BY_ID, CONTEXT_KINDS, DIALECTS, NAMES, Dialect
from memcheck_cli.log.dialects.names import NO_SLOTS
from memcheck_cli.log.lines import read_message
from memcheck_cli.log.prefixes import split_prefix
from memcheck_cli.log.records import (
    Busy,
    BusyAssertion,
    Context,
    Idle,
    Message,
    PageReport,
    PoolLine,
    PoolParts,
    PoolText,
    RequestPool,
    Unnumbered,
)

SAMPLES = [(form, sample) for form in DIALECTS for sample in form.samples]
KINDS: dict[str, type[Message]] = {
    "busy": Busy,
    "assertion": BusyAssertion,
    "idle": Idle,
    "pool": PoolLine,
    "parts": PoolParts,
    "requests": RequestPool,
    "pages": PageReport,
}
NOTE_KINDS = {"leak", "crash", "bare", "tree-sanity", "tree-sanity-passed", "pool-bytes", "unsupported"}
CONTEXT_OF = {"watchdog": {"watchdog", "pyspy"}, "release-assertion": {"error"}, "env-warning": {"env-warning"}}
SPAN = re.compile(r"(\d[\w.]*)(?:-(\d[\w.]*))?")


def read(sample: str) -> Message | None:
    prefix = split_prefix(sample)
    return read_message(prefix.text, prefix.prefixed)


def pools_of(message: Message | None) -> tuple[PoolText, ...]:
    if isinstance(message, Busy | Idle):
        return message.pools
    if isinstance(message, PoolLine):
        return (message.pool,)
    if isinstance(message, BusyAssertion) and message.text is not None:
        return (message.text,)
    return ()


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(DIALECTS)


@pytest.mark.parametrize("form", DIALECTS, ids=lambda form: form.id)
def test_an_entry_is_complete(form: Dialect) -> None:
    assert form.samples
    assert form.kind in KINDS or form.kind in NOTE_KINDS or form.kind in CONTEXT_KINDS
    if form.kind in ("busy", "assertion", "idle", "pool", "requests") and form.names:
        assert form.equation
    if form.releases not in ("dev", "fork", "other engine", "before 0.4.0", "unknown"):
        match = SPAN.fullmatch(form.releases)
        assert match is not None
        ends = [end for end in match.groups() if end]
        assert set(ends) <= set(RELEASES)
        assert sorted(ends, key=Release.parse) == ends


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.name)
def test_a_further_name_is_complete(name: object) -> None:
    assert name.meaning and name.mark in ("", "reported", "tolerated")  # type: ignore[attr-defined]


@pytest.mark.parametrize(("form", "sample"), SAMPLES, ids=[f"{form.id}-{n}" for n, (form, _) in enumerate(SAMPLES)])
def test_a_sample_reads_back_as_its_form(form: Dialect, sample: str) -> None:
    message = read(sample)
    if form.kind in CONTEXT_KINDS:
        assert message is None
        prefix = split_prefix(sample)
        context = read_context(prefix.text, prefix.prefixed)
        assert isinstance(context, Context) and context.kind in CONTEXT_OF[form.kind]
        return
    assert message is not None
    assert message.form == form.id
    if form.kind in NOTE_KINDS:
        assert isinstance(message, Unnumbered)
        assert (message.kind, message.what) == (form.kind, form.what)
        assert message.detail in sample
    else:
        assert type(message) is KINDS[form.kind]


@pytest.mark.parametrize("form", DIALECTS, ids=lambda form: form.id)
def test_the_first_sample_is_the_template(form: Dialect) -> None:
    """Reading is tolerant, the data is exact: the template itself must read a sample and print it again."""
    texts = [split_prefix(sample).text for sample in form.samples]
    for text in texts:
        for start in (0, *(match.end() for match in re.finditer(r"(?:Error|Exception|Warning): ", text))):
            said = text[start:].lstrip() if form.kind in NOTE_KINDS else text[start:]
            values = form.template.read(said)
            if values is not None:
                assert form.template.print(**values) == said
                return
    raise AssertionError(f"no sample of {form.id} is its template")


FIVE = ("available", "evictable", "protected", "session_held", "uncached")
EXPECTED: dict[str, tuple[str, int | None, dict[str, int], set[str]]] = {
    "B3": ("full", 524288, dict(zip(FIVE, (515840, 0, 8192, 0, 256), strict=True)), set()),
    "B4": ("swa", 1024, {"available": 900, "evictable": 0}, {"skipped"}),
    "B1": (
        "full",
        None,
        {"available": 700, "evictable": 200, "protected": 50, "uncached": 50},
        {"session_unprinted"},
    ),
    "assert-full": ("full", 524288, dict(zip(FIVE, (515584, 0, 8192, 0, 256), strict=True)), set()),
    "assert-swa": ("swa", 131072, dict(zip(FIVE, (126720, 3840, 256, 0, 512), strict=True)), set()),
    "assert-B2-full": ("full", 990, dict(zip(FIVE, (700, 200, 50, 0, 50), strict=True)), set()),
    "assert-B2-swa": ("swa", 256, dict(zip(FIVE, (150, 50, 25, 0, 25), strict=True)), set()),
    "I": ("full", 203008, dict(zip(FIVE, (512, 202459, 0, 0, 0), strict=True)), set()),
    "I-short": ("full", 13510080, {"available": 13509568, "evictable": 8192, "protected": 0}, set()),
    "I-ring": ("swa", 1024, {"available": 900, "evictable": 0}, {"skipped"}),
    "H-radix": ("full", 1000, {"available": 700, "evictable": 280, "protected": 0, "session_held": 10}, set()),
    "G-radix": (
        "full",
        1000,
        {"available": 700, "evictable": 290, "protected": 0},
        {"protected_if_hierarchical"},
    ),
    "G-hybrid": ("full", 1000, {"available": 700, "evictable": 290, "protected": 0}, {"protected_not_summed"}),
    "G-mamba": ("full", 1000, {"available": 700, "evictable": 300, "protected": 0}, {"session_unprinted"}),
    "D": (
        "full",
        1000,
        {"available": 990, "protected": 0},
        {"available_holds_evictable", "protected_if_hierarchical"},
    ),
    "C": (
        "full",
        1000,
        {"available": 990, "protected": 0},
        {"available_holds_evictable", "protected_if_hierarchical"},
    ),
    "B": (
        "full",
        1000,
        {"available": 900, "protected": 0},
        {"available_holds_evictable", "protected_if_hierarchical"},
    ),
    "A": ("full", 1000, {"available": 900}, {"available_holds_evictable"}),
    "pool": ("swa", 65536, dict(zip(FIVE, (64896, 592, 0, 0, 0), strict=True)), set()),
    "pool-short": ("swa", 10808064, {"available": 10807552, "evictable": 1024, "protected": 0}, set()),
    "pool-ring": ("swa", 1024, {"available": 900, "evictable": 0}, {"skipped"}),
    "pool-unlabelled": ("full", 469952, dict(zip(FIVE, (96, 470016, 0, 0, 0), strict=True)), set()),
    "pool-H-radix": ("full", 1000, {"available": 700, "evictable": 280, "protected": 0, "session_held": 10}, set()),
    "pool-H-full": ("full", 1000, {"available": 700, "evictable": 292, "protected": 0, "session_held": 0}, set()),
    "pool-H-swa": ("swa", 250, {"available": 150, "evictable": 116, "protected": 0, "session_held": 0}, set()),
    "pool-G-radix": (
        "full",
        1000,
        {"available": 700, "evictable": 290, "protected": 0},
        {"protected_if_hierarchical"},
    ),
    "pool-G-full": ("full", 1000, {"available": 700, "evictable": 290, "protected": 0}, {"protected_not_summed"}),
    "pool-G-swa": ("swa", 250, {"available": 150, "evictable": 96, "protected": 0}, {"protected_not_summed"}),
    "pool-G-mamba-full": ("full", 1000, {"available": 700, "evictable": 300, "protected": 0}, {"session_unprinted"}),
    "pool-G-mamba": ("mamba", 24, {"available": 20, "evictable": 3, "protected": 0}, set()),
    "2024": ("full", 1000, {"available": 900}, {"available_holds_evictable"}),
    "mismatch-full": ("full", 1000, dict(zip(FIVE, (700, 200, 50, 0, 40), strict=True)), set()),
    "mismatch-swa": ("swa", 1000, dict(zip(FIVE, (700, 200, 50, 0, 40), strict=True)), set()),
    "mismatch-line": ("swa", 1000, dict(zip(FIVE, (700, 200, 50, 0, 40), strict=True)), set()),
    "slot-leak": ("swa", 262, {"available": 38, "evictable": 87}, set()),
    "slot-excess": ("swa", 120, {"available": 100, "evictable": 30}, set()),
    "dp": ("full", 1000, {"available": 900, "evictable": 0, "protected": 0}, set()),
    "diff-sizes": ("full", None, {"available": 700, "evictable": 290}, set()),
}
WITHOUT_ONE_POOL = {"B2", "B3-empty", "I-empty", "H-hybrid", "old-empty", "diff", "assert-sum"}


def test_every_pool_form_is_expected() -> None:
    forms = {form.id for form in DIALECTS if form.kind in ("busy", "assertion", "idle", "pool")}
    assert forms == set(EXPECTED) | WITHOUT_ONE_POOL


@pytest.mark.parametrize("name", EXPECTED)
def test_the_first_sample_has_these_numbers(name: str) -> None:
    pool, total, terms, marks = EXPECTED[name]
    (found,) = pools_of(read(BY_ID[name].samples[0]))
    assert (found.pool, found.total, dict(found.terms), set(found.marks)) == (pool, total, terms, marks)


def test_both_pools_stand_in_one_development_line() -> None:
    full, swa = pools_of(read(BY_ID["B2"].samples[0]))
    assert (full.pool, full.total, dict(full.terms)) == (
        "full",
        None,
        dict(zip(FIVE, (700, 200, 50, 0, 50), strict=True)),
    )
    assert (swa.pool, swa.total, dict(swa.terms)) == ("swa", None, dict(zip(FIVE, (150, 50, 25, 0, 25), strict=True)))


def test_the_old_assertion_gives_sum_and_capacity() -> None:
    assert read(BY_ID["assert-sum"].samples[0]) == BusyAssertion("assert-sum", None, None, 1000, 990)


@pytest.mark.parametrize(
    ("name", "held", "total"),
    [("req-session", 0, 32), ("req", None, 32), ("req-oldest", None, 32), ("2024-req", None, 32)],
)
def test_request_pools_are_counted_in_slots(name: str, held: int | None, total: int) -> None:
    message = read(BY_ID[name].samples[0])
    assert isinstance(message, RequestPool)
    assert (message.available, message.session_held, message.total) == (31, held, total)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("parts-available", {"available": 700}),
        ("parts-available-token", {"available": 700}),
        ("parts-evictable", {"evictable": 290}),
        ("2024-head", {}),
        ("fork-deduped", {}),
    ],
)
def test_parts_of_a_sum(name: str, parts: dict[str, int]) -> None:
    message = read(BY_ID[name].samples[0])
    assert isinstance(message, PoolParts) and message.parts == parts


def test_page_reports_name_pool_pages_and_samples() -> None:
    free = read(BY_ID["double-free"].samples[0])
    use = read(BY_ID["use-after-free"].samples[0])
    assert free == PageReport("double-free", "double-free", "full", 3)
    assert use == PageReport("use-after-free", "use-after-free", None, 3, (4, 5, 17))


def test_whoever_raised_is_raised_and_whoever_warned_is_not() -> None:
    raised = [read(sample) for sample in BY_ID["I"].samples]
    assert [(m.raised, m.copied) for m in raised if isinstance(m, Idle)] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    warned = [read(sample) for sample in BY_ID["D"].samples]
    assert [m.raised for m in warned if isinstance(m, Idle)] == [True, False]


@pytest.mark.parametrize(
    ("form", "number", "extra", "marks"),
    [
        ("B3", 2, {"class_free_pages": [10, 12, 9]}, set()),
        (
            "B3",
            3,
            {"unaligned_sharded_counts": {"available": 3032, "uncached": 1000}, "page_size": 64},
            {"reported"},
        ),
        ("B3", 4, {"dcp_physical_page_slack_allowed": True}, {"tolerated"}),
        ("B3", 5, {"withheld": 32}, set()),
        ("B3", 6, {"withheld": 32, "double_owned": 16, "double_owned_src": "census"}, set()),
        ("pool", 2, {"leaked_full_pages": None, "leaked_mamba_pages": [17]}, set()),
        (
            "pool",
            5,
            {
                "withheld": 0,
                "double_owned": 0,
                "double_owned_src": "census",
                "free_list_duplicates": 1,
                "duplicate_slot_ids": [4],
                "free_and_cached": 0,
            },
            {"reported"},
        ),
        ("mismatch-full", 0, {"accounted": 990, "diff": -10}, set()),
        ("dp", 0, {"dp": 0}, set()),
    ],
)
def test_further_names_are_kept_and_mean_something(
    form: str, number: int, extra: dict[str, object], marks: set[str]
) -> None:
    (found,) = pools_of(read(BY_ID[form].samples[number]))
    assert found.extra == extra
    assert found.marks == marks


def test_leaked_counts_of_the_0_5_10_hybrid_report_are_kept() -> None:
    message = read(BY_ID["H-hybrid"].samples[0])
    assert isinstance(message, Idle)
    assert (message.pools, message.extra) == ((), {"full_leaked": 8, "swa_leaked": -16})


def test_only_numbers_that_a_fork_sums_may_close_a_gap() -> None:
    assert {name.name for name in NAMES if name.counts} >= set(EXTRA_SIGNS)
    assert NO_SLOTS >= UNCOUNTED
    assert {"full_leaked", "swa_leaked", "accounted", "diff", "excess", "dp"} <= NO_SLOTS
