"""One thing that a release records about itself, beside what doing it again gave."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    name: str
    recorded: str
    recomputed: str
    same: bool | None
    """None where it can't be done again here; `note` says why."""
    note: str = ""
