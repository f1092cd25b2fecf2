"""Regular expressions that are compiled when they are first used.

Of the hundred and more that the readers know, a log needs about twenty, and compiling all of them takes as long as
reading a small log.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub")


class _Pattern:
    """Stands for a compiled pattern, and has its methods from the first use on."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` would give, but for errors in the text, which raise `re.error` at the first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
