import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.reranking.blend import blend

FIRST = (("a", 3.0), ("b", 2.0), ("c", 1.0))


def test_hand_worked() -> None:
    # min-max: a 1, b 0.5, c 0; reranker: c 1, a 0.25, b 0
    assert blend(FIRST, [("c", 9.0), ("a", 6.0), ("b", 5.0)], weight=0.5) == (("a", 0.625), ("c", 0.5), ("b", 0.25))


def test_weight_0_is_the_first_stage_and_weight_1_the_reranker() -> None:
    other = [("c", 9.0), ("a", 6.0), ("b", 5.0)]
    assert [i for i, _ in blend(FIRST, other, weight=0)] == ["a", "b", "c"]
    assert [i for i, _ in blend(FIRST, other, weight=1)] == ["c", "a", "b"]


def test_a_missing_score_is_no_contribution() -> None:
    assert blend(FIRST, [("c", 9.0), ("a", 1.0)], weight=0.5) == (("a", 0.5), ("c", 0.5), ("b", 0.25))


def test_weight_1_puts_what_was_not_scored_behind_in_first_stage_order() -> None:
    assert blend(FIRST, [("c", 9.0)], weight=1) == (("c", 1.0), ("a", 0.0), ("b", 0.0))
    lowest = blend((("z", 3.0), ("b", 2.0), ("c", 1.0)), [("c", 9.0), ("b", 1.0)], weight=1)
    assert lowest == (("c", 1.0), ("b", 0.0), ("z", 0.0))


@pytest.mark.parametrize("same", [0.0, 0.7, -3.0])
def test_equal_scores_count_fully(same: float) -> None:
    assert blend(FIRST, [(i, same) for i in "abc"], weight=0.5) == (("a", 1.0), ("b", 0.75), ("c", 0.5))
    assert blend([(i, same) for i in "abc"], [("c", 1.0), ("b", 0.5)], weight=0.5) == (
        ("c", 1.0),
        ("a", 0.5),
        ("b", 0.5),
    )


def test_a_single_candidate_is_not_nan() -> None:
    assert blend([("a", 0.2)], [("a", 5.0)], weight=0.3) == (("a", 1.0),)


def test_ids_of_the_reranker_alone_are_ignored_and_repeats_count_once() -> None:
    assert blend([("a", 2.0), ("b", 1.0), ("a", 1.5)], [("x", 9.0), ("b", 1.0)], weight=0.5) == (
        ("a", 0.5),
        ("b", 0.5),
    )


def test_nothing_in_nothing_out() -> None:
    assert blend([], [("a", 1.0)], weight=0.5) == ()


def test_a_weight_outside_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        blend(FIRST, [], weight=1.5)


SCORES = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(allow_nan=True, allow_infinity=True)), max_size=12)


@given(SCORES, SCORES, st.floats(0, 1))
def test_whatever_comes_every_candidate_has_one_plain_score_from_0_to_1(first, reranked, weight) -> None:
    before = (list(first), list(reranked))
    blended = blend(first, reranked, weight=weight)
    assert sorted(i for i, _ in blended) == sorted({i for i, _ in first})
    assert all(type(score) is float and 0 <= score <= 1 and math.isfinite(score) for _, score in blended)
    assert [score for _, score in blended] == sorted((score for _, score in blended), reverse=True)
    assert repr((list(first), list(reranked))) == repr(before)
