"""Text from logs made safe for a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def safe(text: str, limit: int = 200) -> str:
    """The text with control and direction characters shown as escapes, cut to `limit` characters."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
