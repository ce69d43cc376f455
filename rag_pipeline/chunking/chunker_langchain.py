"""langchain's MarkdownHeaderTextSplitter and recursive splitter, as people use them: a chunker to compare with.

Their pieces carry no offsets and changed white space; each is searched in the source with white space left out, and
the source span is what is kept. A piece that is nowhere in the source is reported, not guessed.
"""

from rag_pipeline.chunking.assemble import DocumentChunks, PlannedPiece, PlannedSection, assemble
from rag_pipeline.chunking.request import Request
from rag_pipeline.chunking.sizes import Sizes
from rag_pipeline.chunking.split import Piece
from rag_pipeline.schema import LedgerEntry

LEVELS = [("#" * level, f"h{level}") for level in range(1, 7)]


def chunk_langchain(request: Request) -> DocumentChunks:
    from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter

    document, settings = request.document, request.settings
    prefixes = request.prefixes()
    sizes = Sizes(document.text, request.tokenizer, unit=settings.unit)
    measure = request.child_measure(sizes, prefix_tokens=request.prefix_cap)
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=measure.budget,
        chunk_overlap=min(settings.child_overlap_tokens, measure.budget - 1),
        length_function=measure.string,
    )
    finder = _Finder(document.text, document.body_start)
    plan: list[PlannedSection] = []
    ledger: list[LedgerEntry] = []
    for section in MarkdownHeaderTextSplitter(LEVELS).split_text(document.text[document.body_start :]):
        headers = tuple((int(name[1:]), title) for name, title in section.metadata.items())
        headers = headers or ((1, document.title),)
        found: list[tuple[int, int]] = []
        for piece in splitter.split_text(section.page_content):
            span = finder.find(piece)
            if span is None:
                entry = request.entry("filtered", "not_located", document.body_start, document.body_start)
                ledger.append(LedgerEntry(entry.path, "chunk", "filtered", "not_located", piece[:80], size=len(piece)))
            elif not found or span[1] > found[-1][1]:
                found.append(span)
        if found:
            planned = tuple(PlannedPiece(Piece(low, high, "prose"), headers) for low, high in found)
            plan.append(PlannedSection(found[0][0], found[-1][1], headers, "prose", planned))
    if not plan:
        ledger.append(
            request.entry("filtered", "no_chunk", 0, len(document.text), detail="the splitter returned nothing")
        )
    return assemble(
        document,
        plan,
        tokenizer=request.tokenizer,
        limit=request.limit,
        prefixes=prefixes,
        measure=measure,
        ledger=ledger,
    )


class _Finder:
    """Source spans of pieces in order; only signs that are not white space are compared."""

    def __init__(self, text: str, start: int) -> None:
        self._at = [i for i in range(start, len(text)) if not text[i].isspace()]
        self._dense = "".join(text[i] for i in self._at)
        self._cursor = 0

    def find(self, piece: str) -> tuple[int, int] | None:
        dense = "".join(piece.split())
        found = self._dense.find(dense, self._cursor) if dense else -1
        if found < 0:
            return None
        self._cursor = found + 1
        return self._at[found], self._at[found + len(dense) - 1] + 1
