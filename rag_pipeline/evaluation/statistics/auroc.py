"""How well scores part two classes: the area under the ROC curve, with a weight for each case. Pure.

Equal to the Mann-Whitney U over its greatest value: the chance that a case of the upper class scores higher than one of
the lower, ties counting half. (Fawcett, "An introduction to ROC analysis", 2006.)
"""

import numpy as np


def auroc(scores: np.ndarray, upper: np.ndarray) -> float | None:
    """`scores` (n,), `upper` (n,) bool: which belong to the class that should score higher. None where one is empty."""
    weighted = weighted_auroc(scores, upper, np.ones((1, len(scores))))
    return None if np.isnan(weighted[0]) else float(weighted[0])


def weighted_auroc(scores: np.ndarray, upper: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(r,) for `weights` (r, n), one row a resample; NaN where a class has no weight."""
    above, below = scores[upper], scores[~upper]
    wins = (above[:, None] > below).astype(np.float64) + 0.5 * (above[:, None] == below)
    up, down = weights[:, upper], weights[:, ~upper]
    pairs = up.sum(axis=1) * down.sum(axis=1)
    won = ((up @ wins) * down).sum(axis=1)
    out = np.full(len(weights), np.nan)
    np.divide(won, pairs, out=out, where=pairs > 0)
    return out
