"""Kubernetes: CRI log files of a node, `kubectl logs --prefix`, stern."""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import DIGITS, LOWER, Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

_CRI = pattern(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"
    r" (stdout|stderr) ([FP])(?::[\w:]{1,40})?(?: |\Z)",
    re.ASCII,
)
_PREFIX = pattern(r"\[(pod/[A-Za-z0-9][A-Za-z0-9.-]{0,252}/[A-Za-z0-9][A-Za-z0-9.-]{0,252})\](?: |\Z)", re.ASCII)
# stern: the pod's name ends in its own part (a hash of the replica set, an ordinal), the container's follows
_STERN = pattern(
    r"(?:[a-z0-9-]{1,63} )?([a-z0-9][a-z0-9.-]{0,250}-(?:[a-z0-9]{5}|\d{1,5})) ([a-z0-9][a-z0-9-]{0,62}) "
    r"(?:[|\u203a] )?",
    re.ASCII,
)


def _cri(text: str, stretch: Stretch) -> Peeled | None:
    found = _CRI.match(text)
    if not found:
        return None
    return Peeled("cri", text[found.end() :], time=found[1], part=found[2], more=found[3] == "P")


def _kubectl(text: str, stretch: Stretch) -> Peeled | None:
    found = _PREFIX.match(text)
    return Peeled("kubectl", text[found.end() :], found[1]) if found else None


def _stern(text: str, stretch: Stretch) -> Peeled | None:
    found = _STERN.match(text)
    if not found:
        return None
    inner = text[found.end() :]
    name = f"pod/{found[1]}/{found[2]}"
    label = ("stern", name)
    return Peeled("stern", inner, name, label=label) if stretch.accepts(label, inner) else None


PEELERS: Peelers = ((DIGITS, _cri), ("[", _kubectl), (LOWER + DIGITS, _stern))
