"""Test trees as Python itself sees them: written to disk, imported with stand-ins for SGLang, and set up for real.

The stand-ins behave as SGLang's do where the audit depends on it: an `EnvField` writes `str(value)` into `os.environ`
and puts the old text back, and `popen_launch_server` merges `env=` over `os.environ`. Instead of starting a server it
notes the environment that the server would see.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import sys
import types
import unittest
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LEVEL = "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY"
HEAD = """\
import contextlib
import os
import unittest
from sglang.srt.environ import envs
from sglang.test.test_utils import CustomTestCase, popen_launch_server
"""
MERGING = """
class Server(CustomTestCase):
    env_overrides = ()

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            for owner in reversed(cls.__mro__):
                for field, value in owner.__dict__.get("env_overrides", ()):
                    stack.enter_context(field.override(value))
            popen_launch_server("model", "url", timeout=1)
"""

started: list[dict[str, str]] = []
_numbers = itertools.count()


class EnvField:
    def __init__(self, name: str) -> None:
        self.name = name

    def set(self, value: object) -> None:
        os.environ[self.name] = str(value)

    def clear(self) -> None:
        os.environ.pop(self.name, None)

    @contextlib.contextmanager
    def override(self, value: object) -> Iterator[None]:
        before = os.environ.get(self.name)
        self.set(value)
        yield
        if before is None:
            os.environ.pop(self.name, None)
        else:
            os.environ[self.name] = before


class Envs:
    def __getattr__(self, name: str) -> EnvField:
        if not name.startswith("SGLANG_"):
            raise AttributeError(name)
        return EnvField(name)


def popen_launch_server(
    model: object = None,
    base_url: object = None,
    timeout: object = None,
    api_key: object = None,
    other_args: object = None,
    env: Mapping[str, str] | None = None,
) -> None:
    started.append({**os.environ, **(env or {})})


def level_of(environment: Mapping[str, str]) -> int:
    """What SGLang reads: `int`, or the default 0."""
    try:
        return int(environment.get(LEVEL, "0"))
    except ValueError:
        return 0


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Writes a tree."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@contextlib.contextmanager
def imported(root: Path) -> Iterator[Any]:
    """A function that imports a module of the tree. Modules and the environment are put back at the end."""
    stand_ins: dict[str, dict[str, object]] = {
        "sglang": {},
        "sglang.srt": {},
        "sglang.srt.environ": {"envs": Envs(), "EnvField": EnvField},
        "sglang.test": {},
        "sglang.test.test_utils": {"CustomTestCase": unittest.TestCase, "popen_launch_server": popen_launch_server},
    }
    modules, environment, path = dict(sys.modules), dict(os.environ), list(sys.path)
    os.environ.pop(LEVEL, None)
    for name, contents in stand_ins.items():
        module = types.ModuleType(name)
        module.__path__ = []  # type: ignore[attr-defined]
        vars(module).update(contents)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module
    finally:
        for name in set(sys.modules) - set(modules):
            del sys.modules[name]
        sys.modules.update(modules)
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)


def set_up(cls: type) -> list[int]:
    """The levels of the servers that the class's setUpClass starts, in order."""
    started.clear()
    before = dict(os.environ)
    cls.setUpClass()  # type: ignore[attr-defined]
    os.environ.clear()
    os.environ.update(before)
    return [level_of(environment) for environment in started]


def python_levels(root: Path, module: str) -> dict[str, list[int]]:
    """For each test class of a module: the levels of its servers, told by running its setUpClass."""
    with imported(root) as load:
        loaded = load(module)
        return {
            name: set_up(value)
            for name, value in vars(loaded).items()
            if isinstance(value, type) and name.startswith("Test") and issubclass(value, unittest.TestCase)
        }


def merged_owner(cls: type) -> str | None:
    """The class whose own `env_overrides` gives the level last, base first."""
    owner = None
    for entry in reversed(cls.__mro__):
        for field, _ in entry.__dict__.get("env_overrides", ()):
            if field.name == LEVEL:
                owner = entry.__name__
    return owner


def fresh_name() -> str:
    """A module name that no test has used, so that no cached bytecode or module is met."""
    return f"made_{next(_numbers)}"
