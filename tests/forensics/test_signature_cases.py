"""Every signature has a case in which it holds, and one close to it in which it does not."""

from __future__ import annotations

import pytest
from explained import (
    args,
    banner,
    busy,
    crash,
    decode,
    explained,
    full,
    hits,
    idle,
    mamba,
    prefill,
    prefix,
    requests,
)

from memcheck_cli.forensics.signatures import BY_ID, SIGNATURES
from memcheck_cli.forensics.signatures.model import CAPACITY, CORRUPTION, HARMLESS

RETRACT = prefix() + "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62"
ABORT = prefix() + "Abort running request. req.rid='7f3a'"
WATCHDOG = [prefix() + "Scheduler debug info:", "scheduler.cur_batch.batch_size()=3"]
OOM = ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."]
PAGE16 = args(page_size=16)
PAGE64 = args(page_size=64)
SPEC = {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 4}


def both(full_terms: tuple[int, ...], swa_terms: tuple[int, ...]) -> list[str]:
    """One busy check of a hybrid model."""
    return [busy("full", 4096, *full_terms), busy("swa", 2048, *swa_terms)]


EVEN = both((2048, 1024, 512, 0, 512), (1024, 512, 256, 0, 256))


def steps(*rows: tuple[int, ...], total: int = 4096, clock: str = "08:15:01") -> list[str]:
    """Busy checks of a plain model."""
    return [busy("full", total, *row, clock=clock) for row in rows]


def page_report(text: str, *before: str) -> list[str]:
    return [args(), prefill(), *before, *crash(text, error="ValueError")]


def double_free() -> list[str]:
    return page_report("KV double free: sub-pool 0 has 1 duplicate pages.", *steps((4000, 0, 0, 0, 96)))


def two_ranks(one: list[tuple[int, ...]], two: list[tuple[int, ...]]) -> list[str]:
    lines = [args(tp_size=2), prefill(rank="TP0")]
    for a, b in zip(one, two, strict=True):
        lines += [busy("full", 4096, *a, rank="TP0"), busy("full", 4096, *b, rank="TP1")]
    return lines


def drift(grows: str, *, steady: bool = False) -> list[str]:
    """A long run in which one term grows by one per iteration while requests come and go."""
    lines = [args()]
    for at in range(1500):
        if at % 10 == 0:
            lines.append(prefill(100, running=3))
        extra = 0 if steady else at
        grown = {"uncached": 0, "session_held": 0, "protected": 0, grows: extra}
        uncached, held, protected = 200 + grown["uncached"], grown["session_held"], 400 + grown["protected"]
        lines.append(busy("full", 40960, 40960 - uncached - held - protected, 0, protected, held, uncached))
    return lines


def creep(by: int) -> list[str]:
    """Decode lines only, with so many tokens more in each."""
    lines = [args()]
    for at in range(1500):
        lines += [prefill(100, running=3), decode(4, 1000 + by * at, usage=max(0.05, (1000 + by * at) / 20000))]
    return lines


OLD_BUSY = "[Mem Check (BUSY)] available_size={}, evictable_size=0, protected_size=0, uncached_size={}"
OLD = [prefix() + OLD_BUSY.format(3996, 100), prefix() + OLD_BUSY.format(3996, 0)]
OLD_LEAK = [*OLD, *crash("Mem Leak Detected! total_tokens=3996 vs self.max_total_num_tokens=4096")]

CASES: dict[str, tuple[list[str], list[str]]] = {
    "both-pools-lost": (
        [PAGE64, prefill(), *EVEN, *both((1984, 1024, 512, 0, 512), (960, 512, 256, 0, 256))],
        [PAGE64, prefill(), *EVEN, *both((2048, 1024, 512, 0, 512), (960, 512, 256, 0, 256))],
    ),
    "swa-one-page": (
        [PAGE64, prefill(), *EVEN, *both((2048, 1024, 512, 0, 512), (1088, 512, 256, 0, 256))],
        [PAGE64, prefill(), *EVEN, *both((2048, 1024, 512, 0, 512), (1152, 512, 256, 0, 256))],
    ),
    "swa-only": (
        [PAGE64, prefill(), *EVEN, *both((2048, 1024, 512, 0, 512), (896, 512, 256, 0, 256))],
        [PAGE64, prefill(), *EVEN, *both((1920, 1024, 512, 0, 512), (896, 512, 256, 0, 256))],
    ),
    "after-retract": (
        [args(), prefill(), *steps((20, 3000, 1000, 0, 76)), RETRACT, *idle(full(4096, 0, 4037))],
        [
            args(),
            prefill(),
            RETRACT,
            *steps(*([(20, 3000, 1000, 0, 76)] * 6)),
            *idle(full(4096, 0, 4037)),
        ],
    ),
    "after-abort": (
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), ABORT, *idle(full(4096, 3000, 1000))],
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), *idle(full(4096, 3000, 1000))],
    ),
    "batch-abandoned": (
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), *OOM, *idle(full(4096, 3000, 1000))],
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), *OOM, *idle(full(4096, 3000, 1090))],
    ),
    "session-tail": (
        [args(enable_streaming_session=True), prefill(), *steps((3000, 0, 500, 500, 96), (3000, 0, 500, 500, 82))],
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96), (3000, 0, 1000, 0, 82))],
    ),
    "batch-not-counted": (
        [args(), *steps((3000, 0, 1000, 0, 96)), prefill(200), *steps((2800, 0, 1000, 0, 96))],
        [args(), *steps((3000, 0, 1000, 0, 96)), prefill(200), *steps((2993, 0, 1000, 0, 96))],
    ),
    "row-overrun": (
        [args(**SPEC), banner(context=1000), prefill(), decode(1, 980), *idle(full(4096, 4000, 84))],
        [args(**SPEC), banner(context=1000), prefill(), decode(1, 380), *idle(full(4096, 4000, 84))],
    ),
    "spec-overallocation": (
        [args(page_size=16, **SPEC), prefill(), *idle(full(4096, 4000, 64))],
        [args(page_size=16, speculative_algorithm=None), prefill(), *idle(full(4096, 4000, 64))],
    ),
    "mixed-chunk": (
        [args(enable_mixed_chunk=True), prefill(), *idle(full(4096, 4000, 91))],
        [args(enable_mixed_chunk=False), prefill(), *idle(full(4096, 4000, 91))],
    ),
    "locks-at-idle": (
        [args(), prefill(), *idle(full(4096, 3000, 1000, 90))],
        [args(), prefill(), *idle(full(4096, 3000, 1090))],
    ),
    "page-dropped": (
        [PAGE16, prefill(), *steps((3000, 0, 1000, 0, 96), (2984, 0, 1000, 0, 96))],
        [PAGE16, prefill(), *steps((3000, 0, 1000, 0, 96), (3016, 0, 1000, 0, 96))],
    ),
    "lost-at-finish": (
        [PAGE16, prefill(), *steps((112, 2080, 1680, 0, 224), (128, 2832, 976, 0, 144))],
        [PAGE16, prefill(), *steps((112, 2080, 1680, 0, 224), (80, 2080, 1680, 0, 240))],
    ),
    "hidden-in-uncached": (
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), *idle(full(4096, 3000, 1048))],
        [args(), prefill(), *idle(full(4096, 3000, 1048))],
    ),
    "lost-and-freed-twice": (
        double_free(),
        page_report("KV double free: sub-pool 0 has 1 duplicate pages."),
    ),
    "page-freed-twice": (
        page_report("KV double free: sub-pool 0 has 1 duplicate pages."),
        double_free(),
    ),
    "page-in-use-freed": (
        page_report("KV page use-after-free: 2 owner page refs are in the free pool, sample pages=[3, 4]."),
        double_free(),
    ),
    "batch-counted-twice": (
        [args(), prefill(), *steps((96, 2159, 1740, 0, 101), (90, 2159, 1740, 0, 214))],
        [args(), prefill(), *steps((96, 2159, 1740, 0, 101), (91, 2159, 1740, 0, 107))],
    ),
    "requests-counted-twice": (
        [args(), prefill(), *steps((102, 2159, 1740, 0, 95), (96, 2159, 1740, 0, 101), (90, 2159, 1740, 0, 121))],
        [args(), prefill(), *steps((102, 2159, 1740, 0, 95), (96, 2159, 1740, 0, 101), (104, 2159, 1740, 0, 107))],
    ),
    "full-and-swa-overcount": (
        [PAGE64, prefill(), *EVEN, *both((2048, 1152, 512, 0, 512), (1024, 576, 256, 0, 256))],
        [PAGE64, prefill(), *EVEN, *both((2048, 1152, 512, 0, 512), (1024, 640, 256, 0, 256))],
    ),
    "free-list-overfull": (
        [args(), prefill(), *idle(full(4096, 5000))],
        [args(), prefill(), *idle(full(4096, 4000, 1000))],
    ),
    "shared-pages-counted-twice": (
        [args(page_size=32), prefill(), *idle(full(4096, 96, 4160))],
        [args(page_size=1), prefill(), *idle(full(4096, 96, 4160))],
    ),
    "free-and-evictable": (
        [args(), prefill(), *idle(full(4096, 328, 4096))],
        [args(), prefill(), *idle(full(4096, 329, 4000))],
    ),
    "freed-twice": (
        [PAGE16, prefill(), *steps((3000, 0, 1000, 0, 96), (3016, 0, 1000, 0, 96))],
        [PAGE16, prefill(), *steps((3000, 0, 1000, 0, 96), (2984, 0, 1000, 0, 96))],
    ),
    "negative-term": (
        [args(), prefill(), *idle(full(4096, 4000, 96, 0, -1664))],
        [args(), prefill(), *idle(full(4096, 4000, 90, 0, 0))],
    ),
    "tree-counter": (
        [
            args(),
            prefill(),
            *steps((3000, 0, 1000, 0, 96)),
            *crash("Sanity check FAILED (2 violations across 14 nodes):"),
            *idle(full(4096, 3000, 1100)),
        ],
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), *idle(full(4096, 3000, 1100))],
    ),
    "unaligned-shards": (
        [
            args(),
            prefill(),
            busy(
                "full", 4096, 3032, 0, 0, 0, 1064, extra=", unaligned_sharded_counts={'available': 3032}, page_size=64"
            ),
        ],
        [args(), prefill(), busy("full", 4096, 3000, 0, 0, 0, 1096, extra=", class_free_pages=[4, 4]")],
    ),
    "free-list-duplicates": (
        [args(), prefill(), *idle(full(4096, 4096), mamba(30, 30, extra=", free_list_duplicates=2"))],
        [args(), prefill(), *idle(full(4096, 4096), mamba(30, 29, extra=", free_list_duplicates=0"))],
    ),
    "batch-lost": (
        [
            args(disaggregation_mode="null"),
            prefill(),
            decode(7, 900),
            *idle(full(4096, 4000), warn=True),
            *requests(57, 64),
        ],
        [args(disaggregation_mode="null"), prefill(), decode(7, 900), *requests(57, 64)],
    ),
    "request-slot-lost": (
        [args(disaggregation_mode="null"), prefill(), *requests(63, 64)],
        [args(disaggregation_mode="null"), prefill(), *idle(full(4096, 4000), warn=True), *requests(63, 64)],
    ),
    "request-slot-twice": (
        [args(disaggregation_mode="null"), prefill(), *requests(66, 64)],
        [args(disaggregation_mode="null"), prefill(), *requests(62, 64)],
    ),
    "mamba-slot-lost": (
        [args(), prefill(), *idle(full(4096, 4096), mamba(30, 11, 18, extra=", leaked_mamba_pages={26}"))],
        [args(), prefill(), *idle(full(4096, 4096), mamba(30, 13, 18))],
    ),
    "mamba-slot-twice": (
        [args(), prefill(), *idle(full(4096, 4096), mamba(20, 23))],
        [args(), prefill(), *idle(full(4096, 4096), mamba(20, 19))],
    ),
    "mamba-withheld": (
        [args(), prefill(), *idle(full(4096, 4096), mamba(12))],
        [args(), prefill(), *idle(full(4096, 4096), mamba(12, 11))],
    ),
    "constant-offset": (
        [args(), banner(), *steps((12288, 0, 0, 0, 0), (12188, 0, 0, 0, 100), (12088, 0, 100, 0, 100))],
        [args(), banner(), *steps((4096, 0, 0, 0, 0), (12188, 0, 0, 0, 100), (12088, 0, 100, 0, 100))],
    ),
    "boot-owner": (
        [args(), banner(), *idle(full(4096, 4086))],
        [args(), banner(), prefill(), *idle(full(4096, 4086))],
    ),
    "session-lent-twice": (
        [args(), prefill(), *steps((3000, 0, 500, 300, 296), (2900, 0, 500, 300, 496))],
        [args(), prefill(), *steps((3000, 0, 800, 0, 296), (2900, 0, 800, 0, 496))],
    ),
    "parked-chunk": (
        [args(), *steps((3000, 0, 1000, 0, 96)), prefill(256, pending=300), *steps((2744, 0, 1000, 0, 96))],
        [args(), *steps((3000, 0, 1000, 0, 96)), prefill(256), *steps((2744, 0, 1000, 0, 96))],
    ),
    "idle-batch-uncounted": (
        [args(enable_dp_attention=True), banner(), prefix() + "Decode batch, #running-req: 1", *OLD_LEAK],
        [args(enable_dp_attention=False), banner(), prefix() + "Decode batch, #running-req: 1", *OLD_LEAK],
    ),
    "missing-term": (
        [args(), prefill(), *idle(full(500000, 419745, 90, extra=", withheld=80165"))],
        [args(), prefill(), *idle(full(500000, 419745, 90, extra=", withheld=80164"))],
    ),
    "unprinted-term": (
        [banner(), *OLD],
        [banner(), OLD[0]],
    ),
    "one-per-iteration": (
        [args(), prefill(), *steps(*((3000 - at, 0, 1000, 0, 96) for at in range(5)))],
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96), *([(2999, 0, 1000, 0, 96)] * 4))],
    ),
    "gone-again": (
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96), (2999, 0, 1000, 0, 96), (2990, 0, 1000, 0, 106))],
        [
            args(),
            prefill(),
            *steps((3000, 0, 1000, 0, 96), (2999, 0, 1000, 0, 96)),
            prefix() + "Cache flushed successfully!",
            *steps((4000, 0, 0, 0, 96)),
        ],
    ),
    "same-each-time": (
        [args(), prefill(), *(line for n in (1, 2, 3) for line in idle(full(4096, 4096 - 73 * n), warn=True))],
        [args(), prefill(), *(line for n in (1, 1, 1) for line in idle(full(4096, 4096 - 73 * n), warn=True))],
    ),
    "grows-per-cycle": (
        [args(), prefill(), *(line for lost in (1, 153, 300) for line in idle(full(4096, 4096 - lost), warn=True))],
        [args(), prefill(), *(line for lost in (1, 153) for line in idle(full(4096, 4096 - lost), warn=True))],
    ),
    "startup-of-transfer": (
        [args(disaggregation_mode="decode"), prefill(), *(idle(full(4096, 4091), warn=True) * 3)],
        [args(disaggregation_mode="null"), prefill(), *(idle(full(4096, 4091), warn=True) * 3)],
    ),
    "one-rank-only": (
        two_ranks([(4000, 0, 0, 0, 96), (3990, 0, 0, 0, 106)], [(4000, 0, 0, 0, 96), (3989, 0, 0, 0, 106)]),
        two_ranks([(4000, 0, 0, 0, 96), (3989, 0, 0, 0, 106)], [(4000, 0, 0, 0, 96), (3989, 0, 0, 0, 106)]),
    ),
    "all-ranks-alike": (
        [args(tp_size=2), prefill(), *idle(full(4096, 4080), rank="TP0"), *idle(full(4096, 4080), rank="TP1")],
        [args(tp_size=2), prefill(), *idle(full(4096, 4080), rank="TP0"), *idle(full(4096, 4070), rank="TP1")],
    ),
    "allocator-overfull": (
        [args(), prefill(), *crash("swa_attn_allocator.available_size() <= swa_attn_allocator.size")],
        [args(), prefill(), *crash("some_other.available_size() <= some_other.size")],
    ),
    "lengths-do-not-fit": (
        [
            args(),
            prefill(),
            prefix() + "Scheduler hit an exception: Traceback (most recent call last):",
            '  File "/srv/sglang/srt/managers/scheduler.py", line 7, in _add_owner',
            "AssertionError",
        ],
        [
            args(),
            prefill(),
            prefix() + "Scheduler hit an exception: Traceback (most recent call last):",
            '  File "/srv/sglang/srt/managers/scheduler.py", line 7, in handle_request',
            "AssertionError",
        ],
    ),
    "allocator-bookkeeping": (
        [
            args(),
            prefill(),
            prefix() + "pool-bytes memory leak detected! [joint] stale available_size memo: cached=5, actual=6",
        ],
        [args(), prefill(), prefix() + "pool-bytes are all there"],
    ),
    "report-without-numbers": (
        [
            args(),
            prefill(),
            *crash("Please use `envs.YOUR_FLAG.get()` instead of `envs.YOUR_FLAG`", error="RuntimeError"),
        ],
        [args(), prefill(), *crash("Please use another flag", error="RuntimeError")],
    ),
    "ranks-part": (
        two_ranks([(4000, 0, 0, 0, 96), (3990, 0, 0, 0, 106)], [(4000, 0, 0, 0, 96), (3980, 0, 0, 0, 116)]),
        two_ranks([(4000, 0, 0, 0, 96), (3990, 0, 0, 0, 106)], [(4000, 0, 0, 0, 96), (3990, 0, 0, 0, 106)]),
    ),
    "protected-never-falls": (drift("protected"), drift("protected", steady=True)),
    "uncached-grows": (drift("uncached"), drift("uncached", steady=True)),
    "session-held-grows": (drift("session_held"), drift("session_held", steady=True)),
    "usage-creeps": (creep(10), creep(0)),
}

FINDINGS: dict[str, tuple[list[str], list[str]]] = {
    "tolerated-slack": (
        [args(), prefill(), busy("full", 4096, 4090, extra=", dcp_physical_page_slack_allowed=True")],
        [args(), prefill(), busy("full", 4096, 4096)],
    ),
    "watchdog-numbers": (
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), *WATCHDOG, full(4096, 3000, 0, 1000)],
        [args(), prefill(), *steps((3000, 0, 1000, 0, 96)), *WATCHDOG],
    ),
}
"""False alarms that break nothing: they are findings, and `signatures` stays empty."""

TRENDS = ("protected-never-falls", "uncached-grows", "session-held-grows", "usage-creeps")


@pytest.mark.parametrize("name", CASES)
def test_holds(name: str) -> None:
    analysis = explained(CASES[name][0], trends=name in TRENDS)
    assert name in hits(analysis)
    for hit in analysis.explanation.hits:
        assert hit.points_to.startswith("points to ")
        assert "{" not in hit.points_to
        assert hit.evidence
        assert all(fact.line >= 1 and fact.text for fact in (*hit.evidence, *hit.against))


@pytest.mark.parametrize("name", CASES)
def test_does_not_hold(name: str) -> None:
    assert name not in hits(explained(CASES[name][1], trends=name in TRENDS))


@pytest.mark.parametrize("name", FINDINGS)
def test_false_alarm_that_breaks_nothing_is_a_finding(name: str) -> None:
    alarm, quiet = FINDINGS[name]
    analysis = explained(alarm)
    assert [item.kind for item in analysis.findings] == [BY_ID[name].kind]
    assert analysis.findings[0].more["signature"] == name
    assert (analysis.verdict, hits(analysis)) == ("balanced", [])
    assert explained(quiet).findings == []


def test_every_signature_has_its_cases() -> None:
    assert {signature.id for signature in SIGNATURES} == {*CASES, *FINDINGS}


def test_trends_are_looked_for_only_when_asked() -> None:
    assert hits(explained(drift("uncached"))) == []


def test_the_table_is_whole() -> None:
    for signature in SIGNATURES:
        assert signature.harm in (CAPACITY, CORRUPTION, HARMLESS)
        assert signature.points_to.startswith("points to ")
        assert 0 < signature.strength <= 100
        assert (
            signature.needs
            or signature.kind
            or signature.id
            in (
                "allocator-overfull",
                "lengths-do-not-fit",
                "allocator-bookkeeping",
                "report-without-numbers",
            )
        )
        assert all(url.startswith("https://github.com/") for url in signature.urls)
        assert all(text and text[-1] not in " \n" for text in (signature.title, signature.seen, signature.separate))
