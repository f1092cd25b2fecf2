"""What expressions are worth."""

from __future__ import annotations

import ast
from collections.abc import Callable

from memcheck_cli.audit.follow.classes import ClassValue
from memcheck_cli.audit.follow.joining import join
from memcheck_cli.audit.follow.machine import Frame, text_of
from memcheck_cli.audit.follow.operations import Operations
from memcheck_cli.audit.follow.values import (
    ENV_NAME,
    MAX_BITS,
    MAX_TEXT,
    Function,
    Map,
    Named,
    Rest,
    Seq,
    Unknown,
)


class Expressions(Operations):
    """Evaluation of expressions; calls are in `Calls`."""

    def eval(self, node: ast.expr, frame: Frame) -> object:
        self.tick()
        method = self._dispatch.get(type(node))
        if method is None:
            return self.unknown(f"{text_of(node)} cannot be told", node, frame)
        return method(self, node, frame)

    def call(self, node: ast.Call, frame: Frame) -> object:
        raise NotImplementedError

    def _constant(self, node: ast.Constant, frame: Frame) -> object:
        value: object = node.value
        if isinstance(value, str) and ENV_NAME.fullmatch(value):
            return Named(value, self.origin(node, frame, ""))
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            return self.unknown("the number is too long to be followed", node, frame)
        if isinstance(value, (str, int, float)) or value is None:
            return value
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _name(self, node: ast.Name, frame: Frame) -> object:
        return self.name(node.id, node, frame)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> object:
        return self.attribute(self.eval(node.value, frame), node.attr, node, frame)

    def _call(self, node: ast.Call, frame: Frame) -> object:
        return self.call(node, frame)

    def elements(self, nodes: list[ast.expr], frame: Frame) -> list[object]:
        """The values of a display or of arguments, starred ones spread out."""
        items: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items += self.spread(self.eval(node.value, frame), node, frame)
            else:
                items.append(self.eval(node, frame))
        return items

    def _display(self, node: ast.Tuple | ast.List | ast.Set, frame: Frame) -> object:
        kind = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}[type(node)]
        return self.sequence(kind, self.elements(node.elts, frame), node, frame)

    def _dict(self, node: ast.Dict, frame: Frame) -> object:
        result = Map({}, {})
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            if key_node is None:
                self.merge(result, self.eval(value_node, frame), value_node, frame)
                continue
            key = self.eval(key_node, frame)
            value = self.eval(value_node, frame)
            self.store(result, key, value, key_node, frame)
        return result

    def _joined(self, node: ast.JoinedStr, frame: Frame) -> object:
        text = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value)
                continue
            value = self.eval(part.value, frame) if isinstance(part, ast.FormattedValue) else None
            if not isinstance(value, (str, int, float, bool)) and value is not None:
                return Unknown(f"{text_of(node)} cannot be told", self.site(node, frame), prefix=text)
            if isinstance(part, ast.FormattedValue) and (part.format_spec is not None or part.conversion > 0):
                return Unknown(f"{text_of(node)} cannot be told", self.site(node, frame), prefix=text)
            text += str(value)
            if len(text) > MAX_TEXT:
                return self.unknown("it is too long to be followed", node, frame)
        return Named(text, self.origin(node, frame, "")) if ENV_NAME.fullmatch(text) else text

    def _if(self, node: ast.IfExp, frame: Frame) -> object:
        decided = self.truth(self.eval(node.test, frame))
        if decided is not None:
            return self.eval(node.body if decided else node.orelse, frame)
        why = self.undecided(node.test, frame)
        with self.perhaps(why):
            return join(self.eval(node.body, frame), self.eval(node.orelse, frame), why)

    def undecided(self, test: ast.expr, frame: Frame) -> Unknown:
        """The reason a condition gives to everything that hangs on it."""
        if "__name__" in (text := text_of(test)) and "__main__" in text:
            text = "set under `if __name__ == '__main__'`: only a run of the file as a script sees it"
            self.why = self.unknown(text, test, frame)
        else:
            self.why = self.unknown(f"only a run decides `{text}`", test, frame)
        return self.why

    def _bool(self, node: ast.BoolOp, frame: Frame) -> object:
        stop = isinstance(node.op, ast.Or)
        result: object = None
        unknown: Unknown | None = None
        for operand in node.values:
            value = self.eval(operand, frame)
            decided = self.truth(value)
            if decided is stop:
                # an operand before it may already have ended the evaluation, with a value that counts the same
                return value if unknown is None else stop
            if decided is None:
                unknown = unknown or self.undecided(operand, frame)
            result = value
        return result if unknown is None or len(node.values) == 1 else unknown

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> object:
        value = self.eval(node.operand, frame)
        if isinstance(node.op, ast.Not):
            decided = self.truth(value)
            return self.unknown(f"{text_of(node)} cannot be told", node, frame) if decided is None else not decided
        if isinstance(value, (int, float)):
            return -value if isinstance(node.op, ast.USub) else +value if isinstance(node.op, ast.UAdd) else ~int(value)
        return value if isinstance(value, Unknown) else self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _binary(self, node: ast.BinOp, frame: Frame) -> object:
        return self.binary(self.eval(node.left, frame), self.eval(node.right, frame), node.op, node, frame)

    def _compare(self, node: ast.Compare, frame: Frame) -> object:
        left = self.eval(node.left, frame)
        answer = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.eval(right_node, frame)
            decided = self._compare_two(left, op, right)
            if decided is None:
                return self.unknown(f"{text_of(node)} cannot be told", node, frame)
            answer = answer and decided
            left = right
        return answer

    def _subscript(self, node: ast.Subscript, frame: Frame) -> object:
        value = self.eval(node.value, frame)
        if isinstance(value, ClassValue):
            return value
        if isinstance(value, Seq) and isinstance(node.slice, ast.Slice):
            return self._slice(value, node.slice, node, frame)
        key = self.eval(node.slice, frame) if not isinstance(node.slice, ast.Slice) else None
        return self.item(value, key, node, frame)

    def _slice(self, value: Seq, slice_node: ast.Slice, node: ast.AST, frame: Frame) -> object:
        bounds = [None if part is None else self.eval(part, frame)
                  for part in (slice_node.lower, slice_node.upper, slice_node.step)]  # fmt: skip
        if bounds == [None, None, -1]:
            return self.sequence(value.kind, value.items[::-1], node, frame)
        lower, upper, step = (bound if isinstance(bound, int) else None for bound in bounds)
        if value.complete() and [lower, upper, step] == bounds and step != 0:
            return self.sequence(value.kind, value.items[lower:upper:step], node, frame)
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _lambda(self, node: ast.Lambda, frame: Frame) -> object:
        function = Function(node, "<lambda>", frame.module)
        function.closure = frame
        function.owner = frame.owner
        function.defaults = self.defaults(node.args, frame)
        return function

    def defaults(self, arguments: ast.arguments, frame: Frame) -> dict[str, object]:
        """The default values of a function, evaluated where it is defined."""
        positional = [*arguments.posonlyargs, *arguments.args]
        named = dict(zip([a.arg for a in positional[len(positional) - len(arguments.defaults) :]],
                         arguments.defaults, strict=True))  # fmt: skip
        named |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None}
        return {name: self.eval(default, frame) for name, default in named.items()}

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, frame: Frame) -> object:
        items: list[object] = []

        def element(inner: Frame, rest: Unknown | None) -> None:
            value = self.eval(node.elt, inner)
            items.append(value if rest is None else Rest(rest))

        self._loops(node.generators, frame, element)
        return self.sequence("set" if isinstance(node, ast.SetComp) else "list", items, node, frame)

    def _dict_comprehension(self, node: ast.DictComp, frame: Frame) -> object:
        result = Map({}, {})

        def element(inner: Frame, rest: Unknown | None) -> None:
            key, value = self.eval(node.key, inner), self.eval(node.value, inner)
            self.store(result, key if rest is None else rest, value, node, inner)

        self._loops(node.generators, frame, element)
        return result

    def _loops(
        self,
        generators: list[ast.comprehension],
        outer: Frame,
        element: Callable[[Frame, Unknown | None], None],
    ) -> None:
        """Calls `element` for every turn of a comprehension, with the reason where its number cannot be told."""
        inner = Frame(outer.module, {}, owner=outer.owner, receiver=outer.receiver, closure=outer)

        def turn(at: int, rest: Unknown | None) -> None:
            if at == len(generators):
                element(inner, rest)
                return
            generator = generators[at]
            # like Python, the first iterable sees the scope around the comprehension, which matters in a class body
            items = self.spread(self.eval(generator.iter, inner if at else outer), generator.iter, outer)
            for item in items:
                self.tick()
                open_ended = item.why if isinstance(item, Rest) else rest
                self.assign(generator.target, item.why if isinstance(item, Rest) else item, inner)
                for test in generator.ifs:
                    decided = self.truth(self.eval(test, inner))
                    if decided is False:
                        break
                    if decided is None:
                        open_ended = open_ended or self.undecided(test, inner)
                else:
                    turn(at + 1, open_ended)

        turn(0, None)

    def assign(self, target: ast.expr, value: object, frame: Frame) -> None:
        raise NotImplementedError

    def _named(self, node: ast.NamedExpr, frame: Frame) -> object:
        value = self.eval(node.value, frame)
        self.assign(node.target, value, frame)
        return value

    def _await(self, node: ast.Await, frame: Frame) -> object:
        return self.eval(node.value, frame)

    def _yield(self, node: ast.Yield, frame: Frame) -> object:
        value = None if node.value is None else self.eval(node.value, frame)
        if frame.on_yield is not None:
            frame.on_yield(value)
        return None

    def _yield_from(self, node: ast.YieldFrom, frame: Frame) -> object:
        for item in self.spread(self.eval(node.value, frame), node, frame):
            if frame.on_yield is not None:
                frame.on_yield(item)
        return None

    _dispatch: dict[type[ast.expr], Callable[..., object]] = {  # noqa: RUF012 - one table for all instances
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.Tuple: _display,
        ast.List: _display,
        ast.Set: _display,
        ast.Dict: _dict,
        ast.JoinedStr: _joined,
        ast.IfExp: _if,
        ast.BoolOp: _bool,
        ast.UnaryOp: _unary,
        ast.BinOp: _binary,
        ast.Compare: _compare,
        ast.Subscript: _subscript,
        ast.Lambda: _lambda,
        ast.ListComp: _comprehension,
        ast.SetComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.DictComp: _dict_comprehension,
        ast.NamedExpr: _named,
        ast.Await: _await,
        ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
    }
