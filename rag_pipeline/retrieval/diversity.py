"""Results that don't say the same thing twice: maximal marginal relevance (Carbonell and Goldstein 1998). Pure.

Each next result maximises `lambda * relevance - (1 - lambda) * similarity`: relevance is the min-max score, similarity
the highest cosine (below 0 counts as 0) with a result taken before. `diversity` is 1 - lambda: 0 leaves the order as it
is, 0.3 lets a near copy fall behind results that score up to 0.3 / 0.7 of the range less, 1 looks at nothing but
novelty after the first.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.vectors import Vectors
from rag_pipeline.retrieval.fusion import min_max
from rag_pipeline.retrieval.rank import comparable
from rag_pipeline.retrieval.ranking import Ranking


def diversify(
    scores: Sequence[float], vectors: NDArray[np.floating], *, diversity: float, top_k: int | None = None
) -> tuple[int, ...]:
    """Positions into `scores` in the new order. `vectors` (n, dimension) are of unit length; input is best first.

    Ties go to the better rank. A vector with NaN is like no other.
    """
    if not 0 <= diversity <= 1:
        raise ValueError(f"diversity {diversity} is not in 0..1; 0 = order by score alone")
    limit = len(scores) if top_k is None else max(0, min(top_k, len(scores)))
    if diversity == 0:
        return tuple(range(limit))
    relevance = np.nan_to_num(min_max(np.asarray(scores, np.float64)))
    with np.errstate(invalid="ignore"):
        similarity = np.clip(np.nan_to_num(vectors @ vectors.T), 0, 1)
    left = list(range(len(scores)))
    taken: list[int] = []
    nearest = np.zeros(len(scores))
    while left and len(taken) < limit:
        values = comparable((1 - diversity) * relevance[left] - diversity * nearest[left])
        if not taken:
            values = comparable(relevance[left])
        best = left.pop(int(np.argmax(values)))
        taken.append(best)
        nearest = np.maximum(nearest, similarity[best])
    return tuple(taken)


def spread(ranking: Ranking, vectors: Vectors, *, diversity: float, top_k: int) -> Ranking:
    """The `top_k` of a ranking that say the most together; `vectors` of all chunks, by row."""
    if not diversity:
        return ranking.chosen(range(min(top_k, len(ranking.rows))))
    own = np.asarray(vectors[list(ranking.rows)], np.float64)
    return ranking.chosen(diversify(ranking.scores, own, diversity=diversity, top_k=top_k))
