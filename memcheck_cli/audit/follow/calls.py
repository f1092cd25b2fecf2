"""What calls do: functions of the files are followed, SGLang's environment and launchers are known by name."""

from __future__ import annotations

import ast
import re

from memcheck_cli.audit.follow.classes import ClassValue
from memcheck_cli.audit.follow.contexts import REMOVED
from memcheck_cli.audit.follow.environment import Env, join_env
from memcheck_cli.audit.follow.joining import join
from memcheck_cli.audit.follow.launching import Launching
from memcheck_cli.audit.follow.lookup import LAUNCHERS
from memcheck_cli.audit.follow.machine import DEPTH, Frame, text_of
from memcheck_cli.audit.follow.values import (
    Bound,
    Builtin,
    Context,
    EnvField,
    Environ,
    External,
    Function,
    GeneratorContext,
    Instance,
    Map,
    Named,
    Native,
    Partial,
    Rest,
    Seq,
    Stack,
    SuperValue,
    Unknown,
)
from memcheck_cli.audit.known import is_plain

_LAUNCHER_LIKE = re.compile(r"popen_\w*server\w*|_*(?:launch|start)_\w*server\w*")
_ENV_LIKE = re.compile(r"(?i)\w*(?:env|override|strict|mem_?check)\w*")
_ENTERS = frozenset({"enterContext", "enterClassContext", "enterModuleContext", "enter_context"})
_DECORATORS = frozenset({"ContextDecorator", "AsyncContextDecorator"})
_SPAWNERS = frozenset({"subprocess.Popen", "subprocess.run", "subprocess.check_call", "subprocess.call"})


class Calls(Launching):
    """Calls of functions and classes."""

    def call(self, node: ast.Call, frame: Frame) -> object:
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._super(node, frame)
        callee = self.eval(node.func, frame)
        args = self.elements(node.args, frame)
        kwargs: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value, frame)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, Map):
                kwargs.update({str(key): item for key, item in value.items.items()})
                if value.rest is not None:
                    kwargs["**"] = value.rest
            else:
                kwargs["**"] = self.unknown(f"{text_of(keyword.value)} cannot be told", node, frame)
        return self.invoke(callee, args, kwargs, node, frame)

    def _super(self, node: ast.Call, frame: Frame) -> object:
        if len(node.args) == 2:
            owner, receiver = (self.eval(argument, frame) for argument in node.args)
        else:
            scope: Frame | None = frame
            while scope is not None and scope.receiver is None:
                scope = scope.closure
            owner, receiver = (None, None) if scope is None else (scope.owner, scope.receiver)
        if isinstance(owner, ClassValue) and isinstance(receiver, (ClassValue, Instance)):
            return SuperValue(owner, receiver)
        return self.unknown("super() cannot be told here", node, frame)

    def invoke(
        self, callee: object, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        """`callee(*args, **kwargs)`."""
        self.tick()
        if isinstance(callee, External):
            return self._call_external(callee, args, kwargs, node, frame)
        if isinstance(callee, Bound):
            return self.call_function(callee.function, [callee.receiver, *args], kwargs, node, frame)
        if isinstance(callee, Function):
            return self.call_function(callee, args, kwargs, node, frame)
        if isinstance(callee, Native):
            return self.native(callee.receiver, callee.name, args, kwargs, node, frame)
        if isinstance(callee, Builtin):
            return self.builtin(callee.name, args, kwargs, node, frame)
        if isinstance(callee, Partial):
            return self.invoke(callee.function, [*callee.args, *args], {**callee.kwargs, **kwargs}, node, frame)
        if isinstance(callee, ClassValue):
            return self._instantiate(callee, args, kwargs, node, frame)
        if len(args) == 1 and isinstance(args[0], Function) and self.wraps(callee):
            args[0].wrappers.append(callee)
            return args[0]
        if isinstance(callee, Unknown):
            return callee
        return self.unknown(f"the call {text_of(node)} cannot be told", node, frame)

    def wraps(self, value: object) -> bool:
        """Whether a value is a context manager that a function can be decorated with: it is entered at each call."""
        if isinstance(value, Instance):
            return any(entry.name in _DECORATORS for entry in value.cls.mro)
        return isinstance(value, (Context, GeneratorContext))

    def native(
        self, receiver: object, name: str, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        raise NotImplementedError

    def builtin(self, name: str, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame) -> object:
        raise NotImplementedError

    def _instantiate(
        self, cls: ClassValue, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        if field := self._field_of(cls.name, args, node, frame):
            return field
        instance = Instance(cls)
        init = self.class_attribute(cls, "__init__")
        if isinstance(init, Function):
            self.call_function(init, [instance, *args], kwargs, node, frame)
        return instance

    def _field_of(self, name: str, args: list[object], node: ast.AST, frame: Frame) -> EnvField | None:
        """`EnvInt("SGLANG_…")`: a variable that is given its name."""
        if name.startswith("Env") and args and isinstance(args[0], Named):
            return EnvField(str(args[0]), self.origin(node, frame, ""))
        return None

    def call_function(
        self, function: Function, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        if function.name in LAUNCHERS:
            return self.launch(function.name, args, kwargs, node, frame)
        if self.depth >= DEPTH:
            return self.unknown(f"{function.name} is not followed", node, frame)
        scope = self._bind_arguments(function, args, kwargs, node, frame)
        inner = Frame(function.module, scope, owner=function.owner)
        inner.closure = function.closure if isinstance(function.closure, Frame) else None
        inner.receiver = args[0] if args and isinstance(args[0], (ClassValue, Instance)) else None
        if function.generator and function.context_manager:

            def enter(on_yield: object) -> None:
                # as a decorator it is entered at every call, each time anew
                again = Frame(function.module, dict(scope), owner=function.owner, closure=inner.closure)
                again.receiver, again.on_yield = inner.receiver, on_yield  # type: ignore[assignment]
                self._run(function, again, node)

            return GeneratorContext(enter)
        if function.generator:
            items: list[object] = []

            def collect(value: object) -> bool:
                items.append(Rest(self.uncertain[-1]) if len(self.uncertain) > certain else value)
                return True

            certain = len(self.uncertain)
            inner.on_yield = collect
            self._run(function, inner, node)
            return self.sequence("list", items, node, frame)
        return self._run(function, inner, node)

    def _run(self, function: Function, inner: Frame, node: ast.AST) -> object:
        self.depth += 1
        self.owners.append(function.owner.name if function.owner else None)
        changes = [self.enter(wrapper, node, inner)[1] for wrapper in function.wrappers]
        try:
            if isinstance(function.node, ast.Lambda):
                result = self.eval(function.node.body, inner)
            else:
                if self.exec_block(function.node.body, inner):
                    inner.returns.append((None, self.env))
                result = None
                if inner.returns:
                    result, self.env = inner.returns[0]
                    for value, env in inner.returns[1:]:
                        result = join(result, value, self.why)
                        self.env = join_env(self.env, env, self.why)
            for change in reversed(changes):
                change.undo(self.env)
            return result
        finally:
            self.owners.pop()
            self.depth -= 1

    def exec_block(self, statements: list[ast.stmt], frame: Frame) -> bool:
        raise NotImplementedError

    def _bind_arguments(
        self, function: Function, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> dict[str, object]:
        spec = function.node.args
        kwargs = dict(kwargs)
        open_ended = kwargs.pop("**", None)
        scope: dict[str, object] = dict(function.defaults)
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        missing = self.unknown(f"an argument of {function.name} is not given", node, frame)
        for name in (*names, *(a.arg for a in spec.kwonlyargs)):
            scope.setdefault(name, open_ended or missing)
        rest = list(args)
        for name in names:
            if not rest:
                break
            if isinstance(rest[0], Rest):
                scope[name] = rest[0].why
                continue
            scope[name] = rest.pop(0)
        if spec.vararg is not None:
            scope[spec.vararg.arg] = Seq("tuple", rest)
        named = {*names, *(a.arg for a in spec.kwonlyargs)}
        extra = Map({}, {}, open_ended if isinstance(open_ended, Unknown) else None)
        for name, value in kwargs.items():
            if name in named:
                scope[name] = value
            else:
                extra.items[name] = value
        if spec.kwarg is not None:
            scope[spec.kwarg.arg] = extra
        return scope

    def _call_external(
        self, callee: External, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        dotted, last = callee.dotted, callee.last
        if last in LAUNCHERS:
            return self.launch(last, args, kwargs, node, frame)
        if last == "Engine" and dotted.startswith(("sglang.", "sgl.")):
            return self._engine(kwargs, node, frame)
        if command := self._spawned(args, kwargs):
            env = self.env.copy()
            if dotted in _SPAWNERS and kwargs.get("env") is not None and not isinstance(kwargs["env"], Environ):
                env = Env()
            self._merge_env(env, kwargs.get("env"), node, frame)
            self._launched(last, command, env, None, node, frame)
        elif last == "Process" and _is_server(kwargs.get("target")):
            self._launched(last, None, self.env.copy(), None, node, frame)
        elif _LAUNCHER_LIKE.fullmatch(last) and not is_plain(callee):
            return self.launch(last, args, kwargs, node, frame, self.unknown(self.outside(callee), node, frame))
        if field := self._field_of(last, args, node, frame):
            return field
        if dotted in ("contextlib.ExitStack", "contextlib.AsyncExitStack"):
            return Stack()
        if dotted == "contextlib.nullcontext":
            return Context([])
        if dotted.endswith("patch.dict"):
            return self._patch_dict(args, kwargs, node, frame)
        if dotted == "functools.partial" and args:
            return Partial(args[0], args[1:], kwargs)
        if dotted == "functools.wraps":
            return Builtin("identity")
        if dotted in ("itertools.chain", "itertools.chain.from_iterable"):
            parts = args if dotted.endswith("chain") else self.spread(args[0], node, frame) if args else []
            items = [item for part in parts for item in
                     ([part] if isinstance(part, Rest) else self.spread(part, node, frame))]  # fmt: skip
            return self.sequence("list", items, node, frame)
        if dotted in ("copy.copy", "copy.deepcopy") and args:
            if isinstance(args[0], Seq):
                return Seq(args[0].kind, list(args[0].items))
            return args[0].copy() if isinstance(args[0], Map) else args[0]
        if dotted == "os.getenv":
            return self.native(Environ(), "get", args, kwargs, node, frame)
        if last in _ENTERS and args:
            return self.enter(args[0], node, frame)[0]
        if last == "setenv" and len(args) > 1:
            return self.native(Environ(), "__setitem__", args, kwargs, node, frame)
        if last == "temp_set_env":
            origin = self.origin(node, frame, "temp_set_env")
            pairs = [(name, REMOVED if value is None else value, origin) for name, value in kwargs.items()]
            return Context([(None if name == "**" else name, value, origin) for name, value, origin in pairs])
        if _ENV_LIKE.fullmatch(last) and not is_plain(callee) and not dotted.startswith("unittest."):
            # as a context manager it may set anything; as any other call it is a value that cannot be told
            why = self.unknown(f"what {self.outside(callee)} sets cannot be told", node, frame)
            return Context([(None, why, self.origin(node, frame, last))])
        return self.unknown(f"what {dotted}() gives cannot be told", node, frame)


def _is_server(target: object) -> bool:
    """Whether a process runs SGLang's own entry point."""
    return isinstance(target, External) and target.last == "launch_server"
