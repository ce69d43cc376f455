from dataclasses import replace

import pytest

from rag_pipeline.tracking.plots import recall_curves, recall_plot
from rag_pipeline_tests.evaluation.builders import experiment, scored


def test_the_curve_is_the_mean_recall_at_each_depth():
    first, second, third = scored([0.5, 0.5, None])
    run = (replace(first, recall_curve=(0.0, 0.5, 1.0)), replace(second, recall_curve=(1.0, 1.0, 1.0)), third)
    assert recall_curves(experiment("r1", {"hybrid": run})) == {"hybrid": pytest.approx((0.5, 0.75, 1.0))}


def test_a_strategy_that_scored_nothing_has_no_curve():
    assert recall_curves(experiment("r1", {"hybrid": scored([None])})) == {}


def test_the_plot_names_its_strategies_and_is_the_same_twice(evaluated):
    curves = recall_curves(evaluated.record().experiment)
    first = recall_plot(curves, title="東京 $x$")
    assert first.startswith("<?xml") and ">hybrid<" in first and ">bm25<" in first and "東京 $x$" in first
    assert first == recall_plot(curves, title="東京 $x$")
