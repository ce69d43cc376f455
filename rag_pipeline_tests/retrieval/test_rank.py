import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.retrieval.rank import comparable, nearly_top, ordered, top


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


@given(st.lists(st.floats(-1, 1, width=32) | st.sampled_from([0.5, 0.5000003, 0.4999998]), max_size=30), st.data())
def test_what_is_nearly_at_the_top_holds_the_top(values: list[float], data: st.DataObject) -> None:
    raw, limit = np.array(values, np.float32), data.draw(st.integers(1, 35))
    near = nearly_top(raw, limit)
    assert top(comparable(raw[near]), near, limit).tolist() == top(comparable(raw), np.arange(len(raw)), limit).tolist()


def test_few_of_many_are_nearly_at_the_top() -> None:
    raw = np.linspace(-1, 1, 10_000)
    assert nearly_top(raw, 20).tolist() == list(range(9_980, 10_000))
