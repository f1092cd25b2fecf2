"""`memcheck.audit/1`: the audit as one JSON document. The keys are a promise to callers."""

from __future__ import annotations

from typing import Any

from memcheck_cli.audit.model import Audit, AuditedClass, Reason, Speculative
from memcheck_cli.audit.requirement import Requirement

SCHEMA = "memcheck.audit/1"


def document(audit: Audit, required: Requirement | None) -> dict[str, Any]:
    """The whole answer as plain data, ready for `json.dumps`."""
    return {
        "schema": SCHEMA,
        "classes": [class_data(entry) for entry in audit.classes],
        "required": None if required is None else _required_data(required),
        "skipped": [{"file": entry.file, "reason": entry.reason} for entry in audit.skipped],
        "files": audit.files,
    }


def class_data(entry: AuditedClass) -> dict[str, Any]:
    """One class."""
    return {
        "class": entry.name,
        "file": entry.file,
        "line": entry.line,
        "level": entry.level,
        "set_by": entry.set_by,
        "set_at": None
        if entry.set_how is None
        else {"how": entry.set_how, "file": entry.set_file, "line": entry.set_line},
        "speculative": _speculative_data(entry.speculative),
        "verdict": entry.verdict,
        "starts_server": entry.starts_server,
        "started_at": None if entry.launch_file is None else {"file": entry.launch_file, "line": entry.launch_line},
        "test": entry.is_test,
        "mro": [{"class": base.name, "file": base.file, "line": base.line, "kind": base.kind} for base in entry.order],
        "variables": [
            {
                "name": setting.name,
                "value": setting.value,
                "decided": setting.decided,
                "in_force": setting.in_force,
                "set_by": setting.set_by,
                "how": setting.how,
                "file": setting.file,
                "line": setting.line,
            }
            for setting in entry.settings
        ],
        "reasons": [_reason_data(reason) for reason in entry.reasons],
        "notes": [_reason_data(note) for note in entry.notes],
    }


def _speculative_data(settings: Speculative | None) -> dict[str, Any] | None:
    if settings is None:
        return None
    return {
        "algorithm": settings.algorithm,
        "topk": settings.topk,
        "num_steps": settings.num_steps,
        "draft_tokens": settings.draft_tokens,
        "certain": settings.certain,
    }


def _reason_data(reason: Reason) -> dict[str, Any]:
    return {"reason": reason.text, "file": reason.file, "line": reason.line}


def _required_data(required: Requirement) -> dict[str, Any]:
    def named(entries: tuple[AuditedClass, ...]) -> list[dict[str, Any]]:
        return [
            {"class": entry.name, "file": entry.file, "line": entry.line, "level": entry.level} for entry in entries
        ]

    return {
        "level": required.level,
        "every": required.every,
        "short": named(required.short),
        "undecided": named(required.undecided),
        "reason": required.reason,
    }
