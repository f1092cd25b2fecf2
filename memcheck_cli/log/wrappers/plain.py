"""The quick test that most lines pass: nothing stands before the server's bracket and nothing is amiss at the end."""

from __future__ import annotations

_CAREFUL_ENDS = frozenset("\r \t\xa0])M`")
"""Last characters behind which padding, a line end or a collector's tail may stand."""

_REPORT, _START = "etected!", "server_args="
"""A report and a start of a server hold these wherever they stand, and may go on on the next line."""

_OTHER_REPORTS = ("KV ", "Sch")
"""First characters of page reports and of a crash, which have ends that may have been wrapped."""

_LONGEST_TAG = 50
"""A message shorter than this may be a tag that was broken in its middle."""


def plain(text: str, width: int) -> int:
    """2: a whole busy line of the checker behind the server's bracket. 1: another line behind it that no wrapper, no
    wrapped end and no line of the checker can begin with. 0: it takes a closer look.

    width: the length at which a terminal is known to have cut words in this file, or 0.
    """
    if text[17:18] != ":" or text[:1] != "[" or text[5:6] != "-":
        return 0
    at = text.find("] ", 20, 140)
    if at < 0 or "\x1b" in text:
        return 0
    if text[at + 2 : at + 13] == "[Mem Check ":
        last = text[text.rfind(", ") + 2 :]
        return 2 if last[:8] == "uncached" and last[-1].isdigit() and len(text) != width else 0
    if (
        len(text) - at < _LONGEST_TAG
        or text[at + 2] in "[("
        or text[at + 2 : at + 5] in _OTHER_REPORTS
        or text[-1] in _CAREFUL_ENDS
        or _REPORT in text
        or _START in text
    ):
        return 0
    return 1
