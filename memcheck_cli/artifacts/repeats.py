"""What a bundle says twice: step logs repeat their job's log, and so do server logs that were uploaded beside it.

Attempts are compared by their lines, never by names alone, and only where names do not forbid that they are the same:
two jobs that ran the same test may well have printed the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from memcheck_cli.artifacts.attempts import LineSet, same_file
from memcheck_cli.artifacts.places import FILE, JOB_LOG, STEP_LOG, job_key, same_job
from memcheck_cli.artifacts.reading import COLUMNS, AttemptRead, SourceRead

JUNIT = "junit"
_FINEST_FIRST = {STEP_LOG: 0, COLUMNS: 1, JOB_LOG: 2, FILE: 3, JUNIT: 4}


class Kept:
    """An attempt that counts, and the source it comes from."""

    __slots__ = ("read", "source")

    def __init__(self, read: AttemptRead, source: SourceRead) -> None:
        self.read = read
        self.source = source

    @property
    def of_job(self) -> bool:
        """It stands in a log of a job, so its job is certain."""
        return self.source.kind not in (FILE, JUNIT)

    @property
    def marked(self) -> bool:
        """A test suite left marks in it."""
        attempt = self.read.attempt
        return bool(attempt.methods or attempt.file is not None)


def without_repeats(sources: Sequence[SourceRead]) -> tuple[list[Kept], dict[str, str]]:
    """The attempts that count, in the order of the sources, and for every source all of whose attempts are said
    elsewhere the name of one that says them."""
    order = sorted(range(len(sources)), key=lambda number: (_FINEST_FIRST[sources[number].kind], number))
    places = {id(source): number for number, source in enumerate(sources)}
    kept_of: dict[str | None, list[Kept]] = {}
    others: list[Kept] = []  # nothing in them can be compared
    said_in: dict[int, list[tuple[AttemptRead, str]]] = {}
    for number in order:
        source = sources[number]
        for read in source.attempts:
            one = Kept(read, source)
            if not len(read.attempt.lines):
                others.append(one)
                continue
            pool = [other for other in _near(one, kept_of) if other.source is not source and _may_repeat(one, other)]
            everything = LineSet()
            for other in pool:
                everything.update(other.read.attempt.lines)
            lines = read.attempt.lines
            if lines.within(everything):
                says = max(pool, key=lambda other: other.read.attempt.lines.shared(lines))
                said_in.setdefault(number, []).append((read, says.source.name))
                continue
            fuller = [other for other in pool if _may_repeat(other, one) and other.read.attempt.lines.within(lines)]
            for other in fuller:
                _bucket(other, kept_of).remove(other)
                said_in.setdefault(places[id(other.source)], []).append((other.read, source.name))
            steps = {other.read.attempt.step for other in fuller}
            if len(steps) == 1 and read.attempt.step is None:
                read.attempt.step = steps.pop()
            _bucket(one, kept_of).append(one)
    repeats = {
        sources[number].name: said[0][1]
        for number, said in said_in.items()
        if len(said) == len([read for read in sources[number].attempts if len(read.attempt.lines)])
    }
    kept = others + [one for bucket in kept_of.values() for one in bucket]
    kept.sort(key=lambda one: (places[id(one.source)], one.read.attempt.first_line))
    return kept, repeats


def _bucket(one: Kept, kept_of: dict[str | None, list[Kept]]) -> list[Kept]:
    return kept_of.setdefault(job_key(one.read.attempt.job), [])


def _near(one: Kept, kept_of: dict[str | None, list[Kept]]) -> list[Kept]:
    """The attempts that may be compared with one: of its job, or of any where its job is not certain."""
    if one.of_job:
        return _bucket(one, kept_of)
    return [other for bucket in kept_of.values() for other in bucket]


def _may_repeat(one: Kept, other: Kept) -> bool:
    """Whether the names allow that `one` is said by `other` too."""
    first, second = one.read.attempt, other.read.attempt
    if one.source.kind == JUNIT or other.source.kind == JUNIT:
        return one.source.kind == JUNIT
    same = same_job(first.job, second.job)
    if one.of_job and other.of_job:
        if first.step is not None and second.step is not None and first.step != second.step:
            return False  # two steps of one job, which may well have printed the same
        if not same:
            return False
    elif not (same or (other.of_job and not one.marked)) or not (other.of_job or other.marked):
        return False
    if first.file is not None and second.file is not None and not same_file(first.file, second.file):
        return False
    return first.attempt is None or second.attempt is None or first.attempt == second.attempt
