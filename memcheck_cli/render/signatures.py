"""The explanation for a person at a terminal: what moved, what it points to, what stands around it, what to do now."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from memcheck_cli.counting import counted
from memcheck_cli.forensics.growth import SINGLE, spelled
from memcheck_cli.render.console import heading
from memcheck_cli.render.safe import safe

if TYPE_CHECKING:
    from memcheck_cli.forensics.analysis import Analysis
    from memcheck_cli.forensics.around import Batch, Nearby, Surroundings
    from memcheck_cli.forensics.evidence import Evidence
    from memcheck_cli.forensics.explanation import Explanation
    from memcheck_cli.forensics.signatures import Fact, Hit

WIDTH = 80
SHOWN_FACTS = 4
SHOWN_TROUBLES = 3
SHOWN_OTHERS = 4
QUOTED = 140
"""Characters of a log line that are quoted without -v."""

_TOPICS = {"keep-alive": "Keep it alive", "risk": "The risk", "tell-apart": "Tell apart", "record": "For a report"}


def moved_sentences(evidence: Evidence, first: bool = True) -> list[str]:
    """What moved, in words, with what no move explains. first: of the first break, whose page sizes are told."""
    moves = evidence.moves
    said = []
    if moves is not None and (moves.moves or moves.remainder):
        told = [f"{move.amount} {move.name} ({move.source} to {move.target})" for move in moves.moves]
        for name, rest in moves.remainder.items():
            told.append(
                f"{-rest} left {name} and arrived in no term" if rest < 0 else f"{rest} in {name} came from no term"
            )
        said.append(f"That is: {'; '.join(told)} (lines {moves.lines[0]} and {moves.lines[1]}).")
        if moves.wrong is not None:
            said.append(f"{_capital(moves.wrong.text)}: {moves.wrong.term} is the term that is off.")
    if first and evidence.found.page_size is None and len(evidence.sizes) > 1:
        sizes = ", ".join(map(str, evidence.sizes))
        said.append(f"The page size is not in the log; sizes that fit every number seen: {sizes}.")
    for one in evidence.sets:
        ids = ", ".join(map(str, one.sample)) + (", …" if one.size > len(one.sample) else "")
        text = f"{safe(one.name, 40)} names {one.size}: {ids} (line {one.lines[0]})"
        if one.same_in_reports is not None:
            text += f"; {'the same' if one.same_in_reports else 'not the same'} in all {one.reports} reports"
        if one.new:
            text += f", new in the last: {', '.join(map(str, one.new))}"
        if one.same_on_ranks is not None:
            text += f"; {'the same' if one.same_on_ranks else 'not the same'} on {one.ranks} ranks"
        said.append(f"{text}.")
    if evidence.growth.kind != SINGLE:
        said.append(f"Over time: {evidence.growth.text}.")
    return said


def told_already(analysis: Analysis) -> set[str]:
    """What findings say that a signature about no break quotes."""
    if analysis.explanation is None:
        return set()
    return {fact.text for hit in analysis.explanation.hits if hit.event is None for fact in hit.evidence}


def print_explanation(console: Console, analysis: Analysis, verbose: bool) -> None:
    """Everything behind the balance sheets; nothing where there is nothing to explain."""
    explanation = analysis.explanation
    if explanation is None:
        return
    events = list(explanation.evidence) if verbose else list(explanation.evidence)[:1]
    for number, event in enumerate(events):
        evidence = explanation.evidence[event]
        title = "What it points to"
        if number or (len(explanation.evidence) > 1 and verbose):
            title += f": {evidence.found.pool or 'pages'}, line {evidence.line}"
        heading(console, title)
        stronger, others = ([], []) if verbose else _of_others(explanation, event)
        for hit in stronger:
            _print_hit(console, hit, False, explanation.evidence.get(hit.event or 0))
        _print_hits(console, explanation.of_event(event), evidence, verbose)
        if others:
            told = _named(others, evidence.found.source)
            _hang(console, "  ", f"Of the other breaks: {told}; -v shows them.", 4)
        _print_around(console, evidence, verbose)
    loose = [hit for hit in explanation.hits if hit.event is None]
    if loose:
        heading(console, "What it points to")
        for hit in loose if verbose else loose[:2]:
            _print_hit(console, hit, verbose, None)
    if explanation.left_out:
        console.print(counted(explanation.left_out, "more event was not looked at.", "more events were not looked at."))
    if explanation.advice:
        heading(console, "What to do now")
        for one in explanation.advice:
            lines = f"line {one.lines[0]}" if len(one.lines) == 1 else f"lines {spelled(one.lines)}"
            _hang(console, f"  {_TOPICS[one.topic]}: ", f"{safe(one.text, 900)} ({lines}).", 4)


def _print_hits(console: Console, hits: Sequence[Hit], evidence: Evidence, verbose: bool) -> None:
    if not hits:
        _hang(console, "  ", f"No known signature fits the numbers on line {evidence.line}.", 4)
        return
    shown = hits if verbose else hits[:1]
    for hit in shown:
        _print_hit(console, hit, verbose, evidence)
    others = hits[len(shown) :]
    if others:
        told = f"{_named(others, evidence.found.source)}; -v shows them, `memcheck explain` tells each."
        _hang(console, "  ", f"Fits as well, less specific: {told}", 4)


def _of_others(explanation: Explanation, event: int) -> tuple[list[Hit], list[Hit]]:
    """What the other breaks point to that this one does not: of the same log what is stronger, and the rest."""
    own = explanation.of_event(event)
    source = explanation.evidence[event].found.source
    told = {hit.signature.id for hit in own}
    others = []
    for hit in explanation.hits:
        if hit.event is not None and hit.signature.id not in told:
            told.add(hit.signature.id)
            others.append(hit)
    least = own[0].strength if own else -1
    stronger = [hit for hit in others if hit.source == source and hit.strength > least][:1]
    return stronger, [hit for hit in others if hit not in stronger]


def _named(hits: Sequence[Hit], source: str) -> str:
    """Each with its line, and the log where it is another one than source."""
    told = ", ".join(
        f"{hit.signature.id} ({safe(hit.source) + ', ' if hit.source != source else ''}line {hit.evidence[-1].line})"
        for hit in hits[:SHOWN_OTHERS]
    )
    return f"{told} and {len(hits) - SHOWN_OTHERS} more" if len(hits) > SHOWN_OTHERS else told


def _print_hit(console: Console, hit: Hit, verbose: bool, evidence: Evidence | None) -> None:
    signature = hit.signature
    lines = sorted({fact.line for fact in hit.evidence})
    place = f" (line {lines[0]})" if len(lines) == 1 else f" (lines {spelled(lines)})" if lines else ""
    _hang(console, f"  {signature.id}  ", f"{safe(hit.points_to, 500)}{place}.", 4, bold=len(signature.id) + 2)
    facts = [fact for fact in hit.evidence if verbose or evidence is None or not _known(fact, evidence)]
    for fact in facts if verbose else facts[:SHOWN_FACTS]:
        _hang(console, f"    line {fact.line}: ", safe(fact.text, 400 if verbose else QUOTED + 60), 6)
    for fact in hit.against:
        _hang(console, f"    against it, line {fact.line}: ", safe(fact.text, 400 if verbose else QUOTED), 6)
    if not verbose:
        _hang(console, "    ", f"Harm: {signature.harm}. Would speak against it: {_small(signature.against)}", 6)
        return
    for name, text in (
        ("Harm", f"{signature.harm}."),
        ("Would speak against it", signature.against),
        ("Tells apart", signature.separate),
        ("Fixed", signature.fix),
        ("See", " ".join(signature.urls)),
    ):
        if text:
            _hang(console, f"    {name}: ", text, 6)


def _known(fact: Fact, evidence: Evidence) -> bool:
    """The fact is told above already: the record itself, what moved, the page size, how it goes on."""
    wrong = evidence.moves.wrong if evidence.moves else None
    return (
        fact.text.startswith(f"[{evidence.found.pool}] ")
        or (wrong is not None and fact.text.startswith(wrong.text))
        or fact.text == evidence.growth.text
        or fact.text.startswith("the page size is not in the log")
        or ("since line " in fact.text and ("arrived in no term" in fact.text or "left no term" in fact.text))
    )


def _print_around(console: Console, evidence: Evidence, verbose: bool) -> None:
    around = evidence.surroundings
    if not around.known or (evidence.found.check == "pages" and not around.troubles and not verbose):
        return
    heading(console, "Around it")
    if around.dump_line is not None:
        text = (
            f"The dump begins on line {around.dump_line}, and its times are those of the dump: nothing can be placed "
            "among its checks. What stands right before it was printed close to its last check."
        )
        _hang(console, "  ", text, 4)
    troubles = _chosen(around) if not verbose else list(around.troubles)
    for one in troubles:
        where = _where(one, around)
        _hang(console, f"  line {one.event.line}: ", f"`{_quoted(one.event.text, verbose)}`, {where}.", 4)
    for batch in around.batches:
        if verbose or _matters(batch, evidence):
            _hang(console, f"  line {batch.event.line}: ", _batch(batch, verbose), 4)
    for match in around.matches:
        _hang(console, f"  line {match.line}: ", f"{match.what}: {match.value}, which fits what is off.", 4)
    if not troubles:
        seen = (
            f"before the dump (line {around.dump_line})"
            if around.dump_line is not None
            else f"in the megabyte before line {evidence.line}"
        )
        text = f"No retraction, abort, exception or flush {seen}; most aborts are printed at debug level only."
        _hang(console, "  ", text, 4)


def _chosen(around: Surroundings) -> list[Nearby]:
    """The troubles to show: near ones first, one of each kind, in their order."""
    best: dict[str, Nearby] = {}
    for one in around.troubles:
        if one.event.kind not in ("traceback-path", "pyspy"):
            best[one.event.kind] = one
    near = [one for one in best.values() if one.near]
    chosen = (near or list(best.values()))[-SHOWN_TROUBLES:]
    return sorted(chosen, key=lambda one: one.event.line)


def _where(one: Nearby, around: Surroundings) -> str:
    if around.dump_line is not None:
        return "before the dump"
    if one.after_witness:
        return "between the last balanced record and the break"
    if one.checks:
        return f"{one.checks} {'check' if one.checks == 1 else 'checks'} before the break"
    lines = "batch line" if one.batches == 1 else "batch lines"
    return f"{one.batches} {lines} before the break" if one.batches else "just before the break"


def _matters(batch: Batch, evidence: Evidence) -> bool:
    """The batch belongs to the broken check or the one before, or a count of it matches."""
    witness = evidence.found.witness
    checks = {evidence.line} | ({witness.line} if witness is not None else set())
    return batch.belongs_to in checks or any(batch.event.line == one.line for one in evidence.surroundings.matches)


def _batch(batch: Batch, verbose: bool) -> str:
    text = f"`{_quoted(batch.event.text, verbose, 90)}`"
    if batch.belongs_to is not None:
        return f"{text} belongs to the check on line {batch.belongs_to}: {batch.why}."
    return f"{text}, the last batch line before the break."


def _quoted(text: str, verbose: bool, limit: int = QUOTED) -> str:
    return safe(text.strip(), 400 if verbose else limit)


def _hang(console: Console, first: str, text: str, indent: int, bold: int = 0) -> None:
    """Print a paragraph whose later lines are indented; the first `bold` characters behind its indent are bold."""
    lines = textwrap.wrap(
        first.lstrip() + text,
        min(console.width, WIDTH),
        initial_indent=first[: len(first) - len(first.lstrip())],
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
    for number, line in enumerate(lines):
        shown = Text(line)
        if bold and number == 0:
            start = len(first) - len(first.lstrip())
            shown.stylize("bold", start, start + bold)
        console.print(shown)


def _capital(text: str) -> str:
    return "T" + text[1:] if text.startswith("the ") else text


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]
