"""What an expression of a test file can be worth, as far as it can be told without running it.

Plain ints, floats, strings, bools and None stand for themselves. Everything else is one of the classes below; a value
that cannot be told is `Unknown` and carries the reason and the line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memcheck_cli.audit.follow.classes import ClassValue
    from memcheck_cli.audit.follow.environment import Change
    from memcheck_cli.audit.follow.modules import Module

MAX_ITEMS = 10_000
"""Longer sequences are cut to "cannot be told": no test lists that many settings, and a hostile file may."""

MAX_TEXT = 100_000
"""The same for strings, in characters."""

MAX_BITS = 4096
"""The same for integers: Python itself refuses to write larger ones as decimal text."""

ENV_NAME = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+", re.ASCII)
"""What looks like the name of an environment variable."""


class Site(NamedTuple):
    """A line of a file; an empty file stands for memcheck's own description of a known fixture."""

    file: str
    line: int


NOWHERE = Site("", 0)


class Origin(NamedTuple):
    """Who wrote a setting: the class it belongs to (None outside a class), where, and in which way."""

    owner: str | None
    site: Site
    how: str


class Unknown:
    """A value that cannot be told. `options` are the values it may be, where these are known."""

    __slots__ = ("options", "prefix", "reason", "site")

    def __init__(self, reason: str, site: Site, prefix: str = "", options: tuple[object, ...] = ()) -> None:
        self.reason = reason
        self.site = site
        self.prefix = prefix
        self.options = options


class Rest:
    """Stands inside a sequence for any number of items that cannot be told."""

    __slots__ = ("why",)

    def __init__(self, why: Unknown) -> None:
        self.why = why


class Named(str):
    """A string that may be the name of an environment variable, with the place it was written at."""

    origin: Origin

    def __new__(cls, text: str, origin: Origin) -> Named:
        self = super().__new__(cls, text)
        self.origin = origin
        return self


class EnvSpace:
    """SGLang's `envs` object, whose attributes are the environment variables."""

    __slots__ = ()


class EnvField:
    """One attribute of `envs`."""

    __slots__ = ("name", "origin")

    def __init__(self, name: str, origin: Origin) -> None:
        self.name = name
        self.origin = origin


class Environ:
    """`os.environ`."""

    __slots__ = ()


class Seq:
    """A list, tuple or set. `items` may hold `Rest`."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: list[object]) -> None:
        self.kind = kind
        self.items = items

    def complete(self) -> bool:
        return not any(isinstance(item, Rest) for item in self.items)


class Map:
    """A dict. `origins` says where a key was written; `rest` is set where it may hold more than can be told."""

    __slots__ = ("items", "origins", "rest")

    def __init__(self, items: dict[object, object], origins: dict[object, Origin], rest: Unknown | None = None) -> None:
        self.items = items
        self.origins = origins
        self.rest = rest

    def copy(self) -> Map:
        return Map(dict(self.items), dict(self.origins), self.rest)


class External:
    """A name of a module that is not among the files, by its dotted path."""

    __slots__ = ("dotted", "why")

    def __init__(self, dotted: str, why: str = "") -> None:
        self.dotted = dotted
        self.why = why

    @property
    def last(self) -> str:
        return self.dotted.rpartition(".")[2]


class ModuleRef:
    """An imported module or package, looked up among the files when an attribute of it is asked for."""

    __slots__ = ("importer", "module", "parts")

    def __init__(self, parts: tuple[str, ...], importer: Module, module: Module | None = None) -> None:
        self.parts = parts
        self.importer = importer
        self.module = module


class Lazy:
    """A name of `from module import name`, looked up when it is used; `module` is set where it is already known."""

    __slots__ = ("importer", "module", "name", "parts", "site")

    def __init__(self, parts: tuple[str, ...], name: str, importer: Module, site: Site, module: Module | None) -> None:
        self.parts = parts
        self.name = name
        self.importer = importer
        self.site = site
        self.module = module


class Instance:
    """An object of a class that was read."""

    __slots__ = ("attributes", "cls")

    def __init__(self, cls: ClassValue) -> None:
        self.cls = cls
        self.attributes: dict[str, object] = {}


class ClassDict:
    """`cls.__dict__`."""

    __slots__ = ("cls",)

    def __init__(self, cls: ClassValue) -> None:
        self.cls = cls


class SuperValue:
    """`super()`: `receiver` looked up behind `owner`."""

    __slots__ = ("owner", "receiver")

    def __init__(self, owner: ClassValue, receiver: object) -> None:
        self.owner = owner
        self.receiver = receiver


class Function:
    """A function of a file, with the contexts its decorators wrap around it."""

    __slots__ = ("closure", "context_manager", "defaults", "generator", "kind", "module", "name", "node", "owner",
                 "wrappers")  # fmt: skip

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str, module: Module) -> None:
        self.node = node
        self.name = name
        self.module = module
        self.owner: ClassValue | None = None
        self.closure: object = None
        self.kind = "function"
        self.generator = False
        self.context_manager = False
        self.defaults: dict[str, object] = {}
        self.wrappers: list[object] = []
        """The context managers that a call of the function enters."""

    def as_kind(self, kind: str) -> Function:
        """The function as `classmethod(function)` and its like give it; the function itself stays what it is."""
        other = Function(self.node, self.name, self.module)
        for slot in self.__slots__:
            setattr(other, slot, getattr(self, slot))
        other.kind = kind
        return other


class Bound:
    """A function with its first argument."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Function, receiver: object) -> None:
        self.function = function
        self.receiver = receiver


class Partial:
    """`functools.partial`."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: object, args: list[object], kwargs: dict[str, object]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs


class Native:
    """A method of a value that Python itself or SGLang's environment brings, not yet called."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: object, name: str) -> None:
        self.receiver = receiver
        self.name = name


class Builtin:
    """A builtin function, or one of the standard library's that is understood."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Context:
    """A context manager that sets environment variables: pairs of a name (or None where it cannot be told) and value.

    A value of None removes the variable.
    """

    __slots__ = ("cleared", "pairs")

    def __init__(self, pairs: list[tuple[str | None, object, Origin]], cleared: bool = False) -> None:
        self.pairs = pairs
        self.cleared = cleared


class GeneratorContext:
    """A call of a function under `contextlib.contextmanager`, not yet entered."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[Callable[[object], bool]], None]) -> None:
        self.call = call


class Stack:
    """A `contextlib.ExitStack`: what was entered into it and must be put back."""

    __slots__ = ("undo",)

    def __init__(self) -> None:
        self.undo: list[Change] = []
