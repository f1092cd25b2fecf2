"""What is told of one attempt of one test file, gathered from the marks in its stretch of a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from memcheck_cli.log.records import Value

PASSED, FAILED = "passed", "failed"


class Method(NamedTuple):
    """From this line on a test method ran; class and method are None where none runs any more."""

    line: int
    cls: str | None
    method: str | None

    @property
    def key(self) -> tuple[str | None, str | None]:
        """Class and method."""
        return self.cls, self.method


@dataclass(slots=True)
class Start:
    """A server was started on this line. command: the command line, where the test suite printed one. held: the server
    spoke of its pools or checked."""

    line: int
    command: str | None = None
    flags: dict[str, Value] = field(default_factory=dict)
    held: bool = False


class LineSet:
    """The lines of an attempt that tell it from others, as hashes: of very many only a sample is kept."""

    LIMIT = 1 << 15

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._mask = 0

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, line: bytes) -> bool:
        """Add a line; whether it may be new (False: it is known, or not among those that are kept)."""
        mark = hash(line)
        if mark & self._mask or mark in self._hashes:
            return False
        self._hashes.add(mark)
        if len(self._hashes) > self.LIMIT:
            self._mask = (self._mask << 1) | 1
            self._hashes = {one for one in self._hashes if not one & self._mask}
        return True

    def update(self, other: LineSet) -> None:
        """Add all lines of another set."""
        self._mask = max(self._mask, other._mask)
        self._hashes = {one for one in self._hashes | other._hashes if not one & self._mask}

    def shared(self, other: LineSet) -> int:
        """How many lines are kept of both."""
        return len(self._hashes & other._hashes)

    def within(self, other: LineSet) -> bool:
        """Whether all lines of this set, as far as they are kept, are in the other too. An empty set is within none."""
        mask = max(self._mask, other._mask)
        own = {one for one in self._hashes if not one & mask}
        return bool(own) and own <= other._hashes


@dataclass(slots=True)
class Attempt:
    """A stretch of a log that belongs to one attempt of one test file, or to none.

    job, step: where the log tells them. first_line: physical line of the source, from 1. opened: `begin`, `retry`,
    `file` (the mark that opened it) or `text`. file: the longest way in which the marks spell the test file. attempt,
    attempts: from 1, None where no test file is named. index: its place among the job's files. methods, starts: in the
    order of their lines. lines_of: checker lines by (method, start), both counted from 0 and -1 before the first.
    results, files: by class and method, whether it passed and the file, where a test runner says so. level, level_line:
    the busy level that the log gives the variable, and where, or None. ended: the end of the file was seen. result:
    `passed`, `failed` or None.
    """

    job: str | None
    step: str | None
    first_line: int
    opened: str = "text"
    file: str | None = None
    attempt: int | None = None
    attempts: int | None = None
    index: tuple[int, int] | None = None
    methods: list[Method] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    lines_of: dict[tuple[int, int], int] = field(default_factory=dict)
    results: dict[tuple[str | None, str], bool] = field(default_factory=dict)
    files: dict[tuple[str | None, str], str] = field(default_factory=dict)
    level: int | None = None
    level_line: int | None = None
    ended: bool = False
    result: str | None = None
    lines: LineSet = field(default_factory=LineSet)
    awaits_file: bool = False

    @property
    def fresh(self) -> bool:
        """Nothing but its own marks was seen yet."""
        return not (self.methods or self.starts or self.lines_of or self.ended)

    @property
    def holds_something(self) -> bool:
        """A test or a server ran in it."""
        return bool(self.methods or self.starts or self.lines_of or self.index is not None or self.opened == "retry")

    def name_file(self, file: str) -> None:
        """One more way to spell its test file."""
        if self.file is None or len(file) > len(self.file):
            self.file = file

    def is_of(self, file: Value) -> bool:
        """Whether a spelling means its test file."""
        return isinstance(file, str) and same_file(self.file, file)

    def count(self) -> None:
        """One more checker line at the place reached."""
        key = (len(self.methods) - 1, len(self.starts) - 1)
        self.lines_of[key] = self.lines_of.get(key, 0) + 1

    def decide(self, passed: bool) -> None:
        """How it ended; a failure is never taken back."""
        if self.result != FAILED:
            self.result = PASSED if passed else FAILED


def same_file(one: str | None, other: str | None) -> bool:
    """Whether two paths may mean one file: one of them is the end of the other."""
    if one is None or other is None:
        return False
    one, other = one.removeprefix("./"), other.removeprefix("./")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def common_end(one: str, other: str) -> int:
    """How many components the ends of two paths share."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return next(
        (number for number, (mine, its) in enumerate(pairs) if mine != its), min(one.count("/"), other.count("/")) + 1
    )


def short_file(file: str | None) -> str | None:
    """The last component of a path."""
    return None if file is None else file.rstrip("/").rpartition("/")[2]
