"""From evidence and labels to a probability, and how far such probabilities are off. Pure; plain numbers come out.

Where the evidence comes from is `rag_pipeline.release.calibrate`; applying a fit is `rag_pipeline.retrieval.relevance`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 10
DECIMALS = 6
"""Weights are stored rounded, so that the last bits of a solver don't make another release."""


@dataclass(frozen=True, slots=True)
class LogisticFit:
    intercept: float
    weights: tuple[float, ...]
    """In the order of the features."""


def fit_logistic(features: NDArray[np.floating], labels: NDArray[np.bool_]) -> LogisticFit:
    """`features` (examples, features), `labels` (examples,), both of them present; hardly regularised (C = 100)."""
    from sklearn.linear_model import LogisticRegression  # a build brings it along; serving has none

    model = LogisticRegression(C=100.0, max_iter=1000).fit(features, labels)
    weights = tuple(round(float(weight), DECIMALS) for weight in model.coef_[0])
    return LogisticFit(round(float(model.intercept_[0]), DECIMALS), weights)


def expected_calibration_error(probabilities: NDArray[np.floating], labels: NDArray[np.bool_]) -> float:
    """Mean distance between probability and share of right ones over ten bins of equal width, weighted by their size
    (Naeini et al. 2015); 0 is perfect. NaN without examples."""
    if not len(probabilities):
        return float("nan")
    bins = np.minimum((np.asarray(probabilities) * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    off = np.bincount(bins, probabilities, BINS) - np.bincount(bins, labels.astype(float), BINS)
    return float(np.abs(off).sum() / counts.sum())
