import numpy as np
import pytest

from rag_pipeline.evaluation.comparison import assess
from rag_pipeline.evaluation.ruling import interval_level, name_of, rule
from rag_pipeline.settings.gate import GateSettings

SETTINGS = GateSettings(resamples=999)


def effect(reference, *, lost=0.0, spread=0.0, n=400):
    """`lost` on average, with differences of +-`spread` around it."""
    before = np.full(n, 0.5)
    after = before - lost + spread * np.where(np.arange(n) % 2, 1.0, -1.0)
    return assess(before, after, settings=SETTINGS, level=interval_level(reference, SETTINGS))


def test_the_interval_against_the_champion_is_wider():
    against = {r: effect(r, spread=0.3) for r in ("in service", "champion")}
    assert against["champion"].low < against["in service"].low < 0 < against["in service"].high
    assert against["champion"].p_worse == against["in service"].p_worse


def test_what_is_evidence_enough_against_the_release_in_service_may_not_be_against_the_champion():
    """Half widths: 0.2 / 20 x 1.75 = 0.0175 and 0.2 / 20 x 2.33 = 0.0233, around a margin of 0.02."""
    found = {r: rule({(r, "hybrid"): effect(r, spread=0.2)}, settings=SETTINGS) for r in ("in service", "champion")}
    assert found["in service"].evidence == "not worse"
    assert found["champion"].evidence == "insufficient evidence"
    assert not found["in service"].losses and not found["champion"].losses


def test_the_level_of_the_test_is_the_same_for_both():
    assert interval_level("in service", SETTINGS) == SETTINGS.alpha
    assert interval_level("champion", SETTINGS) == pytest.approx(SETTINGS.alpha / 4)


def test_a_loss_names_the_reference_and_why():
    (loss,) = rule({("champion", "hybrid"): effect("champion", lost=0.05)}, settings=SETTINGS).losses
    assert loss.startswith("hybrid lost 0.050 ndcg_at_10 against the champion (0.500 -> 0.450 on 400 questions)")
    assert "more than the margin of 0.02 and not by chance" in loss
    assert name_of("in service") == "release in service"


def test_no_comparison_is_no_evidence():
    assert rule({}, settings=SETTINGS).evidence == "insufficient evidence"
