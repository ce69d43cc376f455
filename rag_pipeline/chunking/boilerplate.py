"""Blocks that stand word for word in a large share of a corpus: footers, licence notes, navigation."""

import hashlib
from collections import Counter
from collections.abc import Iterable

from rag_pipeline.chunking.sectioners import sectioner_for
from rag_pipeline.schema import Document

SHORTEST = 40
"""Code points from which on a block can be boilerplate; shorter ones ("Example:") repeat by nature."""


def block_key(text: str) -> str | None:
    """Hash of the block with white space made even, or None where it is too short to count."""
    even = " ".join(text.split())
    if len(even) < SHORTEST:
        return None
    return hashlib.blake2b(even.encode("utf-8", "replace"), digest_size=12).hexdigest()


def find_boilerplate(documents: Iterable[Document], *, share: float, min_documents: int) -> frozenset[str]:
    """Keys of the blocks that occur in more than `share` of the documents; none in a corpus below `min_documents`."""
    counts: Counter[str] = Counter()
    total = 0
    for document in documents:
        if document.canonical_id is not None:
            continue
        total += 1
        counts.update(_keys(document))
    if total < min_documents:
        return frozenset()
    return frozenset(key for key, n in counts.items() if n > share * total)


def _keys(document: Document) -> set[str]:
    parsed = sectioner_for(document.format)(document, size=lambda start, end: 0, cap=1)
    keys = (
        block_key(document.text[b.start : b.end]) for part in parsed.parts for b in part.blocks if b.kind != "heading"
    )
    return {key for key in keys if key is not None}
