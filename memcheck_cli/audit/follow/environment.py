"""The environment a server is started with, as the sequence of writes that led to it."""

from __future__ import annotations

from typing import NamedTuple

from memcheck_cli.audit.follow.values import NOWHERE, EnvField, Named, Origin, Seq, Site, Unknown


class Write(NamedTuple):
    """One write: the text as it stands in the environment, None where the variable was removed, or Unknown."""

    value: str | Unknown | None
    origin: Origin


class Env:
    """Every variable that was written, with all writes in order: the last one is in force.

    A way out that puts a variable back (the end of a `with`) shortens its sequence again. `rest` is set where variables
    that are not listed may have been written too.
    """

    __slots__ = ("chains", "rest")

    def __init__(self) -> None:
        self.chains: dict[str, tuple[Write, ...]] = {}
        self.rest: Unknown | None = None

    def copy(self) -> Env:
        other = Env()
        other.chains = dict(self.chains)
        other.rest = self.rest
        return other

    def write(self, name: str, value: object, origin: Origin) -> None:
        text = as_text(value, origin.site)
        self.chains[name] = (*self.chains.get(name, ())[-50:], Write(text, origin))

    def remove(self, name: str, origin: Origin) -> None:
        if name in self.chains or self.rest:
            self.chains[name] = (*self.chains.get(name, ())[-50:], Write(None, origin))

    def cloud(self, why: Unknown, origin: Origin) -> None:
        """Any variable may have been written."""
        for name, chain in self.chains.items():
            self.chains[name] = (*chain[-50:], Write(why, origin))
        self.rest = why

    def value(self, name: str) -> str | Unknown | None:
        """The text in force, None where the variable is not set, or Unknown."""
        chain = self.chains.get(name)
        return chain[-1].value if chain else self.rest


class Change:
    """The difference between two environments, to be put back at the end of a `with`."""

    __slots__ = ("chains", "rest", "rest_changed")

    def __init__(self, before: Env, after: Env) -> None:
        self.chains = {
            name: before.chains.get(name)
            for name, chain in after.chains.items()
            if before.chains.get(name) is not chain
        }
        self.rest = before.rest
        self.rest_changed = before.rest is not after.rest

    def undo(self, env: Env) -> None:
        for name, chain in self.chains.items():
            if chain is None:
                env.chains.pop(name, None)
            else:
                env.chains[name] = chain
        if self.rest_changed:
            env.rest = self.rest


def join_env(left: Env, right: Env, why: Unknown) -> Env:
    """The environment after two ways of which it cannot be told which one is taken."""
    if left is right:
        return left
    joined = Env()
    joined.rest = left.rest or right.rest
    for name in [*left.chains, *(name for name in right.chains if name not in left.chains)]:
        a, b = left.chains.get(name, ()), right.chains.get(name, ())
        if a == b or (a and b and a[-1].value == b[-1].value and not isinstance(a[-1].value, Unknown)):
            joined.chains[name] = a
        else:
            longer = a if len(a) >= len(b) else b
            shared = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            origin = (longer[shared:] or longer or (Write(None, Origin(None, NOWHERE, "")),))[0].origin
            joined.chains[name] = (*a[:shared], Write(why, origin))
    return joined


def as_text(value: object, site: Site) -> str | Unknown:
    """What `str(value)` puts into the environment."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Named):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return str(value)
    if isinstance(value, (Seq, EnvField)):
        return str(type(value).__name__)
    return Unknown("the value cannot be told", site)


def level_of(text: str) -> int:
    """The level SGLang reads from a text: `int(text)`, and 0 with a warning where that fails (EnvInt, 0.5.6 and later).

    `True` stands in the environment as the text `True`, which is no integer.
    """
    try:
        return int(text)
    except ValueError:
        return 0
