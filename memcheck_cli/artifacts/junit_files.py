"""JUnit files of a bundle: their cases, and what servers said inside them.

They come from anywhere, so they are bounded in size, and one with a document type (the way to entities) is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memcheck_cli.artifacts.marks import CHECKER
from memcheck_cli.errors import UnreadableError

if TYPE_CHECKING:
    from memcheck_cli.sources import Source

MOST_BYTES = 64 << 20
"""Of one file."""

MOST_CASES = 200_000
LONGEST_MESSAGE = 2000
HEAD = 4096

_ROOT = re.compile(rb"<testsuites?[\s>/]")
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,200}\?>")
_PARAMETERS = re.compile(r"\[.*", re.DOTALL)
_CHECKER = tuple(marker.decode() for marker in CHECKER)


@dataclass(slots=True)
class JUnitCase:
    """One case. file: as the file says, or None. status: `passed`, `failed`, `error` or `skipped`. message: of the
    failure, cut. logs: texts inside it that hold lines of the checker."""

    suite: str | None
    file: str | None
    cls: str | None
    method: str
    status: str
    message: str = ""
    logs: list[str] = field(default_factory=list)


def is_junit(head: bytes) -> bool:
    """Whether a text begins like a JUnit file."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<" and _ROOT.search(head[:HEAD]) is not None


def read_junit(source: Source) -> list[JUnitCase]:
    """The cases of a file. Raises UnreadableError, whose text is the reason, where it is damaged, too large or not
    harmless."""
    from junitparser import JUnitXml

    text = _DECLARATION.sub("", _text(source), count=1)
    try:
        _refuse_document_type(text)
        return list(_cases(JUnitXml.fromstring(text)))
    except UnreadableError:
        raise
    except RecursionError:
        raise UnreadableError("nested too deeply") from None
    except Exception as error:  # hostile XML makes the parsers raise nearly anything
        raise UnreadableError(f"no JUnit that can be read: {_one_line(str(error))}") from None


def _refuse_document_type(text: str) -> None:
    """Raises UnreadableError for a text with a document type: it can only stand before the first element."""
    from xml.parsers import expat

    class Element(Exception):  # noqa: N818 - it ends the parsing and is no error
        pass

    def refuse(*_: object) -> None:
        raise UnreadableError("has a document type, which no JUnit file needs: not read")

    def stop(*_: object) -> None:
        raise Element

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    with suppress(Element):
        parser.Parse(text, True)


def _text(source: Source) -> str:
    blocks: list[bytes] = []
    size = 0
    with source.open() as stream:
        while block := stream.read(1 << 20):
            size += len(block)
            if size > MOST_BYTES:
                raise UnreadableError(f"larger than {MOST_BYTES >> 20} MiB (limit for JUnit files)")
            blocks.append(block)
    return b"".join(blocks).decode("utf-8", "replace").removeprefix("\ufeff")


def _cases(parsed: Any) -> Iterator[JUnitCase]:
    count = 0
    for suite in parsed:
        name = _word(suite.name)
        for case in suite:
            count += 1
            if count > MOST_CASES:
                raise UnreadableError(f"more than {MOST_CASES:,} cases (limit)")
            yield _case(name, case)
        logs = _logs([suite._elem.findtext("system-out"), suite._elem.findtext("system-err")])
        if logs:
            yield JUnitCase(name, None, None, "", "suite", "", logs)


def _case(suite: str | None, case: Any) -> JUnitCase:
    status, message, texts = "passed", "", [case.system_out, case.system_err]
    for entry in case.result:
        kind = type(entry).__name__.lower()
        if kind not in ("failure", "error", "skipped") or status in ("failed", "error"):
            continue
        status = "failed" if kind == "failure" else kind
        text = entry.text or ""
        if kind != "skipped":
            message = "\n".join(part for part in (entry.message or "", text) if part)
            texts.append(text)
    cls = _word(case.classname)
    method = _PARAMETERS.sub("", _word(case.name) or "?") or "?"
    file = _word(case._elem.get("file")) or _file_of(cls)
    last = (cls or "").rpartition(".")[2] or None
    if last is not None and file is not None and last == file.rpartition("/")[2].removesuffix(".py"):
        last = None  # a function of a module: pytest names the module as its class
    return JUnitCase(suite, file, last, method, status, message[:LONGEST_MESSAGE], _logs(texts))


def _file_of(cls: str | None) -> str | None:
    """`a/test_b.py` of pytest's `a.test_b.TestC`; None where no part is named like a test file."""
    parts = (cls or "").split(".")
    for number in range(len(parts) - 1, -1, -1):
        if parts[number].startswith("test_") or parts[number].endswith("_test"):
            return "/".join(parts[: number + 1]) + ".py"
    return None


def _logs(texts: list[str | None]) -> list[str]:
    return [text for text in texts if text and any(marker in text for marker in _CHECKER)]


def _word(value: object) -> str | None:
    return value[:400] if isinstance(value, str) and value else None


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
