"""Confidence interval of a mean difference between paired scores, by bootstrap."""

from statistics import NormalDist

import numpy as np

_BLOCK = 4_000_000
"""Most resampled values held at once."""


def bootstrap_interval(
    differences: np.ndarray, *, confidence: float = 0.95, resamples: int = 9999, seed: int = 0
) -> tuple[float, float]:
    """Two-sided interval of the mean of `differences` (n,): bias-corrected and accelerated (BCa).

    Efron, "Better bootstrap confidence intervals", 1987. Where all differences are equal it has no width. Raises
    ValueError for an empty array or one that holds NaN or infinity.
    """
    if not differences.size or not np.isfinite(differences).all():
        raise ValueError("a bootstrap needs at least one difference, and finite ones only")
    n = len(differences)
    mean = float(differences.mean())
    if float(np.ptp(differences)) == 0.0:
        return mean, mean
    means = _resampled_means(differences, resamples, np.random.default_rng(seed))
    normal = NormalDist()
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means <= mean)) / (2 * resamples)
    bias = normal.inv_cdf(min(max(below, 0.5 / resamples), 1 - 0.5 / resamples))
    deviations = (differences - mean) / (n - 1)  # the jackknife's, for a mean
    acceleration = float((deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5))
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(normal.cdf(bias + z / (1 - acceleration * z)))
    low, high = np.quantile(means, ends)
    return float(low), float(high)


def _resampled_means(values: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    n = len(values)
    rows = max(1, _BLOCK // n)
    parts = [
        values[rng.integers(0, n, size=(min(rows, resamples - done), n))].mean(axis=1)
        for done in range(0, resamples, rows)
    ]
    return np.concatenate(parts)
