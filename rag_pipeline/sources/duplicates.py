"""Duplicates: documents with the same text and the same access list share one canonical document, the first by path.

Lives here: exact duplicates. Documents that are nearly alike are near_duplicates.py's, and are only reported.
"""

from dataclasses import replace
from typing import Literal

from rag_pipeline.schema import Document, LedgerEntry
from rag_pipeline.sources.document import Outcome


class ExactDuplicates:
    """Settles documents in the order they are given."""

    def __init__(self, policy: Literal["collapse", "keep"]) -> None:
        self._collapse = policy == "collapse"
        self._first: dict[tuple[str, tuple[str, ...] | None], str] = {}

    def settle(self, document: Document, entries: tuple[LedgerEntry, ...]) -> Outcome:
        """The same, or with `canonical_id` set and "indexed" turned into "filtered: duplicate"."""
        if not self._collapse:
            return Outcome(document, entries)
        # A copy under another access list stays: hiding it behind the first would change who finds it.
        canonical = self._first.setdefault((document.content_hash, document.access), document.doc_id)
        if canonical == document.doc_id:
            return Outcome(document, entries)
        detail = f"same text and access as {canonical}"
        changed = tuple(
            replace(e, outcome="filtered", rule="duplicate", detail=detail) if e.outcome == "indexed" else e
            for e in entries
        )
        return Outcome(replace(document, canonical_id=canonical), changed)
