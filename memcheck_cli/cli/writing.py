"""Where the verbs write their answers, and what keeps those from going wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

import click

from memcheck_cli.errors import OutputError, UsageError


def write_json(data: object, file: IO[str]) -> None:
    """One JSON document, UTF-8 whatever the encoding of the output is."""
    encoding = (getattr(file, "encoding", None) or "utf-8").lower().replace("_", "-")
    json.dump(data, file, ensure_ascii=encoding not in ("utf-8", "utf8"), indent=1)
    file.write("\n")


@contextmanager
def answer_to(path: str | None) -> Iterator[IO[str]]:
    """The text file that an answer goes to; None: standard output. Raises OutputError where it cannot be written."""
    with _named(path):
        if path is None:
            yield sys.stdout
            sys.stdout.flush()
        else:
            with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
                yield file


@contextmanager
def bytes_to(path: str | None) -> Iterator[IO[bytes]]:
    """The same for bytes."""
    with _named(path):
        if path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with open(path, "wb") as file:  # noqa: PTH123
                yield file


@contextmanager
def _named(path: str | None) -> Iterator[None]:
    """System errors become OutputError, which says where; a reader that went away is no such error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        where = "standard output" if path is None else click.format_filename(path)
        raise OutputError(f"the answer cannot be written to {where}: {error.strerror or error}") from None


def keep_apart(inputs: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """Raise UsageError where one thing would be written over another. outputs: the files by the option that names
    them."""
    taken: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        other = taken.setdefault(os.path.realpath(path), option)
        if other != option and not os.path.realpath(path).startswith("/dev/"):
            raise UsageError(f"{other} and {option} name the same file")
        if any(_same(path, given) for given in inputs):
            raise UsageError(f"{click.format_filename(path)} is an input, and would be written over")


def _same(one: str, two: str) -> bool:
    return os.path.isfile(one) and os.path.exists(two) and os.path.samefile(one, two)  # noqa: PTH110, PTH113, PTH121
