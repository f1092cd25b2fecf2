"""Where a name or an attribute leads: scopes, imports, modules, classes along their order, objects."""

from __future__ import annotations

import ast
import builtins

from memcheck_cli.audit.follow.classes import OBJECT, UNRESOLVED, ClassValue
from memcheck_cli.audit.follow.machine import Frame, Machine
from memcheck_cli.audit.follow.modules import Module
from memcheck_cli.audit.follow.values import (
    Bound,
    Builtin,
    ClassDict,
    Context,
    EnvField,
    Environ,
    EnvSpace,
    External,
    Function,
    Instance,
    Lazy,
    Map,
    ModuleRef,
    Native,
    Partial,
    Seq,
    Site,
    Stack,
    SuperValue,
    Unknown,
)

LAUNCHERS = frozenset({"popen_launch_server", "popen_launch_pd_server"})
"""Functions of sglang.test.test_utils that start a server; known by name, their body is not followed."""

RUNTIME = "SGLang's runtime is not followed"

_BUILTINS = frozenset(dir(builtins))


class Missing:
    """No such name or attribute."""


MISSING = Missing()


class Lookup(Machine):
    """Names and attributes."""

    def run_module(self, module: Module) -> None:
        raise NotImplementedError

    def call_function(
        self, function: Function, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        raise NotImplementedError

    # names

    def name(self, name: str, node: ast.AST, frame: Frame) -> object:
        scope: Frame | None = frame
        while scope is not None:
            if name in scope.scope and (scope is frame or not scope.class_body):
                return self.resolve(scope.scope[name])
            scope = scope.closure
        value = self.of_module(frame.module, name)
        if value is not MISSING:
            if name == "envs" and isinstance(value, (Instance, Unknown)):
                return EnvSpace()
            return value
        if name == "__name__":
            return self.unknown("only where the file is run as a script", node, frame)
        if name == "object":
            return OBJECT
        if name in _BUILTINS:
            return Builtin(name)
        if name == "envs":
            return EnvSpace()
        return self.unknown(f"{name} is not defined in this file", node, frame)

    def of_module(self, module: Module, name: str) -> object:
        """A name of a module, star imports included; MISSING where it has none."""
        if name in module.scope:
            key = (module, name)
            if self.running and key in self.module_overlay:
                return self.module_overlay[key]
            value = self.resolve(module.scope[name])
            if module.state == "done" and not self.running and isinstance(module.scope[name], Lazy):
                module.scope[name] = value
            if self.running and isinstance(value, (Seq, Map)):
                value = self.module_overlay[key] = self.fresh(value)
            return value
        for source, dotted in reversed(module.stars):
            if source is None:
                if name not in _BUILTINS and not name.startswith("_"):
                    return External(f"{dotted}.{name}")
            elif not name.startswith("_") and source is not module:
                self.tick()
                self.run_module(source)
                value = self.of_module(source, name) if self.depth < 20 else MISSING
                if value is not MISSING:
                    return value
        if module.broken is not None:
            return module.broken
        return MISSING

    def resolve(self, value: object) -> object:
        """What an imported name stands for."""
        for _ in range(20):
            if not isinstance(value, Lazy):
                return value
            value = self._imported(value)
        return Unknown("the imports lead in a circle", Site("", 0))

    def _imported(self, lazy: Lazy) -> object:
        dotted = ".".join((*lazy.parts, lazy.name))
        if lazy.name in LAUNCHERS:
            return External(dotted)
        if lazy.name == "envs":
            return EnvSpace()
        module = lazy.module
        why = ""
        if module is None:
            found = self.library.absolute(lazy.importer, lazy.parts) if lazy.parts else ""
            if isinstance(found, str):
                why = found
            else:
                module = found
        if module is not None and module.opaque:
            return External(dotted, RUNTIME)
        if module is not None:
            value = self._of_imported(module, lazy.name)
            if value is not MISSING:
                return value
            if module.error:
                return External(dotted, f"{module.shown} is {module.error}")
            return External(dotted, f"{module.shown} does not define {lazy.name}")
        inner = self.library.absolute(lazy.importer, (*lazy.parts, lazy.name))
        if isinstance(inner, Module) or self.library.holds_package(lazy.importer, (*lazy.parts, lazy.name)):
            return ModuleRef((*lazy.parts, lazy.name), lazy.importer)
        return External(dotted, why)

    def _of_imported(self, module: Module, name: str) -> object:
        self.tick()
        if self.depth > 60:
            return Unknown("the imports lead in a circle", Site(module.shown, 1))
        self.depth += 1
        try:
            self.run_module(module)
            value = module.scope[name] if name in module.scope else self.of_module(module, name)
            if value is MISSING and (inner := self.library.at(module.path.parent / name)):
                return ModuleRef((module.path.parent.name, name), module, inner)
            return value
        finally:
            self.depth -= 1

    # attributes

    def attribute(self, value: object, name: str, node: ast.AST, frame: Frame) -> object:
        """`value.name`; never MISSING."""
        found = self.attribute_or_missing(value, name, node, frame)
        if found is not MISSING:
            return found
        if name.startswith("SGLANG_"):
            return EnvField(name, self.origin(node, frame, ""))
        if isinstance(value, (ClassValue, Instance, SuperValue)):
            cls = self.class_of(value)
            if any(entry.is_case for entry in cls.mro):
                return External(f"unittest.TestCase.{name}")
            return self.unknown(f"{cls.name} has no attribute {name}", node, frame)
        return self.unknown(f"the attribute {name} cannot be told", node, frame)

    def attribute_or_missing(self, value: object, name: str, node: ast.AST, frame: Frame) -> object:
        self.tick()
        if isinstance(value, EnvSpace):
            return EnvField(name, self.origin(node, frame, ""))
        if isinstance(value, External):
            return self._external(value, name)
        if isinstance(value, ModuleRef):
            return self._of_module_ref(value, name)
        if isinstance(value, ClassValue):
            return self._of_class(value, name, node, frame)
        if isinstance(value, Instance):
            if name in value.attributes:
                return value.attributes[name]
            if name == "__class__":
                return value.cls
            return self._bind(self.class_attribute(value.cls, name), value, node, frame)
        if isinstance(value, SuperValue):
            cls = self.class_of(value.receiver)
            return self._bind(self.class_attribute(cls, name, behind=value.owner), value.receiver, node, frame)
        if isinstance(value, EnvField):
            return str(value.name) if name == "name" else Native(value, name)
        if isinstance(value, (Environ, Seq, Map, str, Stack, ClassDict, Context)):
            return Native(value, name)
        if isinstance(value, Bound) and name in ("__func__", "__wrapped__"):
            return value.function
        if isinstance(value, (Function, Bound)):
            return value if name in ("__wrapped__", "__func__") else MISSING
        if isinstance(value, Partial) and name == "func":
            return value.function
        if isinstance(value, Unknown):
            if name.startswith("SGLANG_"):
                return MISSING
            return Native(value, name)
        return MISSING

    def class_of(self, value: object) -> ClassValue:
        """The class of an object, or the class itself."""
        if isinstance(value, ClassValue):
            return value
        if isinstance(value, Instance):
            return value.cls
        if isinstance(value, SuperValue):
            return self.class_of(value.receiver)
        return OBJECT

    def class_attribute(self, cls: ClassValue, name: str, behind: ClassValue | None = None) -> object:
        """The attribute as stored in the first class of the order that has it, or MISSING; Unknown where a class that
        could not be found comes first."""
        order = cls.mro
        if behind is not None and behind in order:
            order = order[order.index(behind) + 1 :]
        for entry in order:
            value = self.own_attribute(entry, name)
            if value is not MISSING:
                return value
            if entry.kind == UNRESOLVED:
                return entry.why or MISSING
        return MISSING

    def own_attribute(self, cls: ClassValue, name: str) -> object:
        """The entry of the class's own `__dict__`, or MISSING."""
        key = (cls, name)
        if self.running and key in self.overlay:
            return self.overlay[key]
        if name not in cls.own:
            return MISSING
        value = self.resolve(cls.own[name])
        if self.running and isinstance(value, (Seq, Map)):
            value = self.overlay[key] = self.fresh(value)
        return value

    def set_class_attribute(self, cls: ClassValue, name: str, value: object) -> None:
        if self.running:
            self.overlay[(cls, name)] = value
        else:
            cls.own[name] = value

    def _of_class(self, cls: ClassValue, name: str, node: ast.AST, frame: Frame) -> object:
        if name == "__mro__":
            return Seq("tuple", list(cls.mro))
        if name == "__bases__":
            return Seq("tuple", list(cls.bases) or [OBJECT])
        if name in ("__name__", "__qualname__"):
            return cls.name
        if name == "__dict__":
            return ClassDict(cls)
        if name == "mro":
            return Native(cls, "mro")
        return self._bind(self.class_attribute(cls, name), cls, node, frame)

    def _bind(self, value: object, receiver: object, node: ast.AST, frame: Frame) -> object:
        if not isinstance(value, Function):
            return value
        if value.kind == "staticmethod":
            return value
        if value.kind == "classmethod":
            return Bound(value, self.class_of(receiver))
        if value.kind == "property":
            if isinstance(receiver, ClassValue):
                return self.unknown(f"{value.name} is a property", node, frame)
            return self.call_function(value, [receiver], {}, node, frame)
        return value if isinstance(receiver, ClassValue) else Bound(value, receiver)

    def _external(self, value: External, name: str) -> object:
        if name in LAUNCHERS:
            return External(f"{value.dotted}.{name}")
        if name == "envs":
            return EnvSpace()
        if value.dotted == "os" and name == "environ":
            return Environ()
        if name.startswith("SGLANG_"):
            return MISSING
        return External(f"{value.dotted}.{name}", value.why)

    def _of_module_ref(self, ref: ModuleRef, name: str) -> object:
        if name in LAUNCHERS:
            return External(".".join((*ref.parts, name)))
        if name == "envs":
            return EnvSpace()
        module = self.module_of(ref)
        if isinstance(module, Module) and module.opaque:
            return External(".".join((*ref.parts, name)), RUNTIME)
        if isinstance(module, Module):
            value = self.resolve(self._of_imported(module, name))
            if value is not MISSING:
                return value
            return External(".".join((*ref.parts, name)), module.error or f"{module.shown} does not define {name}")
        inner = self.library.absolute(ref.importer, (*ref.parts, name))
        if isinstance(inner, Module) or self.library.holds_package(ref.importer, (*ref.parts, name)):
            return ModuleRef((*ref.parts, name), ref.importer)
        return self._external(External(".".join(ref.parts), module), name)

    def module_of(self, ref: ModuleRef) -> Module | str:
        """The file behind an imported module, or why there is none."""
        return ref.module or self.library.absolute(ref.importer, ref.parts)
