"""Two writers in one line: whether a checker's text was torn into another line, or is quoted in it."""

from __future__ import annotations

import re

from memcheck_cli.patterns import pattern

TAG = "[Mem Check"
"""What every busy line begins with, in every release."""

# What stands before the text of a line that was torn into another one: the end of a prefix, or the other line's last
# character with nothing between.
_PREFIX_SEAM = pattern(
    r"(?:\[[0-9: .,-]{8,40}(?: [A-Z][A-Z_]{0,30}[0-9]{1,9})*+|[A-Z0-9][A-Z_]{0,30}[0-9]{1,9})\] \Z", re.ASCII
)
_RECORD = pattern(
    r"\[Mem Check \(BUSY(?:\)\] (?:\[[A-Za-z][A-Za-z0-9_-]{0,31}\] +(?:total=|unified)|available_size=)"
    r"|/SWA\)\] full: \()",
    re.ASCII,
)
# Words of request logs. What users wrote stands behind them and may quote anything.
_REQUEST_WORDS = ("obj=", "text=", "prompt", "content", "messages", "`", "\\n")
_QUOTES = frozenset("'\"`(>")
_REPORT_HEAD = pattern(
    r"(?:ValueError: )?"
    r"(?:(?:pool|token_to_kv_pool_allocator|req_to_token_pool|pool-bytes) memory|KV cache pool|Memory pool)"
    r" leak detected!"
    r"|AssertionError: (?:(?:Full|SWA) Pool )?Mem Leak Detected! "
)


def is_torn_into(text: str, at: int, prefixed: bool) -> bool:
    """Whether what begins at index `at` was written into the line by another writer, rather than quoted in it."""
    begin = max(0, at - 160)
    seam = _PREFIX_SEAM.search(text, begin, at)
    start = seam.start() if seam is not None else at
    if (start and text[start - 1] in _QUOTES) or any(word in text[:start] for word in _REQUEST_WORDS):
        return False
    if seam is not None:
        return True
    if not text.startswith(TAG, at):
        return not text[at - 1].isspace()
    # No prefix stands before it. Fused to the other line's last character, or, where the whole line has no prefix that
    # is known, behind anything: but only where a record begins, for prose names the tag too.
    return not (prefixed and text[at - 1].isspace()) and _RECORD.match(text, at) is not None


def torn_report_at(text: str, prefixed: bool) -> int:
    """Index of a report that another writer's fragment stands before, so that its own prefix or error cannot be
    trusted; -1 where there is none."""
    if "etected!" not in text:
        return -1
    found = _REPORT_HEAD.search(text)
    if found is None or found.start() == 0 or not is_torn_into(text, found.start(), prefixed):
        return -1
    return found.start()
