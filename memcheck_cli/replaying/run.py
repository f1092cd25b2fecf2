"""Replay of everything that the paths of a command line name: recordings and logs, told apart by their first line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

from memcheck_cli.checker.server import RING_MESSAGES
from memcheck_cli.checker.terms import TERMS
from memcheck_cli.errors import UnreadableError, UsageError
from memcheck_cli.forensics.asked import missing
from memcheck_cli.recording import Ahead, read_checks
from memcheck_cli.replaying.as_test import RecordingWindow, Window, log_test, recording_test
from memcheck_cli.replaying.changes import Change
from memcheck_cli.replaying.emit import Emitter, Level1, Level2
from memcheck_cli.replaying.folding import fold_lines, reason
from memcheck_cli.replaying.judgements import LogReplay
from memcheck_cli.replaying.logs import LogReplayer
from memcheck_cli.replaying.raw_lines import RawLines
from memcheck_cli.replaying.recordings import RecordingReplay, Replayer
from memcheck_cli.sources import Skipped, Source, Unreadable

if TYPE_CHECKING:
    from io import RawIOBase

BALANCED, BROKEN, UNDECIDED = "balanced", "broken", "undecided"
EXIT_CODES = {BALANCED: 0, BROKEN: 1, UNDECIDED: 3}
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """What to replay by. rules, against: releases (or `dev`), None for the one each source came from.

    changes: what-ifs. ranks, pools: only these (a recording has no ranks). emit: level 1 or 2, None for neither.
    ring_messages: capacity of the emitted ring. as_test: write a test around the first break.
    """

    rules: str | None = None
    against: str | None = None
    changes: Sequence[Change] = ()
    ranks: Sequence[str] = ()
    pools: Sequence[str] = ()
    emit: int | None = None
    ring_messages: int = RING_MESSAGES
    as_test: bool = False


Result = LogReplay | RecordingReplay


@dataclass(slots=True)
class Replay:
    """The replay of all sources, in their order. unreadable: names and reasons. test: the test file asked for. missing:
    what of the ranks and pools asked for was not found, in sentences. not_emitted: what the emitted lines do not tell,
    the same way."""

    results: list[Result]
    unreadable: list[Unreadable]
    test: str | None = None
    missing: list[str] = field(default_factory=list)
    not_emitted: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """`broken` where a record breaks under the rules (and changes) asked for, `undecided` where none was judged, or
        the server reported what cannot be recomputed."""
        broken = any(result.broken if isinstance(result, LogReplay) else result.breaks for result in self.results)
        if broken:
            return BROKEN
        decided = any(result.decided for result in self.results)
        return BALANCED if decided and not self.unsummed else UNDECIDED

    @property
    def unsummed(self) -> int:
        """Reports of the servers that cannot be recomputed: see `LogReplay`."""
        return sum(result.unsummed for result in self.results if isinstance(result, LogReplay))

    @property
    def exit_code(self) -> int:
        """What the process ends with: by verdict, or 4 where nothing could be read."""
        if self.unreadable and not any(result.records or not result.error for result in self.results):
            return 4
        return EXIT_CODES[self.verdict]


class _Done(NamedTuple):
    """One source. untold: see `Emitter`."""

    result: Result
    test: str | None = None
    untold: Sequence[str] = ()


def replay(
    found: Iterable[Source | Unreadable | Skipped], options: Options, write: Callable[[bytes], object]
) -> Replay:
    """Replay every source. `write` takes what `options.emit` prints. Raises UsageError where options do not fit."""
    done = Replay([], [])
    for source in found:
        if isinstance(source, Unreadable):
            done.unreadable.append(source)
        elif isinstance(source, Source):
            result, test, untold = _replay_source(source, options, write)
            done.not_emitted += [f"{source.name}: {one}" for one in untold]
            done.results.append(result)
            if result.error is not None:
                done.unreadable.append(Unreadable(source.name, result.error))
            done.test = done.test or test
    checked: dict[str, list[str]] = {}
    for result in done.results:
        for rank, pools in result.checked.items() if isinstance(result, LogReplay) else ():
            known = checked.setdefault(rank, [])
            known += [pool for pool in pools if pool not in known]
    done.missing = [one.reason for one in missing(options.ranks, options.pools, checked)]
    return done


def _replay_source(source: Source, options: Options, write: Callable[[bytes], object]) -> _Done:
    with ExitStack() as stack:
        try:
            stream = Ahead(stack.enter_context(closing(source.open())))
            recording = stream.is_recording()
        except (UnreadableError, OSError) as error:
            return _Done(LogReplay(source.name, error=reason(error)))
        if recording:
            return _replay_recording(source.name, stream, options)
        return _replay_log(source, stream, options, write)


def _replay_recording(name: str, stream: Ahead, options: Options) -> _Done:
    if options.emit is not None:
        raise UsageError(f"{name}: --emit needs a server log: a recording has no lines to print again")
    window = RecordingWindow() if options.as_test else None
    keep = window.add if window is not None else None
    replayer = Replayer(name, options.rules, options.changes, options.against, keep, options.pools)
    try:
        replayer.add_all(read_checks(stream, name))
    except (UnreadableError, OSError) as error:
        replayer.result.error = reason(error).removeprefix(f"{name}:")
    test = recording_test(window, name) if window is not None else None
    return _Done(replayer.result, test)


def _replay_log(source: Source, stream: Ahead, options: Options, write: Callable[[bytes], object]) -> _Done:
    name = source.name
    reader = RawLines()
    emitter: Emitter | None = None
    if options.emit == 1:
        emitter = Level1(reader, write, options.ring_messages)
    elif options.emit == 2:
        emitter = Level2(reader, write)
    window = Window() if options.as_test else None
    replayer = LogReplayer(
        name,
        rules=options.rules,
        against=options.against,
        changes=options.changes,
        ranks=options.ranks,
        pools=options.pools,
        sink=emitter.check if emitter is not None else None,
        record_sink=emitter.record if isinstance(emitter, Level2) else None,
        judged=window.judged if window is not None else None,
    )
    if emitter is None:
        lines = fold_lines(source, cast("RawIOBase", stream), replayer)
    else:
        emitter.replayer = replayer
        lines = _fold_raw(_blocks(stream, replayer.result), reader, replayer)
    result = replayer.finish()
    result.lines = lines
    if emitter is not None:
        emitter.finish()
    test = log_test(window, name, _summed_at(window)) if window is not None else None
    return _Done(result, test, emitter.untold() if emitter is not None else ())


def _fold_raw(blocks: Iterable[bytes], reader: RawLines, replayer: LogReplayer) -> int:
    """Fold all lines of a log that is printed again; answers how many there are."""
    for block in blocks:
        for line, message in reader.feed(block):
            replayer.fold(line, message)
    for line, message in reader.finish():
        replayer.fold(line, message)
    return reader.lines


def _blocks(stream: Ahead, result: LogReplay) -> Iterator[bytes]:
    """The stream block by block; damage ends it and is kept in `result`."""
    while True:
        try:
            block = stream.read(_BLOCK)
        except (UnreadableError, OSError) as error:
            result.error = reason(error)
            return
        if not block:
            return
        yield block


def _summed_at(window: Window) -> Sequence[str]:
    """The terms that the equation of the break's record sums."""
    return TERMS if window.broken is None else window.broken.summed
