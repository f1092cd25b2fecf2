"""What names of sources say about jobs and steps."""

from __future__ import annotations

import pytest

from memcheck_cli.artifacts.places import FILE, JOB_LOG, STEP_LOG, Place, places_of, same_job

CASES: list[tuple[list[str], list[str], list[Place]]] = [
    (["server.log"], ["server.log"], [Place(FILE, None)]),
    (["/tmp/x/server.log"], ["/tmp/x/server.log"], [Place(FILE, None)]),
    (["dir/server.log"], ["dir"], [Place(FILE, None)]),
    (["dir/server.log"], ["dir/"], [Place(FILE, None)]),
    (["a/server.log", "b.zip/server.log"], ["a", "b.zip"], [Place(FILE, "a"), Place(FILE, "b")]),
    (["dir/a/server.log"], ["dir"], [Place(FILE, "a")]),
    (["r.zip/run/a/x.log", "r.zip/run/b/deep/y.log"], ["r.zip"], [Place(FILE, "a"), Place(FILE, "b")]),
    (["r/a.tar.gz/x.log", "r/b.zip/in.zip/y.log"], ["r"], [Place(FILE, "a"), Place(FILE, "b")]),
    (["./a/x.log", "./b/x.log"], ["."], [Place(FILE, "a"), Place(FILE, "b")]),
    (
        ["l.zip/0_unit (1, h100).txt", "l.zip/unit (1, h100)/1_Set up job.txt", "l.zip/unit (1, h100)/system.txt"],
        ["l.zip"],
        [
            Place(JOB_LOG, "unit (1, h100)"),
            Place(STEP_LOG, "unit (1, h100)", "Set up job"),
            Place(STEP_LOG, "unit (1, h100)", "system"),
        ],
    ),
    (["l.zip/unit/3_Run.txt"], ["l.zip"], [Place(STEP_LOG, "unit", "Run")]),
    (
        ["unit/1_Set up job.txt", "unit/3_Run.txt"],
        ["unit"],
        [Place(STEP_LOG, "unit", "Set up job"), Place(STEP_LOG, "unit", "Run")],
    ),
    (["d/logs/0_a.txt", "d/logs/1_b.txt"], ["d"], [Place(JOB_LOG, "a"), Place(JOB_LOG, "b")]),
    (["d/logs.zip/1_b.txt"], ["d"], [Place(JOB_LOG, "b")]),
    (["d/run/1_b.txt", "d/run/b/2_Run.txt"], ["d"], [Place(JOB_LOG, "b"), Place(STEP_LOG, "b", "Run")]),
    (["0_a.txt"], ["0_a.txt"], [Place(JOB_LOG, "a")]),
    (["-"], ["-"], [Place(FILE, None)]),
    (["x/y/server.log"], ["*/y"], [Place(FILE, "x")]),
]  # fmt: skip


@pytest.mark.parametrize(("names", "roots", "places"), CASES)
def test_places(names: list[str], roots: list[str], places: list[Place]) -> None:
    assert places_of(names, roots) == places


def test_spellings_of_one_job() -> None:
    assert same_job("call / build: x", "call _ build_ x")
    assert same_job(None, None)
    assert not same_job(None, "a") and not same_job("a (1)", "a (2)")
