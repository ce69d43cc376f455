from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.reranking.windows import best_window


def test_a_short_passage_is_read_whole() -> None:
    assert best_window([7], [1, 2, 3], size=3) == (0, 3)


def test_no_shared_token_reads_the_beginning() -> None:
    assert best_window([7], [1, 2, 3, 4], size=2) == (0, 2)
    assert best_window([], [1, 2, 3, 4], size=2) == (0, 2)


def test_a_match_stands_in_the_middle() -> None:
    passage = [1] * 20
    passage[10] = 7
    start, end = best_window([7], passage, size=5)
    assert end - start == 5
    assert (start + end) // 2 == 10


def test_the_rare_token_decides() -> None:
    passage = [5, 0, 5, 0, 5, 0, 5, 0, 0, 0, 0, 9, 0, 0]
    start, end = best_window([5, 9], passage, size=4)
    assert start <= 11 < end


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 9)), st.integers(1, 8))
def test_always_a_range_of_the_passage(query: list[int], passage: list[int], size: int) -> None:
    start, end = best_window(query, passage, size=size)
    assert 0 <= start <= end <= len(passage)
    assert end - start == min(size, len(passage))
