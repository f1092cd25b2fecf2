"""Lines whose ends a terminal or an editor wrapped before they were pasted, put together again.

Only a line that bears the checker's tag (or `server_args=`) and stops before its grammar ends is waited on, and only
the physical line right behind it can go on with it: without a prefix, and in a way that the checker's own grammar
allows (its terms in its order, none twice, none left out). Where the break is not at a blank, a terminal must have cut
at its width: all pieces but the last are equally long, and neither they nor the lines around them are longer. Anything
else leaves the line torn as it was.
"""

from __future__ import annotations

import re

from memcheck_cli.checker.terms import TERMS
from memcheck_cli.log.prefixes import split_prefix
from memcheck_cli.log.wrappers.interface import Unwrapped
from memcheck_cli.log.wrappers.known import BRACKET
from memcheck_cli.log.wrappers.plain import plain
from memcheck_cli.log.wrappers.ray import split_tail
from memcheck_cli.patterns import pattern

PRINTED = ("total", *TERMS)
"""The names of the current form, in the order in which they are printed."""

MAX_PIECES = 40
MAX_ARGUMENT_PIECES = 400
MAX_SET_PIECES = 20_000
"""Physical lines that one line may have been wrapped to: of pool texts, of server arguments, of a set of page ids."""

_TAG = pattern(
    r"(?:(?:\w{1,40}\.){0,8}\w{0,60}(?:Error|Exception|Warning): (?:Warning: )?|Scheduler [A-Z\d _]{0,80}crashed: )?"
    r"(?:(\[Mem Check \([A-Z/]{1,20}\)\])|([\w -]{1,60} leak detected!)|((?:[A-Za-z]{1,20} ){0,2}Mem Leak Detected!)"
    r"|(server_args=)|(KV (?:double free|page use-after-free): )|(Scheduler hit an )"
    r"|(?=\[[a-z][\w-]{0,40}\](?: |\Z)|(?:self\.|full_|swa_|mamba_)[\w.]{1,80}(?:\(\))?=))",
    re.ASCII,
)
_HEADS = (
    "[Mem Check (BUSY)]",
    "server_args=",
    "Scheduler hit an ",
    *(
        f"{error}{pool} memory leak detected!"
        for error in ("", "ValueError: ")
        for pool in ("pool", "token_to_kv_pool_allocator", "req_to_token_pool")
    ),
    *(f"AssertionError: {pool}Mem Leak Detected!" for pool in ("", "Full Pool ", "SWA Pool ")),
    *(f"{error}KV {report}: " for error in ("", "ValueError: ") for report in ("double free", "page use-after-free")),
)
_LONGEST_HEAD = max(map(len, _HEADS))
_STARTS = frozenset(head[:4] for head in (*_HEADS, "self.", "full_", "swa_", "mamba_"))
_LABEL = pattern(r"\[[A-Za-z][\w-]{0,40}\](?: |\Z)", re.ASCII)
_OPEN_LABEL = pattern(r"\[[A-Za-z]?[\w-]{0,40}\Z", re.ASCII)
_PAIR = pattern(
    r"([A-Za-z_][\w.]{0,80}(?:\(\))?)=(?:-?\d{1,18}(?![\w.])|[A-Za-z][\w.]{0,80}(?:\(\))?|\{[^{}]*+\}|\[[^\[\]]*+\])",
    re.ASCII,
)
_SEPARATOR = pattern(r", | vs ", re.ASCII)
_OPEN_PAIR = pattern(r"(?:([A-Za-z_][\w.]{0,80}(?:\(\)?)?)(=(?:-|(\{[^{}]*+|\[[^\[\]]*+))?)?)?,?(?: ?vs?)?\Z", re.ASCII)
_RING = "unified ring (leak-check skipped): "
_TAIL = " [repeated 0x across cluster]"
_NUMBER = pattern(r"-?\d{1,18}", re.ASCII)
_POOLS = " | ".join(
    f"{pool}: ({pool}_available=0 + {pool}_evictable=0 + {pool}_protected=0 + {pool}_uncached=0"
    f" + {pool}_session_held=0) = 0"
    for pool in ("full", "swa")
)
_PAGES = ("sub-pool 0 has 0 duplicate pages.", "0 owner page refs are in the free pool, sample pages=[0].")
_CRASH = "exception: Traceback (most recent call last):"
_LIST = pattern(r"\[0(?:, ?0)*+(?:, ?\Z)?", re.ASCII)
_CUT_WORDS = frozenset(word[:size] for word in ("True", "False", "None") for size in range(1, len(word)))
_IDS = pattern(r"[\d, ]++", re.ASCII)
_GOES_ON = pattern(r"\d{1,18}(?:\s*\Z|, )|, [A-Za-z_]", re.ASCII)

_IN_HEAD = "head"

WRONG, OPEN, IN_SET, COMPLETE = range(4)


def _pairs(text: str, tag: str, labelled: bool) -> int:
    """How far `name=value, name=value` has come: see `shape`."""
    names: list[str] = []
    at = 0
    while True:
        found = _PAIR.match(text, at)
        if not found:
            break
        names.append(found[1])
        at = found.end()
        if at == len(text):
            break
        separator = _SEPARATOR.match(text, at)
        if not separator:
            break
        at = separator.end()
    rest = _OPEN_PAIR.match(text, at)
    if not rest or len(set(names)) != len(names):
        return WRONG
    if labelled and (names[:1] == ["total"] or not names):
        if tuple(names[: len(PRINTED)]) != PRINTED[: len(names)]:
            return WRONG
        begun = rest[1]
        if begun and len(names) < len(PRINTED):
            wanted = PRINTED[len(names)]
            if not (wanted == begun if rest[2] else wanted.startswith(begun)):
                return WRONG
        if len(names) < len(PRINTED):
            return OPEN
    if rest[3]:
        return IN_SET
    if rest[0] or not names or text[-1:] in ", ":
        return OPEN
    if tag == "busy" and names[0] == "available_size" and "uncached_size" not in names:
        return OPEN
    if names == ["total_tokens"] or text[text.rfind("=") + 1 :] in _CUT_WORDS:
        return OPEN
    return COMPLETE


def _without_tail(text: str) -> tuple[str, bool]:
    """A text without Ray's ` [repeated 3x across cluster]`, of which the end may be missing, and whether it is."""
    at = text.rfind(" [rep")
    if at < 0 or not _TAIL.startswith(_NUMBER.sub("0", text[at : at + 60])):
        return text, False
    return text[:at], text[-1] != "]"


def shape(text: str, tag: str) -> int:
    """How the text behind a tag stands to the checker's grammar: `busy`, `idle`, `assertion`, `pool`, `pages`, `crash`.

    WRONG: it is not the front of any text of the checker. OPEN: something is missing at its end. IN_SET: the same,
    within a set or list of ids. COMPLETE: nothing need follow.
    """
    text = text.strip()
    if not text:
        return OPEN
    text, tail_open = _without_tail(text)
    state = _shape(text, tag)
    return OPEN if tail_open and state != WRONG else state


def _shape(text: str, tag: str) -> int:
    if tag == "pages":
        plain = _LIST.sub("[0", _NUMBER.sub("0", text))
        return COMPLETE if plain in _PAGES else OPEN if any(page.startswith(plain) for page in _PAGES) else WRONG
    if text.startswith("full: (") or "full: (".startswith(text):
        plain = _NUMBER.sub("0", text)
        return COMPLETE if plain == _POOLS else OPEN if _POOLS.startswith(plain) else WRONG
    if tag == "crash":
        return COMPLETE if text == _CRASH else OPEN if _CRASH.startswith(text) else WRONG
    labelled = False
    label = _LABEL.match(text)
    if label:
        text = text[label.end() :]
        labelled = True
        if not text:
            return OPEN
        if text.startswith(_RING):
            text = text[len(_RING) :]
            labelled = False
            if text.endswith("None"):
                return COMPLETE
            state = _pairs(text, tag, False)
            return OPEN if state == COMPLETE and "total=" not in text else state
        if _RING.startswith(text):
            return OPEN
    elif _OPEN_LABEL.match(text):
        return OPEN
    return _pairs(text, tag, labelled)


def _balance(text: str) -> int:
    """Brackets opened less brackets closed."""
    return text.count("(") + text.count("{") - text.count(")") - text.count("}")


def _kind(found: re.Match[str]) -> str:
    kinds = ("busy", "idle", "assertion", "server_args=", "pages", "crash")
    return kinds[found.lastindex - 1] if found.lastindex else "pool"


def _worth_reading(text: str) -> bool:
    """A quick no for lines that hold no tag, no front of one and no pool."""
    return text[:1] == "[" or text[:4] in _STARTS or "etected!" in text or "[Mem" in text or "server_args=" in text


def _in_head(message: str, prefixed: bool) -> bool:
    """Whether a message stops within a tag."""
    message = message.rstrip()
    return (0 if prefixed else 2) < len(message) < _LONGEST_HEAD and any(
        head.startswith(message) and head != message for head in _HEADS
    )


def _begins_blank(text: str) -> bool:
    """One blank at the front belongs to the line that was broken; more are an indentation."""
    return text[:1] == " " and text[1:2] != " "


class Joiner:
    """Waits on open lines. `width` is the length at which lines of this file were seen to be cut in a word, or 0."""

    def __init__(self) -> None:
        self.width = 0
        self._lines: list[Unwrapped] = []
        self._chunks: list[str] = []
        self._tag = ""
        self._tag_end = 0
        self._state = COMPLETE
        self._balance = 0
        self._opened = True
        self._blank = False
        self._lengths: list[int] = []
        self._before = 0
        self._hard = False
        self._done = False

    def __bool__(self) -> bool:
        return bool(self._lines)

    def offer(
        self, line: Unwrapped, length: int, before: int, loose: bool, digit_follows: bool = False
    ) -> list[Unwrapped]:
        """Takes the next line; gives the lines that are done, in order.

        length, before: characters of its last physical line and of the one before that, for the width of a terminal.
        loose: nothing that names a writer stood before the text. digit_follows: see `Unwrapper.feed`.
        """
        done: list[Unwrapped] = []
        if self._lines:
            next_one = line.number == self._lines[-1].number + 1
            if self._done:
                done = self._apart() if next_one and length > self._lengths[0] else self.release()
            elif next_one and (loose or line.process == self._lines[0].process) and self._goes_on(line, length):
                if line.whole and self._unfinished(line, length, digit_follows):
                    return []
                # Of a line cut in its words the next one still has to show that lines are no longer than this.
                self._done = self._hard and line.whole
                return [] if self._done else self.release()
            else:
                if next_one and self._state == COMPLETE and _GOES_ON.match(line.text):
                    # Its last number may go on there, or not.
                    self._lines[-1].whole = False
                done = self._apart() if self._hard else self.release()
        if not self._waits_for(line, length, digit_follows):
            done.append(line)
        self._before = before
        return done

    def release(self) -> list[Unwrapped]:
        """Stops waiting; gives what was held: joined, or line by line where server arguments never came to an end."""
        lines = self._lines
        if len(lines) < 2 or self._tag == _IN_HEAD or (self._tag == "server_args=" and self._arguments_open()):
            return self._apart()
        if self._hard:
            self.width = self._lengths[0]
        self._lines = []
        first = lines[0]
        first.text, copies = split_tail("".join(self._chunks))
        first.copies = max(copies, lines[-1].copies)
        first.whole = lines[-1].whole
        return [first]

    def _apart(self) -> list[Unwrapped]:
        """Stops waiting; gives what was held as it came."""
        lines, self._lines = self._lines, []
        return lines

    def _goes_on(self, line: Unwrapped, length: int) -> bool:
        return self._take_argument(line, length) if self._tag == "server_args=" else self._take(line, length)

    def _cut_at_width(self, length: int) -> bool:
        """Whether what is held may have been cut at a terminal's width, so that a piece of `length` may go on."""
        width = self._lengths[-1]
        if width == self.width:
            return True
        return max(self._before, length) <= width and all(piece == width for piece in self._lengths)

    def _count(self, text: str) -> None:
        self._balance = _balance(text)
        self._opened = not (text == "" or "ServerArgs".startswith(text.strip()))

    def _arguments_open(self) -> bool:
        return self._balance > 0 or not self._opened

    def _at_edge(self, text: str, length: int) -> bool:
        """A text that ends where a terminal was seen to cut words may go on in the next line."""
        return text[-1:].isalnum() and (length == self.width or (self._hard and length == self._lengths[0]))

    def _waits_for(self, line: Unwrapped, length: int, digit_follows: bool) -> bool:
        if not line.whole or not _worth_reading(line.text) or (not digit_follows and plain(line.text, self.width)):
            return False
        prefix = split_prefix(line.text)
        found = _TAG.match(prefix.text)
        at = len(line.text) - len(prefix.text)
        if not found:
            # Broken within the tag, or right behind the prefix (whose blank a server's empty message would keep).
            if not (_in_head(prefix.text, prefix.prefixed) or (prefix.prefixed and line.text[-1:] == "]")):
                return False
            self._tag = _IN_HEAD
            self._state = OPEN
            return self._wait(line, length, at)
        at += found.end()
        self._tag = _kind(found)
        if self._tag == "server_args=":
            self._state = OPEN
            self._count(line.text[at:])
            if not self._arguments_open():
                return False
        else:
            self._state = shape(line.text[at:], self._tag)
            self._hard = False
            edge = self._at_edge(line.text, length) or (digit_follows and line.text[-1:].isdigit())
            if self._state == WRONG or (self._state == COMPLETE and not edge):
                return False
        return self._wait(line, length, at)

    def _wait(self, line: Unwrapped, length: int, at: int) -> bool:
        self._tag_end = at
        self._lines = [line]
        self._chunks = [line.text.rstrip()]
        self._blank = len(self._chunks[0]) != len(line.text)
        self._lengths = [length]
        self._hard = self._done = False
        return True

    def _unfinished(self, line: Unwrapped, length: int, digit_follows: bool) -> bool:
        if self._tag == "server_args=":
            return self._arguments_open()
        if self._state != COMPLETE or self._at_edge(line.text, length):
            return True
        return digit_follows and line.text[-1:].isdigit() and len(set(self._lengths)) == 1

    def _took(self, line: Unwrapped, length: int) -> bool:
        self._lines.append(line)
        self._blank = line.text[-1:] == " "
        self._lengths.append(length)
        return True

    def _take(self, line: Unwrapped, length: int) -> bool:
        rest = line.text.strip()
        if not rest or BRACKET.match(rest) or (self._state == COMPLETE and not _GOES_ON.match(rest)):
            return False
        blank = self._blank or _begins_blank(line.text)
        last = self._chunks[-1]
        if self._state == IN_SET and _IDS.fullmatch(rest):
            # The grammar reads a long set once, when it ends.
            if len(self._lines) >= MAX_SET_PIECES:
                return False
            self._chunks.append(f" {rest}" if blank or last[-1] == "," else rest)
            return self._took(line, length)
        if self._state != IN_SET and len(self._lines) >= MAX_PIECES:
            return False
        front = "".join(self._chunks)
        tag_alone = len(front) == self._tag_end
        own = rest[0] == "[" if self._tag == "idle" else self._blank and self._tag in ("busy", _IN_HEAD)
        if tag_alone and own and not rest.startswith("[full]") and self._lengths[-1] != self.width:
            # A model without a full pool: the tag and a blank are its whole text, and the next line is its own.
            return False
        blank = blank or front[-1] in ("," if self._tag == "pages" else "]!,")
        for between in (" ",) if blank else ("", " "):
            joined = f"{front}{between}{rest}"
            state = self._headed(joined) if self._tag == _IN_HEAD else shape(joined[self._tag_end :], self._tag)
            if state != WRONG:
                break
        else:
            return False
        if not between:
            certain = len(self._lengths) > 1 or self._lengths[-1] == self.width
            if not self._cut_at_width(length) or (self._state == COMPLETE and not certain):
                return False
            self._hard = self._hard or self._lengths[-1] != self.width
        self._chunks = [joined]
        self._state = state
        return self._took(line, length)

    def _headed(self, joined: str) -> int:
        """The state of a text whose tag was not whole before its last piece."""
        message = joined[self._tag_end :].lstrip()
        found = _TAG.match(message)
        kind = _kind(found) if found else "pool"
        if not found or not message.startswith(_HEADS):
            return OPEN if _in_head(message, True) else WRONG
        rest = message[found.end() :]
        if kind == "server_args=":
            self._count(rest)
            state = OPEN if self._arguments_open() else COMPLETE
        else:
            state = shape(rest, kind)
        if state != WRONG:
            self._tag = kind
            self._tag_end = len(joined) - len(rest)
        return state

    def _take_argument(self, line: Unwrapped, length: int) -> bool:
        rest = line.text.strip()
        if not rest or BRACKET.match(rest) or len(self._lines) >= MAX_ARGUMENT_PIECES:
            return False
        blank = self._blank or _begins_blank(line.text) or self._chunks[-1][-1] in ",:"
        if not blank and len(self._lengths) > 1 and self._cut_at_width(length):
            self.width = self._lengths[-1]
        self._chunks.append(f" {rest}" if blank else rest)
        self._balance += _balance(rest)
        self._opened = self._opened or "(" in rest or "{" in rest
        return self._took(line, length)
