"""Blocks that stand word for word in a large share of a corpus: footers, licence notes, navigation."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Self

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


class AskedKeys(frozenset[str]):
    """Boilerplate that remembers which keys it was asked for, so that it shows whether other boilerplate would have
    made a difference. An empty one is true: it wants to be asked as well."""

    asked: set[str]

    def __new__(cls, keys: Iterable[str]) -> Self:
        self = super().__new__(cls, keys)
        self.asked = set()
        return self

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            self.asked.add(key)
        return super().__contains__(key)

    def __bool__(self) -> bool:
        return True


def repeated(keys: Iterable[Iterable[str]], *, share: float, min_documents: int) -> frozenset[str]:
    """Keys of the blocks that occur in more than `share` of the documents; none in a corpus below `min_documents`.

    `keys` has the distinct ones of each document that is no duplicate.
    """
    counts: Counter[str] = Counter()
    total = 0
    for of_document in keys:
        total += 1
        counts.update(of_document)
    if total < min_documents:
        return frozenset()
    return frozenset(key for key, n in counts.items() if n > share * total)


def block_keys(document: Document) -> set[str]:
    """Of the blocks that can be boilerplate; a document is parsed for them."""
    parsed = sectioner_for(document.format)(document, size=lambda start, end: 0, cap=1)
    keys = (
        block_key(document.text[b.start : b.end]) for part in parsed.parts for b in part.blocks if b.kind != "heading"
    )
    return {key for key in keys if key is not None}
