import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.retrieval.diversity import diversify, spread
from rag_pipeline.retrieval.ranking import Ranking

TWINS = np.array([[1, 0], [1, 0], [0, 1]], np.float32)


def test_by_hand() -> None:
    # Relevance 1, 0.9, 0. After the first: 0.7 * 0.9 - 0.3 * 1 = 0.33 for its twin, 0 for the other.
    assert diversify([1.0, 0.9, 0.0], TWINS, diversity=0.3) == (0, 1, 2)
    # 0.5 * 0.9 - 0.5 * 1 = -0.05 for the twin, 0 for the other.
    assert diversify([1.0, 0.9, 0.0], TWINS, diversity=0.5) == (0, 2, 1)


def test_0_leaves_the_order_and_1_looks_at_novelty_alone() -> None:
    assert diversify([3.0, 2.0, 1.0], TWINS, diversity=0) == (0, 1, 2)
    assert diversify([3.0, 2.0, 1.0], TWINS, diversity=1) == (0, 2, 1)


def test_near_copies_fall_behind() -> None:
    """Eight revisions of one page must not fill the results."""
    vectors = np.eye(5, dtype=np.float32)[[0] * 8 + [1, 2, 3, 4]]
    scores = [1.0 - n / 100 for n in range(8)] + [0.9, 0.8, 0.7, 0.0]
    assert set(diversify(scores, vectors, diversity=0.3, top_k=4)) == {0, 8, 9, 10}


def test_ties_go_to_the_better_rank() -> None:
    same = np.array([[1, 0]] * 4, np.float32)
    assert diversify([0.5] * 4, same, diversity=0.5) == (0, 1, 2, 3)


def test_a_vector_that_is_none_is_like_no_other() -> None:
    vectors = np.array([[np.nan, 0], [1, 0], [0, 0]], np.float32)
    assert diversify([3.0, 2.0, 1.0], vectors, diversity=0.5) == (0, 1, 2)


def test_nothing_and_a_diversity_outside() -> None:
    assert diversify([], np.zeros((0, 2), np.float32), diversity=0.3) == ()
    with pytest.raises(ValueError, match=r"0\.\.1"):
        diversify([1.0], TWINS[:1], diversity=2)


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 6.3)), max_size=12),
    st.floats(0, 1),
    st.one_of(st.none(), st.integers(0, 15)),
)
def test_always_a_choice_of_the_input_led_by_the_best(items, diversity, top_k) -> None:
    items.sort(key=lambda item: -item[0])
    scores = [score for score, _ in items]
    vectors = np.array([[np.cos(angle), np.sin(angle)] for _, angle in items], np.float32).reshape(-1, 2)
    chosen = diversify(scores, vectors, diversity=diversity, top_k=top_k)
    assert len(chosen) == min(len(items), len(items) if top_k is None else top_k)
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= set(range(len(items)))
    if chosen:
        assert chosen[0] == 0


def test_a_near_copy_falls_behind_in_a_ranking() -> None:
    vectors = np.zeros((10, 2), np.float32)
    vectors[[3, 7]] = (1, 0)
    vectors[5] = (0, 1)
    ranking = Ranking((3, 7, 5), (1.0, 0.9, 0.8), relevance={3: 0.9, 7: 0.8, 5: 0.7})
    assert spread(ranking, vectors, diversity=0.7, top_k=2).rows == (3, 5)
    assert spread(ranking, vectors, diversity=0.7, top_k=2).scores == (1.0, 0.8)
    assert spread(ranking, vectors, diversity=0, top_k=2).rows == (3, 7)
    assert spread(Ranking((), ()), vectors, diversity=0.5, top_k=2).rows == ()
