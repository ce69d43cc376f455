"""Any sentence-transformers model, run in this process by that library; for models that onnxruntime can't take."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.embedding.base import Role, Vectors
from rag_pipeline.embedding.exported import TOKENIZER, ExportedModel
from rag_pipeline.embedding.quiet import quiet
from rag_pipeline.errors import MissingExtra
from rag_pipeline.text.tokenizer import ModelTokenizer

UNLIMITED = 8192
"""Limit of models that state none (static embeddings): chunks must end somewhere."""
BATCH_TEXTS = 32


def load_model(folder: Path, *, threads: int = 0) -> Any:
    """The SentenceTransformer in fp32 on the CPU. Raises MissingExtra."""
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra(error.name or "sentence-transformers", "build") from None
    if threads:
        torch.set_num_threads(threads)
    with quiet():
        return SentenceTransformer(str(folder), device="cpu").float().eval()


def limit_of(live: Any) -> int:
    limit = live.max_seq_length
    return int(limit) if limit is not None and limit < 1_000_000 else UNLIMITED


class SentenceTransformersEmbedder:
    def __init__(self, exported: ExportedModel, live: Any) -> None:
        identity = exported.identity
        self.fingerprint = exported.fingerprint
        self.model = exported.model
        self.runtime = identity.runs_on
        self.dimension = identity.dimension
        self.query_prefix = identity.query_prefix
        self._prefixes = {"document": identity.document_prefix, "query": identity.query_prefix}
        self._folder = exported.folder
        self._live = live
        prefix = identity.document_prefix
        self.max_tokens = identity.max_tokens - (self.tokenizer.count(prefix) if prefix else 0)

    @cached_property
    def tokenizer(self) -> ModelTokenizer:
        return ModelTokenizer(self._folder / TOKENIZER)

    def embed(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """As the protocol says; low bits depend on the batch, because texts of other lengths are padded."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        prefix = self._prefixes[role]
        vectors = self._live.encode(
            [prefix + t for t in texts],
            prompt="",  # the settings alone decide the prefix
            batch_size=BATCH_TEXTS,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors, np.float32)
