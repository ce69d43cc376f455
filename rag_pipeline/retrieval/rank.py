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


def nearly_top(raw: NDArray[np.floating], limit: int) -> NDArray[np.int64]:
    """Positions that can be among the best `limit` once the scores are made comparable: seldom more than those.

    Rounding every score of a large index would take longer than finding the best.
    """
    if len(raw) <= limit:
        return np.arange(len(raw))
    threshold = np.partition(raw, len(raw) - limit)[len(raw) - limit]
    return np.flatnonzero(raw >= threshold - 2 * 10.0**-DECIMALS)


def comparable(scores: NDArray[np.floating]) -> Scores:
    return np.asarray(np.round(scores.astype(np.float64), DECIMALS), np.float64)
