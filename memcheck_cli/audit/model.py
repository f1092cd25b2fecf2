"""What the audit answers: plain data, one class per thing that a report shows."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL_VARIABLE = "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY"
"""The variable that the scheduler reads at every busy iteration (SGLang 0.5.6 and later)."""

OLD_VARIABLE = "SGLANG_ENABLE_RUNTIME_MEM_LEAK_CHECK"
"""What releases 0.5.4 to 0.5.5.post3 read instead; later ones ignore it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something cannot be told, or a remark; `file` and `line` are None where no given file shows it."""

    text: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Setting:
    """One write of an environment variable before the server started, in the order of the writes.

    value: the text as it stands in the environment, None where the variable was removed or the value cannot be told
    (`decided` is False then). set_by: the class the write belongs to, None for code outside a class. how:
    `env_overrides`, `override`, `os.environ`, `env=` and the like. in_force: the server saw this write.
    """

    name: str
    value: str | None
    decided: bool
    set_by: str | None
    how: str
    file: str | None
    line: int | None
    in_force: bool


@dataclass(frozen=True, slots=True)
class BaseClass:
    """One entry of the method resolution order.

    kind: `read` (its source was among the files), `known` (a fixture or kit of SGLang, or a class outside SGLang that
    starts no server, taken from its description) or `unresolved`.
    """

    name: str
    file: str | None
    line: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class Speculative:
    """The speculative settings of the server; None where one is not given or cannot be told.

    `certain` is False where it cannot be told whether the server speculates at all.
    """

    algorithm: str | None
    topk: int | None
    num_steps: int | None
    draft_tokens: int | None
    certain: bool


@dataclass(frozen=True, slots=True)
class AuditedClass:
    """One test class.

    level: the busy level in force, 0 where it is never set, None where it cannot be told. set_by: the class whose
    write is in force. verdict: `checked` (level 1 or more, or negative), `unchecked`, `undecided`. starts_server is
    None where it cannot be told. launch_line: where the server is started. order: the method resolution order.
    reasons say what cannot be told, notes what is worth knowing.
    """

    name: str
    file: str
    line: int
    level: int | None
    set_by: str | None
    set_how: str | None
    set_file: str | None
    set_line: int | None
    verdict: str
    starts_server: bool | None
    is_test: bool
    launch_file: str | None
    launch_line: int | None
    speculative: Speculative | None
    order: tuple[BaseClass, ...]
    settings: tuple[Setting, ...]
    reasons: tuple[Reason, ...]
    notes: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not read, and why; `relevant` where it may hold test classes."""

    file: str
    reason: str
    relevant: bool = True


@dataclass(frozen=True, slots=True)
class Audit:
    """classes: every test class that starts a server, by file and line. files: how many Python files were looked at.
    names: every class that was looked at."""

    classes: tuple[AuditedClass, ...]
    skipped: tuple[Skipped, ...]
    files: int
    names: tuple[str, ...]


def printable(text: str) -> str:
    """Text from a source as it can be written in any encoding of Unicode (a literal may hold half a character)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def rank(level: int) -> int:
    """How much a level checks: a negative one is truthy, so the check and its assertion run as at level 1."""
    return 1 if level < 0 else level
