"""The picture of two aligned streams in blocks, or in ASCII where the output can show no more; readable without
colour."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from memcheck_cli.compare.picture import Drawn, Picture
from memcheck_cli.counting import counted
from memcheck_cli.render.safe import safe

ROWS = 3
LABEL = 11
BLOCKS = " ▁▂▃▄▅▆▇█"
SIGNS = " .:-=+*#@"


class Line(NamedTuple):
    """One line. style: `a`, `b`, `apart`, `off`, `mark` or empty."""

    text: str
    style: str = ""


def can_show(text: str, encoding: str | None) -> bool:
    """Whether an output of that encoding can show a text."""
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def picture_lines(picture: Picture, encoding: str | None, unit: str) -> list[Line]:
    """The picture, its widest line `LABEL` + 2 + its columns wide. unit: what the pool counts, `token` or `slot`."""
    blocks = can_show(BLOCKS + "│·▲", encoding)
    levels, border, dot, arrow = (BLOCKS, "│", "·", "▲") if blocks else (SIGNS, "|", ".", "^")
    columns = len(picture.a.values)
    per = picture.span / columns
    many = f"{per:.0f}" if per >= 100 else f"{per:.3g}"
    what = "share of the total" if picture.shares else f"{unit}s"
    scale = (
        f"{counted(columns // picture.span, 'column is', 'columns are')} 1 {picture.unit}"
        if columns > picture.span
        else f"1 column is {many} {picture.unit}{'' if per == 1 else 's'}"
    )
    lines = [Line(f"{safe(picture.term, 40)} of pool {safe(picture.pool, 40)}, {what}; {scale}")]
    values = [value for side in (picture.a, picture.b) for value in side.values if value is not None]
    low, high = min(values), max(values)
    for letter, side in (("A", picture.a), ("B", picture.b)):
        for row, text in enumerate(_chart(side.values, low, high, levels)):
            label = _value(high, picture.shares) if row == 0 else _value(low, picture.shares) if row == ROWS - 1 else ""
            head = f"{letter if row == 0 else ' '} {label:>{LABEL - 3}} {border}"
            lines.append(Line((head + text).rstrip(), letter.lower()))
        if any(side.off):
            text = "".join("!" if off else " " for off in side.off)
            lines.append(Line((f"{'sum is off':>{LABEL - 1}} {border}" + text).rstrip(), "off"))
    if picture.apart is not None:
        lines.append(Line(f"{'B - A':>{LABEL - 1}} {border}" + _apart(picture.apart, levels, dot), "apart"))
    if picture.mark is not None:
        said, at = "they part here", picture.mark
        fits = at + len(said) + 2 <= columns
        text = " " * at + f"{arrow} {said}" if fits else " " * (at - len(said) - 1) + f"{said} {arrow}"
        lines.append(Line(" " * (LABEL + 1) + text, "mark"))
    lines += [Line(" " * (LABEL + 1) + text) for text in textwrap.wrap(_legend(picture, unit), max(columns, 40))]
    return lines


def _chart(values: Sequence[float | None], low: float, high: float, levels: str) -> list[str]:
    """Rows from the top. A check with the lowest value still shows one mark; none shows where there is no check."""
    steps = ROWS * (len(levels) - 1)
    rows = [""] * ROWS
    for value in values:
        level = 0
        if value is not None:
            level = 1 + round((value - low) / (high - low) * (steps - 1)) if high > low else steps // 2
        for row in range(ROWS):
            filled = level - (ROWS - 1 - row) * (len(levels) - 1)
            rows[row] += levels[max(0, min(len(levels) - 1, filled))]
    return rows


def _apart(apart: Sequence[float | None], levels: str, dot: str) -> str:
    """How far B is from A, upwards whatever the sign; a dot where it is not."""
    most = max((abs(value) for value in apart if value is not None), default=0) or 1
    return "".join(
        " " if value is None else dot if not value else levels[1 + round(abs(value) / most * (len(levels) - 2))]
        for value in apart
    ).rstrip()


def _legend(picture: Picture, unit: str) -> str:
    known = [value for value in picture.apart or () if value is not None]
    said = []
    if known:
        least, most = min(known), max(known)
        if picture.apart_shares:
            said.append(f"B - A from {100 * least:+.2f} % to {100 * most:+.2f} %")
        elif least == most == 0:
            said.append("B - A is 0 everywhere")
        else:
            low, high = (f"{value:+.0f}" if value else "0" for value in (least, most))
            said.append(f"B - A from {low} to {high} {unit}s")
    for letter, side in (("A", picture.a), ("B", picture.b)):
        said += _unseen(letter, side, picture.unit)
    return "; ".join(said)


def _unseen(letter: str, side: Drawn, unit: str) -> list[str]:
    said = []
    if side.before:
        said.append(f"{letter} has {counted(side.before, unit)} before it")
    if side.behind:
        said.append(f"{letter} goes on for {counted(side.behind, f'more {unit}')}")
    return said


def _value(value: float, shares: bool) -> str:
    return f"{100 * value:.1f} %" if shares else f"{value:.0f}"
