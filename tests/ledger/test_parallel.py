"""Several processes give the answers of one, wherever chunks end and whatever stands at their borders."""

from __future__ import annotations

import os
import pickle
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from lockstep import lockstep_log
from made_logs import busy
from skimming import Log, answer, source_of
from wrapping import WRAPPERS

from memcheck_cli.ledger import parallel
from memcheck_cli.ledger.forked import POSSIBLE, Forked
from memcheck_cli.ledger.many import read_sources
from memcheck_cli.ledger.parallel import Splitting
from memcheck_cli.ledger.progress import Progress
from memcheck_cli.ledger.reading import read_source
from memcheck_cli.sources import Source
from memcheck_cli.sources.streams import PlainFile

SAMPLES = Path(__file__).parents[2] / "samples"
forks = pytest.mark.skipif(not POSSIBLE, reason="this system cannot fork")
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Here:
    """A team in this process; what it finds goes through the same wire."""

    def __init__(self, size: int, begin: Callable[[], Callable[[Any], object]]) -> None:
        self.size = size
        self._members = [begin() for _ in range(size)]
        self._asked: list[tuple[int, Any]] = []
        self._turn = 0

    def ask(self, number: int, question: Any) -> None:
        self._asked.append((number, question))

    def take(self) -> tuple[int, Any]:
        number, question = self._asked.pop(0)
        self._turn += 1
        return number, pickle.loads(pickle.dumps(self._members[self._turn % self.size](question)))

    def close(self) -> None:
        self._members = []


def file_source(path: Path, text: bytes, size: int | None = None) -> Source:
    path.write_bytes(text)
    size = len(text) if size is None else size
    return Source("made.log", lambda _: PlainFile(str(path)), path=str(path), size=size)


def split(path: Path, text: bytes, chunk: int, *, head: int = 0, team: Any = Here, learn_from: int = 5) -> Any:
    splitting = Splitting(2, chunk, 0, 0, team, learn_from)
    return answer(read_source(file_source(path, text), block=4096, kernel_from=10, head=head, splitting=splitting))


def exactly(text: bytes, head: int = 0) -> Any:
    return answer(read_source(source_of(text), exact=True, head=head))


@quick
@given(st.integers(0, 2**32), st.integers(5, 90), st.sampled_from([64, 300, 1000, 4096]), st.sampled_from([0, 5, 40]))
def test_bare_logs(tmp_path: Path, seed: int, pieces: int, chunk: int, learn_from: int):
    text = ("\n".join(Log(random.Random(seed)).lines(pieces)) + ("\n" if seed % 5 else "")).encode()
    assert split(tmp_path / "log", text, chunk, learn_from=learn_from) == exactly(text)


@quick
@given(
    st.integers(0, 2**32),
    st.integers(5, 60),
    st.sampled_from([64, 1000, 4096]),
    st.sampled_from(sorted(WRAPPERS)),
    st.sampled_from(sorted(WRAPPERS)),
)
def test_wrapped_logs(tmp_path: Path, seed: int, pieces: int, chunk: int, wrapper: str, second: str):
    # See test_skim: what cannot be told there cannot be told here.
    assume({wrapper, second} != {"docker-json-no-line-ends", "docker-json-parts"})
    lines = Log(random.Random(seed)).lines(pieces)
    if "ansi" in (wrapper, second):
        lines = [line for line in lines if "- Captured std" not in line]
    half = len(lines) // 2
    wrapped = WRAPPERS[wrapper](lines[:half]) + WRAPPERS[second](lines[half:])
    text = ("\n".join(wrapped) + "\n").encode("utf-8", "surrogateescape")
    head = 1 << 16 if "pasted" in wrapper + second else 0
    assert split(tmp_path / "log", text, chunk, head=head) == exactly(text, head)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.sampled_from([1000, 4000, 16_000, 50_000]), st.sampled_from([0, 30]))
def test_ranks_in_lock_step(tmp_path: Path, seed: int, chunk: int, learn_from: int):
    text = lockstep_log(random.Random(seed))
    assert split(tmp_path / "log", text, chunk, learn_from=learn_from) == exactly(text)


def test_stretches_of_other_processes_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Else the tests above would test nothing."""
    unaided = []
    fold = parallel.Folding.fold

    def watched(self: parallel.Folding, found: Any) -> None:
        fold(self, found)
        unaided.append(self.unaided)

    monkeypatch.setattr(parallel.Folding, "fold", watched)
    lines = [
        busy("full", 1000, 1000 - n % 300, 0, 0, 0, n % 300, rank=rank, clock=f"08:{n // 60 % 60:02}:{n % 60:02}")
        for n in range(3000)
        for rank in ("TP0", "TP1")
    ]
    text = ("\n".join(lines) + "\n").encode()
    assert split(tmp_path / "log", text, 20_000) == exactly(text)
    assert len(unaided) > 30
    assert unaided[-1] < len(text) // 10


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.log")), ids=lambda path: path.stem)
@pytest.mark.parametrize("chunk", [64, 1000, 4096])
def test_samples(tmp_path: Path, path: Path, chunk: int):
    text = path.read_bytes()
    assert split(tmp_path / "log", text, chunk) == exactly(text)


@forks
@pytest.mark.parametrize("seed", range(6))
def test_forked(tmp_path: Path, seed: int):
    text = ("\n".join(Log(random.Random(seed)).lines(60)) + "\n").encode()
    assert split(tmp_path / "log", text, 700, team=Forked) == exactly(text)


@forks
def test_a_process_that_dies(tmp_path: Path):
    """Its chunks are read by the others, or here."""

    def deadly(size: int, begin: Callable[[], Callable[[Any], object]]) -> Forked:
        def begin_or_die() -> Callable[[Any], object]:
            answer_of, left = begin(), [3]

            def die(question: Any) -> object:
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                return answer_of(question)

            return die

        return Forked(size, begin_or_die)

    text = ("\n".join(Log(random.Random(7)).lines(80)) + "\n").encode()
    assert split(tmp_path / "log", text, 700, team=deadly) == exactly(text)


@pytest.mark.parametrize("more", [-900, -1, 1, 900])
def test_a_file_that_is_not_as_long_as_it_was(tmp_path: Path, more: int):
    """What is there when it is read counts."""
    text = ("\n".join(Log(random.Random(3)).lines(60)) + "\n").encode()
    source = file_source(tmp_path / "log", text, len(text) - more)
    splitting = Splitting(2, 500, 0, 0, Here, 5)
    assert answer(read_source(source, block=512, kernel_from=10, head=0, splitting=splitting)) == exactly(text)


def test_lines_longer_than_chunks(tmp_path: Path):
    good = busy("full", 100, 90, 0, 0, 0, 9).encode() + b"\n"
    text = good * 3 + b"x" * 5000 + b" [Mem Check (BUSY)]\n" + good * 3 + b"y" * 3000
    assert split(tmp_path / "log", text, 64) == exactly(text)


def test_only_large_plain_files_are_split(tmp_path: Path):
    splitting = Splitting(2, smallest=1000)
    assert splitting.suits(file_source(tmp_path / "log", b"x" * 1000)) == POSSIBLE
    assert not splitting.suits(file_source(tmp_path / "log", b"x" * 999))
    assert not splitting.suits(source_of(b"x" * 1000))
    assert not Splitting(1, smallest=1000).suits(file_source(tmp_path / "log", b"x" * 1000))


@forks
def test_many_sources_come_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Also where a process dies over one of them, and those that must be read here."""
    monkeypatch.setattr("memcheck_cli.ledger.many.WORTH", 0)
    texts = [("\n".join(Log(random.Random(seed)).lines(20)) + "\n").encode() for seed in range(9)]
    sources = [Source(f"{n}.log", source_of(text)._open, once=n == 4) for n, text in enumerate(texts)]
    parent = os.getpid()

    def read(source: Source) -> Any:
        if os.getpid() != parent:
            assert source.name != "4.log"
            if source.name == "6.log":
                os._exit(1)
        return read_source(source)

    readings = list(read_sources(sources, 2, read, lambda source: source.name == "2.log", Progress()))
    assert [reading.name for reading in readings] == [f"{n}.log" for n in range(9)]
    expected = [read_source(source) for source in sources]
    assert [answer(reading) for reading in readings] == [answer(reading) for reading in expected]


def test_a_stop_keeps_what_was_read(tmp_path: Path):
    class Impatient(Progress):
        def passed(self, position: int, ledger: Any) -> None:
            self.stopped = position > 2000

    text = (busy("full", 100, 90, 0, 0, 0, 10).encode() + b"\n") * 100
    for splitting in (None, Splitting(2, 700, 0, 0, Here, 5)):
        source = file_source(tmp_path / "log", text)
        reading = read_source(source, block=512, head=0, splitting=splitting, progress=Impatient())
        assert reading.error is not None
        assert reading.error.startswith("interrupted after 2")
        assert 2000 < reading.records * len(text) / 100 < 3000
