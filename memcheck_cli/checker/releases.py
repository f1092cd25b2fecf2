"""SGLang releases: their order, the ones that exist, and spans of them.

Every rule of this package is bound to a span of releases. A development build (`0.5.12.dev3+g1a2b3c4`) sorts before
the release it leads to, so it is held to the rules of the release before; a local part (`+cu128`) says nothing about
the checker and is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from memcheck_cli.errors import UsageError
from memcheck_cli.patterns import pattern

_NAMES = """
    0.4.0 0.4.0.post1 0.4.0.post2
    0.4.1 0.4.1.post1 0.4.1.post2 0.4.1.post3 0.4.1.post4 0.4.1.post5 0.4.1.post6 0.4.1.post7
    0.4.2 0.4.2.post1 0.4.2.post2 0.4.2.post3 0.4.2.post4
    0.4.3 0.4.3.post1 0.4.3.post2 0.4.3.post3 0.4.3.post4
    0.4.4 0.4.4.post1 0.4.4.post2 0.4.4.post3 0.4.4.post4
    0.4.5 0.4.5.post1 0.4.5.post2 0.4.5.post3
    0.4.6 0.4.6.post1 0.4.6.post2 0.4.6.post3 0.4.6.post4 0.4.6.post5
    0.4.7 0.4.7.post1 0.4.8 0.4.8.post1
    0.4.9 0.4.9.post1 0.4.9.post2 0.4.9.post3 0.4.9.post4 0.4.9.post5 0.4.9.post6
    0.4.10 0.4.10.post1 0.4.10.post2
    0.5.0rc0 0.5.0rc1 0.5.0rc2
    0.5.1 0.5.1.post1 0.5.1.post2 0.5.1.post3
    0.5.2rc0 0.5.2rc1 0.5.2rc2 0.5.2
    0.5.3rc0 0.5.3rc2 0.5.3 0.5.3.post1 0.5.3.post2 0.5.3.post3
    0.5.4 0.5.4.post1 0.5.4.post2 0.5.4.post3
    0.5.5 0.5.5.post1 0.5.5.post2 0.5.5.post3
    0.5.6 0.5.6.post1 0.5.6.post2
    0.5.7 0.5.8 0.5.8.post1 0.5.9
    0.5.10rc0 0.5.10 0.5.10.post1
    0.5.11 0.5.12 0.5.12.post1 0.5.13 0.5.13.post1 0.5.14 0.5.15 0.5.15.post1
    0.5.16 0.5.17 0.5.18 0.5.19 0.5.20 0.5.21 0.5.22 0.5.23
"""

RELEASES: tuple[str, ...] = tuple(_NAMES.split())
"""Every release of SGLang from 0.4.0 on that the rules were derived from, oldest first. There is no final 0.5.0."""

NEWEST = RELEASES[-1]

_VERSION = pattern(
    r"\s*v?(?P<numbers>\d{1,9}(?:\.\d{1,9}){1,4})"
    r"(?:[-_.]?(?P<stage>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<stage_number>\d{0,9}))?"
    r"(?:[-_.]?post[-_.]?(?P<post>\d{0,9}))?"
    r"(?:[-_.]?dev[-_.]?(?P<dev>\d{0,18}))?"
    r"(?:\+[a-z0-9._-]{1,200})?\s*",
    re.ASCII | re.IGNORECASE,
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL = 3
_NOT_DEV = 10**18


class ReleaseError(UsageError):
    """A text that should name an SGLang release does not."""


@dataclass(frozen=True, order=True, slots=True)
class Release:
    """One release of SGLang. Orders as Python versions do: dev < rc < final < post.

    `key` decides order and equality; `text` is what was parsed.
    """

    key: tuple[int, ...]
    text: str = field(compare=False)

    @staticmethod
    @lru_cache(maxsize=256)
    def parse(text: str) -> Release:
        """The release that `text` names: `0.5.10rc0`, `v0.5.9`, `0.5.12.post1+cu128`. Raises ReleaseError otherwise."""
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ReleaseError(f"{text[:80]!r} is no SGLang release (like {NEWEST}, 0.5.12.post1 or 0.5.10rc0)")
        numbers = [int(number) for number in match["numbers"].split(".")]
        numbers += [0] * (5 - len(numbers))
        stage, post, dev = match["stage"], match["post"], match["dev"]
        if stage is not None:
            phase = (_STAGES[stage.lower()], int(match["stage_number"] or 0))
        elif dev is not None and post is None:
            phase = (-1, 0)  # a development build of the final release comes before its candidates
        else:
            phase = (_FINAL, 0)
        key = (*numbers, *phase, -1 if post is None else int(post or 0), _NOT_DEV if dev is None else int(dev or 0))
        return Release(key, text.strip())

    def __str__(self) -> str:
        return self.text


def release(value: Release | str) -> Release:
    """`value` as a Release. Raises ReleaseError when a text names none."""
    return value if isinstance(value, Release) else Release.parse(value)


@lru_cache(maxsize=256)
def held_to(value: Release | str) -> Release:
    """The release whose rules hold for `value`: the newest known one that is not newer than it.

    Development builds and releases between two known ones thus follow the older of them, and releases after NEWEST
    follow NEWEST. Raises ReleaseError for a text that names none, or one before 0.4.0.
    """
    one = release(value)
    known = [Release.parse(name) for name in RELEASES]
    if one < known[0]:
        raise ReleaseError(f"there are no rules for SGLang {one}; the oldest are those of {RELEASES[0]}")
    return max(candidate for candidate in known if candidate <= one)


def is_newer(value: str) -> bool:
    """Whether a text names a release after NEWEST, of which no rules are known; "dev" does not."""
    return value != "dev" and Release.parse(value) > Release.parse(NEWEST)


@dataclass(frozen=True, slots=True)
class Span:
    """The releases from `first` to `last`, both included; without `last`, all from `first` on."""

    first: Release
    last: Release | None = None

    @staticmethod
    def of(first: str, last: str | None = None) -> Span:
        """The span between two release texts. Raises ReleaseError."""
        return Span(Release.parse(first), None if last is None else Release.parse(last))

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, Release | str):
            return False
        one = release(value)
        return self.first <= one and (self.last is None or one <= self.last)

    def __str__(self) -> str:
        return f"{self.first}-{self.last}" if self.last is not None else f"{self.first}+"
