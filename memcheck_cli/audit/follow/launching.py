"""Starts of servers: who starts one, with which options and which environment."""

from __future__ import annotations

import ast
from itertools import pairwise

from memcheck_cli.audit.follow.contexts import Contexts
from memcheck_cli.audit.follow.environment import Env
from memcheck_cli.audit.follow.machine import Frame, Launch
from memcheck_cli.audit.follow.values import (
    Environ,
    External,
    Map,
    Origin,
    Rest,
    Seq,
    Unknown,
)


class Launching(Contexts):
    """The launchers of sglang.test.test_utils, offline engines, and processes with a command line."""

    def launch(
        self, name: str, args: list[object], kwargs: dict[str, object], node: ast.AST, frame: Frame,
        why: Unknown | None = None,
    ) -> object:  # fmt: skip
        """A start of a server by sglang.test.test_utils: `env=` is merged over the environment of the process."""
        arguments = kwargs.get("other_args", args[4] if len(args) > 4 else None)
        extra = kwargs.get("env", args[5] if len(args) > 5 else None)
        env = self.env.copy()
        rest = kwargs.get("**") or next((item.why for item in args if isinstance(item, Rest)), None)
        if isinstance(rest, Unknown) and "env" not in kwargs:
            env.cloud(rest, self.origin(node, frame, "env="))
        self._merge_env(env, extra, node, frame)
        self._launched(name, arguments, env, why, node, frame)
        return self.unknown("the server process", node, frame)

    def _merge_env(self, env: Env, extra: object, node: ast.AST, frame: Frame) -> None:
        origin = self.origin(node, frame, "env=")
        if extra is None or isinstance(extra, Environ):
            return
        if not isinstance(extra, Map):
            reason = self.outside(extra) if isinstance(extra, External) else "env= cannot be told"
            env.cloud(extra if isinstance(extra, Unknown) else self.unknown(reason, node, frame), origin)
            return
        if extra.rest is not None:
            env.cloud(extra.rest, origin)
        for key, value in extra.items.items():
            placed = extra.origins.get(key, origin)
            placed = Origin(placed.owner or origin.owner, placed.site, placed.how or "env=")
            chain = env.chains.get(str(key), ())
            if not chain or chain[-1] != (value, placed):
                env.write(str(key), value, placed)

    def _launched(
        self, name: str, arguments: object, env: Env, why: Unknown | None, node: ast.AST, frame: Frame
    ) -> None:
        if self.launches is not None and len(self.launches) < 100:
            self.launches.append(Launch(name, self.site(node, frame), self.owner_name(), arguments, env, why))

    def _engine(self, kwargs: dict[str, object], node: ast.AST, frame: Frame) -> object:
        """An offline engine: its schedulers inherit the environment of the process."""
        items: list[object] = []
        for key, value in kwargs.items():
            items += [Rest(value)] if isinstance(value, Unknown) and key == "**" else [
                "--" + key.replace("_", "-"), value]  # fmt: skip
        self._launched("Engine", Seq("list", items), self.env.copy(), None, node, frame)
        return self.unknown("the engine", node, frame)

    def _spawned(self, args: list[object], kwargs: dict[str, object]) -> Seq | None:
        """The command line of a process that is an SGLang server."""
        command = args[0] if args else kwargs.get("args")
        if isinstance(command, str):
            command = Seq("list", [*command.split()])
        if isinstance(command, Seq):
            words = [item for item in command.items if isinstance(item, str)]
            served = any(pair == ("sglang", "serve") for pair in pairwise(words))
            if served or any(word.startswith("sglang.launch_") for word in words):
                return command
        return None
