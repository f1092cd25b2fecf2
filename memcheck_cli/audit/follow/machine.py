"""The state of one abstract run: the environment, the changes of classes, what was launched, and how far to follow.

Test files are never executed. Their syntax trees are followed statement by statement with values that are known or
`Unknown`; where it cannot be told which way a branch takes, both are followed and joined.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memcheck_cli.audit.follow.classes import ClassValue
from memcheck_cli.audit.follow.environment import Env
from memcheck_cli.audit.follow.modules import Library, Module
from memcheck_cli.audit.follow.values import Map, Origin, Seq, Site, Unknown

STEPS = 150_000
"""How many statements and expressions are followed for one module or one class: a real test needs some hundreds."""

DEPTH = 24
"""How many calls deep a run is followed."""


class ExhaustedError(Exception):
    """A module or class asks for more steps than any real test does."""


class Frame:
    """One running function, class body or module."""

    __slots__ = ("breaks", "class_body", "closure", "module", "on_yield", "owner", "receiver", "returns", "scope")

    def __init__(
        self,
        module: Module,
        scope: dict[str, object],
        *,
        owner: ClassValue | None = None,
        receiver: object = None,
        closure: Frame | None = None,
        class_body: bool = False,
    ) -> None:
        self.module = module
        self.scope = scope
        self.owner = owner
        self.receiver = receiver
        self.closure = closure
        self.class_body = class_body
        self.returns: list[tuple[object, Env]] = []
        self.breaks: list[list[tuple[str, Env, dict[str, object]]]] = []
        self.on_yield: Callable[[object], bool] | None = None


class Launch:
    """One start of a server: where, by which class, with which arguments and environment."""

    __slots__ = ("arguments", "env", "launcher", "owner", "site", "why")

    def __init__(
        self, launcher: str, site: Site, owner: str | None, arguments: object, env: Env, why: Unknown | None
    ) -> None:
        self.launcher = launcher
        self.site = site
        self.owner = owner
        self.arguments = arguments
        self.env = env
        self.why = why


class Machine:
    """What the parts of the abstract run share. `Expressions`, `Calls` and `Statements` build on it."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.env = Env()
        self.steps = STEPS
        self.depth = 0
        self.uncertain: list[Unknown] = []
        """Why it cannot be told whether the statement being followed runs at all, outermost first."""
        self.why: Unknown = Unknown("it cannot be told which way the code takes", Site("", 0))
        """The last condition that could not be decided."""
        self.launches: list[Launch] | None = None
        """None while modules are read: nothing is started then."""
        self.overlay: dict[tuple[ClassValue, str], object] = {}
        """Attributes written while one class is run; they are forgotten with it."""
        self.module_overlay: dict[tuple[Module, str], object] = {}
        """The same for lists and dicts of modules."""
        self.running = False
        self.owners: list[str | None] = []

    def tick(self, amount: int = 1) -> None:
        self.steps -= amount
        if self.steps < 0:
            raise ExhaustedError

    def site(self, node: ast.AST, frame: Frame) -> Site:
        return Site(frame.module.shown, getattr(node, "lineno", 0))

    def unknown(self, reason: str, node: ast.AST, frame: Frame) -> Unknown:
        return Unknown(reason, self.site(node, frame))

    def owner_name(self) -> str | None:
        """The class whose code runs: the innermost one, so a helper outside any class counts to its caller."""
        return next((name for name in reversed(self.owners) if name), None)

    def origin(self, node: ast.AST, frame: Frame, how: str) -> Origin:
        return Origin(self.owner_name(), self.site(node, frame), how)

    @contextmanager
    def perhaps(self, why: Unknown) -> Iterator[None]:
        """While a branch is followed of which it cannot be told whether it runs."""
        self.uncertain.append(why)
        try:
            yield
        finally:
            self.uncertain.pop()

    def fresh(self, value: object) -> object:
        """While a class is run: a copy of a list or dict that belongs to a class or module, so that a change made by
        this run is not seen by the next."""
        if isinstance(value, Seq):
            return Seq(value.kind, list(value.items))
        return value.copy() if isinstance(value, Map) else value


def text_of(node: ast.AST, limit: int = 60) -> str:
    """The source of an expression, shortened for a message."""
    try:
        text = ast.unparse(node)
    except (RecursionError, ValueError, AttributeError):
        return "the expression"
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
