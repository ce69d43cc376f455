"""From texts to unit vectors with an exported model, whatever runs it: tokens, groups, pooling.

A text is only ever computed beside texts of exactly its own number of tokens, so there is no padding, and a row's
arithmetic doesn't depend on its neighbours or on the number of threads: the same text gives the same bits in any
batch. It is also as fast as padded batches: several single-threaded runs side by side, kept small, waste nothing.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import tokenizers
from numpy.typing import NDArray

from rag_pipeline.embedding.base import Role, Vectors
from rag_pipeline.embedding.exported import TOKENIZER, ExportedModel
from rag_pipeline.processor import cores
from rag_pipeline.text.tokenizer import ModelTokenizer

RUN_TOKENS = 1024
"""Larger runs fall out of the processor's cache: 512 to 1024 tokens were fastest."""
STATES = "last_hidden_state"
"""Name of the graph's output."""
TokenIds = NDArray[np.int64]
"""Shape (texts, tokens), no padding."""
States = NDArray[np.float32]
"""Shape (texts, tokens, dimension)."""


class Encoder(Protocol):
    """A transformer that turns token ids into one state a token. Safe to share between threads."""

    rows_apart: bool
    """A row's numbers depend on its neighbours, so that a run may hold one text only."""

    def alone(self, ids: TokenIds) -> States:
        """One run on all threads: soonest back."""
        ...

    def beside(self, ids: TokenIds) -> States:
        """One run on one thread, for callers that start several at once: most work done."""
        ...


class EncoderEmbedder:
    """An `Embedder` over an `Encoder`. Safe to share between threads."""

    def __init__(
        self, exported: ExportedModel, encoder: Encoder, *, threads: int = 0, batch_tokens: int = RUN_TOKENS
    ) -> None:
        """`threads` 0 means one a core."""
        identity = exported.identity
        self.fingerprint = exported.fingerprint
        self.model = exported.model
        self.runtime = identity.runs_on
        self.dimension = identity.dimension
        self.query_prefix = identity.query_prefix
        self._prefixes = {"document": identity.document_prefix, "query": identity.query_prefix}
        self._pool_first = identity.pooling == "cls"
        self._folder = exported.folder
        self._encoder = encoder
        self._threads = threads or cores()
        self._batch_tokens = 0 if encoder.rows_apart else batch_tokens
        self._tokens = _truncating(exported.folder / TOKENIZER, identity.max_tokens)
        self.max_tokens = identity.max_tokens - self._prefix_tokens(identity.document_prefix)

    @cached_property
    def tokenizer(self) -> ModelTokenizer:
        return ModelTokenizer(self._folder / TOKENIZER)

    def embed(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """float32 unit vectors of shape (len(texts), dimension); only a text without any token gets a zero row."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        prefix = self._prefixes[role]
        if len(texts) == 1:
            ids = self._tokens.encode(prefix + texts[0]).ids
            if ids:
                out[:] = self._pooled(self._encoder.alone(np.array([ids], np.int64)))
            return out
        encoded = [e.ids for e in self._tokens.encode_batch_fast([prefix + t for t in texts])]

        def fill(rows: list[int]) -> None:
            out[rows] = self._pooled(self._encoder.beside(np.array([encoded[r] for r in rows], np.int64)))

        with ThreadPoolExecutor(self._threads) as pool:
            for done in [pool.submit(fill, rows) for rows in equal_lengths(encoded, self._batch_tokens)]:
                done.result()
        return out

    def _pooled(self, states: States) -> Vectors:
        pooled = states[:, 0] if self._pool_first else states.mean(axis=1, dtype=np.float32)
        unit: Vectors = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit

    def _prefix_tokens(self, prefix: str) -> int:
        return len(self._tokens.encode(prefix, add_special_tokens=False).ids) if prefix else 0


def equal_lengths(encoded: Sequence[Sequence[int]], batch_tokens: int) -> list[list[int]]:
    """Rows grouped by their number of tokens, longest first, at most `batch_tokens` a group; empty ones left out."""
    by_length: dict[int, list[int]] = {}
    for row, ids in enumerate(encoded):
        by_length.setdefault(len(ids), []).append(row)
    groups = []
    for length in sorted(by_length.keys() - {0}, reverse=True):
        rows, size = by_length[length], max(1, batch_tokens // length)
        groups += [rows[first : first + size] for first in range(0, len(rows), size)]
    return groups


def named(ids: TokenIds, inputs: frozenset[str]) -> dict[str, NDArray[np.int64]]:
    """What a BERT-like graph is fed: everything is text, nothing is padding, all is one segment."""
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return {name: value for name, value in feed.items() if name in inputs}


def _truncating(path: Path, limit: int) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return tokenizer
