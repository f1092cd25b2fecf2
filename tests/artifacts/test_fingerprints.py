"""What makes two breaks the same."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from made_logs import analysis_of, assertion, busy

from memcheck_cli.artifacts.fingerprints import features, fingerprint, fingerprint_of, moved_terms
from memcheck_cli.artifacts.model import Fingerprint
from memcheck_cli.forensics.breaks import Settings


def of(
    *lines: str, page_size: int | None = None, signature: str | None = None, flags: dict | None = None
) -> Fingerprint:
    found = analysis_of(list(lines), Settings(page_size)).breaks[0]
    return fingerprint_of(found, flags or {}, signature)


GOOD = busy("full", 1000, 700, 200, 50, 0, 50)


def test_the_amounts_do_not_matter() -> None:
    one = of(GOOD, busy("full", 1000, 716, 200, 50, 0, 18), page_size=16)
    two = of(GOOD, busy("full", 1000, 700, 232, 50, 0, 2), page_size=16)
    assert one == two
    assert (one.kind, one.page_multiple, one.moved) == ("leak", True, ("-uncached",))


def test_what_does_matter() -> None:
    base = of(GOOD, busy("full", 1000, 684, 200, 50, 0, 50), page_size=16)
    others = [
        of(GOOD, busy("full", 1000, 716, 200, 50, 0, 50), page_size=16),
        of(GOOD, busy("full", 1000, 683, 200, 50, 0, 50), page_size=16),
        of(GOOD, busy("full", 1000, 684, 200, 50, 0, 50)),
        of(GOOD, busy("full", 1000, 700, 184, 50, 0, 50), page_size=16),
        of(GOOD, busy("full", 1000, 684, 200, 50, 0, 50), page_size=16, signature="x"),
        of(GOOD, busy("full", 1000, 684, 200, 50, 0, 50), page_size=16, flags={"enable_mixed_chunk": True}),
        of(GOOD, busy("swa", 500, 484, 0), page_size=16),
    ]
    assert len({base.id, *(other.id for other in others)}) == len(others) + 1


def test_nothing_moved_without_a_witness() -> None:
    found = analysis_of(assertion("full", 1000, 684, 200, 50, 0, 50)).breaks[0]
    assert moved_terms(found) == ()


def test_only_features_that_are_on_count() -> None:
    flags = {
        "speculative_algorithm": "EAGLE3",
        "speculative_eagle_topk": 1,
        "pp_size": 1,
        "enable_mixed_chunk": False,
        "disable_overlap_schedule": True,
        "disaggregation_mode": "null",
        "page_size": 64,
        "port": 3000,
        "enable_dp_attention": None,
    }
    assert features(flags) == ("speculative_algorithm=EAGLE3", "disable_overlap_schedule")


@given(st.one_of(st.none(), st.text(max_size=80)), st.text(max_size=20))
def test_any_pool_gives_a_name_that_a_file_can_hold(pool: str | None, kind: str) -> None:
    name = fingerprint(pool, kind, None, (), None, ()).id
    assert re.fullmatch(r"[a-z0-9-]{1,60}", name)
