import math

import numpy as np
import pytest

from rag_pipeline.evaluation.statistics.detectable import questions_needed, smallest_detectable_effect, spread
from rag_pipeline.evaluation.statistics.randomization import sign_flip_test


def test_hand_worked():
    # (1.6449 + 0.8416) * 0.2 / sqrt(100)
    assert smallest_detectable_effect(0.2, 100) == pytest.approx(0.04973, abs=1e-5)
    assert smallest_detectable_effect(0.2, 0) == smallest_detectable_effect(5.0, 2) == 1.0
    # (2.4865 * 0.2 / 0.02) ** 2 = 618.2
    assert questions_needed(0.02, 0.2) == 619
    assert smallest_detectable_effect(0.2, 619) <= 0.02 < smallest_detectable_effect(0.2, 618)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [([], 1.0), ([0.0], 1.0), ([0.0, 0.0, 0.0], 1 / math.sqrt(3)), ([0.5, -0.5], math.sqrt(1.5 / 2))],
)
def test_the_spread_counts_one_question_that_was_not_seen(differences, expected):
    assert spread(np.array(differences)) == pytest.approx(expected)


def test_a_loss_of_that_size_is_found_about_four_times_in_five():
    rng = np.random.default_rng(1)
    loss = smallest_detectable_effect(0.3, 80)
    found = [
        sign_flip_test(rng.normal(-loss, 0.3, 80), alternative="less", permutations=199, seed=i) <= 0.05
        for i in range(300)
    ]
    assert 0.72 <= np.mean(found) <= 0.88
