"""Is the mean difference of paired scores larger than chance? A sign-flip randomisation test.

Under the null hypothesis the two systems are exchangeable, so every difference could as well have had the other sign
(Fisher 1935; for retrieval: Smucker, Allan and Carterette, "A comparison of statistical significance tests", 2007).
"""

from typing import Literal

import numpy as np

Alternative = Literal["less", "greater", "two-sided"]
EXACT = 32
"""Up to this many differences that are not zero, all sign patterns are counted; zeros change nothing."""
_BLOCK = 4_000_000
_TIE = 1e-9
"""Sums this close (relative to the largest possible) are equal: they differ by rounding only."""


def sign_flip_test(
    differences: np.ndarray, *, alternative: Alternative, permutations: int = 9999, seed: int = 0
) -> float:
    """p-value of "the mean of `differences` (n,) is less (greater, other) than 0"; 1 where none differs.

    Sampled p-values are (1 + hits) / (1 + permutations): never 0, and never too small on average. Raises ValueError for
    NaN or infinity.
    """
    if not np.isfinite(differences).all():
        raise ValueError("a randomisation test needs finite differences")
    moved = differences[differences != 0].astype(np.float64)
    if not moved.size:
        return 1.0
    observed = float(moved.sum())
    # Flipping every sign mirrors the distribution, so all three alternatives ask for the weight of a lower tail.
    limit = {"less": observed, "greater": -observed, "two-sided": -abs(observed)}[alternative]
    limit += _TIE * float(np.abs(moved).sum())
    exact = len(moved) <= EXACT
    tail = _exact_tail(moved, limit) if exact else _sampled_tail(moved, limit, permutations=permutations, seed=seed)
    return min(1.0, 2 * tail) if alternative == "two-sided" else tail


def _exact_tail(moved: np.ndarray, limit: float) -> float:
    """Share of the 2^n sign patterns with a sum up to `limit`: the sums of one half, sorted, for each of the other."""
    half = len(moved) // 2
    left, right = np.sort(_all_sums(moved[:half])), _all_sums(moved[half:])
    return int(np.searchsorted(left, limit - right, side="right").sum()) / float(len(left) * len(right))


def _all_sums(values: np.ndarray) -> np.ndarray:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _sampled_tail(moved: np.ndarray, limit: float, *, permutations: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(moved))
    total = float(moved.sum())
    hits = 0
    for done in range(0, permutations, rows):
        signs = rng.integers(0, 2, size=(min(rows, permutations - done), len(moved)), dtype=np.int8)
        hits += int(np.count_nonzero(2 * (signs @ moved) - total <= limit))
    return (1 + hits) / (1 + permutations)
