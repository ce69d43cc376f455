import numpy as np
import pytest

from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval


def sparse(n=300, changed=30, seed=3):
    rng = np.random.default_rng(seed)
    out = np.zeros(n)
    out[:changed] = rng.choice([-1.0, -0.37, 0.5, 1.0], size=changed)
    return out


@pytest.mark.parametrize(
    "values", [np.random.default_rng(1).normal(0.1, 1, 80), np.random.default_rng(2).exponential(1, 40), sparse()]
)
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_agrees_with_scipy(values, confidence):
    stats = pytest.importorskip("scipy.stats")
    theirs = stats.bootstrap(
        (values,), np.mean, confidence_level=confidence, n_resamples=9999, method="BCa", rng=np.random.default_rng(9)
    ).confidence_interval
    low, high = bootstrap_interval(values, confidence=confidence)
    width = theirs.high - theirs.low
    assert low == pytest.approx(theirs.low, abs=0.04 * width)
    assert high == pytest.approx(theirs.high, abs=0.04 * width)


def test_the_same_seed_gives_the_same_interval_and_another_seed_nearly_the_same():
    values = sparse()
    first = bootstrap_interval(values, seed=5)
    assert first == bootstrap_interval(values, seed=5)
    assert first != bootstrap_interval(values, seed=6)
    assert first == pytest.approx(bootstrap_interval(values, seed=6), abs=0.003)


def test_more_confidence_is_wider():
    narrow, wide = bootstrap_interval(sparse(), confidence=0.8), bootstrap_interval(sparse(), confidence=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(4)
    hits = 0
    for i in range(300):
        low, high = bootstrap_interval(rng.exponential(1.0, 40), confidence=0.9, resamples=499, seed=i)
        hits += low <= 1.0 <= high
    assert 0.83 <= hits / 300 <= 0.95


@pytest.mark.parametrize("values", [[0.25], [0.25, 0.25, 0.25]])
def test_equal_differences_have_no_width(values):
    assert bootstrap_interval(np.array(values)) == (0.25, 0.25)


def test_large_inputs_are_resampled_in_blocks():
    values = np.random.default_rng(1).normal(0, 1, 50_000)
    low, high = bootstrap_interval(values, resamples=199)
    assert low < values.mean() < high


@pytest.mark.parametrize("values", [[], [np.nan, 1.0], [np.inf]])
def test_what_is_not_finite_or_not_there_is_refused(values):
    with pytest.raises(ValueError, match="at least one difference"):
        bootstrap_interval(np.array(values))
