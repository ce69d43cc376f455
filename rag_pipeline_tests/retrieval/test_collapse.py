import numpy as np

from rag_pipeline.index.open import Layout
from rag_pipeline.retrieval.collapse import collapse


def layout(*chunks: tuple[int, int, int, int]) -> Layout:
    document, section, start, end = (np.array(column, np.int32) for column in zip(*chunks, strict=True))
    return Layout(document, section, start, end, start, end)


def test_the_best_chunk_stands_for_its_section() -> None:
    chunks = layout((0, 0, 0, 10), (0, 0, 10, 20), (0, 1, 20, 30), (1, 2, 0, 10))
    assert collapse([1, 0, 3, 2], chunks, limit=5) == [1, 3, 2]
    assert collapse([1, 0, 3, 2], chunks, limit=2) == [1, 3]
    assert collapse([], chunks, limit=2) == []


def test_overlapping_spans_collapse_before_the_cut() -> None:
    """Windows that overlap by 80 % filled the results with one passage."""
    windows = layout(*((0, n, n * 20, n * 20 + 100) for n in range(10)), (1, 10, 0, 100))
    assert collapse(range(11), windows, limit=3) == [0, 5, 10]


def test_spans_that_only_touch_are_both_kept() -> None:
    assert collapse([0, 1], layout((0, 0, 0, 10), (0, 1, 10, 20)), limit=5) == [0, 1]
