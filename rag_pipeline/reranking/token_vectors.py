"""Token-level output of the embedding model: one unit vector a token, from the graph that its export wrote.

Rows of one text never depend on what else is asked: every text runs alone, two at a time where there are two threads.
That is as fast as a padded batch, and the same text always gives the same bits. Vectors are handed out in 16 bits,
the form in which `token_cache.py` keeps them, so that what was kept and what is computed anew are equal.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import numpy as np
import tokenizers
from numpy.typing import NDArray

from rag_pipeline.embedding.encoder import Encoder
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.processor import cores
from rag_pipeline.reranking.token_cache import TokenVectorCache

TokenIds = Sequence[int]
TokenVectors = NDArray[np.float16]
"""(tokens, dimension), unit length, special tokens left out."""


class TokenEncoder(Protocol):
    @property
    def fingerprint(self) -> str: ...

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, special tokens left out, untruncated."""
        ...

    def vectors(self, texts: Sequence[TokenIds]) -> list[TokenVectors]:
        """One array for each list of ids; the special tokens are put around it for the model."""
        ...


class ModelTokenEncoder:
    """Over an `Encoder`; safe to share between threads. Raises ModelUnavailable where the tokenizer is missing."""

    def __init__(
        self, encoder: Encoder, tokenizer: Path, *, fingerprint: str, threads: int = 0, cache_bytes: int = 0
    ) -> None:
        """`cache_bytes` 0 keeps nothing."""
        if not tokenizer.is_file():
            raise ModelUnavailable(f"{tokenizer} is missing; load the embedding model again")
        self._encoder = encoder
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._before, self._after = _special_tokens(self._tokenizer)
        self._workers = threads or cores()
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self.cache = TokenVectorCache(cache_bytes)
        self.fingerprint = fingerprint

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def vectors(self, texts: Sequence[TokenIds]) -> list[TokenVectors]:
        keys = [tuple(ids) for ids in texts]
        known = self.cache.take(keys)
        missing = sorted({key for key in keys if key not in known}, key=len, reverse=True)  # the longest first
        if len(missing) < 2 or self._workers == 1:
            found = [self._one(ids) for ids in missing]
        else:
            found = list(self._threads().map(self._one, missing))
        made = dict(zip(missing, found, strict=True))
        self.cache.keep(made)
        return [made[key] if key in made else known[key] for key in keys]

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="token-vectors")
            return self._pool

    def _one(self, ids: TokenIds) -> TokenVectors:
        row = np.array([[*self._before, *ids, *self._after]], np.int64)
        states = self._encoder.beside(row)[0]
        return unit_rows(states[len(self._before) : len(row[0]) - len(self._after)])


def unit_rows(states: NDArray[np.floating]) -> TokenVectors:
    """Rows of unit length; a row of zeros stays one."""
    norms = np.linalg.norm(states, axis=1, keepdims=True)
    return np.asarray(states / np.where(norms > 0, norms, 1.0), np.float16)


def _special_tokens(tokenizer: tokenizers.Tokenizer) -> tuple[list[int], list[int]]:
    """Ids that the model wants before and behind a text."""
    ids, mask = (encoding := tokenizer.encode("a")).ids, encoding.special_tokens_mask
    first = mask.index(0)
    last = len(mask) - mask[::-1].index(0)
    return ids[:first], ids[last:]
