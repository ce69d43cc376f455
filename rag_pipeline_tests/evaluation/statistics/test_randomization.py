import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.evaluation.statistics.randomization import sign_flip_test


@pytest.mark.parametrize(
    ("differences", "alternative", "expected"),
    [
        ([-1, -1, -1], "less", 1 / 8),
        ([-1, -1, -1], "greater", 1),
        ([-1, -1, -1], "two-sided", 2 / 8),
        ([-0.1] * 5, "less", 1 / 32),
        # sums of +-1 +-2: -3, -1, 1, 3; observed 1
        ([2, -1], "greater", 2 / 4),
        ([2, -1], "less", 3 / 4),
        ([2, -1], "two-sided", 1),
        ([0, 0, 0], "less", 1),
        ([], "two-sided", 1),
        ([-1, -1, -1, 0, 0, 0, 0], "less", 1 / 8),  # zeros change nothing
    ],
)
def test_hand_worked(differences, alternative, expected):
    assert sign_flip_test(np.array(differences, float), alternative=alternative) == expected


@given(st.lists(st.sampled_from([-1.0, -0.1, 0.0, 0.1, 0.2, 0.3]), max_size=8))
def test_agrees_with_every_sign_pattern_written_out(values):
    """0.1 + 0.2 and 0.3 tie: sums that differ by rounding only must count as equal."""
    sums = [
        round(sum(s * v for s, v in zip(signs, values, strict=True)), 6)
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    observed = round(sum(values), 6)
    for alternative, extreme in (
        ("less", [s <= observed for s in sums]),
        ("greater", [s >= observed for s in sums]),
        ("two-sided", [abs(s) >= abs(observed) for s in sums]),
    ):
        assert sign_flip_test(np.array(values), alternative=alternative) == pytest.approx(sum(extreme) / len(sums))


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
@pytest.mark.parametrize("size", [12, 40])
def test_agrees_with_scipy(alternative, size):
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(size).normal(-0.2, 1, size)
    theirs = stats.permutation_test(
        (values,),
        np.sum,
        permutation_type="samples",
        alternative=alternative,
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).pvalue
    assert sign_flip_test(values, alternative=alternative) == pytest.approx(theirs, abs=0.015)


def test_sampled_p_values_are_reproducible_and_never_0():
    values = np.full(60, -0.5)  # more than are counted exactly
    p = sign_flip_test(values, alternative="less", permutations=999, seed=1)
    assert p == sign_flip_test(values, alternative="less", permutations=999, seed=1) == 1 / 1000


def test_refuses_an_equal_pair_no_more_often_than_it_says():
    rng = np.random.default_rng(2)
    p = [sign_flip_test(rng.choice([-1, -0.4, 0.4, 1.0], 20), alternative="less") for _ in range(1000)]
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.06


def test_large_inputs_are_sampled_in_blocks():
    values = np.random.default_rng(1).normal(-0.1, 1, 30_000)
    assert sign_flip_test(values, alternative="less", permutations=299) < 0.05


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="finite"):
        sign_flip_test(np.array([1.0, value]), alternative="less")
