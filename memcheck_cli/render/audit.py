"""The audit for a person: as tables at a terminal, one class in full, and as Markdown."""

from __future__ import annotations

import re
from itertools import groupby
from typing import IO, TYPE_CHECKING

from memcheck_cli.audit.model import Audit, AuditedClass, Reason, Setting, Speculative
from memcheck_cli.audit.requirement import Requirement
from memcheck_cli.counting import counted
from memcheck_cli.render.paragraphs import hanging
from memcheck_cli.render.safe import safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLES = {"checked": "green", "unchecked": "bold red", "undecided": "bold yellow"}


def print_audit(audit: Audit, required: Requirement | None, output: IO[str], *, explain: bool = False) -> None:
    """Print the whole answer; `explain` prints every class in full instead of the table."""
    from memcheck_cli.render.console import console_for

    with console_for(output) as console:
        if explain:
            for entry in audit.classes:
                _explain(console, entry)
        else:
            _print_table(console, audit)
        if required is not None:
            _print_required(console, required)


def headline(audit: Audit) -> str:
    """How many classes stand under which verdict."""
    if not audit.classes:
        return f"no test class that starts a server in {counted(audit.files, 'file')}"
    counts = [
        f"{sum(entry.verdict == verdict for entry in audit.classes)} {verdict}"
        for verdict in STYLES
        if any(entry.verdict == verdict for entry in audit.classes)
    ]
    return f"{counted(len(audit.classes), 'test class', 'test classes')}: {', '.join(counts)}"


def _print_table(console: Console, audit: Audit) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print(headline(audit), style="bold")
    for file, entries in groupby(audit.classes, key=lambda entry: entry.file):
        classes = list(entries)
        console.print()
        console.print(safe(file, 400), soft_wrap=True)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold", ratio=3)
        table.add_column(overflow="fold", ratio=3)
        for entry in classes:
            table.add_row(
                f"{entry.line:>5}",
                Text(_level(entry), style=STYLES[entry.verdict]),
                safe(entry.name),
                _set_by_and_speculative(entry),
            )
        console.print(table)
        for entry in classes:
            for reason in (*entry.reasons, *entry.notes):
                head = "" if reason.text.startswith(entry.name) else f"{safe(entry.name)}: "
                _hang(console, "       ", head + _reason(reason, file), 9)


def _set_by_and_speculative(entry: AuditedClass) -> Text:
    from rich.text import Text

    setter, settings = _by(entry), _speculates(entry.speculative)
    return Text(setter + ("  " if setter and settings else ""), style="default").append(settings, style="dim")


def _level(entry: AuditedClass) -> str:
    if entry.level is None:
        return "undecided"
    return f"level {entry.level}"


def _by(entry: AuditedClass) -> str:
    if entry.set_how is None:
        return "" if entry.level is None else "never set"
    if entry.set_by == entry.name:
        return "set here"
    return f"by {safe(entry.set_by)}" if entry.set_by else f"by {safe(entry.set_how)} in the file"


def _speculates(settings: Speculative | None) -> str:
    if settings is None:
        return ""
    if not settings.certain:
        return "speculative?"
    parts = [safe(settings.algorithm or "speculative", 40)]
    if settings.topk is not None:
        parts.append(f"topk {settings.topk}")
    return " ".join(parts)


def _reason(reason: Reason, file: str | None) -> str:
    place = ""
    if reason.line is not None:
        place = f" (line {reason.line})" if reason.file == file else f" ({_place(reason.file, reason.line)})"
    return safe(reason.text, 400) + place


def _place(file: str | None, line: int | None) -> str:
    return "known fixture" if file is None else f"{safe(file, 400)}:{line}"


def _print_required(console: Console, required: Requirement) -> None:
    console.print()
    if required.short:
        console.print(f"{_falls_short(required)}:", style="bold red")
    for entry in required.short:
        console.print(f"  {_place(entry.file, entry.line)}: {safe(entry.name)} has level {entry.level}", soft_wrap=True)
    if required.undecided:
        console.print(f"{len(required.undecided)} undecided:", style="bold yellow")
    for entry in required.undecided:
        why = f": {safe(entry.reasons[0].text, 400)}" if entry.reasons else ": it may speculate"
        _hang(console, "  ", f"{_place(entry.file, entry.line)}: {safe(entry.name)}{why}", 4)
    if required.reason:
        console.print(f"undecided: {required.reason}", style="bold yellow")
    if not required.exit_code:
        console.print(f"all {_which(required)} reach level {required.level}", style="bold green")


def _which(required: Requirement) -> str:
    return "test classes" if required.every else "speculative test classes"


def _falls_short(required: Requirement) -> str:
    which = _which(required)
    short = counted(len(required.short), f"{which.removesuffix('es')} falls", f"{which} fall")
    return f"{short} short of level {required.level}"


def _explain(console: Console, entry: AuditedClass) -> None:
    from rich.text import Text

    level = "" if entry.level is None else f", level {entry.level}"
    verdict = f"{entry.verdict}{level}" if entry.starts_server is not False else "starts no server"
    console.print(Text(safe(entry.name), style="bold").append(f"  {verdict}", style=STYLES[entry.verdict]))
    _hang(console, "  file         ", _place(entry.file, entry.line))
    if entry.launch_file is not None:
        hanging(
            console, "  server       ", f"started at {_place(entry.launch_file, entry.launch_line)}", cut_words=False
        )
    elif entry.starts_server:
        _hang(console, "  server       ", "started by a known fixture")
    if not entry.is_test:
        _hang(console, "  test         ", "no: it has no test methods, or is no test case")
    if entry.speculative is not None:
        _hang(console, "  speculative  ", _all_settings(entry.speculative))
    console.print("  order of bases")
    for at, base in enumerate(entry.order, 1):
        told = {"known": "known", "unresolved": "not among the files"}.get(base.kind) or _place(base.file, base.line)
        _hang(console, f"  {at:>4}  ", f"{safe(base.name)}  {told}", 8)
    if entry.settings:
        console.print("  environment, in the order of the writes" if entry.starts_server else "  env_overrides, merged")
    for name, settings in groupby(entry.settings, key=lambda setting: setting.name):
        console.print(f"    {safe(name)}", soft_wrap=True)
        for setting in settings:
            _hang(console, "      ", _write(setting), 8)
    for head, reasons in (("  undecided    ", entry.reasons), ("  note         ", entry.notes)):
        for reason in reasons:
            _hang(console, head, _reason(reason, None))
    console.print()


def _write(setting: Setting) -> str:
    value = "removed" if setting.value is None else safe(setting.value)
    value = value if setting.decided else "?"
    force = "in force" if setting.in_force else "shadowed"
    where = _place(setting.file, setting.line)
    return f"{value}  {force}, {safe(setting.set_by or 'the file')}, {safe(setting.how)}, {where}"


def _all_settings(settings: Speculative) -> str:
    named = {
        "": settings.algorithm,
        "topk ": settings.topk,
        "steps ": settings.num_steps,
        "draft tokens ": settings.draft_tokens,
    }
    told = ", ".join(f"{name}{safe(str(value))}" for name, value in named.items() if value is not None)
    return told or ("yes" if settings.certain else "cannot be told")


def _hang(console: Console, head: str, text: str, indent: int | None = None) -> None:
    hanging(console, head, text, indent, cut_words=False)


def write_markdown(audit: Audit, required: Requirement | None, output: IO[str]) -> None:
    """The audit as GitHub shows it in a comment or job summary."""
    output.write(f"**{headline(audit)}**\n")
    if audit.classes:
        output.write("\n| level | class | set by | speculative | where |\n| --- | --- | --- | --- | --- |\n")
    for entry in audit.classes:
        level = "undecided" if entry.level is None else str(entry.level)
        setter = entry.set_by or entry.set_how or ("" if entry.level is None else "never set")
        settings = "" if entry.speculative is None else _all_settings(entry.speculative)
        cells = (
            level if entry.verdict == "checked" else f"**{level}**",
            _code(entry.name),
            _escape(setter),
            _escape(settings),
            _code(f"{entry.file}:{entry.line}"),
        )
        output.write("| " + " | ".join(cells) + " |\n")
    told = [(entry, reason) for entry in audit.classes for reason in (*entry.reasons, *entry.notes)]
    if told:
        output.write("\n")
    for entry, reason in told:
        output.write(f"- {_code(entry.name)}: {_escape(_reason(reason, entry.file))}\n")
    if required is not None:
        _markdown_required(required, output)


def _markdown_required(required: Requirement, output: IO[str]) -> None:
    if not required.exit_code:
        output.write(f"\nAll {_which(required)} reach level {required.level}.\n")
    undecided = f"{len(required.undecided)} undecided"
    for title, entries in ((_falls_short(required), required.short), (undecided, required.undecided)):
        if entries:
            output.write(f"\n{title}:\n\n")
            output.writelines(f"- {_code(f'{entry.file}:{entry.line}')} {_code(entry.name)}\n" for entry in entries)
    if required.reason:
        output.write(f"\nUndecided: {_escape(required.reason)}.\n")


def _code(text: str) -> str:
    """Text as code in a table cell."""
    return "`" + safe(text, 400).replace("`", "'").replace("|", "\\|") + "`"


def _escape(text: str) -> str:
    """Text that neither ends a table cell nor begins markup; backticks of our own messages stay."""
    return re.sub(r"([|<*\[\]\\])", r"\\\1", safe(text, 600))
