"""Equality of values, what is left of two that may each be the one, and whom a variable belongs to."""

from __future__ import annotations

from memcheck_cli.audit.follow.values import (
    Context,
    EnvField,
    Environ,
    EnvSpace,
    External,
    Map,
    Named,
    Origin,
    Rest,
    Seq,
    Site,
    Unknown,
)


def same(left: object, right: object, budget: int = 2000) -> bool:
    """Whether two values are surely equal."""
    if left is right:
        return True
    if type(left) is not type(right) and not (isinstance(left, str) and isinstance(right, str)):
        return False
    if isinstance(left, (int, float, str, bytes)):
        return left == right
    if isinstance(left, Seq) and isinstance(right, Seq):
        if left.kind != right.kind or len(left.items) != len(right.items) or len(left.items) > budget:
            return False
        share = budget // (len(left.items) + 1)
        return all(same(a, b, share) for a, b in zip(left.items, right.items, strict=True))
    if isinstance(left, EnvField) and isinstance(right, EnvField):
        return left.name == right.name
    if isinstance(left, External) and isinstance(right, External):
        return left.dotted == right.dotted
    if isinstance(left, Map) and isinstance(right, Map):
        if left.rest or right.rest or left.items.keys() != right.items.keys() or len(left.items) > budget:
            return False
        share = budget // (len(left.items) + 1)
        return all(same(value, right.items[key], share) for key, value in left.items.items())
    return isinstance(left, (EnvSpace, Environ))


def join(left: object, right: object, why: Unknown) -> object:
    """The value after two ways of which it cannot be told which one is taken."""
    if same(left, right):
        return left
    if isinstance(left, Context) or isinstance(right, Context):
        pairs: list[tuple[str | None, object, Origin]] = []
        for side in (left, right):
            if isinstance(side, Context):
                pairs += [(name, why, origin) for name, _, origin in side.pairs]
        return Context(pairs)
    if isinstance(left, Seq) and isinstance(right, Seq) and left.kind == right.kind:
        common: list[object] = []
        for a, b in zip(left.items, right.items, strict=False):
            if not same(a, b):
                break
            common.append(a)
        return Seq(left.kind, [*common, Rest(why)])
    options = [option for side in (left, right) for option in (side.options if isinstance(side, Unknown) else (side,))]
    return Unknown(why.reason, why.site, options=tuple(options[:8]))


def tag(value: object, owner: str, site: Site, how: str, lines: range, depth: int = 3) -> object:
    """A copy of a class attribute in which every environment variable says that it belongs to that class.

    `lines` are those of the class: what was written outside of them (a constant, a base's tuple) counts as written at
    `site`, where the class took it over. Values without a variable keep their identity.
    """

    def placed(origin: Origin) -> Origin:
        inside = origin.site.file == site.file and origin.site.line in lines
        return Origin(owner, origin.site if inside else site, how)

    if depth < 0 or not mentions_variable(value):
        return value
    if isinstance(value, EnvField):
        return EnvField(value.name, placed(value.origin))
    if isinstance(value, Named):
        return Named(value, placed(value.origin))
    if isinstance(value, Seq):
        return Seq(value.kind, [tag(item, owner, site, how, lines, depth - 1) for item in value.items])
    if isinstance(value, Map):
        return Map(dict(value.items), {key: placed(origin) for key, origin in value.origins.items()}, value.rest)
    return value


def mentions_variable(value: object, depth: int = 3) -> bool:
    """Whether an environment variable is named in a value."""
    if isinstance(value, (EnvField, Named)):
        return True
    if isinstance(value, Map):
        return bool(value.origins)
    if isinstance(value, Seq) and depth > 0:
        return any(mentions_variable(item, depth - 1) for item in value.items[:1000])
    return False
