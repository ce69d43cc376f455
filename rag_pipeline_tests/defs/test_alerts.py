"""Failed runs, made by small jobs with the errors and checks of the real ones, against a local server."""

import logging

import dagster as dg
import pytest

from rag_pipeline.defs.alerts import alert_definitions
from rag_pipeline.defs.benchmarks import BENCHMARKS
from rag_pipeline.defs.collection import COLLECTION_TAG
from rag_pipeline.defs.regression import REGRESSION
from rag_pipeline.errors import ReleaseRefused
from rag_pipeline.evaluation.history_check import LATENCY, NO_REGRESSION
from rag_pipeline.evaluation.speed_check import NO_SLOW_DOWN
from rag_pipeline_tests.local_server import Answer, local_server

SECRET = "Band four begins at 81,500 and ends at 97,250 a year"


@pytest.fixture
def server(monkeypatch):
    with local_server() as server:
        monkeypatch.setenv("RAG_PIPELINE_ALERT_WEBHOOK", f"{server.url}/k3y")
        yield server


def job(asset: str, error: Exception | None, checks: list[dg.AssetChecksDefinition], *, name: str) -> dg.JobDefinition:
    @dg.asset(key=["docs", asset])
    def made() -> None:
        if isinstance(error, ReleaseRefused):
            raise dg.Failure(description=str(error), allow_retries=False) from error
        if error is not None:
            raise error

    definitions = dg.Definitions(
        assets=[made],
        asset_checks=checks,
        jobs=[dg.define_asset_job(name, selection=[made], tags={COLLECTION_TAG: "docs"})],
    )
    return definitions.resolve_job_def(name)


def failing(asset: str, name: str, *, severity=dg.AssetCheckSeverity.ERROR, text: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=dg.AssetKey(["docs", asset]), name=name, blocking=severity is dg.AssetCheckSeverity.ERROR)
    def check() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, severity=severity, description=text)

    return check


def happened(job: dg.JobDefinition) -> None:
    """Run the job, and evaluate both sensors before and after it, as the daemon does."""
    sensors = list(alert_definitions(["docs"]).sensors or ())
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        cursors = [_tick(sensor, instance, None) for sensor in sensors]
        job.execute_in_process(instance=instance, raise_on_error=False, run_config=quiet)
        for sensor, cursor in zip(sensors, cursors, strict=True):
            _tick(sensor, instance, cursor)


def _tick(sensor, instance: dg.DagsterInstance, cursor: str | None) -> str:
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        tick = sensor.evaluate_tick(context)
    for reaction in tick.dagster_run_reactions:
        assert reaction.error is None, reaction.error.to_string()
    return tick.cursor


def body(server):
    (asked,) = server.asked
    assert asked.path == "/k3y" and SECRET not in str(asked.body)
    return asked.body


def test_a_refused_release_is_told_without_the_questions(server):
    error = ReleaseRefused(f"hybrid lost 0.300 ndcg_at_10 (0.900 -> 0.600). worse: {SECRET!r} 1.00 -> 0.00")
    happened(job("published_release", error, [], name="docs_reindex"))
    told = body(server)
    assert (told["kind"], told["collection"], told["job"]) == ("release_refused", "docs", "docs_reindex")
    assert told["step"] == "docs__published_release" and told["error"] == "ReleaseRefused"
    assert told["message"] == "hybrid lost 0.300 ndcg_at_10 (0.900 -> 0.600)"


def test_a_blocking_check_is_told_by_name(server):
    check = failing("candidate_release", "pinned_queries", text=f"1 of 5 pinned queries failed: {SECRET!r}")
    happened(job("candidate_release", None, [check], name="docs_reindex"))
    told = body(server)
    assert (told["kind"], told["checks"]) == ("release_refused", ["pinned_queries"])
    assert told["message"] == "1 of 5 pinned queries failed: '...'"


def test_of_an_unexpected_error_only_the_class_is_told(server):
    """Another library's message may quote what it was reading."""
    happened(job("documents", ValueError(SECRET), [], name="docs_reindex"))
    told = body(server)
    assert (told["kind"], told["error"]) == ("run_failed", "ValueError")
    assert told["message"] == "ValueError; see the run in Dagster"


def test_a_regression_is_told_whether_it_fails_the_run_or_warns(server):
    happened(job(REGRESSION, None, [failing(REGRESSION, NO_REGRESSION, text="it lost")], name="docs_regression"))
    assert body(server)["kind"] == "regression"
    server.asked.clear()
    warn = dg.AssetCheckSeverity.WARN
    checks = [
        failing(REGRESSION, LATENCY, severity=warn, text="90 ms at p95"),
        failing(REGRESSION, NO_REGRESSION, severity=warn, text="3 of 9 questions are answered otherwise"),
    ]
    happened(job(REGRESSION, None, checks, name="docs_regression"))
    told = body(server)
    assert (told["kind"], told["checks"]) == ("regression", [NO_REGRESSION, LATENCY])
    server.asked.clear()
    happened(job(REGRESSION, None, checks[:1], name="docs_regression"))
    assert body(server)["kind"] == "latency"


def test_a_slow_down_is_told(server):
    slow_text = "cold_start_ms 2000 (median 800)"
    slow = failing(BENCHMARKS, NO_SLOW_DOWN, severity=dg.AssetCheckSeverity.WARN, text=slow_text)
    happened(job(BENCHMARKS, None, [slow], name="docs_benchmarks"))
    told = body(server)
    assert (told["kind"], told["checks"], told["message"]) == ("latency", [NO_SLOW_DOWN], slow_text)


def test_a_good_run_and_warnings_of_other_jobs_are_not_told(server):
    happened(job(REGRESSION, None, [], name="docs_regression"))
    slow = failing("latency", "latency_within_budget", severity=dg.AssetCheckSeverity.WARN, text="slow")
    happened(job("latency", None, [slow], name="docs_reindex"))
    assert server.asked == []


def test_without_a_webhook_nothing_is_sent(server, monkeypatch):
    monkeypatch.delenv("RAG_PIPELINE_ALERT_WEBHOOK")
    happened(job("documents", ValueError("x"), [], name="docs_reindex"))
    assert server.asked == []


@pytest.mark.parametrize("url", [None, "http://hooks.example.org/k3y"])
def test_a_failure_to_send_is_logged_without_the_address_and_breaks_nothing(server, monkeypatch, caplog, url):
    server.script(Answer(b"", status=403))
    if url is not None:
        monkeypatch.setenv("RAG_PIPELINE_ALERT_WEBHOOK", url)
    monkeypatch.setattr(dg.RunStatusSensorContext, "log", logging.getLogger("alerts"))
    happened(job("documents", ValueError("x"), [], name="docs_reindex"))
    assert len(server.asked) == (1 if url is None else 0)
    (record,) = [r for r in caplog.records if r.name == "alerts"]
    assert record.levelname == "ERROR" and "no alert was sent" in record.message and "k3y" not in record.message
