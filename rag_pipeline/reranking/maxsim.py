"""Late interaction over the embedding model's own token vectors (MaxSim, Khattab and Zaharia 2020, "ColBERT").

The score of a passage is the mean, over the query's tokens, of the highest cosine with any token of the passage. It
needs no model besides the one that embeds, so it works wherever queries are answered.

A token that few of the candidates hold weighs more than one that all of them hold: chosen on scifact's training
queries, where it did better than equal weights. Such scores compare the passages of one call, not those of two.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.reranking.base import Passage, Ranked, best_first
from rag_pipeline.reranking.token_cache import TokenVectorCache
from rag_pipeline.reranking.token_vectors import TokenEncoder
from rag_pipeline.reranking.windows import best_window

WINDOW = 128
QUERY_TOKENS = 64


class MaxSimReranker:
    """`window` and `query_tokens` count the model's tokens, special tokens included.

    Without `rarity` every token of the query weighs the same, and a score depends on query and passage alone.
    """

    def __init__(
        self, encoder: TokenEncoder, *, window: int = WINDOW, query_tokens: int = QUERY_TOKENS, rarity: bool = True
    ) -> None:
        self.name = f"maxsim:{encoder.fingerprint}:{window}:{'rarity' if rarity else 'equal'}"
        self._rarity = rarity
        self._encoder = encoder
        self._window = window - 2
        self._query_tokens = query_tokens - 2

    @property
    def cache(self) -> TokenVectorCache | None:
        """Where the encoder keeps what it read, for its counts."""
        return getattr(self._encoder, "cache", None)

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        if not passages:
            return ()
        asked, *read = self._encoder.ids([query, *(passage.text for passage in passages)])
        asked = asked[: self._query_tokens]
        shown = [ids[slice(*best_window(asked, ids, size=self._window))] for ids in read]
        if not asked:
            return ()
        question, *answers = self._encoder.vectors([asked, *shown])
        weights = rarity_weights(asked, shown) if self._rarity else None
        scored = (
            (passage.id, max_similarity(question, answer, weights))
            for passage, answer in zip(passages, answers, strict=True)
            if len(answer)
        )
        return best_first(scored, top_k=top_k)


def max_similarity(
    query: NDArray[np.floating], passage: NDArray[np.floating], weights: NDArray[np.floating] | None = None
) -> float:
    """Mean over the query's rows of the highest dot product with a row of the passage; in [-1, 1] for unit rows."""
    # Not `@`: for matrices this small BLAS spends forty times the work on waking and holding its threads.
    products = np.einsum("qd,pd->qp", np.asarray(query, np.float32), np.asarray(passage, np.float32))
    return float(np.average(products.max(axis=1), weights=weights))


def rarity_weights(query: Sequence[int], passages: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """BM25's inverse document frequency of each token of the query over the passages; always above 0."""
    held = [set(passage) for passage in passages]
    counts = [sum(token in tokens for tokens in held) for token in query]
    return np.array([math.log(1 + (len(held) - count + 0.5) / (count + 0.5)) for count in counts], np.float64)
