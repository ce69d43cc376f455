"""From the scores of several legs to one. Pure; NaN means that a leg has no score for a candidate.

A missing score is no contribution, never a negative one. Scores that are all equal count fully: the leg found them and
has nothing to tell between them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_pipeline.retrieval.rank import Rows, Scores


@dataclass(frozen=True, slots=True)
class Leg:
    weight: float
    scores: Scores
    """(candidates,); NaN where missing."""
    floor: float | None = None
    """The lowest score the leg can give, where there is one; else the lowest it gave."""


def convex(legs: Sequence[Leg], rows: Rows, *, rrf_k: int) -> Scores:
    """Weighted sum of each leg's min-max scores, in [0, sum of weights] (Bruch et al. 2023, "An Analysis of Fusion
    Functions for Hybrid Retrieval")."""
    total = np.zeros(len(rows))
    for leg in legs:
        total += leg.weight * np.nan_to_num(min_max(leg.scores, floor=leg.floor), nan=0.0)
    return total


def rrf(legs: Sequence[Leg], rows: Rows, *, rrf_k: int) -> Scores:
    """Weighted reciprocal ranks, the sum of weight / (k + rank), rank from 1 (Cormack et al. 2009)."""
    total = np.zeros(len(rows))
    for leg in legs:
        present = np.flatnonzero(~np.isnan(leg.scores))
        order = present[np.lexsort((rows[present], -leg.scores[present]))]
        total[order] += leg.weight / (rrf_k + np.arange(1, len(order) + 1))
    return total


FUSIONS: Mapping[str, Callable[..., Scores]] = {"convex": convex, "rrf": rrf}


def min_max(scores: Scores, *, floor: float | None = None) -> Scores:
    """To [0, 1]; where all scores are equal, 1; NaN stays."""
    present = scores[~np.isnan(scores)]
    if not len(present):
        return scores.copy()
    low, high = float(present.min()), float(present.max())
    low = low if floor is None else min(low, floor)
    if high == low:
        return np.where(np.isnan(scores), np.nan, 1.0)
    if math.isinf(high - low):  # the difference of the largest numbers there are is none
        scores, low, high = scores / 4, low / 4, high / 4
    return (scores - low) / (high - low)
