"""What the stages behind fusion hand on: sections in order, and what each stage said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Ranking:
    """Each section by the row of its best chunk, best first. All rows passed the scope."""

    rows: tuple[int, ...]
    scores: tuple[float, ...]
    """What ordered them; (rows,)."""
    said: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Stage -> row -> its score: "rerank", "blended"."""
    relevance: Mapping[int, float] = field(default_factory=dict)
    """Row -> calibrated probability; empty where there is no calibration."""
    markers: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def chosen(self, places: Sequence[int]) -> "Ranking":
        """The rows at these places, in this order."""
        return replace(self, rows=tuple(self.rows[p] for p in places), scores=tuple(self.scores[p] for p in places))

    def marked(self, *markers: str) -> "Ranking":
        return replace(self, markers=(*self.markers, *markers))
