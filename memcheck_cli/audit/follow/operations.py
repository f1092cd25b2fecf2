"""What can be done with values: iterate, add, compare, look an item up."""

from __future__ import annotations

import ast
import operator

from memcheck_cli.audit.follow.classes import UNRESOLVED, ClassValue
from memcheck_cli.audit.follow.joining import same
from memcheck_cli.audit.follow.lookup import MISSING, Lookup
from memcheck_cli.audit.follow.machine import Frame, text_of
from memcheck_cli.audit.follow.values import (
    ENV_NAME,
    MAX_ITEMS,
    MAX_TEXT,
    Bound,
    Builtin,
    ClassDict,
    Context,
    EnvField,
    Environ,
    External,
    Function,
    Instance,
    Map,
    ModuleRef,
    Named,
    Rest,
    Seq,
    Unknown,
)
from memcheck_cli.audit.model import LEVEL_VARIABLE

_ORDER = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod,
               ast.FloorDiv: operator.floordiv, ast.Div: operator.truediv, ast.BitOr: operator.or_,
               ast.BitAnd: operator.and_}  # fmt: skip
_ABSURD = 2**128


class Operations(Lookup):
    """Operations on values; none of them looks at a syntax tree but for its line."""

    def truth(self, value: object) -> bool | None:
        """Whether a value counts as true; None where that cannot be told."""
        if value is None or isinstance(value, (bool, int, float, str, bytes)):
            return bool(value)
        if isinstance(value, Seq):
            if any(not isinstance(item, Rest) for item in value.items):
                return True
            return None if value.items else False
        if isinstance(value, Map):
            return True if value.items else (None if value.rest else False)
        if isinstance(value, (ClassValue, Function, Bound, Builtin, ModuleRef, Context)):
            return not (isinstance(value, ClassValue) and value.kind == UNRESOLVED) or None
        if isinstance(value, Instance):
            known = any(self.class_attribute(value.cls, name) is not MISSING for name in ("__bool__", "__len__"))
            return None if known else True
        if isinstance(value, External) and value.dotted.endswith("TYPE_CHECKING"):
            return False
        return None

    def spread(self, value: object, node: ast.AST, frame: Frame) -> list[object]:
        """The items that iterating over a value gives; a `Rest` where they cannot be told."""
        if isinstance(value, Seq):
            self.tick(len(value.items))
            return list(value.items)
        if isinstance(value, Map):
            return [*value.items, *([Rest(value.rest)] if value.rest else [])]
        if isinstance(value, str):
            if len(value) <= MAX_ITEMS:
                return list(value)
        elif value is None or isinstance(value, (int, float)):
            return []
        if isinstance(value, Unknown):
            return [Rest(value)]
        if isinstance(value, External):
            return [Rest(self.unknown(self.outside(value), node, frame))]
        return [Rest(self.unknown("what it holds cannot be told", node, frame))]

    def outside(self, value: External) -> str:
        """Why the value of a name that no given file defines cannot be told."""
        return f"{value.dotted} is not among the files" + (f" ({value.why})" if value.why else "")

    def sequence(self, kind: str, items: list[object], node: ast.AST, frame: Frame) -> object:
        self.tick(len(items) // 8)
        if len(items) > MAX_ITEMS:
            return self.unknown("it is too long to be followed", node, frame)
        return Seq(kind, items)

    def store(self, into: Map, key: object, value: object, node: ast.AST, frame: Frame) -> None:
        """`into[key] = value`."""
        if isinstance(key, EnvField):
            key = Named(key.name, key.origin)
        if isinstance(key, Named):
            into.origins[str(key)] = key.origin
        if isinstance(key, str):
            key = str(key)
        if isinstance(key, (str, int, float, bool)) or key is None:
            into.items[key] = value
        else:
            into.rest = key if isinstance(key, Unknown) else self.unknown("a key cannot be told", node, frame)

    def merge(self, into: Map, value: object, node: ast.AST, frame: Frame) -> None:
        """`into.update(value)`."""
        if isinstance(value, Environ):
            value = self.snapshot()
        if isinstance(value, Map):
            into.items.update(value.items)
            into.origins.update(value.origins)
            into.rest = into.rest or value.rest
        elif isinstance(value, Seq):
            for item in value.items:
                if isinstance(item, Seq) and len(item.items) == 2 and item.complete():
                    self.store(into, item.items[0], item.items[1], node, frame)
                else:
                    into.rest = self.unknown("what is merged cannot be told", node, frame)
        elif value is not None:
            into.rest = value if isinstance(value, Unknown) else self.unknown(
                self.outside(value) if isinstance(value, External) else "what is merged cannot be told", node, frame
            )  # fmt: skip

    def snapshot(self) -> Map:
        """`os.environ.copy()`."""
        result = Map({}, {}, self.env.rest)
        for name, chain in self.env.chains.items():
            if chain[-1].value is not None:
                result.items[name] = chain[-1].value
                result.origins[name] = chain[-1].origin
        return result

    def binary(self, left: object, right: object, op: ast.operator, node: ast.AST, frame: Frame) -> object:
        """`left op right`."""
        if isinstance(op, ast.Add) and (isinstance(left, Seq) or isinstance(right, Seq)):
            kind = left.kind if isinstance(left, Seq) else right.kind if isinstance(right, Seq) else "list"
            return self.sequence(kind, self.spread(left, node, frame) + self.spread(right, node, frame), node, frame)
        if isinstance(op, ast.BitOr) and any(isinstance(side, (Map, Environ)) for side in (left, right)):
            result = Map({}, {})
            self.merge(result, left, node, frame)
            self.merge(result, right, node, frame)
            return result
        if isinstance(op, ast.Mult) and isinstance(left, Seq) and isinstance(right, int):
            if len(left.items) * right <= MAX_ITEMS:
                return Seq(left.kind, left.items * right)
        elif isinstance(op, ast.Add) and isinstance(left, str) and isinstance(right, str):
            if len(left) + len(right) <= MAX_TEXT:
                text = str(left) + str(right)
                return Named(text, self.origin(node, frame, "")) if ENV_NAME.fullmatch(text) else text
        elif isinstance(left, (int, float)) and isinstance(right, (int, float)):
            function = _ARITHMETIC.get(type(op))
            try:
                if function and abs(left) < _ABSURD and abs(right) < _ABSURD:
                    number: object = function(left, right)
                    return number
            except (ArithmeticError, TypeError):
                pass
        for side in (left, right):
            if isinstance(side, Unknown):
                return Unknown(side.reason, side.site, prefix=left if isinstance(left, str) else "")
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _compare_two(self, left: object, op: ast.cmpop, right: object) -> bool | None:
        if isinstance(op, (ast.In, ast.NotIn)):
            inside = self._holds(right, left)
            return inside if inside is None or isinstance(op, ast.In) else not inside
        if isinstance(op, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
            equal = self._equal(left, right)
            return equal if equal is None or isinstance(op, (ast.Eq, ast.Is)) else not equal
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return bool(_ORDER[type(op)](left, right))
        return None

    def _equal(self, left: object, right: object) -> bool | None:
        if same(left, right):
            return None if isinstance(left, Unknown) else True
        plain = (int, float, str, bytes, type(None))
        if isinstance(left, plain) and isinstance(right, plain):
            return left == right
        known = (*plain, ClassValue, Seq, Map, EnvField, Function, Environ, Instance)
        if isinstance(left, known) and isinstance(right, known):
            if any(isinstance(side, (Seq, Map, Instance)) for side in (left, right)) and type(left) is type(right):
                return None
            return False
        if isinstance(left, External) and right is None and ENV_NAME.fullmatch(left.last):
            return False
        return None

    def _holds(self, container: object, item: object) -> bool | None:
        if isinstance(container, ClassDict) and isinstance(item, str):
            if container.cls.kind == UNRESOLVED:
                return None
            return self.own_attribute(container.cls, item) is not MISSING
        if isinstance(container, Environ) and isinstance(item, (str, EnvField)):
            name = item.name if isinstance(item, EnvField) else str(item)
            value = self.env.value(name)
            # the audit asks what the tests themselves switch on, so the level is not set outside of them
            unset = False if name == LEVEL_VARIABLE else None
            return None if isinstance(value, Unknown) else True if value is not None else unset
        if isinstance(container, str) and isinstance(item, str):
            return item in container
        items = container.items if isinstance(container, (Seq, Map)) else None
        if items is None:
            return None
        answers = [self._equal(entry, item) for entry in items]
        if True in answers:
            return True
        open_ended = isinstance(container, Map) and container.rest
        return None if None in answers or open_ended else False

    def item(self, value: object, key: object, node: ast.AST, frame: Frame) -> object:
        """`value[key]`."""
        if isinstance(value, External):
            return value
        if isinstance(value, Seq) and isinstance(key, int) and value.complete() and -len(value.items) <= key:
            if key < len(value.items):
                return value.items[key]
        elif isinstance(value, Map) and isinstance(key, (str, int)):
            key = str(key) if isinstance(key, str) else key
            if key in value.items and value.rest is None:
                return value.items[key]
        elif isinstance(value, ClassDict) and isinstance(key, str):
            found = self.own_attribute(value.cls, key)
            if found is not MISSING:
                return found
        elif isinstance(value, Environ) and isinstance(key, str):
            found = self.env.value(str(key))
            reason = f"the environment of the run decides {text_of(node)}"
            return found if found is not None else self.unknown(reason, node, frame)
        return value if isinstance(value, Unknown) else self.unknown(f"{text_of(node)} cannot be told", node, frame)
