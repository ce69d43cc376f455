"""One document to its sections and chunks: pure, by the chunker the settings name."""

from rag_pipeline.chunking.assemble import DocumentChunks
from rag_pipeline.chunking.registry import CHUNKERS
from rag_pipeline.chunking.request import Request
from rag_pipeline.schema import Document
from rag_pipeline.settings.base import pick
from rag_pipeline.settings.build import ChunkingSettings
from rag_pipeline.text.tokenizer import Tokenizer

CHUNKER_VERSION = 1
"""Raised by hand whenever the same document and settings would give other chunks than before."""


def chunk_document(
    document: Document,
    settings: ChunkingSettings,
    tokenizer: Tokenizer,
    *,
    limit: int,
    boilerplate: frozenset[str] = frozenset(),
) -> DocumentChunks:
    """Sections and chunks with exact offsets, and a ledger of what was left out.

    `limit` is the embedding model's, special tokens included. `boilerplate` has keys of `boilerplate.block_key`.
    A document that duplicates another one is not chunked. Raises UnknownName for a chunker there isn't, InvalidSettings
    for a limit too small to hold anything.
    """
    chunker = pick(CHUNKERS, settings.chunker, "chunker")
    if document.canonical_id is not None:
        return DocumentChunks()
    return chunker(Request(document, settings, tokenizer, limit, boilerplate))
