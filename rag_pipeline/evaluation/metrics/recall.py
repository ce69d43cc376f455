"""Recall at k: the share of what is relevant that is among the first k."""

from collections.abc import Sequence

from rag_pipeline.evaluation.metrics.ranking import Grades, relevant_ids, top


def recall(ranking: Sequence[str], grades: Grades, *, k: int) -> float:
    """|relevant in the first k| / |relevant|; 0 for an empty ranking. Below 1 at best where more than k are relevant.

    As trec_eval's `recall_k`. Raises ValueError where nothing is relevant.
    """
    relevant = relevant_ids(grades)
    return sum(i in relevant for i in top(ranking, k)) / len(relevant)
