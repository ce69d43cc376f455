"""Names that a tracking store takes: MLflow allows letters, digits and a few signs, reads names as paths, caps them.

https://mlflow.org/docs/latest/api_reference/python_api/mlflow.html (log_metric, log_param)
"""

import hashlib
import math
import re
from collections.abc import Iterable

LONGEST = 250
_FORBIDDEN = re.compile(r"[^\w.\-]")


def metric_name(*parts: str) -> str:
    """The parts joined by dots; what may not stand in a name becomes "_" and a hash of the name it stands for.

    Two tags that differ only by such a sign must not share one metric.
    """
    name = ".".join(parts)
    safe = _FORBIDDEN.sub("_", name)
    if safe == name and len(name) <= LONGEST:
        return name
    return f"{safe[: LONGEST - 9]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


class Metrics:
    """Finite numbers by name; what is none, NaN or infinite is not logged but counted."""

    MISSING = "metrics_missing"

    def __init__(self) -> None:
        self._values: dict[str, float] = {}
        self.missing: list[str] = []

    def add(self, value: float | None, *name: str) -> None:
        if value is not None and math.isfinite(value):
            self._values[metric_name(*name)] = float(value)
        else:
            self.missing.append(metric_name(*name))

    def update(self, values: Iterable[tuple[str, float | None]], *prefix: str) -> None:
        for name, value in values:
            self.add(value, *prefix, name)

    @property
    def values(self) -> dict[str, float]:
        """With the count of missing ones among them."""
        return {**self._values, self.MISSING: float(len(self.missing))}
