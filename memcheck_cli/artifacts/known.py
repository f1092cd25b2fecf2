"""The file of accepted fingerprints: TOML, one `[[known]]` table each, with a reason and the last day it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path

from memcheck_cli.artifacts.model import Group, Known
from memcheck_cli.errors import UsageError

MOST_BYTES = 4 << 20
_FINGERPRINT = re.compile(r"[a-z0-9-]{1,60}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HEAD = "# Accepted breaks, by fingerprint: see `memcheck artifacts --help`.\n"


def load_known(path: str, *, may_be_missing: bool = False) -> list[Known]:
    """The accepted fingerprints of a file. Raises UsageError for anything that is no such file."""
    import tomllib

    file = Path(path)
    if may_be_missing and not file.exists():
        return []
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is larger than {MOST_BYTES >> 20} MiB: no file of accepted fingerprints")
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is no file of accepted fingerprints (TOML): {error}") from None
    entries = data.get("known", [])
    if not isinstance(entries, list):
        raise UsageError(f"{path}: `known` must be written as [[known]] tables")
    return [_entry(path, number, entry) for number, entry in enumerate(entries, 1)]


def _entry(path: str, number: int, entry: object) -> Known:
    where = f"{path}: entry {number}"
    if not isinstance(entry, dict):
        raise UsageError(f"{where} is no table")
    fingerprint, reason, expires = entry.get("fingerprint"), entry.get("reason"), entry.get("expires")
    if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
        raise UsageError(f"{where} has no fingerprint like `full-leak-0123456789`")
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError(f"{where} ({fingerprint}) has no reason")
    if isinstance(expires, datetime):
        expires = expires.date()
    elif isinstance(expires, str):
        expires = day_of(expires, f"{where} ({fingerprint})")
    if expires is not None and not isinstance(expires, date):
        raise UsageError(f"{where} ({fingerprint}): expires must be a day like 2026-12-31")
    return Known(fingerprint, reason, expires)


def day_of(text: str, where: str) -> date:
    """A day as YYYY-MM-DD. Raises UsageError."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{where}: '{text[:40]}' is no day like 2026-12-31") from None


def add_known(
    path: str, groups: Iterable[Group], known: Sequence[Known], reason: str, expires: date, today: date
) -> list[Known]:
    """Add the groups that no entry accepts any more to the file; what stands in it stays as it is. Answers the new
    entries. Raises UsageError where the file cannot be written."""
    accepted = {entry.fingerprint for entry in known if entry.holds_on(today)}
    added = []
    text = ""
    for group in groups:
        if group.fingerprint.id in accepted:
            continue
        entry = Known(group.fingerprint.id, reason, expires)
        added.append(entry)
        text += _written(entry, group)
    if not added:
        return []
    file = Path(path)
    try:
        before = file.read_text("utf-8") if file.exists() else _HEAD
        if before and not before.endswith("\n"):
            before += "\n"
        file.write_text(before + text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    return added


def _written(entry: Known, group: Group) -> str:
    jobs = ", ".join(group.jobs[:3]) + (", …" if len(group.jobs) > 3 else "")
    seen = _CONTROL.sub("?", f"{describe(group)}{'; seen in ' + jobs if jobs else ''}")
    lines = ["", f"# {seen}", "[[known]]", f'fingerprint = "{entry.fingerprint}"', f"reason = {_quoted(entry.reason)}"]
    if entry.expires is not None:
        lines.append(f"expires = {entry.expires.isoformat()}")
    return "\n".join(lines) + "\n"


def describe(group: Group) -> str:
    """A fingerprint in words: `swa overcount, whole pages, +uncached`."""
    fingerprint = group.fingerprint
    pages = {True: "whole pages", False: "no page multiple", None: ""}[fingerprint.page_multiple]
    parts = [f"{fingerprint.pool or 'pool not named'} {fingerprint.kind}", pages, " ".join(fingerprint.moved)]
    return ", ".join(part for part in (*parts, fingerprint.signature or "", *fingerprint.flags) if part)


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.encode("utf-8", "replace").decode("utf-8").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
