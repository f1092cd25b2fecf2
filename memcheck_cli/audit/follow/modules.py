"""The files as importable modules: which file an import means, and its syntax tree once it is needed."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable
from importlib.util import decode_source
from itertools import pairwise
from pathlib import Path

from memcheck_cli.audit.files import SourceFile
from memcheck_cli.audit.follow.environment import Env
from memcheck_cli.audit.follow.values import Unknown
from memcheck_cli.audit.model import LEVEL_VARIABLE, OLD_VARIABLE

_RUNTIME = frozenset({"srt", "lang", "multimodal_gen", "jit_kernel", "cli", "eval"})
_MARKS = (LEVEL_VARIABLE.encode(), OLD_VARIABLE.encode())


class Module:
    """One file. state: `new`, `running` or `done`; then `scope` holds its names and `env` what importing it wrote.

    error: why it cannot be parsed, or None. opaque: SGLang's runtime, which is neither followed nor audited.
    """

    def __init__(self, path: Path, shown: str, content: bytes) -> None:
        self.path = path
        self.shown = shown
        self.content = content
        self.state = "new"
        self.scope: dict[str, object] = {}
        self.env = Env()
        self.error: str | None = None
        self._tree: ast.Module | None = None
        self.broken: Unknown | None = None
        self.opaque = _is_runtime(path)
        self.stars: list[tuple[Module | None, str]] = []

    def mentions_level(self) -> bool:
        """Whether importing the file may write the variable the audit is about."""
        return any(mark in self.content for mark in _MARKS)

    def parse(self) -> ast.Module | None:
        """The syntax tree, or None with `error` set. Never raises, whatever the bytes."""
        if self._tree is not None or self.error is not None:
            return self._tree
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._tree = ast.parse(decode_source(self.content))
                return self._tree
        except SyntaxError as error:
            at = f" (line {error.lineno})" if error.lineno else ""
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            self.error = f"no Python {version} source: {error.msg}{at}"
        except UnicodeDecodeError as error:
            self.error = f"not {error.encoding} (byte {error.start})"
        except LookupError:  # a codec that Python has, but from no bytes to text
            self.error = "cannot be parsed: its encoding is none for text"
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            detail = str(error) if isinstance(error, ValueError) else "too deeply nested"
            shown = "".join(letter if letter.isprintable() else "?" for letter in detail[:120])
            self.error = f"cannot be parsed: {shown}"
        return None


class Library:
    """Every file by path and by the ends of its dotted name."""

    def __init__(self, files: Iterable[SourceFile], roots: Iterable[Path]) -> None:
        self.modules: list[Module] = []
        self.roots = set(roots)
        self._by_path: dict[Path, Module] = {}
        self._by_last: dict[str, list[Module]] = {}
        self._packages: set[Path] = set()
        for file in files:
            module = Module(file.path, file.shown, file.content)
            self.modules.append(module)
            self._by_path[file.path] = module
            self._by_last.setdefault(_dotted(file.path)[-1], []).append(module)
            for parent in file.path.parents:
                if parent in self._packages:
                    break
                self._packages.add(parent)

    def relative(self, importer: Module, level: int, parts: tuple[str, ...]) -> Module | Path:
        """The module, or the path where it would stand, of `from ..parts import …` in `importer`."""
        directory = importer.path.parent
        for _ in range(min(level, 64) - 1):
            directory = directory.parent
        return self.at(directory.joinpath(*parts)) or directory.joinpath(*parts)

    def at(self, stem: Path) -> Module | None:
        """The module `stem.py` or the package `stem/`."""
        if stem.name and (module := self._by_path.get(stem.with_name(stem.name + ".py"))):
            return module
        return self._by_path.get(stem / "__init__.py")

    def absolute(self, importer: Module, parts: tuple[str, ...]) -> Module | str:
        """The module that `import parts` means in `importer`, or why there is none (empty: it is not among the files).

        As Python would look: beside the importing file first, then in the directories above it and at the given roots;
        and last any file whose path ends in these names, if there is only one.
        """
        nearest: tuple[int, Module] | None = None
        others: list[Module] = []
        for module in self._by_last.get(parts[-1], ()):
            own = _dotted(module.path)
            if own[-len(parts) :] != parts:
                continue
            start = module.path.parents[len(parts) if module.path.name == "__init__.py" else len(parts) - 1]
            if start in importer.path.parents:
                distance = importer.path.parents.index(start)
            elif start in self.roots:
                distance = 1000
            else:
                others.append(module)
                continue
            if distance and len(parts) == 1 and parts[0] in sys.stdlib_module_names:
                continue
            if nearest is None or distance < nearest[0]:
                nearest = (distance, module)
        if nearest:
            return nearest[1]
        if parts[0] in sys.stdlib_module_names or not others:
            return ""
        if len(others) > 1:
            return f"{'.'.join(parts)} may be {others[0].shown} or {others[1].shown}"
        return others[0]

    def holds_package(self, importer: Module, parts: tuple[str, ...]) -> bool:
        """Whether `parts` names a directory (a package without a file of its own) above some of the files."""
        starts = [*importer.path.parents, *self.roots]
        return any(start.joinpath(*parts) in self._packages for start in starts)


def _is_runtime(path: Path) -> bool:
    """Whether a file belongs to the server itself, or to the diffusion servers, which have no KV pool to check."""
    for at, (parent, name) in enumerate(pairwise(path.parts)):
        if parent == "sglang" and name in _RUNTIME:
            return name == "multimodal_gen" or not {"test", "tests"} & set(path.parts[at + 2 : -1])
    return False


def _dotted(path: Path) -> tuple[str, ...]:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
