"""The text around hits: whole sections, fetched under the same mask as the hits were found."""

from collections.abc import Sequence

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.scope import Mask


def section_texts(index: Index, section_ids: Sequence[str], *, mask: Mask) -> dict[str, str]:
    """Source text of each section that has a chunk in the mask; the others are left out as if they did not exist."""
    return index.section_texts(section_ids, visible=mask)
