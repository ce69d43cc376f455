"""The result of one property checked, as plain data; Dagster's checks and the command line only convert it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CheckResult:
    passed: bool
    message: str
    """What holds, or what is wrong and what to do next."""
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
