"""The stored side of an open build, as labels are resolved against it."""

import json

from rag_pipeline.evaluation.resolve import Corpus
from rag_pipeline.index.open import Index
from rag_pipeline.schema import Section

_DOCUMENTS = "SELECT doc_id, text, canonical_id FROM documents ORDER BY row"
_SECTIONS = 'SELECT section_id, doc_id, ordinal, start, "end", headers, kind FROM sections ORDER BY row'


def stored_corpus(index: Index) -> Corpus:
    """Texts of all documents, duplicates among them with the one that stands for each, and the spans of all sections.

    Reads past every access list: what it returns is for measuring, not for showing.
    """
    with index.cursor() as cursor:
        documents = cursor.execute(_DOCUMENTS).fetchall()
        sections = [
            Section(section_id, doc_id, ordinal, start, end, _headers(headers), kind)
            for section_id, doc_id, ordinal, start, end, headers, kind in cursor.execute(_SECTIONS).fetchall()
        ]
    return Corpus.of(
        {doc_id: text for doc_id, text, _ in documents},
        sections,
        canonical={doc_id: canonical for doc_id, _, canonical in documents if canonical is not None},
    )


def _headers(stored: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(level[1:]), title) for level, title in json.loads(stored).items())
