"""One chunk for a document whose body has nothing to keep: found by its title, description and headings."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from rag_pipeline.chunking.assemble import DocumentChunks, PlannedPiece, PlannedSection, assemble
from rag_pipeline.chunking.blocks import Block, Part
from rag_pipeline.chunking.garbage import Hole, has_visible
from rag_pipeline.chunking.lines import line_starts, trimmed
from rag_pipeline.chunking.request import Request
from rag_pipeline.chunking.search_text import SPECIAL_TOKENS, Prefixes, cut_tokens
from rag_pipeline.chunking.sizes import Sizes
from rag_pipeline.chunking.split import Piece, pieces
from rag_pipeline.schema import Chunk, LedgerEntry

KIND = "outline"
LONGEST_LINE = 400
SAMPLE = 80
"""Code points shown of a body that is nothing but blobs."""


def outline(
    request: Request,
    parts: Sequence[Part],
    holes: Sequence[Hole],
    *,
    sizes: Sizes,
    prefixes: Prefixes,
    ledger: Sequence[LedgerEntry],
) -> DocumentChunks:
    """The outline as a section of its own, or, for a document with no words at all, one ledger entry "empty"."""
    document = request.document
    block = _outline_block(request, parts, holes)
    if block is None:
        whole = request.entry("filtered", "empty", 0, len(document.text), detail="no text to index")
        return DocumentChunks(ledger=(*ledger, whole))
    headers = ((1, document.title),)
    measure = request.child_measure(sizes, prefix_tokens=prefixes.of(headers)[1])
    found = [replace(p, kind=KIND, lead=None) for p in pieces(document.text, [block], measure)]
    planned = PlannedSection(
        block.start, block.end, headers, KIND, tuple(PlannedPiece(Piece(p.start, p.end, KIND), headers) for p in found)
    )
    notice = request.entry("notice", "outline", block.start, block.end, detail="nothing else of the body was kept")
    made = assemble(
        document,
        [planned],
        tokenizer=request.tokenizer,
        limit=request.limit,
        prefixes=prefixes,
        measure=measure,
        ledger=(*ledger, notice),
    )
    return replace(made, chunks=(_described(request, made.chunks[0]), *made.chunks[1:]))


def _outline_block(request: Request, parts: Sequence[Part], holes: Sequence[Hole]) -> Block | None:
    text, body = request.document.text, request.document.body_start
    blocks = [b for part in parts for b in part.blocks]
    first = next((i for i, b in enumerate(blocks) if b.kind == "heading" and _has_words(text[b.start : b.end])), None)
    if first is not None:
        run = list(takewhile(lambda b: b.kind == "heading", blocks[first:]))
        return Block(run[0].start, run[-1].end, "paragraph")
    if _has_words(text[:body]):
        return Block(0, body, "paragraph")
    for low, high in pairwise(line_starts(text, start=body)):
        if _has_words(text[low:high]) and not any(h.start < high and h.end > low for h in holes):
            return Block(low, min(high, low + LONGEST_LINE), "paragraph")
    if request.document.description or any(_has_words(text[h.start : h.end]) for h in holes):
        low, high = trimmed(text, body, len(text))
        return Block(low, min(high, low + SAMPLE), "paragraph") if high > low else None
    return None


def _has_words(text: str) -> bool:
    return has_visible(text) and any(c.isalnum() for c in text)


def _described(request: Request, chunk: Chunk) -> Chunk:
    """The document's description between prefix and text, as much of it as the limit has room for."""
    description = " ".join((request.document.description or "").split())
    room = request.limit - chunk.tokens
    text = cut_tokens(description, request.tokenizer, room)
    if not text or description in chunk.text:
        return chunk
    head = chunk.search_text.removesuffix(chunk.text)
    searched = f"{head}{text}\n{chunk.text}"
    tokens = request.tokenizer.count(searched) + SPECIAL_TOKENS
    return replace(chunk, search_text=searched, tokens=tokens) if tokens <= request.limit else chunk
