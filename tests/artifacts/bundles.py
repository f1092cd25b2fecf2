"""Reads made-up bundles as the command does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema

import memcheck_cli
from memcheck_cli.artifacts import Bundle, Test, read_bundle
from memcheck_cli.forensics.analysis import Scope
from memcheck_cli.forensics.breaks import Settings
from memcheck_cli.render.artifacts_json import document
from memcheck_cli.sources import Limits, Skipped, find_sources

TODAY = date(2026, 12, 1)
SCHEMA = json.loads((Path(memcheck_cli.__file__).parent / "schemas" / "artifacts.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def bundle_of(*paths: Path, limits: Limits | None = None, scope: Scope | None = None, **options: Any) -> Bundle:
    """The bundle behind the paths; its JSON is held to the schema on the way."""
    names = [str(path) for path in paths]
    found = [one for one in find_sources(names, limits=limits) if not isinstance(one, Skipped)]
    bundle = read_bundle(found, names, Settings(), scope or Scope(), today=TODAY, **options)
    answer = document(bundle)
    VALIDATOR.validate(answer)
    json.dumps(answer).encode()
    return bundle


def saved(folder: Path, name: str, data: bytes) -> Path:
    """A file of it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def told(tests: Sequence[Test]) -> list[tuple[object, ...]]:
    """What is said of each test: job, class.method, attempt, verdict, ended, hidden, and the deltas of its breaks."""
    return [
        (
            test.job,
            ".".join(part for part in (test.cls, test.method) if part),
            test.attempt,
            test.verdict,
            test.ended,
            test.hidden_by_retry,
            [seen.found.delta for seen in test.breaks],
        )
        for test in tests
    ]
