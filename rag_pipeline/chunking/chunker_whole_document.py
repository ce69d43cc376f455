"""One chunk a document: what the model can't read of it is cut off its search text, and counted."""

from rag_pipeline.chunking.assemble import DocumentChunks, chunk_id, section_id
from rag_pipeline.chunking.garbage import has_visible
from rag_pipeline.chunking.lines import trimmed
from rag_pipeline.chunking.request import Request
from rag_pipeline.chunking.search_text import SPECIAL_TOKENS, cut_tokens, search_text
from rag_pipeline.chunking.sectioner_markdown import is_headings_only
from rag_pipeline.schema import Chunk, Section


def chunk_whole(request: Request) -> DocumentChunks:
    """The only chunker that truncates; each truncation is a notice "truncated"."""
    document, tokenizer = request.document, request.tokenizer
    start, end = trimmed(document.text, document.body_start, len(document.text))
    if not has_visible(document.text[start:end]):
        whole = request.entry("filtered", "empty", 0, len(document.text), detail="no text to index")
        return DocumentChunks(ledger=(whole,))
    text = document.text[start:end]
    prefix, _ = request.prefixes().of(())
    full = search_text(prefix, "", text)
    room = request.limit - SPECIAL_TOKENS
    searched = cut_tokens(full, tokenizer, room)
    ledger = []
    if len(searched) < len(full):
        lost = len(full) - len(searched)
        ledger.append(request.entry("notice", "truncated", end - lost, end, detail="past the model's limit"))
    section = Section(
        section_id(document.doc_id, start, end), document.doc_id, 0, start, end, ((1, document.title),), "prose"
    )
    chunk = Chunk(
        chunk_id(document.doc_id, start, end),
        section.section_id,
        document.doc_id,
        0,
        start,
        end,
        text,
        "",
        searched,
        tokenizer.count(searched) + SPECIAL_TOKENS,
        "outline" if is_headings_only(text) else "prose",
    )
    return DocumentChunks((section,), (chunk,), tuple(ledger))
