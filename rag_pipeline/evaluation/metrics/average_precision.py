"""Average precision; its mean over questions is MAP."""

import math
from collections.abc import Sequence

from rag_pipeline.evaluation.metrics.ranking import Grades, relevant_ids, top


def average_precision(ranking: Sequence[str], grades: Grades, *, k: int | None = None) -> float:
    """Sum over the relevant ids found of precision at their rank, over the number of all relevant ids, found or not.

    0 for an empty ranking. As trec_eval's `map` and `map_cut_k`: the divisor does not shrink with k.
    Raises ValueError where nothing is relevant.
    """
    relevant = relevant_ids(grades)
    ranks = [rank for rank, i in enumerate(top(ranking, k), start=1) if i in relevant]
    return math.fsum(found / rank for found, rank in enumerate(ranks, start=1)) / len(relevant)
