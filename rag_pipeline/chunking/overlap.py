"""Overlap as an earlier start: a piece reaches back over the end of the one before it, within its section."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rag_pipeline.chunking.graphemes import safe_cut
from rag_pipeline.chunking.sizes import Scale
from rag_pipeline.chunking.split import Piece


def overlapped(text: str, found: Sequence[Piece], scale: Scale, *, units: int) -> list[Piece]:
    """Each piece but the first begins up to `units` earlier, at a line where one begins there, else at a word.

    Pieces of tables are left alone: half a row in front of a repeated header would read as one.
    """
    if units <= 0:
        return list(found)
    out = list(found[:1])
    for previous, piece in pairwise(found):
        table = "table" in (previous.kind, piece.kind) or piece.lead is not None
        start = piece.start if table else _earlier(text, piece.start, scale, low=previous.start, units=units)
        out.append(replace(piece, start=start))
    return out


def _earlier(text: str, start: int, scale: Scale, *, low: int, units: int) -> int:
    at = bisect_left(scale.starts, start)
    earliest = scale.starts[max(at - units, 0)] if at else start
    earliest = max(earliest, low + 1)
    if earliest >= start:
        return start
    line = next((i + 1 for i in range(earliest - 1, start - 1) if text[i] == "\n"), None)
    if line is not None and text[line:start].strip():
        return line
    word = next((i for i in range(earliest, start) if text[i - 1].isspace() and not text[i].isspace()), None)
    return word if word is not None else safe_cut(text, earliest, low=low, high=start)
