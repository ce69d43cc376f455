from dataclasses import replace

import numpy as np
import pytest

from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.latency import LatencyReport, Percentiles
from rag_pipeline.evaluation.results import write_value
from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval
from rag_pipeline.tracking.metrics import evaluation_metrics, strategy_metrics
from rag_pipeline_tests.evaluation.builders import experiment, scored
from rag_pipeline_tests.tracking.conftest import FAST
from rag_pipeline_tests.tracking.test_answer_metrics import quality


@pytest.fixture
def record(evaluated):
    """The stored record with hand-made scores: three questions under two strategies, one without labels."""
    record = evaluated.record()
    tagged = (
        replace(scored([0.2], tags=("identifier",))[0], query_id="q000"),
        *(replace(q, query_id=f"q00{i}") for i, q in enumerate(scored([0.6, 1.0, None]), start=1)),
    )
    scores = zip(tagged, (0.4, 0.6, 1.0, 0), strict=True)
    better = tuple(replace(q, metrics={"ndcg_at_10": v}) if q.metrics else q for q, v in scores)
    release = record.release.release_id
    return replace(record, experiment=experiment(release, {"hybrid": tagged, "bm25": better}), questions=None)


def test_means_carry_their_interval_and_their_tags(record):
    values = strategy_metrics(record, "hybrid").values
    low, high = bootstrap_interval(np.array([0.2, 0.6, 1.0]), resamples=FAST.resamples, seed=0)
    assert values["ndcg_at_10"] == pytest.approx(0.6)
    assert (values["ndcg_at_10_low"], values["ndcg_at_10_high"]) == (low, high)
    assert values["tag.identifier.ndcg_at_10"] == 0.2
    assert values["tag.identifier.n"] == 1
    assert (values["questions"], values["scored"], values["unresolved"], values["coverage"]) == (4, 3, 1, 0.75)
    assert values["metrics_missing"] == 0
    assert not [name for name in values if "@" in name]


def test_a_strategy_is_compared_with_the_default_one(record):
    values = strategy_metrics(record, "bm25").values
    assert values["change.ndcg_at_10"] == pytest.approx(0.2 / 3)
    assert values["change.ndcg_at_10_low"] <= values["change.ndcg_at_10"] <= values["change.ndcg_at_10_high"]
    assert "change.ndcg_at_10" not in strategy_metrics(record, "hybrid").values


def test_a_metric_that_no_question_has_is_missing_and_counted(record):
    run = tuple(replace(q, metrics={}, missing=("recall_at_5",)) for q in record.experiment.runs["hybrid"][:3])
    broken = replace(record, experiment=replace(record.experiment, runs={"hybrid": run}))
    metrics = strategy_metrics(broken, "hybrid")
    assert "recall_at_5" not in metrics.values
    assert metrics.values["metrics_missing"] == 2  # overall, and under the one tag
    assert metrics.missing == ["recall_at_5", "tag.identifier.recall_at_5"]
    assert metrics.values["values_missing"] == 3


def test_a_strategy_that_scored_nothing_has_missing_metrics_and_no_zeros(record):
    run = tuple(QueryRun(f"q{i}", "text", (), "failed", error="unconfigured") for i in range(3))
    broken = replace(record, experiment=replace(record.experiment, runs={"hyde": run}))
    metrics = strategy_metrics(broken, "hyde")
    assert {"ndcg_at_10", "recall_at_5"} <= set(metrics.missing)
    assert (metrics.values["failed"], metrics.values["coverage"]) == (3, 0)
    assert "ndcg_at_10" not in metrics.values


def test_a_nan_that_got_into_a_result_is_no_interval(record):
    run = (replace(record.experiment.runs["hybrid"][0], metrics={"ndcg_at_10": float("nan")}),)
    broken = replace(record, experiment=replace(record.experiment, runs={"hybrid": run}))
    values = strategy_metrics(broken, "hybrid").values
    assert "ndcg_at_10" not in values and "ndcg_at_10_low" not in values
    only = replace(record, experiment=replace(record.experiment, runs={**record.experiment.runs, "bm25": run}))
    assert "change.ndcg_at_10" not in strategy_metrics(only, "bm25").values
    assert values["metrics_missing"] == 2


def test_the_parent_shows_the_default_strategy_the_times_and_the_answers(evaluated):
    times = LatencyReport(evaluated.release_id, "hybrid", {"total": Percentiles(9, 3.0, 5.5, 7.0)}, 2, 900.0, 0)
    write_value(evaluated.folder, "latency", times)
    write_value(evaluated.folder, "answers", quality("extractive"))
    write_value(evaluated.folder, "answers_llm", quality("llm", failed=3))
    values = evaluation_metrics(evaluated.record()).values
    assert values["ndcg_at_10"] == 1.0 and values["strategies"] == 2
    assert (values["latency.total.p95_ms"], values["latency.cold_ms"]) == (5.5, 900)
    assert (values["answers.extractive.key_facts"], values["answers.llm.failed"]) == (0.75, 3)


def test_halves_are_told_apart(evaluated):
    values = strategy_metrics(evaluated.record(), "hybrid").values
    assert {"tuning.ndcg_at_10", "held_out.ndcg_at_10"} & set(values)
