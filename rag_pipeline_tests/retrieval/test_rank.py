import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.retrieval.rank import comparable, ordered, top


def test_ties_are_broken_by_row() -> None:
    scores, rows = np.array([0.5, 0.9, 0.5, 0.5]), np.array([8, 5, 2, 4])
    assert rows[ordered(scores, rows)].tolist() == [5, 2, 4, 8]
    assert top(scores, rows, 3).tolist() == [5, 2, 4]
    assert top(scores, rows, 9).tolist() == [5, 2, 4, 8]


def test_the_last_bits_do_not_decide() -> None:
    scores = comparable(np.array([0.70000001, 0.7, 0.69999999], np.float32))
    assert top(scores, np.array([2, 1, 0]), 3).tolist() == [0, 1, 2]


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 45))
def test_top_equals_sorting_everything(values: list[int], limit: int) -> None:
    scores, rows = np.array(values, np.float64), np.arange(len(values))
    assert top(scores, rows, limit).tolist() == sorted(rows.tolist(), key=lambda r: (-values[r], r))[:limit]
