"""Failures that a person can mend, each with the exit code the command ends on."""

from __future__ import annotations


class MemcheckError(Exception):
    """Base of every error that is told in one line; `exit_code` is what the process ends with."""

    exit_code = 4


class UsageError(MemcheckError):
    """The command was asked for something that makes no sense (exit 2)."""

    exit_code = 2


class UnreadableError(MemcheckError):
    """An input is missing, corrupt, too large when expanded, or may not be read (exit 4)."""

    exit_code = 4


class OutputError(MemcheckError):
    """The answer cannot be written where it should go (exit 4)."""

    exit_code = 4
