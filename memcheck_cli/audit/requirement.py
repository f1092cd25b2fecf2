"""Whether the classes of an audit reach a required level."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck_cli.audit.model import Audit, AuditedClass, rank


@dataclass(frozen=True, slots=True)
class Requirement:
    """short: the classes that fall short for certain. undecided: those of which it cannot be told. reason: why nothing
    can be said although no class is named, or None."""

    level: int
    every: bool
    short: tuple[AuditedClass, ...]
    undecided: tuple[AuditedClass, ...]
    reason: str | None

    @property
    def exit_code(self) -> int:
        """1 where a class falls short, 3 where that cannot be told, else 0."""
        return 1 if self.short else 3 if self.undecided or self.reason else 0


def require(audit: Audit, level: int, *, every: bool = False) -> Requirement:
    """Compares every speculative test class (`every`: every test class that starts a server) with `level`.

    A class of which it cannot be told whether it speculates, or starts a server, is undecided unless it reaches it.
    """
    short: list[AuditedClass] = []
    undecided: list[AuditedClass] = []
    asked = [entry for entry in audit.classes if entry.is_test and entry.starts_server is not False]
    for entry in asked:
        if not every and entry.speculative is None:
            continue
        certain = every or (entry.speculative is not None and entry.speculative.certain)
        if entry.level is None:
            undecided.append(entry)
        elif rank(entry.level) < level:
            (short if certain else undecided).append(entry)
    unread = [skipped for skipped in audit.skipped if skipped.relevant]
    reason = None
    if not asked:
        reason = "no test class that starts a server was found"
    elif unread:
        reason = f"{len(unread)} {'file was' if len(unread) == 1 else 'files were'} not read"
    return Requirement(level, every, tuple(short), tuple(undecided), reason)
