import pytest

from rag_pipeline.evaluation.arms import arms_of
from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.report.against import all_against, two_sided
from rag_pipeline.evaluation.statistics.holm import holm
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment, scored

SETTINGS = GateSettings(resamples=999)


def run(values, *, tags=("a",), **metrics):
    return tuple(
        QueryRun(f"q{i:03}", f"question {i}", tags, "scored", metrics={"ndcg_at_10": v, **metrics})
        for i, v in enumerate(values)
    )


def test_holm_is_over_metrics_and_tags_together():
    base = run([0.5] * 40, recall_at_5=0.5)
    better = run([0.5] * 30 + [0.9] * 10, recall_at_5=0.5)
    (found,) = all_against(
        arms_of([experiment("r", {"hybrid": base, "new": better})]), reference="hybrid", settings=SETTINGS
    )
    tests = {(t.metric, t.tag): t for t in found.tests}
    assert {("ndcg_at_10", None), ("ndcg_at_10", "a"), ("recall_at_5", None)} <= set(tests)
    assert {key: t.p_adjusted for key, t in tests.items()} == holm({key: t.p for key, t in tests.items()})
    # Ten gains and no loss: one-sided 2^-10 by all sign patterns, so two-sided 2^-9, and then times the tests.
    assert tests["ndcg_at_10", None].p == pytest.approx(2 / 1024)
    assert tests["ndcg_at_10", None].p_adjusted == pytest.approx(len(tests) * 2 / 1024)
    assert tests["recall_at_5", None].p == tests["recall_at_5", None].p_adjusted == 1.0
    assert found.comparison.overall.finding == "better"


def test_losses_and_gains_are_the_references_scores_first():
    base, other = run([1.0, 0.0, 0.5, 0.2]), run([0.5, 1.0, 0.5, 0.1])
    (found,) = all_against(arms_of([experiment("r", {"a": base, "b": other})]), reference="a", settings=SETTINGS)
    assert [(q.query_id, q.before, q.after) for q in found.lost] == [("q000", 1.0, 0.5), ("q003", 0.2, 0.1)]
    assert [(q.query_id, q.before, q.after) for q in found.won] == [("q001", 0.0, 1.0)]


def test_an_arm_that_could_not_run_is_not_tested():
    failed = (QueryRun("q000", "?", (), "failed", error="E: x"),)
    arms = arms_of([experiment("r", {"a": scored([1.0]), "b": failed})])
    assert all_against(arms, reference="a", settings=SETTINGS) == ()
    assert all_against(arms, reference="b", settings=SETTINGS) == ()


def test_two_sided_never_exceeds_one():
    (found,) = all_against(
        arms_of([experiment("r", {"a": scored([0.5]), "b": scored([0.5])})]), reference="a", settings=SETTINGS
    )
    assert two_sided(found.comparison.overall) == 1.0
