"""Which releases can have printed a log, from the shape of its lines.

SGLang does not print its version. The checker's form, the way the server prints its arguments and the order of the
values in batch lines each belong to a span of releases; a package list or an image name may even name the release.
"""

from __future__ import annotations

from functools import lru_cache

from memcheck_cli.checker.releases import NEWEST, RELEASES, ReleaseError, Span, held_to
from memcheck_cli.log.dialects import DIALECTS
from memcheck_cli.log.records import Context, Message

_SERVER_ARGS = {"server-args-repr": Span.of("0.4.0", "0.5.18"), "server-args-dict": Span.of("0.5.19")}
_PREFILL_WITH_GRAPH = Span.of("0.5.9")
_PREFILL_WITHOUT_GRAPH = Span.of("0.4.0", "0.5.8.post1")
_THROUGHPUT_BEFORE_GRAPH = Span.of("0.5.9", "0.5.9")
_THROUGHPUT_BEHIND_GRAPH = Span.of("0.5.10rc0")
_PENDING = Span.of("0.5.11")


@lru_cache(maxsize=64)
def releases_of_form(form: str) -> frozenset[str]:
    """The known releases that print the dialect `form`; empty for development builds, forks and other engines."""
    for dialect in DIALECTS:
        if dialect.id == form:
            spans = []
            for part in dialect.releases.split(", "):
                first, _, last = part.partition("-")
                try:
                    spans.append(Span.of(first, last or first))
                except ReleaseError:
                    continue
            return frozenset(name for name in RELEASES if any(name in span for span in spans))
    return frozenset()


@lru_cache(maxsize=64)
def _inside(span: Span) -> frozenset[str]:
    return frozenset(name for name in RELEASES if name in span)


class Candidates:
    """The releases that fit every line of a run seen so far. `told` is the release an installer or image named."""

    __slots__ = ("_forms", "_newest", "fitting", "told")

    def __init__(self) -> None:
        self.fitting: frozenset[str] = frozenset(RELEASES)
        self.told: str | None = None
        self._forms: set[str] = set()
        self._newest: dict[str, str] = {}

    def see(self, message: Message) -> None:
        """Take one more message. A line that fits none of the releases left is ignored: another writer's."""
        if isinstance(message, Context):
            if message.kind == "prefill":
                self._see_prefill(message)
            elif message.form in _SERVER_ARGS:
                self._narrow(_inside(_SERVER_ARGS[message.form]))
            elif message.kind == "version":
                self._see_version(str(message.values.get("version", "")))
        elif message.form not in self._forms:
            self._forms.add(message.form)
            self._narrow(releases_of_form(message.form))

    def _see_prefill(self, message: Context) -> None:
        names = list(message.values)
        if "graph" not in names:
            self._narrow(_inside(_PREFILL_WITHOUT_GRAPH))
            return
        self._narrow(_inside(_PENDING if "pending_token" in names else _PREFILL_WITH_GRAPH))
        if "input_throughput" in names:
            behind = names.index("input_throughput") > names.index("graph")
            self._narrow(_inside(_THROUGHPUT_BEHIND_GRAPH if behind else _THROUGHPUT_BEFORE_GRAPH))

    def _see_version(self, text: str) -> None:
        try:
            self.told = str(held_to(text))
            self._newest.clear()
        except ReleaseError:
            return

    def _narrow(self, releases: frozenset[str]) -> None:
        both = self.fitting & releases
        if both:
            self.fitting = both
            self._newest.clear()

    def newest(self, form: str) -> str:
        """The release whose rules hold for a record of `form`: the told one where it prints that form, else the newest
        that fits all lines and the form, else the newest that prints the form."""
        found = self._newest.get(form)
        if found is None:
            found = self._newest[form] = self._find_newest(form)
        return found

    def _find_newest(self, form: str) -> str:
        printing = releases_of_form(form)
        if form == "B2" or form.startswith("assert-B2"):
            return "dev"
        if self.told is not None and self.told in printing:
            return self.told
        fitting = (self.fitting & printing) or printing
        return max(fitting, key=RELEASES.index) if fitting else NEWEST

    def may_sum_unprinted(self, form: str) -> bool:
        """A record of `form` may come from 0.5.10, which sums session_held without printing it."""
        return "0.5.10" in self.newest(form) or any(
            name.startswith("0.5.10") for name in (self.fitting & releases_of_form(form))
        )
