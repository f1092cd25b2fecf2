"""Methods of lists, dicts, strings, `os.environ` and `envs`."""

from __future__ import annotations

import ast

from memcheck_cli.audit.follow.calls import Calls
from memcheck_cli.audit.follow.classes import UNRESOLVED, ClassValue
from memcheck_cli.audit.follow.joining import join
from memcheck_cli.audit.follow.lookup import MISSING
from memcheck_cli.audit.follow.machine import Frame, text_of
from memcheck_cli.audit.follow.values import (
    MAX_ITEMS,
    MAX_TEXT,
    ClassDict,
    Context,
    EnvField,
    Environ,
    External,
    Map,
    Named,
    Origin,
    Rest,
    Seq,
    Stack,
    Unknown,
)
from memcheck_cli.audit.model import LEVEL_VARIABLE

_TEXT = frozenset({"lower", "upper", "strip", "lstrip", "rstrip", "split", "replace", "startswith", "endswith",
                   "removeprefix", "removesuffix", "title", "capitalize"})  # fmt: skip

_OF_FIELDS = frozenset({"override", "set", "clear"})


class Natives(Calls):
    """What Python's own objects and SGLang's variables do."""

    def native(
        self, receiver: object, name: str, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        self.tick()
        if isinstance(receiver, EnvField):
            return self._field(receiver, name, args, node, frame)
        if isinstance(receiver, Environ):
            return self._environ(name, args, kwargs, node, frame)
        if isinstance(receiver, Seq):
            return self._seq(receiver, name, args, node, frame)
        if isinstance(receiver, Map):
            return self._map(receiver, name, args, kwargs, node, frame)
        if isinstance(receiver, ClassDict):
            return self._class_dict(receiver, name, args, node, frame)
        if isinstance(receiver, Named) and name in _OF_FIELDS:
            # a text has no such method: it is a variable of `envs` that was the key of a dict
            return self._field(EnvField(str(receiver), receiver.origin), name, args, node, frame)
        if isinstance(receiver, str):
            return self._text(receiver, name, args, node, frame)
        if isinstance(receiver, Stack):
            return self._stack(receiver, name, args, node, frame)
        if isinstance(receiver, ClassValue) and name == "mro":
            return Seq("list", list(receiver.mro))
        if isinstance(receiver, Context):
            if name in ("__enter__", "start"):
                self.enter(receiver, node, frame)
            elif name in ("__exit__", "stop"):
                for variable, _, origin in receiver.pairs:
                    if variable is not None:
                        self.env.remove(variable, origin)
            return None
        if isinstance(receiver, Unknown) and name in ("setenv", "delenv") and args:
            how = "__setitem__" if name == "setenv" else "pop"
            return self._environ(how, args, kwargs, node, frame)
        if isinstance(receiver, Unknown) and name == "override":
            return Context([(None, receiver, self.origin(node, frame, "override"))])
        if isinstance(receiver, Unknown) and name == "enter_context" and args:
            return self.enter(args[0], node, frame)[0]
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _field(self, field: EnvField, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        if name in ("override", "set"):
            value = args[0] if args else self.unknown(f"{text_of(node)} names no value", node, frame)
            if isinstance(value, Rest):
                value = value.why
            origin = self.placed(field.origin, node, frame, "override" if name == "override" else "set")
            context = Context([(field.name, value, origin)])
            if name == "override":
                return context
            self.apply(context)
            return None
        if name == "clear":
            self.env.remove(field.name, self.placed(field.origin, node, frame, "clear"))
            return None
        if name == "get":
            value = self.env.value(field.name)
            return value if value is not None else self.unknown(f"{text_of(node)} cannot be told", node, frame)
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _environ(self, name: str, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame) -> object:
        if name in ("copy", "items", "keys", "values"):
            return self.snapshot() if name == "copy" else self.native(self.snapshot(), name, [], {}, node, frame)
        if name == "update":
            values = Map({}, {})
            for argument in args:
                self.merge(values, argument.why if isinstance(argument, Rest) else argument, node, frame)
            values.items.update(kwargs)
            origin = self.origin(node, frame, "os.environ")
            if values.rest is not None:
                self.env.cloud(values.rest, origin)
            for key, value in values.items.items():
                placed = self.placed(values.origins.get(key, Origin(None, origin.site, "")), node, frame, "os.environ")
                self.env.write(str(key), value, placed)
            return None
        if name == "clear":
            self.apply(Context([], cleared=True))
            return None
        key = args[0] if args else kwargs.get("key")
        if isinstance(key, EnvField):
            key = Named(key.name, key.origin)
        if not isinstance(key, str):
            reason = self.outside(key) if isinstance(key, External) else f"{text_of(node)} cannot be told"
            why = key if isinstance(key, Unknown) else self.unknown(reason, node, frame)
            if name in ("setdefault", "__setitem__", "pop"):
                self.env.cloud(why, self.origin(node, frame, "os.environ"))
            return why
        origin = key.origin if isinstance(key, Named) else self.origin(node, frame, "")
        origin = self.placed(origin, node, frame, "os.environ")
        current = self.env.value(str(key))
        if name in ("get", "pop", "setdefault"):
            default = args[1] if len(args) > 1 else kwargs.get("default")
            if name == "pop":
                self.env.remove(str(key), origin)
            elif name == "setdefault" and current is None:
                self.env.write(str(key), default, origin)
                return default
            if current is not None:
                return current
            if key == LEVEL_VARIABLE:
                return default
            return self.unknown(f"the environment of the run decides {text_of(node)}", node, frame)
        if name == "__setitem__":
            self.env.write(str(key), args[1], origin)
        return None

    def _seq(self, seq: Seq, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        if name in ("append", "add", "extend", "update", "insert", "remove", "pop", "clear", "reverse", "sort"):
            return self._change(seq, name, args, node, frame)
        if name == "copy":
            return self.sequence(seq.kind, list(seq.items), node, frame)
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _change(self, seq: Seq, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        items = seq.items
        if self.uncertain:
            items.append(Rest(self.uncertain[-1]))
            return None
        if len(items) > MAX_ITEMS:
            return self.unknown("it is too long to be followed", node, frame)
        if name in ("append", "add") and args:
            items.append(args[0])
        elif name in ("extend", "update") and args:
            items.extend(self.spread(args[0], node, frame))
        elif name == "insert" and len(args) == 2 and isinstance(args[0], int) and seq.complete():
            items.insert(args[0], args[1])
        elif name == "clear":
            items.clear()
        elif name == "reverse":
            items.reverse()
        elif name == "pop" and items and seq.complete() and (not args or isinstance(args[0], int)):
            at = args[0] if args else -1
            if isinstance(at, int) and -len(items) <= at < len(items):
                return items.pop(at)
        elif name == "remove" and args and seq.complete():
            for at, item in enumerate(items):
                if self._equal(item, args[0]):
                    del items[at]
                    return None
        else:
            items.append(Rest(self.unknown(f"{text_of(node)} cannot be told", node, frame)))
        return None

    def _map(
        self, value: Map, name: str, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame
    ) -> object:
        key = args[0] if args else None
        key = str(key) if isinstance(key, str) else key
        plain = isinstance(key, (str, int))
        if name in ("get", "pop", "setdefault") and plain:
            default = args[1] if len(args) > 1 else None
            if key in value.items:
                found = value.items[key]
                if name == "pop":
                    if self.uncertain:
                        value.rest = self.uncertain[-1]
                    else:
                        del value.items[key]
                return found
            if name == "setdefault":
                self.put(value, args[0], default, node, frame)
            return value.rest or default
        if name == "update":
            if self.uncertain:
                value.rest = self.uncertain[-1]
                return None
            for argument in args:
                self.merge(value, argument.why if isinstance(argument, Rest) else argument, node, frame)
            for keyword, item in kwargs.items():
                self.store(value, keyword, item, node, frame)
            return None
        if name == "copy":
            return value.copy()
        if name in ("items", "keys", "values"):
            rest: list[object] = [Rest(value.rest)] if value.rest else []
            keys: list[object] = [
                Named(entry, value.origins[entry]) if isinstance(entry, str) and entry in value.origins else entry
                for entry in value.items
            ]
            pairs = zip(keys, value.items.values(), strict=True)
            listed: dict[str, list[object]] = {
                "keys": keys,
                "values": list(value.items.values()),
                "items": [Seq("tuple", [entry, item]) for entry, item in pairs],
            }
            return Seq("list", listed[name] + rest)
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def put(self, value: Map, key: object, item: object, node: ast.AST, frame: Frame) -> None:
        """`value[key] = item`, which under a condition may not happen."""
        if self.uncertain:
            known = value.items.get(str(key)) if isinstance(key, str) else None
            item = join(known, item, self.uncertain[-1])
        self.store(value, key, item, node, frame)

    def _class_dict(self, value: ClassDict, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        if name == "get" and args and isinstance(args[0], str):
            found = self.own_attribute(value.cls, str(args[0]))
            if found is not MISSING:
                return found
            if value.cls.kind == UNRESOLVED:
                return value.cls.why
            return args[1] if len(args) > 1 else None
        if name == "keys" and value.cls.kind != UNRESOLVED:
            return Seq("list", [*value.cls.own])
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _text(self, text: str, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        if name == "join" and len(args) == 1 and isinstance(args[0], Seq):
            parts = [item for item in args[0].items if isinstance(item, str)]
            if len(parts) == len(args[0].items) and sum(map(len, parts)) + len(text) * len(parts) < MAX_TEXT:
                return text.join(parts)
        if name in _TEXT and all(isinstance(argument, (str, int)) or argument is None for argument in args):
            if name == "replace" and max(len(text), *(len(str(argument)) for argument in args), 0) > 1000:
                return self.unknown("it is too long to be followed", node, frame)
            try:
                result: object = getattr(str(text), name)(*args)
            except (TypeError, ValueError, OverflowError):
                return self.unknown(f"{text_of(node)} cannot be told", node, frame)
            if isinstance(result, list):
                return self.sequence("list", [*result], node, frame)
            if isinstance(result, str) and len(result) > MAX_TEXT:
                return self.unknown("it is too long to be followed", node, frame)
            return result
        return self.unknown(f"{text_of(node)} cannot be told", node, frame)

    def _stack(self, stack: Stack, name: str, args: list[object], node: ast.AST, frame: Frame) -> object:
        if name == "enter_context" and args:
            value, change = self.enter(args[0], node, frame)
            stack.undo.append(change)
            return value
        if name in ("close", "__exit__"):
            self.unwind(stack)
        if name in ("__enter__", "pop_all"):
            kept = Stack() if name == "pop_all" else stack
            if kept is not stack:
                kept.undo, stack.undo = stack.undo, []
            return kept
        return None

    def unwind(self, stack: Stack) -> None:
        """The end of an ExitStack."""
        for change in reversed(stack.undo):
            change.undo(self.env)
        stack.undo = []
