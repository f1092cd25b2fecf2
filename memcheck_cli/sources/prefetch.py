"""Reading ahead in a thread, so that decompression and parsing overlap."""

from __future__ import annotations

import io
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BLOCK = 1 << 20
"""Bytes that the thread reads at once."""


def prefetch(stream: io.RawIOBase, *, block: int = BLOCK, ahead: int = 4) -> io.RawIOBase:
    """`stream` read by a thread that is at most `ahead` blocks of `block` bytes before its reader.

    What the stream raises comes to the reader after the bytes before it. The thread belongs to the result: closing it,
    or letting go of it, ends the thread and closes `stream`. Start no other process by fork while it is open.
    """
    state = _State(ahead)
    threading.Thread(target=_run, args=(stream, state, block), name="memcheck-prefetch", daemon=True).start()
    return _Ahead(state)


class _State:
    """What the two sides share; the thread does not know the reader, so that a forgotten reader can be collected."""

    __slots__ = ("ahead", "changed", "done", "error", "finished", "free", "full", "stopped")

    def __init__(self, ahead: int) -> None:
        self.ahead = max(1, ahead)
        self.changed = threading.Condition(threading.Lock())
        self.full: deque[memoryview] = deque()
        self.free: list[bytearray] = []
        self.error: BaseException | None = None
        self.finished = False  # nothing more comes into `full`
        self.stopped = False  # the reader is gone
        self.done = threading.Event()


def _run(stream: io.RawIOBase, state: _State, block: int) -> None:
    error: BaseException | None = None
    try:
        while True:
            with state.changed:
                while len(state.full) >= state.ahead and not state.stopped:
                    state.changed.wait()
                if state.stopped:
                    break
                buffer = state.free.pop() if state.free else bytearray(block)
            got = stream.readinto(buffer)
            if not got:
                break
            with state.changed:
                state.full.append(memoryview(buffer)[:got])
                state.changed.notify_all()
    except BaseException as raised:
        error = raised
    with state.changed:
        state.error = error
        state.finished = True
        state.changed.notify_all()
    try:
        stream.close()
    finally:
        state.done.set()


class _Ahead(io.RawIOBase):
    def __init__(self, state: _State) -> None:
        super().__init__()
        self._state = state
        self._rest = memoryview(b"")
        self._buffer: bytearray | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed stream")
        with memoryview(buffer).cast("B") as target:
            if not self._rest and len(target) and not self._next():
                return 0
            taken = self._rest[: len(target)]
            target[: len(taken)] = taken
            self._rest = self._rest[len(taken) :]
            return len(taken)

    def close(self) -> None:
        if not self.closed:
            state = self._state
            with state.changed:
                state.stopped = True
                state.changed.notify_all()
            # A thread that waits for a silent pipe cannot be woken; it ends with the pipe or the process.
            state.done.wait(0.2)
        super().close()

    def _next(self) -> bool:
        state = self._state
        with state.changed:
            if self._buffer is not None:
                state.free.append(self._buffer)
                self._buffer = None
            while not state.full and not state.finished:
                state.changed.wait()
            if state.full:
                self._rest = state.full.popleft()
                whole = self._rest.obj
                self._buffer = whole if isinstance(whole, bytearray) else None
                state.changed.notify_all()
                return True
        if state.error is not None:
            raise state.error
        return False
