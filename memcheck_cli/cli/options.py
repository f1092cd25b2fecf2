"""Option families that several verbs share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


class PoolNumber(click.ParamType[tuple[str, int]]):
    """`POOL=N`, for example `full=131072`."""

    name = "POOL=N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Split at the sign; fail with what was expected."""
        if isinstance(value, tuple):
            return value
        pool, sign, number = str(value).partition("=")
        if not sign or not pool or not number.isascii() or not number.isdigit() or len(number) > 18:
            self.fail(f"{value[:100]!r} is not POOL=N, for example full=131072", param, ctx)
        return pool, int(number)


def _stack(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def scope_options(function: Function) -> Function:
    """What the verdict speaks about, and what the caller knows better than the log."""
    return _stack(
        click.option(
            "--rank", "ranks", multiple=True, metavar="RANK", help='Only this rank, e.g. "DP1 TP0"; repeatable.'
        ),
        click.option(
            "--pool", "pools", multiple=True, metavar="POOL", help="Only this pool: full, swa, ...; repeatable."
        ),
        click.option(
            "--page-size",
            type=click.IntRange(1, 1 << 40),
            metavar="N",
            help="Page size in tokens; overrides the log's.",
        ),
        click.option(
            "--total",
            "totals",
            multiple=True,
            type=PoolNumber(),
            metavar="POOL=N",
            help="Total of a pool whose text prints none; repeatable.",
        ),
    )(function)


def writable_file(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a file that cannot be written before hours are spent on what should go into it."""
    if value is not None:
        refuse_unwritable(value)
    return value


def refuse_unwritable(path: str) -> None:
    """Raise click.BadParameter where no such file can be written or made."""
    directory = os.path.dirname(path) or "."  # noqa: PTH120 - pathlib costs start-up time here
    if not os.path.isdir(directory):  # noqa: PTH112
        raise click.BadParameter(f"there is no directory '{click.format_filename(directory)}'")
    if not os.path.lexists(path) and not os.access(directory, os.W_OK):
        raise click.BadParameter(f"the directory '{click.format_filename(directory)}' cannot be written to")
    if os.path.exists(path) and not os.access(path, os.W_OK):  # noqa: PTH110
        raise click.BadParameter(f"'{click.format_filename(path)}' cannot be written to")


def file_option(*names: str, help: str) -> Callable[[Function], Function]:
    """A file that is written at the end, and looked at before anything is read."""
    return click.option(
        *names, type=click.Path(dir_okay=False, writable=True), callback=writable_file, metavar="FILE", help=help
    )


def output_option(function: Function) -> Function:
    """Where the answer goes."""
    return file_option("-o", "--output", help="Write the answer to FILE.")(function)


def input_options(function: Function) -> Function:
    """Bounds on what is expanded from archives and compressed files."""
    return _stack(
        click.option("--max-expanded", metavar="SIZE", help="Most bytes to expand from archives, e.g. 100GB."),
        click.option(
            "--max-nesting", type=click.IntRange(min=0), metavar="N", help="Archives inside archives, at most."
        ),
    )(function)
