"""Which functions may start a server: a first look at names alone, so that only fixtures that matter are followed.

A function may start one where it mentions a launcher, or another function of the files that may. Names are compared,
not what they are bound to, so the answer errs on the side of following too much.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from memcheck_cli.audit.follow.modules import Module

_SEED = re.compile(r"popen_\w*server\w*|_*(?:launch|start)_\w*server\w*|Engine|sglang\.launch_\w+")
_SEED_BYTES = re.compile(rb"popen_\w*server|(?:launch|start)_\w*server|\bEngine\b|sglang\.launch_|\"serve\"|'serve'")
_EVERYWHERE = re.compile(r"__\w+__|set_?[uU]p\w*|asyncSetUp|tear_?[dD]own\w*|test\w*|main|.{1,3}")
"""Names that so many functions share that they say nothing."""

_METHODS = frozenset(name for kind in (str, bytes, list, dict, set) for name in dir(kind))
_ROUNDS = 4


def mentions(node: ast.AST) -> set[str]:
    """The names, attributes and short strings in a piece of code."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) < 200:
            found.update(part.value.split() if " " in part.value else (part.value,))
    return found


def is_seed(name: str) -> bool:
    """Whether a name is that of a launcher, or part of a command line that starts a server."""
    return name == "serve" or _SEED.fullmatch(name) is not None


class Reach:
    """The names of functions that may start a server, in any of the files."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.names: set[str] = set()
        waiting = [module for module in modules if not module.opaque]
        table: list[tuple[str, set[str]]] = []
        pattern = _SEED_BYTES
        for _ in range(_ROUNDS):
            matching = [module for module in waiting if pattern.search(module.content)]
            waiting = [module for module in waiting if not pattern.search(module.content)]
            for module in matching:
                table += _functions(module)
            self._close(table)
            if not matching or not self.names or len(self.names) > 2000:
                break
            pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in self.names) + rb")\b")

    def _close(self, table: list[tuple[str, set[str]]]) -> None:
        before = -1
        while before != len(self.names):
            before = len(self.names)
            for name, mentioned in table:
                if name not in _METHODS and not _EVERYWHERE.fullmatch(name) and self.among(mentioned):
                    self.names.add(name)

    def among(self, mentioned: set[str]) -> bool:
        """Whether code that mentions these names may start a server."""
        return not self.names.isdisjoint(mentioned) or any(is_seed(name) for name in mentioned)


def _functions(module: Module) -> list[tuple[str, set[str]]]:
    tree = module.parse()
    if tree is None:
        return []
    return [
        (node.name, mentions(node))
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
