"""Classes as Python would build them: the order of their bases (C3) and where an attribute is found."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcheck_cli.audit.follow.values import Context, Site, Unknown

if TYPE_CHECKING:
    from memcheck_cli.audit.follow.modules import Module

READ = "read"
KNOWN = "known"
UNRESOLVED = "unresolved"

MOST_BASES = 200
"""Classes of an order that are followed: real tests have about ten, and C3 takes cubic time."""


class ClassValue:
    """A class: its own attributes, and its method resolution order.

    kind: `read` from a file, `known` by description, or `unresolved`: then `why` says so, and nothing is known of it.
    doubts: what may have changed the class in a way that cannot be told (a metaclass, a decorator, bases that Python
    would refuse). has_tests: it brings test methods although none were read. is_case: unittest collects it.
    """

    __slots__ = ("bases", "body_lines", "doubts", "has_tests", "is_case", "kind", "module", "mro", "name", "node",
                 "own", "site", "test_wrappers", "why")  # fmt: skip

    def __init__(self, name: str, kind: str, site: Site, module: Module | None = None) -> None:
        self.name = name
        self.kind = kind
        self.site = site
        self.module = module
        self.bases: list[ClassValue] = []
        self.mro: list[ClassValue] = [self]
        self.own: dict[str, object] = {}
        self.body_lines = range(site.line, site.line + 1)
        self.doubts: list[Unknown] = []
        self.why: Unknown | None = None
        self.has_tests = False
        self.is_case = False
        self.node: ast.ClassDef | None = None
        self.test_wrappers: list[Context] = []

    def derive(self, bases: Sequence[ClassValue]) -> None:
        """Sets the bases and the order; bases that Python would refuse leave a doubt and a left-to-right order. Far too
        many are not followed: one unresolved class stands for them all."""
        self.bases = list(bases)
        if len({id(entry) for base in bases for entry in base.mro}) > MOST_BASES or len(bases) > MOST_BASES:
            rest = ClassValue("(more)", UNRESOLVED, self.site)
            rest.why = Unknown(f"{self.name} has more than {MOST_BASES} bases, which are not followed", self.site)
            rest.is_case = any(base.is_case for base in bases)
            self.bases, self.mro = [rest], [self, rest, OBJECT]
            return
        order = linearise(self, self.bases)
        if order is None:
            self.doubts.append(
                Unknown(f"Python refuses the bases of {self.name}: they have no consistent order", self.site)
            )
            order = [self]
            for base in self.bases:
                order += [entry for entry in base.mro if entry not in order]
        self.mro = order

    def tests(self) -> list[str]:
        """The names of all test methods, inherited ones included, by name."""
        from memcheck_cli.audit.follow.values import Function

        names = {name for entry in self.mro for name in entry.own if name.startswith("test")}
        return sorted(name for name in names if isinstance(self.find(name), Function))

    def find(self, name: str) -> object:
        """The attribute as first found along the order, or None; own entries only, no binding."""
        for entry in self.mro:
            if name in entry.own:
                return entry.own[name]
        return None


def linearise(cls: ClassValue, bases: Sequence[ClassValue]) -> list[ClassValue] | None:
    """The C3 linearisation that `type.mro` computes, or None where there is none."""
    if len({id(base) for base in bases}) != len(bases):
        return None
    queues = [list(base.mro) for base in bases] + [list(bases)]
    order = [cls]
    while queues := [queue for queue in queues if queue]:
        for queue in queues:
            head = queue[0]
            if not any(head in other[1:] for other in queues):
                break
        else:
            return None
        order.append(head)
        for queue in queues:
            if queue[0] is head:
                del queue[0]
    return order


OBJECT = ClassValue("object", KNOWN, Site("", 0))
