from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.retrieval.fusion import Leg, convex, min_max, rrf

NAN = float("nan")


def array(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([2, 4, 3], [0, 1, 0.5]),
        ([5], [1]),
        ([0.3, 0.3, 0.3], [1, 1, 1]),
        ([-2, NAN, 0], [0, NAN, 1]),
        ([NAN, NAN], [NAN, NAN]),
        ([], []),
    ],
)
def test_min_max(scores: list[float], expected: list[float]) -> None:
    np.testing.assert_equal(min_max(array(*scores)), array(*expected))


def test_min_max_from_a_floor() -> None:
    np.testing.assert_equal(min_max(array(4, NAN, 2), floor=0), array(1, NAN, 0.5))
    np.testing.assert_equal(min_max(array(4), floor=0), array(1))


def test_convex_by_hand() -> None:
    legs = [Leg(0.75, array(1, 3, 2)), Leg(0.25, array(8, NAN, 4), floor=0)]
    assert convex(legs, np.arange(3), rrf_k=60).tolist() == [0.25, 0.75, 0.75 * 0.5 + 0.25 * 0.5]


def test_one_keyword_hit_among_ten_dense_hits() -> None:
    """The single BM25 score must become neither 0 nor NaN, and who has none is not punished."""
    bm25 = np.full(10, NAN)
    bm25[4] = 7.0
    fused = convex([Leg(0.5, np.linspace(1, 0.1, 10)), Leg(0.5, bm25, floor=0)], np.arange(10), rrf_k=60)
    assert fused[4] == pytest.approx(0.5 * (5 / 9) + 0.5)
    assert np.isfinite(fused).all() and (fused >= 0).all()


def test_rrf_by_hand() -> None:
    legs = [Leg(0.7, array(0.9, 0.5, 0.7)), Leg(0.3, array(NAN, 2.0, 1.0))]
    expected = [0.7 / 61, 0.7 / 63 + 0.3 / 61, 0.7 / 62 + 0.3 / 62]
    assert rrf(legs, np.arange(3), rrf_k=60).tolist() == pytest.approx(expected)


def test_rrf_breaks_ties_by_row() -> None:
    assert rrf([Leg(1, array(5, 5, 5))], np.array([9, 3, 6]), rrf_k=1).tolist() == pytest.approx([1 / 4, 1 / 2, 1 / 3])


scores = st.lists(st.floats(-1e6, 1e6) | st.just(NAN), min_size=1, max_size=30)


@given(scores, st.floats(0, 1), st.randoms())
def test_fused_scores_are_finite_and_bounded(one: list[float], weight: float, random: object) -> None:
    other = one[::-1]
    for fuse in (convex, rrf):
        fused = fuse([Leg(weight, array(*one)), Leg(1 - weight, array(*other))], np.arange(len(one)), rrf_k=60)
        assert np.isfinite(fused).all()
        assert ((fused >= 0) & (fused <= 1 + 1e-9)).all()


@given(scores)
def test_min_max_keeps_the_order(values: list[float]) -> None:
    given_scores = array(*values)
    scaled = min_max(given_scores)
    present = sorted((s, m) for s, m in zip(given_scores, scaled, strict=True) if not np.isnan(s))
    assert all(a[1] <= b[1] for a, b in pairwise(present))
    assert np.isnan(scaled).tolist() == np.isnan(given_scores).tolist()


@given(scores)
def test_more_score_is_never_less_fused(values: list[float]) -> None:
    rows = np.arange(len(values))
    for fuse in (convex, rrf):
        fused = fuse([Leg(1, array(*values))], rows, rrf_k=60)
        present = sorted((s, f) for s, f in zip(values, fused, strict=True) if not np.isnan(s))
        assert all(a[1] <= b[1] or a[0] == b[0] for a, b in pairwise(present))
