"""Normalised discounted cumulative gain at k, with graded relevance."""

import math
from collections.abc import Sequence

from rag_pipeline.evaluation.metrics.ranking import Grades, relevant_ids, top


def ndcg(ranking: Sequence[str], grades: Grades, *, k: int) -> float:
    """DCG of the first k over the DCG of the best possible k; DCG = sum of grade / log2(rank + 1), ranks from 1.

    The gain is the grade itself (Jaervelin and Kekaelaeinen, "Cumulated gain-based evaluation of IR techniques", 2002),
    as in trec_eval's `ndcg_cut_k` and so in BEIR: figures can be laid beside published ones. The other convention,
    2^grade - 1 (Burges et al. 2005), weighs the top grade more. The ideal comes from the labels, never from what was
    retrieved. 0 for an empty ranking; never above 1. Raises ValueError where nothing is relevant.
    """
    relevant = relevant_ids(grades)
    gained = _dcg([grades[i] if i in relevant else 0 for i in top(ranking, k)])
    return gained / _dcg(sorted((grades[i] for i in relevant), reverse=True)[:k])


def _dcg(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
