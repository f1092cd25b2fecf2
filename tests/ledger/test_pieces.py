"""The text of a source in pieces, none of it lost."""

from __future__ import annotations

import io

import pytest
from skimming import source_of

from memcheck_cli.ledger.pieces import MARGIN, Pieces

TEXT = b"".join(b"%06d %s\n" % (n, b"x" * (n % 90)) for n in range(4000))


def pieces_of(text: bytes, block: int, wider: int | None = None) -> list[tuple[int, bytes]]:
    """Offset and text of every piece; wider: what is asked for behind the second one."""
    pieces = Pieces(source_of(text), io.BytesIO(text), block)  # type: ignore[arg-type]
    found = []
    for piece in pieces:
        found.append((piece.base + piece.start, bytes(pieces.buffer[piece.start : piece.stop])))
        if len(found) == 2 and wider is not None:
            pieces.widen(wider)
    return found


@pytest.mark.parametrize("block", [128, 1000, 1 << 20])
@pytest.mark.parametrize("wider", [None, 64, 50_000])
def test_pieces_are_the_text(block: int, wider: int | None):
    found = pieces_of(TEXT, block, wider)
    assert b"".join(text for _, text in found) == TEXT
    assert all(TEXT.startswith(text, offset) and text.endswith(b"\n") for offset, text in found)


def test_wider_pieces_come_from_the_next_one_on():
    sizes = [len(text) for _, text in pieces_of(TEXT, 1000, 50_000)]
    assert max(sizes[:2]) <= 1000
    assert min(sizes[3:-1]) > 40_000
    assert len(pieces_of(TEXT, 1000)) > 3 * len(sizes)


def test_pieces_are_never_made_narrower():
    pieces = Pieces(source_of(TEXT), io.BytesIO(TEXT), 50_000)  # type: ignore[arg-type]
    pieces.widen(100)
    assert len(next(iter(pieces))) and len(pieces.buffer) == 50_000 + 2 * MARGIN
