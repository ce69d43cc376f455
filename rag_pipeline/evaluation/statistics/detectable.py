"""How small a loss an eval set can see, and how many questions it would take to see a given one."""

import math
from statistics import NormalDist

import numpy as np


def spread(differences: np.ndarray) -> float:
    """Standard deviation of paired differences, as if one more question had changed fully (by 1).

    A few questions that all come out equal would otherwise have none, and seem to prove that nothing changed.
    1 where there is no question.
    """
    n = len(differences)
    if not n:
        return 1.0
    return math.sqrt((float(((differences - differences.mean()) ** 2).sum()) + 1.0) / n)


def smallest_detectable_effect(sd: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The true mean difference that a one-sided paired test at `alpha` finds with probability `power`.

    (z of 1 - alpha plus z of power) times sd / sqrt(n); at most 1, the whole scale of a metric.
    """
    return min(1.0, _both(alpha, power) * sd / math.sqrt(n)) if n else 1.0


def questions_needed(effect: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """How many questions make `effect` detectable, at this standard deviation."""
    return math.ceil((_both(alpha, power) * sd / effect) ** 2)


def _both(alpha: float, power: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha) + normal.inv_cdf(power)
