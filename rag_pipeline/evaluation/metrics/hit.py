"""Hit at k (success at k): whether anything relevant is among the first k."""

from collections.abc import Sequence

from rag_pipeline.evaluation.metrics.ranking import Grades, relevant_ids, top


def hit(ranking: Sequence[str], grades: Grades, *, k: int) -> float:
    """1 if any of the first k is relevant, else 0; 0 for an empty ranking. As trec_eval's `success_k`.

    Raises ValueError where nothing is relevant.
    """
    relevant = relevant_ids(grades)
    return float(any(i in relevant for i in top(ranking, k)))
