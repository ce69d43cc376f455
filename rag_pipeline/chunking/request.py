"""What a chunker is given, and the Protocol it follows."""

from dataclasses import dataclass
from typing import Protocol

from rag_pipeline.chunking.assemble import DocumentChunks
from rag_pipeline.chunking.search_text import SMALLEST_LIMIT, SPECIAL_TOKENS, Prefixes
from rag_pipeline.chunking.sizes import Measure, Sizes
from rag_pipeline.errors import InvalidSettings
from rag_pipeline.schema import Document, LedgerEntry
from rag_pipeline.settings.build import ChunkingSettings
from rag_pipeline.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Request:
    """One document to chunk; `limit` is the model's, special tokens included."""

    document: Document
    settings: ChunkingSettings
    tokenizer: Tokenizer
    limit: int
    boilerplate: frozenset[str]

    @property
    def prefix_cap(self) -> int:
        """A third of a small model's limit at most, so that the text keeps the larger part."""
        return min(self.settings.prefix_tokens, (self.limit - SPECIAL_TOKENS) // 3)

    def prefixes(self) -> Prefixes:
        if self.limit < SMALLEST_LIMIT:
            raise InvalidSettings(
                f"a model limit of {self.limit} tokens is too small to chunk for; use {SMALLEST_LIMIT} or more"
            )
        return Prefixes(self.document.title, self.tokenizer, cap=self.prefix_cap)

    def child_measure(self, sizes: Sizes, *, prefix_tokens: int) -> Measure:
        room = self.limit - SPECIAL_TOKENS - prefix_tokens
        return sizes.child_measure(
            size=self.settings.child_tokens - self.settings.child_overlap_tokens, token_room=room
        )

    def entry(self, outcome: str, rule: str, start: int, end: int, *, detail: str = "") -> LedgerEntry:
        return LedgerEntry(
            self.document.doc_id,
            "chunk",
            "notice" if outcome == "notice" else "filtered",
            rule,
            detail,
            start,
            end,
            size=end - start,
        )


class Chunker(Protocol):
    """Pure: the same request gives the same chunks."""

    def __call__(self, request: Request) -> DocumentChunks: ...
