"""The speculative settings of a server, from the options it is started with and from the attributes of its class."""

from __future__ import annotations

from collections.abc import Callable

from memcheck_cli.audit.follow.values import Rest, Seq, Unknown
from memcheck_cli.audit.model import Speculative, printable

_OPTIONS = {
    "--speculative-algorithm": "algorithm",
    "--speculative-algo": "algorithm",
    "--speculative-eagle-topk": "topk",
    "--speculative-num-steps": "num_steps",
    "--speculative-num-draft-tokens": "draft_tokens",
}

_ATTRIBUTES = {
    "algorithm": ("spec_algo", "speculative_algorithm", "spec_algorithm", "speculative_algo"),
    "topk": ("spec_topk", "speculative_eagle_topk", "eagle_topk"),
    "num_steps": ("spec_steps", "speculative_num_steps", "spec_num_steps"),
    "draft_tokens": ("spec_tokens", "spec_draft_tokens", "speculative_num_draft_tokens", "num_draft_tokens"),
}
"""The attributes from which SGLang's fixtures fill the options; they count where the options cannot be read."""


def options(arguments: object) -> tuple[dict[str, object], bool]:
    """Every `--option` with its value (True for a bare one; a later one wins), and whether there may be more."""
    if arguments is None:
        return {}, False
    if not isinstance(arguments, Seq):
        return {}, True
    found: dict[str, object] = {}
    open_ended = False
    waiting: str | None = None
    for item in arguments.items:
        if isinstance(item, Rest):
            open_ended, waiting = True, None
            continue
        text = str(item) if isinstance(item, str) else item.prefix if isinstance(item, Unknown) else ""
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            found[name] = (item if isinstance(item, Unknown) else value) if equals else True
            waiting = None if equals else name
        elif waiting is not None:
            found[waiting] = item
            waiting = None
        elif isinstance(item, Unknown):
            open_ended = True
    return found, open_ended


def speculative(arguments: object, attribute: Callable[[str], object]) -> Speculative | None:
    """The settings, or None where the server surely does not speculate. `attribute` looks up a class attribute."""
    given, open_ended = options(arguments)
    values = {field: given[option] for option, field in _OPTIONS.items() if option in given}
    for field, names in _ATTRIBUTES.items():
        for name in names:
            value = attribute(name)
            if field not in values and value is not None:
                values[field] = value
    algorithm = values.get("algorithm")
    told = isinstance(algorithm, str)
    if told and str(algorithm).lower() in ("", "none"):
        return None
    asked = any(option in given for option, field in _OPTIONS.items() if field == "algorithm")
    if not told and not asked and not isinstance(algorithm, Unknown) and not open_ended:
        return None
    return Speculative(
        algorithm=printable(str(algorithm))[:100] if told else None,
        topk=_number(values.get("topk")),
        num_steps=_number(values.get("num_steps")),
        draft_tokens=_number(values.get("draft_tokens")),
        certain=told or asked,
    )


def _number(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 10**18 else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    return None
