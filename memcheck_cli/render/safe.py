"""Text from logs made safe for a terminal."""

from __future__ import annotations


def safe(text: str, limit: int = 200) -> str:
    """The text as one harmless line, cut to `limit` characters: see `escaped`."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return escaped(text)


def escaped(text: str) -> str:
    """The text with everything that does not print (control, direction and other invisible characters) written as an
    escape."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(ord(character)) for character in text)


def _escape(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
