"""What ranking metrics share: a ranking is a sequence of ids, best first; an id counts once, at its best rank."""

from collections.abc import Mapping, Sequence

Grades = Mapping[str, int]
"""Relevant id -> grade, 1 or more; what is absent is not relevant."""


def top(ranking: Sequence[str], k: int | None) -> tuple[str, ...]:
    """The first `k` distinct ids: repeats are removed before the cut, so that they don't push others out."""
    if k is not None and k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return tuple(dict.fromkeys(ranking))[:k]


def relevant_ids(grades: Grades) -> frozenset[str]:
    """Raises ValueError where nothing is relevant: such a question has no ranking metric and is scored apart."""
    relevant = frozenset(i for i, grade in grades.items() if grade > 0)
    if not relevant:
        raise ValueError("nothing is relevant to this question; score questions without an answer apart")
    return relevant
