"""How a line of the server looks, with and without its prefix: what makes an ambiguous wrapper believable."""

from __future__ import annotations

import re

from memcheck_cli.patterns import pattern

RANK = r"(?:[A-Z]{2,12}_)?(?:TP|DP|PP|EP|CP)\d{1,9}"

BRACKET = pattern(
    r"\[(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: [A-Z][A-Z_]{0,30}\d{1,9}){0,12}\](?: |\Z)", re.ASCII
)
"""The server's bracket prefix at the front of a text."""

LIKELY = pattern(
    rf"{BRACKET.pattern}|\[?{RANK}(?: {RANK}){{0,12}}\] "
    # Checker texts and their continuation lines
    r"|\[Mem Check \(|\[(?:full|swa|mamba[\w-]{0,20}|dp=\d{1,6})\](?: |\Z)"
    r"|(?:KV cache |Memory |[\w-]{0,60})pool (?:memory )?leak detected!|[\w-]{1,60} memory leak detected!"
    r"|KV (?:double free|page use-after-free): |(?:Full |SWA )?(?:Pool )?Mem Leak Detected!"
    r"|[A-Za-z_][\w.]{1,60}(?:\(\))?=[-\d'\"\[{A-Z]"
    # Errors, warnings, tracebacks
    r"|(?:\w{1,40}\.){0,8}\w{0,60}(?:Error|Exception|Warning|Interrupt|Exit)\b:? ?|Traceback \(most recent call last\)"
    r"|  File \"|\S{1,300}\.py:\d{1,7}: \w{1,40}Warning: |\S{1,300}: line \d{1,7}: "
    # pytest's sections
    r"|-{3,} ?Captured "
    # What the server and its launchers say
    r"|Scheduler |SIGQUIT |Received sigquit |Subprocess |(?:Prefill|Decode) batch\b|KV cache |Cache (?:not )?flushed"
    r"|Memory pool |Use [Ss]liding |Load weight |Watchdog |Killed\b|python3? |sglang "
    # Layouts of configured loggers
    r"|[\[(]?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?::|\s{1,9}\S)",
    re.ASCII,
)
"""Begins like something that the server, its traceback or its launcher prints."""
