"""The checker's texts, each written once: a `Template` both reads a text and prints it.

A template is a text with fields in braces. `{total}` is an integer (negative allowed, at most 18 digits: a longer one
is damage, not a count), `{pool:word}` a pool label, `{text:text}` anything up to what follows, `{value:value}` the
printed form of a list, set, dict, word or None. The name before `=` is what the checker prints, the field is what we
call it: `available_size={available}`. So the same line of data says how a form looks and how it maps to terms.
"""

from __future__ import annotations

import re
from string import Formatter

from memcheck_cli.patterns import pattern

_FIELD = {
    "": r"(-?[0-9]{1,18})",
    "word": r"([A-Za-z][A-Za-z0-9_-]{0,31})",
    "text": r"(.*)",
    "value": r"(.*)",
    "float": r"(-?[0-9]{1,18}(?:\.[0-9]{1,18})?)",
}
_PRINTED_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_.]*(?:\(\))?=\Z")


class Template:
    """One text of the checker. text: the template as described in the module's docstring.

    fields: the names of its fields in printed order. pairs: printed name and field of every `name={field}` in it.
    start: the literal text before the first field. pattern: the regular expression of the whole text, for `fullmatch`:
    one unnamed group per field, in order. Linear in the text as long as the template has at most one `text` or `value`
    field.
    """

    __slots__ = ("_format", "_kinds", "fields", "pairs", "pattern", "start", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        fields: list[str] = []
        kinds: list[str] = []
        pairs: list[tuple[str, str]] = []
        literals: list[str] = []
        expression = ""
        self.start = ""
        for literal, name, kind, _ in Formatter().parse(text):
            if not literals:
                self.start = literal
            literals.append(literal.replace("{", "{{").replace("}", "}}"))
            expression += re.escape(literal)
            if name is None:
                continue
            literals.append("{}")
            expression += _FIELD[kind or ""]
            fields.append(name)
            kinds.append(kind or "")
            printed = _PRINTED_NAME.search(literal)
            if printed:
                pairs.append((printed[0][:-1], name))
        self._format = "".join(literals)
        self._kinds = tuple(kinds)
        self.pattern: re.Pattern[str] = pattern(expression, re.ASCII | re.DOTALL)
        self.fields = tuple(fields)
        self.pairs = tuple(pairs)

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def __add__(self, other: Template | str) -> Template:
        return Template(self.text + (other if isinstance(other, str) else other.text))

    def read(self, text: str) -> dict[str, int | float | str] | None:
        """The fields of `text`, or None where it is not exactly this text."""
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        return {
            name: int(found) if kind == "" else float(found) if kind == "float" else found
            for name, kind, found in zip(self.fields, self._kinds, match.groups(), strict=True)
        }

    def print(self, **values: object) -> str:
        """The text with these field values. Raises KeyError where one is missing; more values are ignored."""
        return self._format.format(*[values[name] for name in self.fields])


TERMS = Template(
    "total={total}, available={available}, evictable={evictable}, protected={protected}, "
    "session_held={session_held}, uncached={uncached}"
)
POOL = Template("[{pool:word}] ") + TERMS
"""A pool's text since 0.5.11: busy line, idle report, assertion and watchdog dump share it."""

POOL_SHORT = Template(
    "[{pool:word}] total={total}, available={available}, evictable={evictable}, protected={protected}"
)
"""As people quote it, ending at protected. Not accepted in a busy line, where it is a cut line."""

RING = Template(
    "[{pool:word}] unified ring (leak-check skipped): available={available}, evictable={evictable}, total={total:value}"
)
"""The SWA ring's text (0.5.20+): never a leak. `total` may be None."""

BUSY_HEAD = "[Mem Check (BUSY)] "
"""Head of a busy line; also the whole text of an empty full line (all-SWA models, 0.5.15+)."""

BUSY = Template(BUSY_HEAD) + POOL
BUSY_FOUR_TERMS = Template(BUSY_HEAD) + (
    "available_size={available}, evictable_size={evictable}, protected_size={protected}, uncached_size={uncached}"
)
"""The busy line of 0.5.6-0.5.10.post1, without pool, total and session_held."""

BUSY_BOTH_POOLS = Template(
    "[Mem Check (BUSY/SWA)] "
    "full: (full_available={full_available} + full_evictable={full_evictable} + full_protected={full_protected}"
    " + full_uncached={full_uncached} + full_session_held={full_session_held}) = {full_sum} | "
    "swa: (swa_available={swa_available} + swa_evictable={swa_evictable} + swa_protected={swa_protected}"
    " + swa_uncached={swa_uncached} + swa_session_held={swa_session_held}) = {swa_sum}"
)
"""Both pools of a hybrid SWA server in one line (development builds before 0.5.11). The sums are no capacities."""

DCP_SUFFIX = ", dcp_physical_page_slack_allowed=True"
"""Behind a [full] text that does not balance and that the checker forgives (0.5.15+)."""

ASSERTION_SUM = Template("Mem Leak Detected! total_tokens={accounted} vs self.max_total_num_tokens={total}")
"""Busy assertion of 0.5.4-0.5.10.post1."""

ASSERTION_FULL = "Full Pool Mem Leak Detected! "
ASSERTION_SWA = "SWA Pool Mem Leak Detected! "
"""Heads of the busy assertion since 0.5.11; the pool's text follows."""

ASSERTION_BOTH_FULL = Template(
    "Full Pool Mem Leak Detected! full_total={accounted} vs self.full_tokens_per_layer={total}, "
    "full_available={available}, full_evictable={evictable}, full_protected={protected}, full_uncached={uncached}, "
    "full_session_held={session_held}"
)
ASSERTION_BOTH_SWA = Template(
    "SWA Pool Mem Leak Detected! swa_total={accounted} vs self.swa_tokens_per_layer={total}, "
    "swa_available={available}, swa_evictable={evictable}, swa_protected={protected}, swa_uncached={uncached}, "
    "swa_session_held={session_held}"
)

IDLE_HEAD = "pool memory leak detected! "
"""Head of an idle report since 0.5.11; all pools' texts follow, one a line."""

IDLE_OLD_HEAD = "token_to_kv_pool_allocator memory leak detected! "
IDLE_OLDEST_HEAD = "KV cache pool leak detected!"

REQUEST_POOL = Template(
    "req_to_token_pool memory leak detected!available_size={available}, session_held={session_held}, total_size={total}"
)
"""Idle report of the request slots since 0.5.10rc0; no blank behind the exclamation mark."""

REQUEST_POOL_TWO = Template("req_to_token_pool memory leak detected!available_size={available}, total_size={total}")
REQUEST_POOL_OLDEST = Template("Memory pool leak detected!available_size={available}, total_size={total}")

DOUBLE_FREE = Template("KV double free: sub-pool {sub_pool} has {pages} duplicate pages.")
USE_AFTER_FREE = Template(
    "KV page use-after-free: {pages} owner page refs are in the free pool, sample pages=[{sample:text}]."
)
