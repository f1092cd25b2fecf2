"""The count of what has been unfolded, held against the limits."""

from __future__ import annotations

from memcheck_cli.counting import counted
from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources.interface import Limits


class Budget:
    """What one call of `find_sources` has used up. expanded: decompressed bytes; members: archive entries."""

    __slots__ = ("expanded", "limits", "members")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.expanded = 0
        self.members = 0

    def count_member(self) -> None:
        """One more archive entry. Raises `UnreadableError` beyond the limit."""
        self.members += 1
        if self.members > self.limits.members:
            raise UnreadableError(f"more than {self.limits.members:,} archive members (limit)")


class Meter:
    """How far one compressed thing has unfolded: a stream, a member, or a zip with all that is in it.

    outer: the meter of the archive around it. packed: compressed bytes where they are known beforehand. Reading a
    thing again counts nothing twice. single: it is one text, so the limit for one member holds.
    """

    __slots__ = ("_budget", "_expanded", "_outer", "_packed", "single")

    def __init__(self, budget: Budget, outer: Meter | None, *, packed: int = 0) -> None:
        self._budget = budget
        self._outer = outer
        self._packed = packed
        self._expanded = 0
        self.single = True

    def reached(self, position: int, packed: int) -> None:
        """`position` decompressed bytes have come out of `packed` compressed ones. Raises `UnreadableError` when that
        is beyond a limit."""
        limits = self._budget.limits
        if self.single and position > limits.member_bytes:
            raise UnreadableError(f"expands to more than {size_text(limits.member_bytes)} (limit for one member)")
        grown = position - self._expanded
        if grown > 0:
            self._expanded = position
            self._budget.expanded += grown
        self._packed = max(self._packed, packed)
        self._check_ratio()
        outer = self._outer
        while outer is not None:
            outer._expanded += max(0, grown)
            outer._check_ratio()
            outer = outer._outer
        if self._budget.expanded > limits.total_bytes:
            raise UnreadableError(f"the inputs expand to more than {size_text(limits.total_bytes)} (limit for all)")

    def declared(self, expanded: int, packed: int) -> None:
        """An archive says so about a member. Raises `UnreadableError` when that alone is beyond a limit."""
        limits = self._budget.limits
        if self.single and expanded > limits.member_bytes:
            raise UnreadableError(f"expands to more than {size_text(limits.member_bytes)} (limit for one member)")
        _check_ratio(expanded, packed, limits)

    def _check_ratio(self) -> None:
        _check_ratio(self._expanded, self._packed, self._budget.limits)


def _check_ratio(expanded: int, packed: int, limits: Limits) -> None:
    if expanded > limits.ratio_after and expanded > limits.ratio * packed:
        raise UnreadableError(f"expands more than {limits.ratio:,}-fold (limit): a decompression bomb?")


def size_text(size: int) -> str:
    """A number of bytes for a person: `64 GiB`, `1.5 MiB`, `100 bytes`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return counted(size, "byte")
