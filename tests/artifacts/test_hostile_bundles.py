"""Bundles of any content: no exception, and answers that can be read."""

from __future__ import annotations

import io
import json
from datetime import date

from bundles import VALIDATOR
from growth import assert_linear
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from made_bundles import COMMAND, begin, columns, end, failed, method, sample, stamped, text

from memcheck_cli.artifacts import Bundle, read_bundle
from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.render.artifacts import print_bundle
from memcheck_cli.render.artifacts_json import document
from memcheck_cli.render.github import MOST_ANNOTATIONS, annotation_lines, summary
from memcheck_cli.render.junit import write_junit
from memcheck_cli.sources import Source

LOST, SWA = sample("lost-page"), sample("swa-lost-page")
EVIL = "\x1b]0;x\x07|`<b>\r%0A::error::\u202e"
PIECES: list[list[str]] = [
    begin("test_a.py"),
    begin(f"test_{EVIL}.py"),
    end("test_a.py"),
    failed("test_a.py"),
    ["[CI Retry] Attempt 2/2 for test_a.py", "✓ PASSED on retry (attempt 2): test_a.py"],
    ["[CI Retry] Attempt 0/0 for test_a.py", "✓ PASSED on retry (attempt 9999): test_b.py"],
    [method("TestA", "test_1")],
    [method("TestB", "test_2")],
    [COMMAND + EVIL],
    LOST,
    LOST[30:],
    SWA[:40],
    ["===== FAILURES =====", "_____ TestA.test_1 _____", "----- Captured stderr call -----", *LOST],
    ["FAILED a/test_a.py::TestA::test_1 - x", "=====", "ERROR: test_2 (__main__.TestB)"],
    ["##[error]Process completed with exit code 1.", "  SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY: 1"],
    ["[Mem Check (BUSY)] ", "pool memory leak detected!", "[Mem Check (BUSY)] [full] total=1, available=\x00"],
]
PIECE = st.one_of(
    st.sampled_from(PIECES).map(text),
    st.binary(max_size=40),
    st.text(max_size=40).map(lambda line: line.encode("utf-8", "replace") + b"\n"),
)
NAMES = st.sampled_from(
    ["r.zip/0_a.txt", "r.zip/a/1_Set up job.txt", "r.zip/a/2_x.txt", "r.zip/b/s.log", "r.zip/j.xml", "-"]
)


def source_of(name: str, data: bytes) -> Source:
    return Source(name, lambda _: io.BytesIO(data))  # type: ignore[arg-type, return-value]


def held(bundle: Bundle) -> None:
    """All renderings can be made and are read back."""
    answer = document(bundle)
    VALIDATOR.validate(answer)
    json.dumps(answer, ensure_ascii=False).encode()
    output = io.StringIO()
    write_junit(bundle, output)
    assert JUnitXml.fromstring(output.getvalue().encode()) is not None
    output = io.StringIO()
    print_bundle(bundle, output, verbose=True)
    for told in (output.getvalue(), summary(bundle), *annotation_lines(bundle)):
        assert not set(told) & set("\x1b\x07\r\u202e")
        told.encode()
    assert len(annotation_lines(bundle)) <= MOST_ANNOTATIONS


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.tuples(NAMES, st.lists(PIECE, max_size=5)), max_size=4, unique_by=lambda one: one[0]))
def test_any_bundle(members: list[tuple[str, list[bytes]]]) -> None:
    sources = [source_of(name, b"".join(pieces)) for name, pieces in members]
    held(read_bundle(sources, ["r.zip", "-"], Settings(), Scope(), today=date(2026, 12, 1)))


def test_hostile_columns() -> None:
    lines = [line for n in range(30) for line in columns(f"job {n % 7} {EVIL}", EVIL, stamped(PIECES[n % len(PIECES)]))]
    held(read_bundle([source_of("-", text(lines))], ["-"], Settings(), Scope(), today=date(2026, 12, 1)))


def test_time_is_linear_in_hostile_marks() -> None:
    """Many small attempts, methods and starts: no step looks at all of what came before."""

    def read(count: int) -> None:
        parts = [
            [line for n in range(count) for line in begin(f"test_{n}.py", n, count)],
            [method("TestA", f"test_{n}") for n in range(count)],
            [COMMAND] * count,
            ["----- Captured stderr call -----", method("A", "b"), "====="] * count,
            [f"[CI Retry] Attempt {n}/{count} for test_a.py" for n in range(count)],
            ["✗ FAILED: test_a.py returned exit code 1", "ERROR: test_1 (__main__.TestA)"] * count,
        ]
        data = text(line for part in parts for line in part)
        read_bundle([source_of("-", data)], ["-"], Settings(), Scope(), today=date(2026, 12, 1))

    assert_linear(read, 1200, tries=1)
