"""Reciprocal rank of the first relevant result; its mean over questions is MRR."""

from collections.abc import Sequence

from rag_pipeline.evaluation.metrics.ranking import Grades, relevant_ids, top


def reciprocal_rank(ranking: Sequence[str], grades: Grades, *, k: int | None = None) -> float:
    """1 / rank of the first relevant id, ranks from 1; 0 where none of the first k is. As trec_eval's `recip_rank`.

    Voorhees, "The TREC-8 Question Answering Track Report", 1999. Raises ValueError where nothing is relevant.
    """
    relevant = relevant_ids(grades)
    return next((1 / rank for rank, i in enumerate(top(ranking, k), start=1) if i in relevant), 0.0)
