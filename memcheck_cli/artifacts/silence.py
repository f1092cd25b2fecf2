"""Tests without a line of the checker: why, and which of them were checked all the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memcheck_cli.artifacts.attempts import PASSED, common_end
from memcheck_cli.artifacts.marks import LEVEL
from memcheck_cli.artifacts.model import SILENT, UNCHECKED, Test

if TYPE_CHECKING:
    from memcheck_cli.audit.model import AuditedClass

_ABOUT_PRINTING = ("log level ", "enable_hisparse")
"""How reasons begin that do not keep the busy check from running."""

OFF_OR_SILENT = "no line of the checker: the check was off, or ran at level 1 and nothing broke"
NO_SERVER = "neither a server's start nor a line of the checker is in it"


class Audited:
    """The test classes that `memcheck audit` has looked at."""

    def __init__(self, classes: Iterable[AuditedClass]) -> None:
        self._by_name: dict[str, list[AuditedClass]] = {}
        self._all = [cls for cls in classes if cls.is_test]
        for cls in self._all:
            self._by_name.setdefault(cls.name, []).append(cls)

    def of(self, test: Test) -> Sequence[AuditedClass]:
        """The classes that a test may be of: of its name and, where several have it, of its file; of a test without a
        class all those of its file."""
        if test.cls is not None:
            named = self._by_name.get(test.cls, [])
            return _of_file(named, test.file) or named
        return _of_file(self._all, test.file)


def _of_file(classes: Iterable[AuditedClass], file: str | None) -> list[AuditedClass]:
    """Those whose path ends most like a file's: the trees of the run and of the sources begin elsewhere."""
    ends = [(common_end(cls.file, file), cls) for cls in classes] if file is not None else []
    best = max((length for length, _ in ends), default=0)
    return [cls for length, cls in ends if length == best] if best else []


def explain_silence(tests: Iterable[Test], audited: Audited | None) -> None:
    """Settle every test that has no line of the checker: `checked, silent`, or unchecked with the reason."""
    for test in tests:
        if test.verdict == UNCHECKED:
            test.verdict, test.reason = _settle(test, audited)


def _settle(test: Test, audited: Audited | None) -> tuple[str, str]:
    reasons = list(dict.fromkeys(reason for server in test.servers for reason in server.reasons))
    blocking = [reason for reason in reasons if not reason.startswith(_ABOUT_PRINTING)]
    if blocking:
        return UNCHECKED, blocking[0].rstrip(".")
    classes = audited.of(test) if audited is not None else []
    if classes:
        return _by_audit(test, classes)
    if test.level is not None:
        return _at_level(test, test.level, f"the log gives {LEVEL} the value {test.level} (line {test.level_line})")
    if any(server.dumped for server in test.servers):
        return _at_level(test, 1, "its server ran at level 1: it dumped its ring later")
    if reasons:
        return UNCHECKED, reasons[0].rstrip(".")
    return UNCHECKED, OFF_OR_SILENT if test.servers else NO_SERVER


def _by_audit(test: Test, classes: Sequence[AuditedClass]) -> tuple[str, str]:
    levels = {cls.level for cls in classes}
    name = test.cls or f"every class of {test.file}"
    if len(levels) > 1:
        return UNCHECKED, f"{OFF_OR_SILENT}; its classes run at different levels"
    cls, level = classes[0], classes[0].level
    if level is None:
        why = f": {cls.reasons[0].text}" if cls.reasons else ""
        return UNCHECKED, f"the level of {name} cannot be told from its sources{why}"
    by = f", set by {cls.set_by}" if cls.set_by is not None and cls.set_by != test.cls else ""
    return _at_level(test, level, f"{name} runs at level {level}{by}")


def _at_level(test: Test, level: int, told: str) -> tuple[str, str]:
    if level == 0:
        return UNCHECKED, f"{told}: the check is off"
    if level > 1:
        return UNCHECKED, f"{told}, which prints every busy check, but no line of it is here"
    if test.ended != PASSED:
        return UNCHECKED, f"{told}, which is silent as long as nothing breaks, but the test did not pass"
    return SILENT, f"{told}, which is silent as long as nothing breaks"


def counted_reasons(tests: Iterable[Test]) -> Mapping[str, list[Test]]:
    """Unchecked tests by their reason, the most frequent first."""
    by_reason: dict[str, list[Test]] = {}
    for test in tests:
        if test.verdict == UNCHECKED:
            by_reason.setdefault(test.reason or OFF_OR_SILENT, []).append(test)
    return dict(sorted(by_reason.items(), key=lambda entry: -len(entry[1])))
