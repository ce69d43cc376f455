import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from rag_pipeline.evaluation.statistics.auroc import auroc, weighted_auroc


def test_by_hand():
    # pairs (upper, lower): 0.9 > 0.4, 0.9 > 0.6, 0.6 > 0.4, 0.6 = 0.6: 3.5 of 4
    assert auroc(np.array([0.9, 0.6, 0.4, 0.6]), np.array([True, True, False, False])) == 3.5 / 4


def test_one_class_has_none():
    assert auroc(np.array([0.1, 0.2]), np.array([True, True])) is None
    assert np.isnan(weighted_auroc(np.array([0.1, 0.2]), np.array([True, False]), np.array([[1.0, 0.0]]))[0])


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.booleans(), st.integers(1, 3)), min_size=2))
def test_as_scikit_learn_has_it(cases):
    scores, upper, weights = (np.array(column) for column in zip(*cases, strict=True))
    if upper.all() or not upper.any():
        return
    assert auroc(scores, upper) == pytest.approx(roc_auc_score(upper, scores))
    weighted = weighted_auroc(scores, upper, weights[None, :].astype(float))[0]
    assert weighted == pytest.approx(roc_auc_score(upper, scores, sample_weight=weights))
