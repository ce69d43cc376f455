"""Chunkers by the name settings use."""

from rag_pipeline.chunking.chunker_fixed_window import chunk_windows
from rag_pipeline.chunking.chunker_langchain import chunk_langchain
from rag_pipeline.chunking.chunker_sections import chunk_sections
from rag_pipeline.chunking.chunker_whole_document import chunk_whole
from rag_pipeline.chunking.request import Chunker

CHUNKERS: dict[str, Chunker] = {
    "sections": chunk_sections,
    "langchain_headers": chunk_langchain,
    "fixed_window": chunk_windows,
    "whole_document": chunk_whole,
}
