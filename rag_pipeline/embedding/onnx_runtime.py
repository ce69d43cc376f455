"""Runs an exported model with onnxruntime and tokenizers, and nothing else.

A text is only ever computed beside texts of exactly its own number of tokens, so there is no padding, and a row's
arithmetic doesn't depend on its neighbours or on the number of threads: the same text gives the same bits in any
batch. It is also as fast as padded batches: several single-threaded runs side by side, kept small, waste nothing.
"""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np
import onnxruntime
import tokenizers
from numpy.typing import NDArray

from rag_pipeline.embedding.base import Role, Vectors
from rag_pipeline.embedding.exported import MODEL, TOKENIZER, ExportedModel
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.text.tokenizer import ModelTokenizer

RUN_TOKENS = 1024
"""Larger runs fall out of the processor's cache: 512 to 1024 tokens were fastest."""
_STATES = "last_hidden_state"


class OnnxEmbedder:
    """Safe to share between threads."""

    def __init__(self, exported: ExportedModel, *, threads: int = 0, batch_tokens: int = RUN_TOKENS) -> None:
        """`threads` 0 means one a core. Raises ModelUnavailable for files that onnxruntime can't open."""
        identity = exported.identity
        self.fingerprint = exported.fingerprint
        self.model = exported.model
        self.runtime = identity.runtime
        self.dimension = identity.dimension
        self.query_prefix = identity.query_prefix
        self._prefixes = {"document": identity.document_prefix, "query": identity.query_prefix}
        self._pool_first = identity.pooling == "cls"
        self._folder = exported.folder
        self._threads = threads or _cores()
        self._batch_tokens = batch_tokens
        self._encoder = _truncating(exported.folder / TOKENIZER, identity.max_tokens)
        self._one = _session(exported.folder / MODEL, threads=self._threads)
        self._inputs = frozenset(i.name for i in self._one.get_inputs())
        self._lock = threading.Lock()
        self._many: onnxruntime.InferenceSession | None = None
        self.max_tokens = identity.max_tokens - self._prefix_tokens(identity.document_prefix)

    @cached_property
    def tokenizer(self) -> ModelTokenizer:
        return ModelTokenizer(self._folder / TOKENIZER)

    def embed(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """float32 unit vectors of shape (len(texts), dimension); only a text without any token gets a zero row."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        prefix = self._prefixes[role]
        if len(texts) == 1:
            ids = self._encoder.encode(prefix + texts[0]).ids
            if ids:
                out[:] = self._run(self._one, np.array([ids], np.int64))
            return out
        encoded = [e.ids for e in self._encoder.encode_batch_fast([prefix + t for t in texts])]

        def fill(rows: list[int]) -> None:
            out[rows] = self._run(self._bulk(), np.array([encoded[r] for r in rows], np.int64))

        with ThreadPoolExecutor(self._threads) as pool:
            for done in [pool.submit(fill, rows) for rows in equal_lengths(encoded, self._batch_tokens)]:
                done.result()
        return out

    def _run(self, session: onnxruntime.InferenceSession, ids: NDArray[np.int64]) -> Vectors:
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states = session.run([_STATES], {name: value for name, value in feed.items() if name in self._inputs})[0]
        pooled = states[:, 0] if self._pool_first else states.mean(axis=1, dtype=np.float32)
        unit: Vectors = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit

    def _bulk(self) -> onnxruntime.InferenceSession:
        """Opened on first need: a process that only answers queries holds the weights once."""
        with self._lock:
            if self._many is None:
                self._many = _session(self._folder / MODEL, threads=1)
            return self._many

    def _prefix_tokens(self, prefix: str) -> int:
        return len(self._encoder.encode(prefix, add_special_tokens=False).ids) if prefix else 0


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


def _cores() -> int:
    """Those this process may use, where the system can say (not macOS)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _truncating(path: Path, limit: int) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return tokenizer


def _session(path: Path, *, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Every length is another shape: remembered plans and a growing arena would only hold memory (1 % of the speed).
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    # Waiting threads must not burn the cores that other requests need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no base class of their own
        raise ModelUnavailable(
            f"{path} can't be opened ({str(error)[:200]}); delete its folder and run a reindex, which makes it again"
        ) from error
