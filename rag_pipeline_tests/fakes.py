"""Fakes that compute: an embedder whose vectors can be predicted by eye."""

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np

from rag_pipeline.text.tokenizer import WordTokenizer


class WordEmbedder:
    """Each lower-cased word adds 1 to one of `dimension` slots chosen by its hash; then unit length.

    Two texts with the same words have cosine 1; texts without a common word have about 0.
    """

    def __init__(self, dimension: int = 64, max_tokens: int = 256) -> None:
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.fingerprint = f"words-{dimension}-{max_tokens}"
        self.model = "words"
        self.runtime = "fake"
        self.query_prefix = ""
        self.tokenizer = WordTokenizer()
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], role: Literal["document", "query"] = "document") -> np.ndarray:
        self.calls.append(list(texts))
        out = np.zeros((len(texts), self.dimension), np.float32)
        for i, text in enumerate(texts):
            for start, end in self.tokenizer.spans(text):
                out[i, self.slot(text[start:end])] += 1
            out[i, 0] += 0.01  # never a zero vector
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    def slot(self, word: str) -> int:
        return int.from_bytes(hashlib.blake2b(word.lower().encode(), digest_size=4).digest(), "big") % self.dimension
