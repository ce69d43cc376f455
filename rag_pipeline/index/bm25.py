"""The weight of a term in a chunk, worked out once when the index is built. Pure.

    weight(term, chunk) = ln(1 + (N - df + 0.5) / (df + 0.5)) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean))

which is Lucene's BM25 times (k1 + 1), and `match_bm25` times ln(10): its logarithm is decimal (Robertson & Zaragoza
2009, "The Probabilistic Relevance Framework: BM25 and Beyond"). A query's score is the sum over its distinct terms.
"""

import numpy as np
from numpy.typing import NDArray


def bm25_weights(
    *,
    tf: NDArray[np.integer],
    df: NDArray[np.integer],
    length: NDArray[np.integer] | int,
    chunks: int,
    average: float,
    k1: float,
    b: float,
) -> NDArray[np.float64]:
    """The formula above, element by element."""
    idf = np.log1p((chunks - df + 0.5) / (df + 0.5))
    return np.asarray(idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average)), np.float64)
