"""What statements do: branches of which it cannot be told which is taken, loops, `with`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from memcheck_cli.audit.follow.assignments import Assignments
from memcheck_cli.audit.follow.classes import ClassValue
from memcheck_cli.audit.follow.definitions import Definitions
from memcheck_cli.audit.follow.environment import Change, Env, join_env
from memcheck_cli.audit.follow.imports import Imports
from memcheck_cli.audit.follow.joining import join
from memcheck_cli.audit.follow.lookup import MISSING
from memcheck_cli.audit.follow.machine import ExhaustedError, Frame, text_of
from memcheck_cli.audit.follow.modules import Module
from memcheck_cli.audit.follow.values import (
    External,
    Lazy,
    ModuleRef,
    Rest,
    Stack,
    Unknown,
)

_IMPORTED = (Lazy, ModuleRef, External, ClassValue)


class Statements(Assignments):
    """Execution of blocks. `exec_block` tells whether the code behind the block is reached."""

    def run_module(self, module: Module) -> None:
        if module.state != "new":
            return
        module.state = "running"
        tree = module.parse()
        if tree is None:
            module.state = "done"
            module.broken = Unknown(f"{module.shown} is {module.error}", self.why.site)
            return
        saved = (self.env, self.steps, self.running, self.uncertain, self.launches, self.owners, self.overlay)
        self.env, self.running, self.uncertain, self.launches, self.owners = Env(), False, [], None, []
        self.steps = max(self.steps, type(self).module_steps)
        frame = Frame(module, module.scope)
        try:
            self.exec_block(tree.body, frame)
        except (ExhaustedError, RecursionError):
            module.broken = Unknown(f"{module.shown} is too much to follow", self.why.site)
        finally:
            module.env = self.env
            module.state = "done"
            self.env, self.steps, self.running, self.uncertain, self.launches, self.owners, self.overlay = saved

    def exec_block(self, statements: list[ast.stmt], frame: Frame) -> bool:
        return all(self._exec(statement, frame) for statement in statements)

    def _exec(self, node: ast.stmt, frame: Frame) -> bool:
        self.tick()
        method = self._statements.get(type(node))
        return True if method is None else method(self, node, frame)

    def _expression(self, node: ast.Expr, frame: Frame) -> bool:
        if not isinstance(node.value, ast.Constant):
            self.eval(node.value, frame)
        return True

    def _if_statement(self, node: ast.If, frame: Frame) -> bool:
        decided = self.truth(self.eval(node.test, frame))
        if decided is not None:
            return self.exec_block(node.body if decided else node.orelse, frame)
        why = self.undecided(node.test, frame)
        return self._either(
            [lambda: self.exec_block(node.body, frame), lambda: self.exec_block(node.orelse, frame)], why, frame
        )

    def _either(self, ways: list[Callable[[], bool]], why: Unknown, frame: Frame) -> bool:
        """Follows several ways from the same state and joins where they meet again."""
        env, scope = self.env, dict(frame.scope)
        ends: list[tuple[Env, dict[str, object]]] = []
        for way in ways:
            self.env = env.copy()
            frame.scope.clear()
            frame.scope.update(scope)
            with self.perhaps(why):
                if way():
                    ends.append((self.env, dict(frame.scope)))
        self.why = why
        return self._meet(ends, why, frame)

    def _meet(self, ends: list[tuple[Env, dict[str, object]]], why: Unknown, frame: Frame) -> bool:
        if not ends:
            return False
        self.env, scope = ends[0]
        for env, other in ends[1:]:
            self.env = join_env(self.env, env, why)
            scope = _join_scopes(scope, other, why)
        frame.scope.clear()
        frame.scope.update(scope)
        return True

    def _try(self, node: ast.Try | ast.TryStar, frame: Frame) -> bool:
        mark = _mark(frame)
        before = (self.env.copy(), dict(frame.scope))
        reached = self.exec_block(node.body, frame) and self.exec_block(node.orelse, frame)
        ends = [(self.env, dict(frame.scope))] if reached else []
        for handler in node.handlers:
            why = self.unknown("only a run decides whether an exception occurs", handler, frame)
            self.env = before[0].copy()
            frame.scope.clear()
            frame.scope.update(before[1])
            if handler.name:
                frame.scope[handler.name] = why
            with self.perhaps(why):
                if self.exec_block(handler.body, frame):
                    end = dict(frame.scope)
                    for name, value in ends[0][1].items() if ends else ():
                        # `try: from a import B` / `except ImportError: B = None` means the first where it can be had
                        if isinstance(value, _IMPORTED):
                            end[name] = value
                    ends.append((self.env, end))
        reached = self._meet(ends, self.unknown("only a run decides whether an exception occurs", node, frame), frame)
        left = _left(frame, mark)
        for env in left:
            self._finally(node.finalbody, env, frame)
        if reached:
            return self.exec_block(node.finalbody, frame)
        self.env = before[0]
        if not left:
            self.exec_block(node.finalbody, frame)
        return False

    def _finally(self, body: list[ast.stmt], env: Env, frame: Frame) -> None:
        """The `finally` of a block that was left by `return`, `break` or `continue`, in the environment of that way."""
        if body:
            outer, self.env = self.env, env.copy()
            self.exec_block(body, frame)
            env.chains, env.rest = self.env.chains, self.env.rest
            self.env = outer

    def _match(self, node: ast.Match, frame: Frame) -> bool:
        self.eval(node.subject, frame)
        why = self.unknown(f"only a run decides `match {text_of(node.subject)}`", node, frame)
        ways: list[Callable[[], bool]] = [partial(self.exec_block, case.body, frame) for case in node.cases]
        return self._either([*ways, lambda: True], why, frame)

    def _raise(self, node: ast.Raise, frame: Frame) -> bool:
        return False

    def _return(self, node: ast.Return, frame: Frame) -> bool:
        value = None if node.value is None else self.eval(node.value, frame)
        frame.returns.append((value, self.env.copy()))
        return False

    def _for(self, node: ast.For | ast.AsyncFor, frame: Frame) -> bool:
        items = self.spread(self.eval(node.iter, frame), node.iter, frame)
        left: list[tuple[Env, dict[str, object]]] = []
        for item in items:
            self.tick()
            if isinstance(item, Rest):
                ends = self._perhaps_turn(node, item.why, frame)
            else:
                ends = self._turn(partial(self._body, node, item, frame), frame)
            goes_on, stopped = ends
            left += stopped
            if not goes_on:
                break
        else:
            if self.exec_block(node.orelse, frame):
                left.append((self.env, dict(frame.scope)))
        return self._meet(left, self.why, frame)

    def _body(self, node: ast.For | ast.AsyncFor, item: object, frame: Frame) -> bool:
        self.assign(node.target, item, frame)
        return self.exec_block(node.body, frame)

    def _perhaps_turn(
        self, node: ast.For | ast.AsyncFor, why: Unknown, frame: Frame
    ) -> tuple[bool, list[tuple[Env, dict[str, object]]]]:
        """A turn that is made any number of times."""
        stopped: list[tuple[Env, dict[str, object]]] = []

        def turn() -> bool:
            goes_on, out = self._turn(lambda: self._body(node, why, frame), frame)
            stopped.extend(out)
            return goes_on

        return self._either([turn, lambda: True], why, frame), stopped

    def _turn(self, body: Callable[[], bool], frame: Frame) -> tuple[bool, list[tuple[Env, dict[str, object]]]]:
        """One turn of a loop: whether another follows, and the states in which it was left by `break`."""
        frame.breaks.append([])
        reached = body()
        ends = [(self.env, dict(frame.scope))] if reached else []
        stopped: list[tuple[Env, dict[str, object]]] = []
        for how, env, scope in frame.breaks.pop():
            (ends if how == "continue" else stopped).append((env, scope))
        return self._meet(ends, self.why, frame), stopped

    def _while(self, node: ast.While, frame: Frame) -> bool:
        decided = self.truth(self.eval(node.test, frame))
        if decided is False:
            return self.exec_block(node.orelse, frame)
        why = self.undecided(node.test, frame)
        stopped: list[tuple[Env, dict[str, object]]] = []

        def turn() -> bool:
            goes_on, out = self._turn(lambda: self.exec_block(node.body, frame), frame)
            stopped.extend(out)
            return goes_on

        endless = isinstance(node.test, ast.Constant) and decided is True
        goes_on = self._either([turn] if endless else [turn, lambda: True], why, frame)
        if goes_on:
            stopped.append((self.env, dict(frame.scope)))
        return self._meet(stopped, why, frame)

    def _break(self, node: ast.Break | ast.Continue, frame: Frame) -> bool:
        if frame.breaks:
            how = "continue" if isinstance(node, ast.Continue) else "break"
            frame.breaks[-1].append((how, self.env.copy(), dict(frame.scope)))
        return False

    def _with(self, node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
        mark = _mark(frame)
        entered: list[Change] = []
        stacks: list[Stack] = []
        for item in node.items:
            context = self.eval(item.context_expr, frame)
            value, change = self.enter(context, item.context_expr, frame)
            if isinstance(context, Stack):
                stacks.append(context)
            entered.append(change)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, frame)
        reached = self.exec_block(node.body, frame)
        left = [self.env, *_left(frame, mark)]
        for stack in stacks:
            entered += stack.undo
            stack.undo = []
        for env in left:
            for change in reversed(entered):
                change.undo(env)
        return reached

    module_steps = 150_000

    _statements: dict[type[ast.stmt], Callable[..., bool]] = {  # noqa: RUF012 - one table for all instances
        ast.Expr: _expression,
        ast.Assign: Assignments.assign_statement,
        ast.AnnAssign: Assignments.annotated,
        ast.AugAssign: Assignments.augmented,
        ast.Delete: Assignments.delete,
        ast.If: _if_statement,
        ast.Try: _try,
        ast.TryStar: _try,
        ast.Match: _match,
        ast.Raise: _raise,
        ast.Return: _return,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.Break: _break,
        ast.Continue: _break,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Import: Imports.import_modules,
        ast.ImportFrom: Imports.import_names,
        ast.FunctionDef: Definitions.define_function,
        ast.AsyncFunctionDef: Definitions.define_function,
        ast.ClassDef: Definitions.define_class,
    }


def _mark(frame: Frame) -> tuple[int, list[int]]:
    """How many ways out of a function and its loops were met so far."""
    return len(frame.returns), [len(entries) for entries in frame.breaks]


def _left(frame: Frame, mark: tuple[int, list[int]]) -> list[Env]:
    """The environments of the ways out that were met since the mark."""
    returned, broken = mark
    left = [env for _, env in frame.returns[returned:]]
    for entries, seen in zip(frame.breaks, broken, strict=False):
        left += [env for _, env, _ in entries[seen:]]
    return left


def _join_scopes(left: dict[str, object], right: dict[str, object], why: Unknown) -> dict[str, object]:
    joined: dict[str, object] = {}
    for name in [*left, *(name for name in right if name not in left)]:
        if name in left and name in right:
            joined[name] = join(left[name], right[name], why)
        else:
            value = left.get(name, right.get(name))
            # a name that only one way binds: whoever uses it behind the join has it, or Python stops there
            joined[name] = value if isinstance(value, _IMPORTED) else join(value, MISSING, why)
    return joined
