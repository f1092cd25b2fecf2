"""Processes made by fork that answer questions in the order in which each of them got them."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections import deque
from collections.abc import Callable
from typing import Any

POSSIBLE = hasattr(os, "fork") and hasattr(select, "select")
"""Whether this system has what it takes."""

_PIPE = 1 << 20


class Forked:
    """A team of forked processes. size: how many. begin: called in each of them, answers what answers there.

    A process that dies loses nothing but its answers: those are None.
    """

    def __init__(self, size: int, begin: Callable[[], Callable[[Any], object]]) -> None:
        self.size = size
        self._members: list[_Member] = []
        for _ in range(size):
            self._members.append(_Member(begin, self._members))

    def ask(self, number: int, question: Any) -> None:
        """Give a numbered question to whom has the fewest. Too many at once would wait for the asker to take answers:
        a few for each process are safe."""
        min(self._members, key=lambda member: (member.lost, len(member.waiting))).ask(number, question)

    def take(self) -> tuple[int, Any]:
        """Wait for the next answer, of whichever process, and its number."""
        busy = [member for member in self._members if member.waiting]
        for member in busy:
            if member.lost:
                return member.waiting.popleft(), None
        ready, _, _ = select.select([member.answers for member in busy], [], [])
        member = next(member for member in busy if member.answers == ready[0])
        answer = member.answer()
        return member.waiting.popleft(), answer

    def close(self) -> None:
        """End the processes, whatever they are at."""
        for member in self._members:
            member.close()
        self._members = []


class _Member:
    """One process. waiting: numbers of the questions it was asked. lost: it answers no more."""

    def __init__(self, begin: Callable[[], Callable[[Any], object]], others: list[_Member]) -> None:
        self.waiting: deque[int] = deque()
        self.lost = False
        questions, self._questions = os.pipe()
        self.answers, answers = os.pipe()
        _widen(self._questions)
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                # The parent is told of an interruption, and ends its children.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                for other in others:
                    os.close(other._questions)
                    os.close(other.answers)
                os.close(self._questions)
                os.close(self.answers)
                _serve(begin(), questions, answers)
                status = 0
            finally:
                # Nothing of the parent is cleaned up or written twice.
                os._exit(status)
        os.close(questions)
        os.close(answers)

    def ask(self, number: int, question: Any) -> None:
        self.waiting.append(number)
        if not self.lost:
            try:
                _send(self._questions, question)
            except OSError:
                self.lost = True

    def answer(self) -> Any:
        try:
            return _receive(self.answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.lost = True
            return None

    def close(self) -> None:
        os.close(self._questions)
        os.close(self.answers)
        if self.waiting:
            os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)


def _widen(pipe: int) -> None:
    """Make room for several questions where the system lets us."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
    except (ImportError, AttributeError, OSError):
        return


def _serve(answer: Callable[[Any], object], questions: int, answers: int) -> None:
    while True:
        try:
            question = _receive(questions)
        except EOFError:
            return
        _send(answers, answer(question))


def _send(file: int, what: object) -> None:
    data = pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
    view = memoryview(len(data).to_bytes(8, "little") + data)
    while view:
        view = view[os.write(file, view) :]


def _receive(file: int) -> Any:
    size = int.from_bytes(_read(file, 8), "little")
    return pickle.loads(_read(file, size))


def _read(file: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(file, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
