import math

import numpy as np
import pytest

from rag_pipeline.evaluation.calibration import expected_calibration_error, fit_logistic


def test_error_by_hand() -> None:
    """Bin 0.2: two of 0.25 and none right, off by 0.25 each; bin 0.9: two of 0.95 and both right, off by 0.05 each."""
    error = expected_calibration_error(np.array([0.25, 0.25, 0.95, 0.95]), np.array([False, False, True, True]))
    assert error == pytest.approx((2 * 0.25 + 2 * 0.05) / 4)


def test_no_error_where_the_share_is_the_probability() -> None:
    labels = np.array([True] * 3 + [False] * 7)
    assert expected_calibration_error(np.full(10, 0.3), labels) == pytest.approx(0)
    assert expected_calibration_error(np.array([1.0]), np.array([True])) == 0  # 1 belongs to the last bin
    assert math.isnan(expected_calibration_error(np.zeros(0), np.zeros(0, np.bool_)))


def test_a_fit_finds_the_curve_that_made_the_labels() -> None:
    random = np.random.default_rng(0)
    x = random.uniform(0, 1, (20_000, 2))
    truth = 1 / (1 + np.exp(-(4 * x[:, 0] - 2)))
    fit = fit_logistic(x, random.uniform(size=len(x)) < truth)
    assert fit.weights == pytest.approx((4, 0), abs=0.2) and fit.intercept == pytest.approx(-2, abs=0.15)
    assert all(type(value) is float and value == round(value, 6) for value in (fit.intercept, *fit.weights))
