import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.evaluation.statistics.holm import holm


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ({}, {}),
        ({"a": 0.04}, {"a": 0.04}),
        # smallest times 4, next times 3, ...: 0.02, 0.045, 0.06, and 0.04 raised to what came before
        ({"d": 0.04, "a": 0.005, "c": 0.03, "b": 0.015}, {"d": 0.06, "a": 0.02, "c": 0.06, "b": 0.045}),
        ({"a": 0.6, "b": 0.7}, {"a": 1.0, "b": 1.0}),
        ({"a": 0.01, "b": 0.01}, {"a": 0.02, "b": 0.02}),
    ],
)
def test_hand_worked(p_values, expected):
    found = holm(p_values)
    assert list(found) == list(p_values)
    assert found == pytest.approx(expected)


@given(st.dictionaries(st.text(), st.floats(0, 1)))
def test_never_below_the_raw_value_never_above_1_and_in_the_same_order(p_values):
    found = holm(p_values)
    assert all(p_values[k] <= found[k] <= 1 for k in p_values)
    by_raw = sorted(p_values, key=lambda k: p_values[k])
    assert [found[k] for k in by_raw] == sorted(found.values())
