import pytest

from rag_pipeline.errors import StageFailed
from rag_pipeline.evaluation import latency
from rag_pipeline.evaluation.eval_set import EvalSet, Query
from rag_pipeline.evaluation.latency import LatencyReport, Percentiles, latency_of, measure_latency, within_budget
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline_tests.evaluation.builders import result
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps

QUERIES = tuple(Query(f"q{i}", f"pump {i}") for i in range(30))


@pytest.fixture
def opened(tmp_path, monkeypatch):
    served = Served(tmp_path / "home", monkeypatch)
    monkeypatch.setattr(latency.query_vector, "forget", lambda: None)  # the fake model can't be opened again
    served.publish(pumps())
    return open_current(served.paths), served


def test_warm_up_is_left_out_and_counted_and_a_question_is_asked_once(opened, monkeypatch):
    """The first call pays for loading the model; a repeated question finds its vector cached."""
    release, served = opened
    asked = []

    def ask(query):
        asked.append(query.text)
        answer = result("a#0")
        answer.timings_ms["total"] = 1000.0 if len(asked) <= 5 else float(len(asked) - 5)
        return answer

    monkeypatch.setattr(latency, "asker", lambda *_, **__: ask)
    report = measure_latency(release, QUERIES * 2, models=served.home.models)
    assert asked == [q.text for q in QUERIES]
    total = report.stages["total"]
    assert (report.warm_up, total.n, report.failed) == (5, 25, 0)
    assert (total.p50, total.p95, total.p99) == pytest.approx((13.0, 23.8, 24.76))
    assert report.cold_ms is not None


def test_calls_that_fail_are_counted_apart(opened, monkeypatch):
    release, served = opened

    def fails(_):
        raise StageFailed("reranker", "timeout", "try again")

    monkeypatch.setattr(latency, "asker", lambda *_, **__: fails)
    report = measure_latency(release, QUERIES, models=served.home.models)
    assert (report.failed, report.stages) == (30, {})
    assert within_budget(report, {"total": 1.0}).passed
    assert "nothing was measured" in within_budget(report, {"total": 1.0}).message


def test_a_stored_report_is_read_unless_it_is_to_be_measured_again(opened):
    release, served = opened
    asked = EvalSet("pumps", QUERIES, ())

    def report(**options):
        return latency_of(served.paths, release.release.release_id, asked, models=served.home.models, **options)

    first = report()
    assert first.strategy == "hybrid" and {"total", "embed", "bm25"} <= set(first.stages)
    assert report() == first
    assert report(again=True) != first
    assert report() != first


@pytest.mark.parametrize(
    ("budget", "passed"),
    [({"total": 30.0}, True), ({"total": 29.9}, False), ({"total": 500, "rerank": 1}, True), ({}, True)],
)
def test_the_budget_holds_at_the_95th_percentile(budget, passed):
    report = LatencyReport("r", "hybrid", {"total": Percentiles(100, 10.0, 30.0, 90.0)}, 5, 500.0, 0)
    found = within_budget(report, budget)
    assert found.passed is passed
    if not passed:
        assert "hybrid: total takes 30 ms at p95 of 100 calls, the budget is 29.9 ms" in found.message
