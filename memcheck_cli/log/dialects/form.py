"""What one entry of the dialects says."""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.checker.messages import Template

PLAIN = ""
"""Right behind the prefix, or at the start of a line that has none."""

CONTEXT_KINDS = frozenset({"watchdog", "release-assertion", "env-warning"})
"""Kinds that are no check; `context.read_context` reads them, as far as they say anything."""

LEAK_ERRORS = (PLAIN, "ValueError", "UserWarning")
"""Where a report that is raised or warned of may stand."""


class Dialect(NamedTuple):
    """One text of the checker.

    id: its name in messages and answers. releases: the span of releases that print it (`0.5.11-0.5.23`, or one
    release), or `before 0.4.0`, `dev`, `fork`, `other engine`, `unknown`. kind: what it is read as: `busy`,
    `assertion`, `idle`, `pool`, `parts`, `requests`, `pages`, a kind of `records.Unnumbered`, or one of CONTEXT_KINDS.
    head: the literal text it begins with. body: the rest; its `name={term}` pairs say how printed names map to terms.
    behind: what may stand before the head: PLAIN or the name of an exception or warning class.
    pool: the pool it speaks of, empty where the text names it. what: short name of what happened (unnumbered kinds).
    equation: what must hold, in words. marks: see `records.PoolText`. notes: what a reader must know.
    samples: whole lines, prefix included, that a test reads back. Made-up numbers.
    """

    id: str
    releases: str
    kind: str
    head: str
    body: Template
    samples: tuple[str, ...]
    equation: str = ""
    pool: str = ""
    what: str = ""
    notes: str = ""
    behind: tuple[str, ...] = (PLAIN,)
    marks: frozenset[str] = frozenset()

    @property
    def template(self) -> Template:
        """Head and body in one."""
        return Template(self.head.replace("{", "{{").replace("}", "}}") + self.body.text)

    @property
    def is_labelled(self) -> bool:
        """The body begins with a pool label in brackets."""
        return self.body.text.startswith("[")

    @property
    def names(self) -> tuple[str, ...]:
        """The printed names that make up the body, in printed order."""
        return tuple(printed for printed, _ in self.body.pairs)
