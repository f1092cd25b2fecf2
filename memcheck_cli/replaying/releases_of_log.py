"""Which release's rules hold for a record of a log: of those that fit the log, the newest that prints its form."""

from __future__ import annotations

from functools import lru_cache

from memcheck_cli.checker.releases import NEWEST, RELEASES, Release, ReleaseError, Span
from memcheck_cli.log.dialects import DIALECTS
from memcheck_cli.log.records import Message
from memcheck_cli.log.release_hints import ReleaseHints, ReleaseRange


@lru_cache(maxsize=256)
def releases_of_form(form: str) -> tuple[str, ...]:
    """The known releases that print the dialect `form`, oldest first; none for development builds, forks and other
    engines."""
    for dialect in DIALECTS:
        if dialect.id == form:
            spans = []
            for part in dialect.releases.split(", "):
                first, _, last = part.partition("-")
                try:
                    spans.append(Span.of(first, last or first))
                except ReleaseError:
                    continue
            return tuple(name for name in RELEASES if any(name in span for span in spans))
    return ()


class Candidates:
    """The releases that fit the lines of one run seen so far."""

    __slots__ = ("_fitting", "_range", "hints")

    def __init__(self) -> None:
        self.hints = ReleaseHints()
        self._range: ReleaseRange | None = None
        self._fitting: dict[str, tuple[str, ...]] = {}

    def see(self, message: Message, text: str) -> None:
        """Take one more message; `text` is the message part of its line."""
        self.hints.add(message, text)

    def fitting(self, form: str) -> tuple[str, ...]:
        """The releases that print `form` and fit the log, oldest first; where none does, all that print the form."""
        best = self.hints.best()
        if best is not self._range:
            self._range = best
            self._fitting.clear()
        found = self._fitting.get(form)
        if found is None:
            printing = releases_of_form(form)
            low = Release.parse(best.low) if best.low is not None else None
            high = Release.parse(best.high) if best.high is not None else None
            inside = tuple(
                name
                for name in printing
                if (low is None or low <= Release.parse(name)) and (high is None or Release.parse(name) <= high)
            )
            found = self._fitting[form] = inside or printing
        return found

    def newest(self, form: str) -> str:
        """The release whose rules hold for a record of `form`; `dev` for the form of the unreleased builds."""
        fitting = self.fitting(form)
        if form == "B2" or form.startswith("assert-B2"):
            return "dev"
        return fitting[-1] if fitting else NEWEST

    def may_sum_unprinted(self, form: str) -> bool:
        """A record of `form` may come from 0.5.10, which sums session_held without printing it."""
        return any(name.startswith("0.5.10") for name in self.fitting(form))
