"""Which test classes run under the busy check, told from SGLang's test sources without running them.

`audit(paths)` reads a tree or files; see `memcheck_cli.audit.model` for what it answers. The sources are parsed with
`ast` and followed abstractly (`machine`, `expressions`, `calls`, `statements`, `definitions`), each fixture up to the
start of its server; what cannot be decided that way is undecided, with the reason and the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memcheck_cli.audit.files import find
from memcheck_cli.audit.follow.modules import Library
from memcheck_cli.audit.model import Audit, AuditedClass, Skipped
from memcheck_cli.audit.verdicts import Auditor
from memcheck_cli.checker.releases import Release
from memcheck_cli.errors import UnreadableError

_MAY_HOLD_TESTS = re.compile(rb"^[ \t]*class\b|\btype\(", re.MULTILINE)


def audit(paths: Iterable[str], *, name: str | None = None, release: str | None = None) -> Audit:
    """The audit of every test class in the files that starts a server.

    name: only classes of this name, and these even where they are no tests or start no server. release: the SGLang
    release for which a fixture that is not among the files is taken (None: the newest). Raises UnreadableError
    where nothing can be read, ReleaseError for a text that is no release.
    """
    known = None if release is None else Release.parse(release)
    files, skipped, roots = find(paths)
    auditor = Auditor(Library(files, roots), known)
    classes: list[AuditedClass] = []
    names: set[str] = set()
    unread = 0
    for module in auditor.library.modules:
        relevant = _MAY_HOLD_TESTS.search(module.content) is not None
        if module.opaque:
            continue
        if not relevant:
            if module.state == "new" and module.parse() is None:
                skipped.append(Skipped(module.shown, module.error or "cannot be parsed", relevant=False))
                unread += 1
            continue
        for cls in auditor.classes_of(module):
            names.add(cls.name)
            if name is None or cls.name == name:
                found = auditor.audit(cls, always=name is not None)
                if found is not None:
                    classes.append(found)
        if module.error is not None:
            skipped.append(Skipped(module.shown, module.error))
            unread += 1
        elif module.broken is not None:
            skipped.append(Skipped(module.shown, "too much to follow"))
    if unread == len(files):
        raise UnreadableError(f"nothing could be read: {skipped[0].file}: {skipped[0].reason}")
    return Audit(tuple(classes), tuple(skipped), len(files), tuple(sorted(names)))
