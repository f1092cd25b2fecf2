"""Import statements: what they bind, and what importing a file sets."""

from __future__ import annotations

import ast
from pathlib import Path

from memcheck_cli.audit.follow.definitions import Definitions
from memcheck_cli.audit.follow.machine import Frame
from memcheck_cli.audit.follow.modules import Module
from memcheck_cli.audit.follow.values import (
    External,
    Lazy,
    ModuleRef,
)


class Imports(Definitions):
    """`import` and `from … import`."""

    def import_modules(self, node: ast.Import, frame: Frame) -> bool:
        for alias in node.names:
            parts = tuple(alias.name.split("."))
            self._note_import(self.library.absolute(frame.module, parts))
            if alias.asname:
                frame.scope[alias.asname] = self._module_value(parts, frame)
            else:
                frame.scope[parts[0]] = self._module_value(parts[:1], frame)
        return True

    def _module_value(self, parts: tuple[str, ...], frame: Frame) -> object:
        found = self.library.absolute(frame.module, parts)
        if isinstance(found, str) and not found and not self.library.holds_package(frame.module, parts):
            return External(".".join(parts))
        return ModuleRef(parts, frame.module)

    def import_names(self, node: ast.ImportFrom, frame: Frame) -> bool:
        parts = tuple(node.module.split(".")) if node.module else ()
        module: Module | None = None
        directory: Path | None = None
        if node.level:
            found = self.library.relative(frame.module, node.level, parts)
            module, directory = (found, None) if isinstance(found, Module) else (None, found)
        elif parts:
            absolute = self.library.absolute(frame.module, parts)
            module = absolute if isinstance(absolute, Module) else None
        if module is not None:
            self._note_import(module)
        for alias in node.names:
            if alias.name == "*":
                if module is not None:
                    self._star(module)
                frame.module.stars.append((module, ".".join(parts)))
                continue
            inner = self.library.at(directory / alias.name) if directory is not None else None
            if inner is not None:
                self._note_import(inner)
                value: object = ModuleRef((*parts, alias.name), frame.module, inner)
            elif directory is not None:
                dotted = "." * node.level + ".".join((*parts, alias.name))
                value = External(dotted)
            else:
                value = Lazy(parts, alias.name, frame.module, self.site(node, frame), module)
            frame.scope[alias.asname or alias.name] = value
        return True

    def _star(self, module: Module) -> None:
        if self.depth < 20:
            self.depth += 1
            self.run_module(module)
            self.depth -= 1

    def _note_import(self, module: Module | str) -> None:
        """Importing a file that may set the level does so at once; all others are read when a name of them is used."""
        if isinstance(module, Module) and module.mentions_level() and not module.opaque and self.depth < 20:
            self.depth += 1
            self.run_module(module)
            self.depth -= 1
            if module.state == "done":
                for name, chain in module.env.chains.items():
                    for write in chain:
                        if write not in self.env.chains.get(name, ()):
                            self.env.chains[name] = (*self.env.chains.get(name, ()), write)
                self.env.rest = self.env.rest or module.env.rest
