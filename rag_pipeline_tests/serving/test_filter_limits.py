from typing import Any

import pytest

from rag_pipeline.serving.filter_limits import MOST_CHARACTERS, MOST_KEYS, MOST_VALUES, bounded_filters


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"category": "security"},
        {"tags": ["a", "b"], "updated": {"gte": "2026-01-01", "in": ["x", 1, None]}},
        {"source": "x" * MOST_CHARACTERS},
    ],
    ids=lambda f: str(f)[:30],
)
def test_what_passes_is_unchanged(filters: dict[str, Any]) -> None:
    assert bounded_filters(filters) == filters


def test_texts_are_repaired() -> None:
    assert bounded_filters({"a\ud800": {"in": ["\ud800"]}}) == {"a\ufffd": {"in": ["\ufffd"]}}


@pytest.mark.parametrize(
    "filters",
    [
        {str(n): 1 for n in range(MOST_KEYS + 1)},
        {"a": {str(n): 1 for n in range(MOST_KEYS + 1)}},
        {"a": [1] * (MOST_VALUES + 1)},
        {"a": [[1]]},
        {"a": [{}]},
        {"a": {"in": {}}},
        {"a": {"in": [[1]]}},
        {"a": "x" * (MOST_CHARACTERS + 1)},
    ],
    ids=lambda f: str(f)[:30],
)
def test_what_is_too_large_or_too_deep(filters: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        bounded_filters(filters)
