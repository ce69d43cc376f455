"""Precision at k: the share of the first k that is relevant."""

from collections.abc import Sequence

from rag_pipeline.evaluation.metrics.ranking import Grades, relevant_ids, top


def precision(ranking: Sequence[str], grades: Grades, *, k: int) -> float:
    """|relevant in the first k| / k; 0 for an empty ranking. Divided by k, not by what was returned, so that returning
    less never pays. As trec_eval's `P_k`. Raises ValueError where nothing is relevant.
    """
    relevant = relevant_ids(grades)
    return sum(i in relevant for i in top(ranking, k)) / k
