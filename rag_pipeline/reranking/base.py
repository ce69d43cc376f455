"""What every reranker is: passages in, the same ids with scores out, best first. No model and no fallback here."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

DECIMALS = 6
"""Scores are rounded to this: the last bits of a model's output depend on the machine, and ties must stay ties."""


@dataclass(frozen=True, slots=True)
class Passage:
    """`id` is unique in one call."""

    id: str
    text: str


Ranked = tuple[tuple[str, float], ...]
"""`(id, score)`, score downwards, then id; plain finite floats."""


class Reranker(Protocol):
    """Leaves its input as it is. A passage it could not score is left out of the answer."""

    @property
    def name(self) -> str:
        """Which reranker and model: goes into releases and explanations."""
        ...

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked: ...


def best_first(scores: Iterable[tuple[str, float]], *, top_k: int | None = None) -> Ranked:
    """Ordered and cut; scores that are no finite number are left out, whatever number type a model gave them."""
    plain = ((passage, round(float(score), DECIMALS)) for passage, score in scores)
    finite = [(passage, score + 0.0) for passage, score in plain if math.isfinite(score)]  # + 0.0: no negative zero
    return tuple(sorted(finite, key=lambda item: (-item[1], item[0]))[:top_k])
