"""The metrics an evaluation computes, by the names they are reported and stored under (`_at_`, because a tracking store
refuses `@`). Names that begin with `document_` rank documents, by their best section; the others rank sections.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rag_pipeline.evaluation.metrics.average_precision import average_precision
from rag_pipeline.evaluation.metrics.hit import hit
from rag_pipeline.evaluation.metrics.mrr import reciprocal_rank
from rag_pipeline.evaluation.metrics.ndcg import ndcg
from rag_pipeline.evaluation.metrics.precision import precision
from rag_pipeline.evaluation.metrics.ranking import Grades
from rag_pipeline.evaluation.metrics.recall import recall

RankingMetric = Callable[[Sequence[str], Grades], float]

RANKING: Mapping[str, RankingMetric] = {
    "ndcg_at_10": partial(ndcg, k=10),
    "ndcg_at_5": partial(ndcg, k=5),
    "recall_at_5": partial(recall, k=5),
    "recall_at_10": partial(recall, k=10),
    "precision_at_5": partial(precision, k=5),
    "hit_at_1": partial(hit, k=1),
    "hit_at_5": partial(hit, k=5),
    "mrr_at_10": partial(reciprocal_rank, k=10),
    "map_at_10": partial(average_precision, k=10),
}
OVERLAP_DEPTH = 5
"""Sections whose text is compared with the labelled text."""
OVERLAP = ("overlap_recall_at_5", "overlap_precision_at_5", "overlap_iou_at_5")
NAMES = (*RANKING, *(f"document_{name}" for name in RANKING), *OVERLAP)
