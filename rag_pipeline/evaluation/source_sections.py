"""Sections of an open release that a question can be asked about, as far as a principal may read them."""

import json

from rag_pipeline.evaluation.synthetic import SourceSection
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.scope import readable_documents
from rag_pipeline.schema import Principal

_SECTIONS = """
SELECT s.doc_id, d.title, s.headers, s.start, s."end", d.text FROM sections s JOIN documents d USING (doc_id)
WHERE s.kind <> 'outline' AND d.canonical_id IS NULL ORDER BY s.row
"""


def source_sections(index: Index, *, principal: Principal | None) -> list[SourceSection]:
    """In the order of the index; outlines, which have no text of their own, are left out."""
    readable = frozenset(readable_documents(index, principal=principal))
    with index.cursor() as cursor:
        rows = cursor.execute(_SECTIONS).fetchall()
    return [
        SourceSection(doc_id, title, tuple(json.loads(headers).values()), start, end, text)
        for doc_id, title, headers, start, end, text in rows
        if doc_id in readable
    ]
