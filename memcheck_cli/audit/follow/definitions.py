"""How functions and classes come to be: decorators, bases, bodies, and what a base does to its subclasses."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from memcheck_cli.audit.follow.classes import KNOWN, OBJECT, READ, UNRESOLVED, ClassValue
from memcheck_cli.audit.follow.functions import Functions
from memcheck_cli.audit.follow.joining import tag
from memcheck_cli.audit.follow.machine import Frame, text_of
from memcheck_cli.audit.follow.modules import Library, Module
from memcheck_cli.audit.follow.values import (
    NOWHERE,
    Builtin,
    Context,
    External,
    Function,
    Map,
    Partial,
    Rest,
    Seq,
    Site,
    Unknown,
)
from memcheck_cli.audit.known import FIXTURE_OF, PREFIX, description, is_case, is_kit, is_plain
from memcheck_cli.checker.releases import Release

_HARMLESS = re.compile(r"(?:unittest|pytest|functools|dataclasses|abc|typing|contextlib|enum|sglang\.test\.ci)\b.*")
_HARMLESS_NAME = re.compile(
    r"(?i)_*(?:skip|require|needs?|slow|mark|run_if|only|parametrize|retry|flaky|timeout|register)"
)
_PLAIN_METACLASSES = frozenset({"type", "abc.ABCMeta"})


class Definitions(Functions):
    """`def` and `class`."""

    def __init__(self, library: Library, release: Release | None = None) -> None:
        super().__init__(library)
        self.release = release
        self.outer: dict[str, ClassValue] = {}
        """Classes outside the files: one object for each, so that a diamond over them stays one."""
        self.described: dict[str, Module] = {}
        """The descriptions of fixtures that were read so far."""

    # functions

    def define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> bool:
        function = Function(node, node.name, frame.module)
        function.defaults = self.defaults(node.args, frame)
        function.generator = any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in _own_parts(node))
        # a class body sees its own names, the functions in it do not: they see what is around the class
        function.owner = frame.owner
        if frame.scope is not frame.module.scope:
            function.closure = frame.closure if frame.class_body else frame
        value: object = function
        for decorator in reversed(node.decorator_list):
            value = self._decorate_function(value, decorator, frame)
        frame.scope[node.name] = value
        return True

    def _decorate_function(self, value: object, decorator: ast.expr, frame: Frame) -> object:
        callee = self.eval(decorator, frame)
        if isinstance(value, Function):
            if isinstance(callee, Builtin) and callee.name in ("classmethod", "staticmethod", "property"):
                value.kind = callee.name
                return value
            if isinstance(callee, External) and callee.dotted in (
                "contextlib.contextmanager", "contextlib.asynccontextmanager"):  # fmt: skip
                value.context_manager = True
                return value
            if isinstance(callee, External) and callee.dotted == "functools.cached_property":
                value.kind = "property"
                return value
            if self.wraps(callee):
                value.wrappers.append(callee)
                return value
        if isinstance(callee, (Function, Partial)):
            wrapped = self.invoke(callee, [value], {}, decorator, frame)
            if isinstance(wrapped, Function) and isinstance(value, Function) and wrapped.kind == "function":
                wrapped.kind = value.kind
            return wrapped if isinstance(wrapped, Function) else value
        # any other decorator is taken for one that leaves the environment alone: skips, marks, retries
        return value

    # classes

    def define_class(self, node: ast.ClassDef, frame: Frame) -> bool:
        bases = [self.base(value, base, frame) for base in node.bases for value in self._base_values(base, frame)]
        cls = ClassValue(node.name, READ, self.site(node, frame), frame.module)
        cls.node = node
        cls.body_lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        self._derive(cls, bases)
        kwargs: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value, frame)
            if keyword.arg == "metaclass":
                self._check_metaclass(cls, value, keyword, frame)
            elif keyword.arg is not None:
                kwargs[keyword.arg] = value
        around = None if frame.scope is frame.module.scope else frame.closure if frame.class_body else frame
        body = Frame(frame.module, cls.own, owner=cls, closure=around, class_body=True)
        self.exec_block(node.body, body)
        self._adopt(cls)
        self._announce(cls, kwargs, node, frame)
        result: object = cls
        for decorator in reversed(node.decorator_list):
            result = self._decorate_class(result, decorator, frame)
        frame.scope[node.name] = result
        return True

    def _base_values(self, node: ast.expr, frame: Frame) -> list[object]:
        if isinstance(node, ast.Starred):
            return self.spread(self.eval(node.value, frame), node, frame)
        return [self.eval(node, frame)]

    def _derive(self, cls: ClassValue, bases: list[ClassValue]) -> None:
        # typing.Generic, Protocol and the like leave nothing behind; object is added at the end as Python does
        real = [base for base in bases if base is not OBJECT]
        cls.derive([*real, OBJECT] if OBJECT in bases else real)
        if OBJECT not in cls.mro:
            cls.mro.append(OBJECT)
        cls.is_case = any(entry.is_case for entry in cls.mro[1:])
        cls.has_tests = any(entry.has_tests for entry in cls.mro[1:])

    def base(self, value: object, node: ast.AST, frame: Frame) -> ClassValue:
        """The class a base expression stands for: one that was read, a known one, or an unresolved stand-in."""
        if isinstance(value, ClassValue):
            return value
        if isinstance(value, External):
            return self._outer_class(value, node, frame)
        if isinstance(value, Builtin):
            return self._stand_in(value.name, KNOWN, frame, node)
        name = text_of(node)
        if isinstance(value, Rest):
            value = value.why
        options = [option for option in value.options if isinstance(option, ClassValue)] if isinstance(
            value, Unknown) else []  # fmt: skip
        why = (value.reason, value.site) if isinstance(value, Unknown) else ("it is no class", self.site(node, frame))
        cls = self._stand_in(name, UNRESOLVED, frame, node)
        cls.why = Unknown(f"the base {name} cannot be told: {why[0]}", self.site(node, frame))
        cls.is_case = any(option.is_case for option in options)
        cls.has_tests = any(option.has_tests or option.tests() for option in options)
        return cls

    def _stand_in(self, name: str, kind: str, frame: Frame, node: ast.AST) -> ClassValue:
        cls = ClassValue(name, kind, NOWHERE if kind == KNOWN else self.site(node, frame))
        cls.mro = [cls, OBJECT]
        return cls

    def _outer_class(self, value: External, node: ast.AST, frame: Frame) -> ClassValue:
        if value.dotted in self.outer:
            return self.outer[value.dotted]
        name = value.last
        if name in FIXTURE_OF:
            return self.fixture(name)
        if is_case(value) or is_plain(value):
            cls = self._stand_in(name, KNOWN, frame, node)
            cls.is_case = is_case(value)
        elif is_kit(value):
            cls = self._stand_in(name, KNOWN, frame, node)
            cls.has_tests = True
        else:
            cls = self._stand_in(name, UNRESOLVED, frame, node)
            cls.why = Unknown(f"the base {self.outside(value)}", self.site(node, frame))
            return cls
        self.outer[value.dotted] = cls
        return cls

    def fixture(self, name: str) -> ClassValue:
        """The class that stands in for a fixture of SGLang whose file was not given."""
        module_name = FIXTURE_OF[name]
        if PREFIX + module_name not in self.described:
            module = Module(Path("/known.py"), "", description(module_name, self.release).encode())
            self.described[PREFIX + module_name] = module
            self.run_module(module)
            for value in module.scope.values():
                if isinstance(value, ClassValue):
                    value.kind = KNOWN
                    value.site = Site("", 0)
        cls = self.described[PREFIX + module_name].scope[name]
        assert isinstance(cls, ClassValue)
        return cls

    def _check_metaclass(self, cls: ClassValue, value: object, node: ast.keyword, frame: Frame) -> None:
        plain = (isinstance(value, External) and value.dotted in _PLAIN_METACLASSES) or (
            isinstance(value, Builtin) and value.name == "type")  # fmt: skip
        if not plain:
            cls.doubts.append(
                self.unknown(f"the metaclass {text_of(node.value)} may change the class", node.value, frame)
            )

    def _adopt(self, cls: ClassValue) -> None:
        for value in cls.own.values():
            if isinstance(value, Function) and value.owner is None:
                value.owner = cls

    def _announce(self, cls: ClassValue, kwargs: dict[str, object], node: ast.AST, frame: Frame) -> None:
        """`__init_subclass__` of a base. That of CustomTestCase only wraps setUpClass in a clean-up."""
        for entry in cls.mro[1:]:
            hook = entry.own.get("__init_subclass__")
            if isinstance(hook, Function):
                if entry.name != "CustomTestCase":
                    hook.kind = "classmethod"
                    self.call_function(hook, [cls], kwargs, node, frame)
                return

    def _decorate_class(self, value: object, decorator: ast.expr, frame: Frame) -> object:
        callee = self.eval(decorator, frame)
        if not isinstance(value, ClassValue):
            return value
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = text_of(target)
        last = name.rpartition(".")[2]
        if isinstance(callee, Context):
            # patch.dict on a class wraps its test methods and nothing else
            value.test_wrappers.append(callee)
        elif isinstance(callee, (Function, Partial)):
            result = self.invoke(callee, [value], {}, decorator, frame)
            return result if isinstance(result, ClassValue) else value
        elif last == "parameterized_class":
            self._parameterized(value, decorator, frame)
        else:
            outer = self.eval(target, frame)
            dotted = outer.dotted if isinstance(outer, External) else ""
            if not (
                _HARMLESS.fullmatch(dotted) or _HARMLESS_NAME.match(last) or isinstance(outer, (Builtin, Function))
            ):
                value.doubts.append(self.unknown(f"the decorator {name} may change the class", decorator, frame))
        return value

    def _parameterized(self, cls: ClassValue, decorator: ast.expr, frame: Frame) -> None:
        first = self.eval(decorator.args[0], frame) if isinstance(decorator, ast.Call) and decorator.args else None
        names: list[object] | None = None
        if isinstance(first, Seq) and first.complete():
            names = [key for item in first.items for key in (item.items if isinstance(item, Map) else [item])]
        elif isinstance(first, str):
            names = [first]
        if names is None or any(not isinstance(name, str) or "env" in name.lower() for name in names):
            cls.doubts.append(self.unknown("parameterized_class sets attributes that cannot be told", decorator, frame))

    def make_class(self, args: list[object], node: ast.AST, frame: Frame) -> object:
        """`type(name, bases, attributes)`."""
        name, bases, attributes = args
        if not isinstance(name, str) or not isinstance(bases, Seq) or not isinstance(attributes, Map):
            return self.unknown(f"the class {text_of(node)} cannot be told", node, frame)
        cls = ClassValue(str(name), READ, self.site(node, frame), frame.module)
        self._derive(cls, [self.base(value, node, frame) for value in bases.items])
        if attributes.rest is not None:
            cls.doubts.append(attributes.rest)
        for key, value in attributes.items.items():
            cls.own[str(key)] = self.tagged(value, str(key), cls, node, frame)
        self._adopt(cls)
        self._announce(cls, {}, node, frame)
        return cls

    def as_class_attribute(self, value: object, name: str, node: ast.AST, frame: Frame) -> object:
        """A value that a name is bound to: in a class body its variables become the class's."""
        if frame.class_body and frame.owner is not None:
            if isinstance(value, External) and "env" in name.lower():
                # told here, where the class takes it over, and not where the fixture comes to use it
                return self.unknown(self.outside(value), node, frame)
            return self.tagged(value, name, frame.owner, node, frame)
        return value

    def tagged(self, value: object, name: str, cls: ClassValue, node: ast.AST, frame: Frame) -> object:
        lines = cls.body_lines if cls.module is frame.module else range(0)
        return tag(value, cls.name, self.site(node, frame), name, lines)


def _own_parts(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    found: list[ast.AST] = []
    queue: list[ast.AST] = [*node.body]
    while queue:
        part = queue.pop()
        found.append(part)
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            queue.extend(ast.iter_child_nodes(part))
    return found
