"""Windows of the same size one after the other, no structure: a baseline to compare with."""

from bisect import bisect_left
from itertools import pairwise

from rag_pipeline.chunking.assemble import DocumentChunks, PlannedPiece, PlannedSection, assemble
from rag_pipeline.chunking.graphemes import safe_cut
from rag_pipeline.chunking.overlap import overlapped
from rag_pipeline.chunking.request import Request
from rag_pipeline.chunking.sizes import Measure, Sizes
from rag_pipeline.chunking.split import Piece


def chunk_windows(request: Request) -> DocumentChunks:
    """Parents are windows of `section_tokens`, children windows of `child_tokens` inside them."""
    document, settings = request.document, request.settings
    text = document.text
    prefixes = request.prefixes()
    sizes = Sizes(text, request.tokenizer, unit=settings.unit)
    headers = ((1, document.title),)
    child = request.child_measure(sizes, prefix_tokens=prefixes.of(())[1])
    parent = sizes.section_measure(size=settings.section_tokens)
    plan: list[PlannedSection] = []
    for start, end in windows(text, document.body_start, len(text), starts=sizes.units.starts, measure=parent):
        found = [
            Piece(low, high, "prose")
            for low, high in windows(text, start, end, starts=sizes.units.starts, measure=child)
        ]
        found = overlapped(text, found, sizes.units, units=settings.child_overlap_tokens)
        plan.append(PlannedSection(start, end, headers, "prose", tuple(PlannedPiece(p, headers) for p in found)))
    if not text[document.body_start :].strip():
        plan = []
    made = assemble(
        document,
        plan,
        tokenizer=request.tokenizer,
        limit=request.limit,
        prefixes=prefixes,
        measure=child,
    )
    if made.chunks:
        return made
    return DocumentChunks(ledger=(request.entry("filtered", "empty", 0, len(text), detail="no text to index"),))


def windows(text: str, start: int, end: int, *, starts: list[int], measure: Measure) -> list[tuple[int, int]]:
    """Cuts at every `budget`-th unit, moved to a grapheme border."""
    first, last = bisect_left(starts, start), bisect_left(starts, end)
    borders = [start]
    for i in range(first + measure.budget, last, measure.budget):
        cut = safe_cut(text, starts[i], low=borders[-1], high=end)
        if cut > borders[-1]:
            borders.append(cut)
    return list(pairwise([*borders, end])) if end > start else []
