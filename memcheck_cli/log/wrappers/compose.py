"""docker compose, and others that print the writer's name and a bar (swarm service logs, foreman, pm2)."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import DIGITS, LOWER, UPPER, Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

_BAR = pattern(r"(?:\d\d:\d\d:\d\d )?((?:\d{1,5}\|)?[A-Za-z0-9][\w.@-]{0,200}) {1,120}\|(?: |\Z)", re.ASCII)


def _compose(text: str, stretch: Stretch) -> Peeled | None:
    found = _BAR.match(text)
    if not found:
        return None
    inner = text[found.end() :]
    label = ("compose", found[1])
    return Peeled("compose", inner, found[1], label=label) if stretch.accepts(label, inner) else None


PEELERS: Peelers = ((DIGITS + LOWER + UPPER, _compose),)
