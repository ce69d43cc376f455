"""Several tests at once: p-values adjusted so that the chance of any false alarm stays at the level of one."""

from collections.abc import Mapping
from typing import TypeVar

K = TypeVar("K")


def holm(p_values: Mapping[K, float]) -> dict[K, float]:
    """Adjusted p-values, in the order given: the i-th smallest of m times (m - i + 1), made non-decreasing, at most 1.

    Holm, "A simple sequentially rejective multiple test procedure", 1979; valid however the tests depend on each other.
    """
    adjusted: dict[K, float] = {}
    so_far = 0.0
    for i, key in enumerate(sorted(p_values, key=lambda k: p_values[k])):
        so_far = max(so_far, min(1.0, (len(p_values) - i) * p_values[key]))
        adjusted[key] = so_far
    return {key: adjusted[key] for key in p_values}
