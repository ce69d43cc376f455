"""Reranker and first stage together: a weak reranker alone can hurt a good first stage. Pure."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rag_pipeline.reranking.base import Ranked, best_first
from rag_pipeline.retrieval.fusion import min_max


def blend(first: Sequence[tuple[str, float]], reranked: Sequence[tuple[str, float]], *, weight: float) -> Ranked:
    """`(1 - weight) * min-max of the first stage + weight * min-max of the reranker`, over the ids of `first`.

    Each min-max runs over the candidates that have such a score. Scores that are all equal count fully, 1; a missing
    or non-finite one is no contribution, 0. So every result lies in [0, 1]. Weight 1 leaves the reranker alone: what it
    did not score is behind all that it did, in first-stage order. An id that only the reranker knows is ignored.
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"weight {weight} is not in 0..1; 0 = first stage alone, 1 = reranker alone")
    order = list(dict.fromkeys(passage for passage, _ in first))
    stage, model = _scaled(dict(reversed(first)), order), _scaled(dict(reranked), order)
    if weight < 1:
        total = (1 - weight) * np.nan_to_num(stage) + weight * np.nan_to_num(model)
        return best_first(zip(order, total.tolist(), strict=True))
    scored = best_first((p, s) for p, s in zip(order, model.tolist(), strict=True) if not math.isnan(s))
    rest = best_first(zip(order, np.nan_to_num(stage).tolist(), strict=True))
    known = {passage for passage, _ in scored}
    return scored + tuple((passage, 0.0) for passage, _ in rest if passage not in known)


def _scaled(scores: Mapping[str, float], order: Sequence[str]) -> np.ndarray:
    raw = np.array([float(scores.get(passage, math.nan)) for passage in order], np.float64)
    return min_max(np.where(np.isfinite(raw), raw, np.nan))
