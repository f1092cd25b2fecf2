"""Context managers that set environment variables, and what they put back."""

from __future__ import annotations

import ast

from memcheck_cli.audit.follow.environment import Change, Env, join_env
from memcheck_cli.audit.follow.expressions import Expressions
from memcheck_cli.audit.follow.joining import join
from memcheck_cli.audit.follow.machine import Frame
from memcheck_cli.audit.follow.values import (
    Context,
    Environ,
    External,
    Function,
    GeneratorContext,
    Instance,
    Map,
    Origin,
    Stack,
    Unknown,
)


class Removed:
    """As a value of a `Context`: the variable is taken out."""


REMOVED = Removed()


class Contexts(Expressions):
    """Entering and leaving."""

    def enter(self, context: object, node: ast.AST, frame: Frame) -> tuple[object, Change]:
        """Enters a context manager: the value of `as`, and what to put back at its end."""
        before = self.env.copy()
        value: object = None
        if isinstance(context, Context):
            self.apply(context)
        elif isinstance(context, GeneratorContext):
            value = self._enter_generator(context, node, frame)
        elif isinstance(context, Instance):
            method = self.class_attribute(context.cls, "__enter__")
            value = context
            if isinstance(method, Function):
                value = self.call_function(method, [context], {}, node, frame)
        elif isinstance(context, Stack):
            value = context
        elif isinstance(context, (Unknown, External)):
            value = self.unknown("what `as` binds cannot be told", node, frame)
        return value, Change(before, self.env)

    def _enter_generator(self, context: GeneratorContext, node: ast.AST, frame: Frame) -> object:
        yielded: list[tuple[object, Env]] = []

        def on_yield(value: object) -> bool:
            yielded.append((value, self.env.copy()))
            return True

        context.call(on_yield)
        if not yielded:
            return self.unknown("what `as` binds cannot be told", node, frame)
        value, env = yielded[0]
        for other, other_env in yielded[1:]:
            value, env = join(value, other, self.why), join_env(env, other_env, self.why)
        self.env = env
        return value

    def apply(self, context: Context) -> None:
        """Writes what a context writes."""
        if context.cleared:
            for name in [*self.env.chains]:
                self.env.remove(name, context.pairs[0][2] if context.pairs else Origin(None, self.why.site, "clear"))
        for variable, value, placed in context.pairs:
            origin = Origin(placed.owner or self.owner_name(), placed.site, placed.how)
            if variable is None:
                why = value if isinstance(value, Unknown) else Unknown("which variable cannot be told", origin.site)
                self.env.cloud(why, origin)
            elif value is REMOVED:
                self.env.remove(variable, origin)
            else:
                self.env.write(variable, value, origin)

    def _patch_dict(self, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame) -> object:
        target = args[0] if args else kwargs.pop("in_dict", None)
        if not isinstance(target, Environ) and target != "os.environ":
            return Context([])
        values = Map({}, {})
        self.merge(values, args[1] if len(args) > 1 else kwargs.pop("values", None), node, frame)
        cleared = self.truth(kwargs.pop("clear", args[2] if len(args) > 2 else False))
        values.items.update(kwargs)
        origin = self.origin(node, frame, "patch.dict")
        pairs: list[tuple[str | None, object, Origin]] = []
        if values.rest is not None or cleared is None:
            pairs.append((None, values.rest or self.unknown("clear= cannot be told", node, frame), origin))
        for key, value in values.items.items():
            placed = values.origins.get(key, origin)
            pairs.append((str(key), value, Origin(placed.owner or origin.owner, placed.site, placed.how or origin.how)))
        return Context(pairs, cleared=bool(cleared))

    def placed(self, origin: Origin, node: ast.AST, frame: Frame, how: str) -> Origin:
        """A pair of a class attribute belongs to that class; one written in a function to the class whose code runs."""
        if origin.how:
            return origin
        return Origin(self.owner_name(), origin.site if origin.owner else self.site(node, frame), how)
