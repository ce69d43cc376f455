"""Small, seeded versions of benchmarks/gate_operating_curves.py: the figures that the gate was designed to."""

import pytest

from rag_pipeline.evaluation.simulate import QUALITY, drift, operating_point
from rag_pipeline.settings.gate import GateSettings

SETTINGS = GateSettings(resamples=199)
TYPICAL = {"questions": 300, "changed": 0.1, "settings": SETTINGS, "seed": 2}


def test_an_equal_release_is_seldom_refused():
    point = operating_point(loss=0.0, trials=400, **TYPICAL)
    assert point.refused <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5
    assert point.refused + point.insufficient + point.not_worse == pytest.approx(1)


def test_a_real_loss_of_5_points_is_refused():
    assert operating_point(loss=0.05, trials=100, **TYPICAL).refused >= 0.85


def test_twenty_small_losses_do_not_pass_the_champion_but_would_pass_their_predecessors():
    settings = {**TYPICAL, "loss": 0.01, "steps": 20, "trials": 6}
    pinned, free = drift(**settings), drift(**settings, champion=False)
    assert pinned.worst_measured_loss <= SETTINGS.margin < free.measured_loss
    assert pinned.published < free.published


def test_what_chance_lets_through_stays_within_the_margin_unless_it_may_add_up():
    """Of candidates that come one after another some look good by chance: measured they lost little, in truth more."""
    walks = {**TYPICAL, "loss": 0.01, "steps": 20, "trials": 12}
    strict = drift(**{**walks, "settings": GateSettings(resamples=199, policy="strict")})
    lenient = drift(**walks)
    unlimited = drift(**{**walks, "settings": GateSettings(resamples=199, unproven=20)})
    assert max(strict.true_loss, lenient.true_loss) <= SETTINGS.margin < unlimited.true_loss
    assert unlimited.measured_loss <= SETTINGS.margin
    assert max(strict.published, lenient.published) < unlimited.published


def test_more_strategies_are_not_more_false_alarms():
    assert operating_point(loss=0.0, trials=100, comparisons=3, **TYPICAL).refused <= 0.12


def test_the_same_seed_gives_the_same_figures():
    small = {"questions": 60, "changed": 0.2, "loss": 0.01, "trials": 20, "settings": SETTINGS}
    assert operating_point(seed=3, **small) == operating_point(seed=3, **small)
    assert operating_point(seed=3, **small) != operating_point(seed=4, **small)


@pytest.mark.parametrize(("changed", "loss"), [(0.05, 0.05), (0.0, 0.01)])
def test_a_loss_larger_than_what_changed_is_refused(changed, loss):
    with pytest.raises(ValueError, match="more than"):
        operating_point(questions=100, changed=changed, loss=loss, trials=1, seed=1, settings=SETTINGS)


def test_the_model_is_neither_perfect_nor_hopeless():
    assert 0.6 < QUALITY < 0.75
