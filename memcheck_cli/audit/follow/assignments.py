"""Assignments: to names, attributes of classes and objects, items, the environment."""

from __future__ import annotations

import ast

from memcheck_cli.audit.follow.classes import ClassValue
from memcheck_cli.audit.follow.imports import Imports
from memcheck_cli.audit.follow.joining import join
from memcheck_cli.audit.follow.lookup import MISSING
from memcheck_cli.audit.follow.machine import Frame, text_of
from memcheck_cli.audit.follow.values import (
    Environ,
    Instance,
    Map,
    Rest,
    Seq,
)


class Assignments(Imports):
    """`=`, `+=`, `del` and what they change."""

    def assign_statement(self, node: ast.Assign, frame: Frame) -> bool:
        value = self.eval(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)
        return True

    def annotated(self, node: ast.AnnAssign, frame: Frame) -> bool:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value, frame), frame)
        return True

    def augmented(self, node: ast.AugAssign, frame: Frame) -> bool:
        current = self.eval(node.target, frame)
        value = self.eval(node.value, frame)
        if isinstance(current, Seq) and current.kind == "list" and isinstance(node.op, ast.Add):
            # `+=` changes a list in place: everything that holds it sees the change
            self.native(current, "extend", [value], {}, node, frame)
            result: object = current
        elif isinstance(node.op, ast.BitOr) and isinstance(current, (Map, Environ)):
            self.native(current, "update", [value], {}, node, frame)
            result = current
        else:
            result = self.binary(current, value, node.op, node, frame)
        self.assign(node.target, result, frame)
        return True

    def assign(self, target: ast.expr, value: object, frame: Frame) -> None:
        self.tick()
        if isinstance(target, ast.Name):
            frame.scope[target.id] = self.as_class_attribute(value, target.id, target, frame)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, frame)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, frame)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.eval(target.value, frame), target.attr, value, target, frame)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value, frame)

    def _unpack(self, target: ast.Tuple | ast.List, value: object, frame: Frame) -> None:
        items = self.spread(value, target, frame)
        rest = next((item.why for item in items if isinstance(item, Rest)), None)
        star = next((at for at, element in enumerate(target.elts) if isinstance(element, ast.Starred)), None)
        if rest is None and star is None and len(items) != len(target.elts):
            rest = self.unknown("the number of values does not fit", target, frame)
        if rest is None and star is not None and len(items) >= len(target.elts) - 1:
            behind = len(target.elts) - star - 1
            middle = items[star : len(items) - behind]
            items = [*items[:star], Seq("list", middle), *items[len(items) - behind :]]
        for at, element in enumerate(target.elts):
            self.assign(element, rest if rest is not None else items[at] if at < len(items) else None, frame)

    def _set_item(self, target: ast.Subscript, value: object, frame: Frame) -> None:
        container = self.eval(target.value, frame)
        if isinstance(target.slice, ast.Slice):
            if isinstance(container, Seq):
                container.items[:] = [Rest(self.unknown(f"{text_of(target)} is set", target, frame))]
            return
        key = self.eval(target.slice, frame)
        if isinstance(container, Environ):
            self.native(container, "__setitem__", [key, value], {}, target, frame)
        elif isinstance(container, Map):
            self.put(container, key, value, target, frame)
        elif isinstance(container, Seq):
            if isinstance(key, int) and container.complete() and -len(container.items) <= key < len(container.items):
                old = container.items[key]
                container.items[key] = join(old, value, self.uncertain[-1]) if self.uncertain else value
            else:
                container.items[:] = [Rest(self.unknown(f"{text_of(target)} is set", target, frame))]

    def set_attribute(self, receiver: object, name: str, value: object, node: ast.AST, frame: Frame) -> None:
        if isinstance(receiver, ClassValue):
            if self.uncertain:
                old = self.class_attribute(receiver, name)
                value = join(None if old is MISSING else old, value, self.uncertain[-1])
            elif not self.running and receiver.module is not frame.module:
                why = self.unknown(f"{receiver.name}.{name} is set from another file: which of the two is imported "
                                   "first cannot be told", node, frame)  # fmt: skip
                value = join(self.own_attribute(receiver, name), value, why)
            self.set_class_attribute(receiver, name, self.tagged(value, name, receiver, node, frame))
        elif isinstance(receiver, Instance):
            if self.uncertain:
                value = join(receiver.attributes.get(name), value, self.uncertain[-1])
            receiver.attributes[name] = value

    def delete_attribute(self, receiver: object, name: str) -> None:
        if isinstance(receiver, ClassValue):
            if self.running:
                self.overlay[(receiver, name)] = MISSING
            else:
                receiver.own.pop(name, None)

    def delete(self, node: ast.Delete, frame: Frame) -> bool:
        for target in node.targets:
            if isinstance(target, ast.Name) and not self.uncertain:
                frame.scope.pop(target.id, None)
            elif isinstance(target, ast.Attribute):
                self.delete_attribute(self.eval(target.value, frame), target.attr)
            elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
                container, key = self.eval(target.value, frame), self.eval(target.slice, frame)
                if isinstance(container, (Environ, Map)):
                    self.native(container, "pop", [key, None], {}, target, frame)
        return True
