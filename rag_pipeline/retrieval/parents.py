"""The text around hits: whole sections, fetched under the same mask as the hits were found."""

from collections.abc import Sequence

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.scope import Mask


def section_texts(index: Index, section_ids: Sequence[str], *, mask: Mask) -> dict[str, str]:
    """Source text of each section that has a chunk in the mask; the others are left out as if they did not exist."""
    visible = index.layout.section if mask is None else index.layout.section[mask]
    sections = [s for s in index.sections(section_ids) if (visible == s.row).any()]
    texts = index.document_texts([s.doc_id for s in sections])
    return {s.section_id: texts[s.doc_id][s.start : s.end] for s in sections}
