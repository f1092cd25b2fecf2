"""Numbers of things in sentences."""

from __future__ import annotations


def counted(number: int, noun: str, many: str | None = None) -> str:
    """`1 page`, `3 pages`. many: the plural, where it is not the noun with an s."""
    return f"{number} {_form(number, noun, many)}"


def signed(number: int, noun: str) -> str:
    """`-1 page`, `+3 pages`."""
    return f"{number:+d} {_form(number, noun, None)}"


def _form(number: int, noun: str, many: str | None) -> str:
    return noun if abs(number) == 1 else many or noun + "s"
