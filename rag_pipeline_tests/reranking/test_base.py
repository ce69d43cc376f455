import json

import numpy as np

from rag_pipeline.reranking.base import best_first


def test_score_downwards_then_id() -> None:
    assert best_first([("b", 1.0), ("c", 2.0), ("a", 1.0)]) == (("c", 2.0), ("a", 1.0), ("b", 1.0))


def test_equal_scores_have_one_order_whatever_came_first() -> None:
    five = [(name, 0.5) for name in "ecabd"]
    assert [name for name, _ in best_first(five)] == list("abcde")
    assert best_first(reversed(five)) == best_first(five)


def test_last_bits_do_not_break_a_tie() -> None:
    assert [name for name, _ in best_first([("b", 0.1 + 0.2), ("a", 0.3)])] == ["a", "b"]


def test_numpy_numbers_become_plain_floats_that_json_can_write() -> None:
    ranked = best_first([("a", np.float32(0.25)), ("b", np.float64(-0.0)), ("c", np.int64(1))])
    assert [type(score) for _, score in ranked] == [float] * 3
    assert json.dumps(ranked) == '[["c", 1.0], ["a", 0.25], ["b", 0.0]]'


def test_what_is_no_number_is_left_out() -> None:
    assert best_first([("a", float("nan")), ("b", float("inf")), ("c", -float("inf")), ("d", 0.0)]) == (("d", 0.0),)


def test_top_k() -> None:
    assert best_first([("a", 1.0), ("b", 2.0)], top_k=1) == (("b", 2.0),)
    assert best_first([], top_k=3) == ()
