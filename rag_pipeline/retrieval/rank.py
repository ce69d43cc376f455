"""One total order everywhere: score downwards, then row. Rows follow document id and position, so they are stable."""

import numpy as np
from numpy.typing import NDArray

DECIMALS = 6
"""Scores are compared at this precision: the last bits of a matrix product depend on what else was in the matrix."""

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]


def ordered(scores: Scores, rows: Rows) -> NDArray[np.int64]:
    """Positions into `rows`, best first."""
    return np.lexsort((rows, -scores))


def top(scores: Scores, rows: Rows, limit: int) -> Rows:
    """The best `limit` of `rows`, best first, ties at the cut decided by the same order."""
    if len(rows) > limit:
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        near = np.flatnonzero(scores >= threshold)
        scores, rows = scores[near], rows[near]
    return rows[ordered(scores, rows)[:limit]]


def comparable(scores: NDArray[np.floating]) -> Scores:
    return np.asarray(np.round(scores.astype(np.float64), DECIMALS), np.float64)
