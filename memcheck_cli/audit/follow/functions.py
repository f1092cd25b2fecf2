"""The builtin functions that tests use."""

from __future__ import annotations

import ast

from memcheck_cli.audit.follow.classes import OBJECT, UNRESOLVED, ClassValue
from memcheck_cli.audit.follow.lookup import MISSING
from memcheck_cli.audit.follow.machine import Frame, text_of
from memcheck_cli.audit.follow.natives import Natives
from memcheck_cli.audit.follow.values import (
    MAX_BITS,
    MAX_ITEMS,
    Bound,
    ClassDict,
    EnvField,
    EnvSpace,
    Function,
    Instance,
    Map,
    Named,
    Rest,
    Seq,
    Unknown,
)


class Functions(Natives):
    """Calls of builtin functions."""

    def builtin(self, name: str, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame) -> object:
        first = args[0] if args else None
        if isinstance(first, Rest):
            return first.why
        if name in ("list", "tuple", "set", "frozenset", "iter", "sorted"):
            kind = {"iter": "list", "sorted": "list", "frozenset": "set"}.get(name, name)
            return self.sequence(kind, self.spread(first, node, frame) if args else [], node, frame)
        if name == "reversed" and args:
            return self.sequence("list", self.spread(first, node, frame)[::-1], node, frame)
        if name == "dict":
            result = Map({}, {})
            self.merge(result, first, node, frame)
            for key, value in kwargs.items():
                self.store(result, key, value, node, frame)
            return result
        if name in ("str", "int", "float", "bool", "abs", "repr"):
            return self._convert(name, args, node, frame)
        if name == "identity":
            return first
        if name in ("classmethod", "staticmethod", "property") and isinstance(first, Function):
            return first.as_kind(name)
        if name in ("getattr", "hasattr", "setattr", "delattr"):
            return self._attributes(name, args, node, frame)
        if name in ("isinstance", "issubclass") and len(args) == 2:
            return self._is_of(args[0], args[1], node, frame)
        if name == "type" and len(args) == 1:
            return self.class_of(first) if isinstance(first, (Instance, ClassValue)) else self.unknown(
                f"{text_of(node)} cannot be told", node, frame)  # fmt: skip
        if name == "type" and len(args) == 3:
            return self.make_class(args, node, frame)
        if name == "vars" and isinstance(first, ClassValue):
            return ClassDict(first)
        if name == "callable":
            return True if isinstance(first, (Function, Bound, ClassValue)) else self.unknown(
                f"{text_of(node)} cannot be told", node, frame)  # fmt: skip
        if name == "len" and isinstance(first, (Seq, Map, str)):
            if isinstance(first, str):
                return len(first)
            if first.complete() if isinstance(first, Seq) else first.rest is None:
                return len(first.items)
        if name == "print":
            return None
        return self._iterators(name, args, node, frame)

    def _iterators(self, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        if name == "range" and 1 <= len(args) <= 3 and all(type(argument) is int for argument in args):
            numbers = [argument for argument in args if isinstance(argument, int)]
            if all(abs(number) < 2**60 for number in numbers) and (len(numbers) < 3 or numbers[2]):
                span = range(*numbers)
                if len(span) <= MAX_ITEMS:
                    return Seq("list", [*span])
        elif name == "enumerate" and args:
            items = self.spread(args[0], node, frame)
            start = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
            return Seq("list", [item if isinstance(item, Rest) else Seq("tuple", [at, item])
                                for at, item in enumerate(items, start)])  # fmt: skip
        elif name == "zip":
            columns = [self.spread(argument, node, frame) for argument in args]
            if all(not isinstance(item, Rest) for column in columns for item in column):
                return Seq("list", [Seq("tuple", list(row)) for row in zip(*columns, strict=False)])
        elif name == "map" and len(args) == 2:
            items = self.spread(args[1], node, frame)
            mapped = [
                item if isinstance(item, Rest) else self.invoke(args[0], [item], {}, node, frame) for item in items
            ]
            return self.sequence("list", mapped, node, frame)
        elif name == "sum" and args:
            total: object = args[1] if len(args) > 1 else 0
            for item in self.spread(args[0], node, frame):
                total = self.binary(total, item.why if isinstance(item, Rest) else item, ast.Add(), node, frame)
            return total
        elif name in ("any", "all") and args:
            truths = [
                None if isinstance(item, Rest) else self.truth(item) for item in self.spread(args[0], node, frame)
            ]
            if (name == "any") in truths:
                return name == "any"
            if None not in truths:
                return name == "all"
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _convert(self, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        value = args[0] if args else None
        if name == "bool":
            decided = self.truth(value)
            return self.unknown(f"{text_of(node)} cannot be told", node, frame) if decided is None else decided
        if isinstance(value, Unknown):
            return value
        if isinstance(value, Named) and name == "str":
            return value
        if isinstance(value, (str, int, float)) or value is None:
            try:
                if name == "str":
                    return "" if not args else str(value)
                if name == "int" and isinstance(value, (str, int, float)):
                    number = int(value) if len(args) == 1 else int(str(value), int(str(args[1])))
                    if number.bit_length() <= MAX_BITS:
                        return number
                if name == "float" and isinstance(value, (str, int, float)):
                    return float(value)
                if name == "abs" and isinstance(value, (int, float)):
                    return abs(value)
            except (ValueError, OverflowError):
                pass
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _attributes(self, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        if len(args) < 2 or not isinstance(args[1], str):
            if name == "setattr" and args and isinstance(args[0], ClassValue):
                args[0].doubts.append(self.unknown(f"{text_of(node)} sets an attribute whose name cannot be told",
                                                   node, frame))  # fmt: skip
            return self.unknown(f"{text_of(node)} cannot be told", node, frame)
        receiver, attribute = args[0], str(args[1])
        if name == "setattr":
            self.set_attribute(receiver, attribute, args[2] if len(args) > 2 else None, node, frame)
            return None
        if name == "delattr":
            self.delete_attribute(receiver, attribute)
            return None
        if isinstance(receiver, EnvSpace) and isinstance(args[1], Named):
            return EnvField(attribute, args[1].origin)
        found = self.attribute_or_missing(receiver, attribute, node, frame)
        told = isinstance(receiver, (ClassValue, Instance))
        if name == "hasattr":
            if found is MISSING:
                return False if told else self.unknown(f"{text_of(node)} cannot be told", node, frame)
            return found if isinstance(found, Unknown) else True
        if found is MISSING:
            if len(args) > 2 and told:
                return args[2]
            return self.attribute(receiver, attribute, node, frame)
        return found

    def _is_of(self, value: object, classes: object, node: ast.AST, frame: Frame) -> object:
        options = classes.items if isinstance(classes, Seq) else [classes]
        if isinstance(value, (ClassValue, Instance)) and all(isinstance(option, ClassValue) for option in options):
            mro = self.class_of(value).mro
            if any(option in mro or option is OBJECT for option in options):
                return True
            if all(entry.kind != UNRESOLVED for entry in mro):
                return False
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def set_attribute(self, receiver: object, name: str, value: object, node: ast.AST, frame: Frame) -> None:
        raise NotImplementedError

    def delete_attribute(self, receiver: object, name: str) -> None:
        raise NotImplementedError

    def make_class(self, args: list[object], node: ast.AST, frame: Frame) -> object:
        raise NotImplementedError
