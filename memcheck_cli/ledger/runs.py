"""Runs: one server start inside one source, and what its start-up lines say about it."""

from __future__ import annotations

from collections.abc import Mapping

from memcheck_cli.log.records import Value


class Start:
    """What one process says about itself in one run: flags, quoted flags, banner and pool sizes, with their lines.

    pool_sizes: tokens per layer by pool, as the lines of a hybrid model's pools print them; pool_sizes_line: where.
    """

    __slots__ = (
        "args",
        "args_line",
        "banner",
        "banner_line",
        "holds",
        "pool_sizes",
        "pool_sizes_line",
        "quoted",
        "time",
    )

    def __init__(self) -> None:
        self.args: dict[str, Value] = {}
        self.args_line: int | None = None
        self.time: str | None = None
        self.quoted: dict[str, Value] = {}
        self.banner: dict[str, Value] = {}
        self.banner_line: int | None = None
        self.pool_sizes: dict[str, Value] = {}
        self.pool_sizes_line: int | None = None
        self.holds = False  # a banner, a batch line or a check was seen: the next start is a new run


class Run:
    """One run of one source. `starts` is by process; `number` counts from 1."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.starts: dict[str | None, Start] = {}
        self._found: dict[tuple[str, str], tuple[Value, int | None]] = {}  # what any process tells: see `_any`

    def changed(self) -> None:
        """To be called when something was added to one of the starts."""
        self._found.clear()

    def start_of(self, process: str | None) -> Start:
        """The start of a process in this run, made when it is first named."""
        start = self.starts.get(process)
        if start is None:
            start = self.starts[process] = Start()
        return start

    def _in_order(self, process: str | None) -> list[Start]:
        own = self.starts.get(process)
        others = [start for key, start in self.starts.items() if key != process]
        return ([own] if own else []) + others

    def _any(self, source: str, name: str) -> tuple[Value, int | None]:
        """The first value that any process tells, and the line of its banner. source: an attribute of Start."""
        found = self._found.get((source, name))
        if found is None:
            found = None, None
            for start in self.starts.values():
                value: Value = getattr(start, source).get(name)
                if value is not None:
                    found = value, start.banner_line
                    break
            self._found[source, name] = found
        return found

    def flag(self, name: str, process: str | None) -> Value:
        """A launch flag: of the process itself, else of any; server_args beats a quoted option. None: not told."""
        own = self.starts.get(process)
        if own is not None:
            for told in (own.args, own.quoted):
                if told.get(name) is not None:
                    return told[name]
        value, _ = self._any("args", name)
        return value if value is not None else self._any("quoted", name)[0]

    def banner_total(self, process: str | None) -> tuple[int, int | None] | None:
        """max_total_num_tokens of the start-up banner and its line: of the process itself, else of any."""
        own = self.starts.get(process)
        total = own.banner.get("max_total_num_tokens") if own is not None else None
        if own is not None and isinstance(total, int):
            return total, own.banner_line
        total, line = self._any("banner", "max_total_num_tokens")
        return (total, line) if isinstance(total, int) else None

    def layer_tokens(self, pool: str, process: str | None) -> tuple[int, int | None] | None:
        """Tokens per layer of a hybrid model's pool, and the line that says so: of the process itself, else of any."""
        for start in self._in_order(process):
            total = start.pool_sizes.get(pool)
            if isinstance(total, int):
                return total, start.pool_sizes_line
        return None

    def page_size(self, process: str | None) -> int | None:
        """The page size in tokens that the log tells for this process, or None."""
        value = self.flag("page_size", process)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    def flags(self, process: str | None) -> Mapping[str, Value]:
        """All flags told for this process in this run, the more certain source winning."""
        merged: dict[str, Value] = {}
        for start in reversed(self._in_order(process)):
            merged.update(start.quoted)
            merged.update(start.args)
        own = self.starts.get(process)
        if own:
            merged.update({k: v for k, v in own.quoted.items() if k not in own.args})
            merged.update(own.args)
        return merged
