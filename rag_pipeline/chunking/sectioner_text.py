"""Plain text to one part: paragraphs between blank lines, no headings guessed."""

from itertools import pairwise

from rag_pipeline.chunking.blocks import Block, Parsed, Part
from rag_pipeline.chunking.lines import line_starts
from rag_pipeline.chunking.sizes import SpanSize
from rag_pipeline.schema import Document


def parse_text(document: Document, *, size: SpanSize, cap: int) -> Parsed:
    blocks = paragraphs(document.text, document.body_start, len(document.text))
    return Parsed((Part((), tuple(blocks)),) if blocks else ())


def paragraphs(text: str, start: int, end: int) -> list[Block]:
    """Runs of lines that are not blank."""
    found: list[Block] = []
    open_at: int | None = None
    for low, high in pairwise(line_starts(text, start=start, end=end)):
        blank = not text[low:high].strip()
        if blank and open_at is not None:
            found.append(Block(open_at, low, "paragraph"))
            open_at = None
        elif not blank and open_at is None:
            open_at = low
    if open_at is not None:
        found.append(Block(open_at, end, "paragraph"))
    return found
