"""Which entry of the dialects a line is, also for the texts that are no check (watchdog, asserts from elsewhere)."""

from __future__ import annotations

from memcheck_cli.log.dialects import BY_ID, CONTEXT_KINDS, DIALECTS, Dialect
from memcheck_cli.log.records import Context, Message

_ASIDES = tuple(form for form in DIALECTS if form.kind in CONTEXT_KINDS)


def form_of(text: str, message: Message | None) -> Dialect | None:
    """The form of `text`, the message part of a line that was read as `message`; None for a torn line and for any
    line that is none of the checker's and none of its neighbours'."""
    if message is not None and not isinstance(message, Context):
        return BY_ID.get(message.form)
    starts = {0}
    for error in ("AssertionError: ", "UserWarning: "):
        at = text.find(error, 0, 4096)
        if at >= 0:
            starts.add(at + len(error))
    for form in _ASIDES:
        for start in starts:
            said = text[start:]
            if said.startswith(form.body.start) and (form.body.read(said) or form.body.read(said.rstrip())) is not None:
                return form
    return None
