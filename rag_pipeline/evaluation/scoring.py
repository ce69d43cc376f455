"""All metrics of one ranking against what one question's labels mean in the build."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rag_pipeline.evaluation.metrics.recall import recall
from rag_pipeline.evaluation.metrics.registry import OVERLAP, OVERLAP_DEPTH, RANKING
from rag_pipeline.evaluation.metrics.token_overlap import token_overlap
from rag_pipeline.evaluation.resolve import Relevance

CURVE_DEPTH = 10


class Ranked(Protocol):
    @property
    def section_id(self) -> str: ...
    @property
    def doc_id(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Scores:
    metrics: Mapping[str, float]
    missing: tuple[str, ...]
    """Names of metrics that are not finite numbers here."""
    recall_curve: tuple[float, ...] = ()
    """Recall of sections at 1 to CURVE_DEPTH."""


def score(ranking: Sequence[Ranked], relevance: Relevance) -> Scores:
    """Section metrics, the same ones over documents (each at its best section), and overlap with the labelled text."""
    sections = [r.section_id for r in ranking]
    documents = [r.doc_id for r in ranking]
    metrics = {name: metric(sections, relevance.sections) for name, metric in RANKING.items()}
    metrics |= {f"document_{name}": metric(documents, relevance.documents) for name, metric in RANKING.items()}
    shown = list({r.section_id: r for r in reversed(ranking)}.values())[::-1][:OVERLAP_DEPTH]
    overlap = token_overlap([(r.doc_id, r.start, r.end) for r in shown], relevance.spans)
    metrics |= dict(zip(OVERLAP, (overlap.recall, overlap.precision, overlap.iou), strict=True))
    curve = tuple(recall(sections, relevance.sections, k=k) for k in range(1, CURVE_DEPTH + 1))
    return replace(finite(metrics), recall_curve=curve)


def finite(metrics: Mapping[str, float]) -> Scores:
    """A metric that is NaN or infinite is missing: it is neither 0 nor may it turn a mean into NaN."""
    kept = {name: float(value) for name, value in metrics.items() if math.isfinite(value)}
    return Scores(kept, tuple(name for name in metrics if name not in kept))
