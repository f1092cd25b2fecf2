"""Ray: the actor and pid before a line, an outer time before those, and the tail of its deduplication.

The colour codes may have lost their escape character on the way through an editor: `[36m(Actor pid=1)[0m text`.
"""

from __future__ import annotations

import re

from memcheck_cli.log.wrappers.interface import Peeled, Peelers, Stretch
from memcheck_cli.patterns import pattern

_ACTOR = pattern(
    r"(?:\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\] )?(?:\[[0-9;]{1,12}m)?"
    r"\((?:([^\s()][^()\n]{0,300}(?:\([^()\n]{0,300}\))? pid=\d{1,10})|(raylet|gcs_server))(?:, ip=[^\s()]{1,80})?\)"
    r"(?:\[0m)?(?: |\Z)",
    re.ASCII,
)
_TAIL = pattern(
    r" ?(?:\[32m)?\s?\[repeated (\d{1,9})x across cluster\](?: \(Ray deduplicates logs by default\.[^()]{0,400}\))?"
    r"(?:\[0m)?[ \t]*+\Z",
    re.ASCII,
)
_TAIL_SPAN = 600


def _actor(text: str, stretch: Stretch) -> Peeled | None:
    found = _ACTOR.match(text)
    if not found:
        return None
    return Peeled("ray", text[found.end() :], found[2] or found[3], found[1])


def split_tail(text: str) -> tuple[str, int]:
    """A text without Ray's `[repeated 3x across cluster]` and the advice behind it, and how often it was said.

    Ray's count is of the lines it left out and the one it printed; 1 where nothing was left out.
    """
    start = max(0, len(text) - _TAIL_SPAN)
    at = text.rfind("[repeated ", start)
    if at < 0:
        return text, 1
    found = _TAIL.search(text, max(start, at - 8))
    return (text[: found.start()], max(1, int(found[1]))) if found else (text, 1)


PEELERS: Peelers = (("[(", _actor),)
