"""Which run each process is in, and what is still to be learnt of how its server was started.

A process without a start of its own takes part in the run of the source. A start opens a new run only where the current
one already holds something: a banner, a batch line or a check.
"""

from __future__ import annotations

from memcheck_cli.ledger import bounds
from memcheck_cli.ledger.runs import Run
from memcheck_cli.log.records import Context, Line

STARTS = frozenset({"server-args", "command"})
"""Kinds of context lines that are the start of a server."""

STARTING = STARTS | {"quoted-flags", "banner", "pool-sizes"}
"""Kinds of context lines that tell something of how a server was started."""

STARTING_LINES = 1000
"""Lines after the start of a server that are read one by one, until it is ready or serves."""


class Starts:
    """The starts of one source.

    runs: by number. starting: lines left in which a server may tell how it starts. paged: the last start told its page
    size. beyond: line of the first start beyond the bounds, which opened no run.
    """

    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        self.starting = 0
        self.paged = False
        self.beyond: int | None = None
        self._numbers: dict[str | None, int] = {}  # current run of each process that had a start of its own
        # What `held` and `told` need not look for again before the next start.
        self._held = False
        self._told = False
        self._own_holders = 0  # processes with a start of their own that hold something since
        # Processes without a start of their own that hold something: how many in each run, and in which runs each.
        self._holders: dict[int, int] = {}
        self._holding: dict[str, list[int]] = {}

    def run_number(self, process: str | None) -> int:
        """The run a process is in now."""
        number = self._numbers.get(process)
        return number if number is not None else self._numbers.get(None, 1)

    def run_of(self, process: str | None) -> Run:
        """The same run, made when it is first named."""
        number = self.run_number(process)
        run = self.runs.get(number)
        if run is None:
            run = self.runs[number] = Run(number)
        return run

    def has_own(self, process: str | None) -> bool:
        """Whether a process had a start of its own."""
        return process in self._numbers

    @property
    def held(self) -> bool:
        """Something holds the current run. Of several processes with starts of their own one is enough: the others
        print banners too."""
        self._held = self._held or self._own_holders > 0 or self.holds(None)
        return self._held

    @property
    def surely_held(self) -> bool:
        """It was found to be held, and there was no start since."""
        return self._held

    @property
    def told(self) -> bool:
        """How the server was started is known, and it serves."""
        if not self._told:
            self._told = self.paged and (self._own_holders > 0 or self.holds(None))
        return self._told

    def holds(self, process: str | None) -> bool:
        """Whether the run of a process holds something of it."""
        number = self.run_number(process)
        if process is None:
            return self._holders.get(number, 0) > 0
        run = self.runs.get(number)
        start = run.starts.get(process) if run is not None else None
        return start is not None and start.holds

    def hold(self, process: str | None) -> None:
        """A banner, a batch line or a check of a process."""
        self.starting = 0
        start = self.run_of(process).start_of(process)
        if start.holds:
            return
        start.holds = True
        if process is None or process not in self._numbers:
            number = self.run_number(process)
            self._holders[number] = self._holders.get(number, 0) + 1
            if process is not None:
                self._holding.setdefault(process, []).append(number)
        else:
            self._own_holders += 1

    def begin(self, process: str | None, line: int) -> None:
        """A server start on `line`."""
        number = self.run_number(process)
        self._held = self._told = self.paged = False
        self.starting = STARTING_LINES
        if self.holds(process):
            if number >= bounds.RUNS:
                self.beyond = self.beyond or line
            else:
                number += 1
                if process is not None and process in self._numbers:
                    self._own_holders -= 1
        self._numbers[process] = number
        if process is not None:
            for held in self._holding.pop(process, ()):
                self._holders[held] -= 1

    def learn(self, line: Line, message: Context) -> None:
        """A line of one of the kinds in `STARTING`, behind the start that it is."""
        kind, values = message.kind, message.values
        run = self.run_of(line.process)
        run.changed()
        if kind == "pool-sizes":
            _learn_sizes(run, line, message)
            return
        start = run.start_of(line.process)
        if kind == "server-args":
            start.args.update(values)
            start.args_line = start.args_line or line.number
            start.time = start.time or line.time
            self.paged = self.paged or "page_size" in start.args
        elif kind == "command":
            start.quoted.update(values)
        elif kind == "quoted-flags":
            for name, value in values.items():
                start.quoted.setdefault(name, value)
        elif kind == "banner":
            self.hold(line.process)
            start.banner.update(values)
            start.banner_line = line.number


def _learn_sizes(run: Run, line: Line, message: Context) -> None:
    """Sizes of pools, which a server may print anew after it captured the graphs: those beat what was said before."""
    total = message.values.get("max_total_num_tokens")
    if total is not None:
        start = run.start_of(line.process)
        start.banner["max_total_num_tokens"] = total
        start.banner_line = line.number
    if "swa_tokens" in message.values and "layer_tokens=" in line.text:
        start = run.start_of(line.process)
        again = message.form == "post-capture-layers"
        for name, pool in (("full_tokens", "full"), ("swa_tokens", "swa")):
            if name in message.values and (again or pool not in start.pool_sizes):
                start.pool_sizes[pool] = message.values[name]
                start.pool_sizes_line = line.number
