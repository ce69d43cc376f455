"""Benchmarks into a real MLflow database, and out of it again with MLflow's own client."""

import shutil

import pytest

from rag_pipeline.evaluation.speed_history import append_run
from rag_pipeline.paths import Home
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.tracking import TrackingSettings
from rag_pipeline.tracking.client import open_client
from rag_pipeline.tracking.destination import destination_of
from rag_pipeline.tracking.speed import TAG_AT, log_speed
from rag_pipeline.tracking.state import read_state
from rag_pipeline_tests.evaluation.test_speed_history import run
from rag_pipeline_tests.tracking.test_log import closed_port

FIGURES = {"query.hybrid.p95_ms": 10.5, "embedding.chunks_per_second": 46.0}


@pytest.fixture
def settings(tmp_path, empty_database):
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return Settings(home=tmp_path, tracking=TrackingSettings(seconds=1))


@pytest.fixture
def paths(tmp_path):
    return Home(tmp_path).collection("docs")


def logged(settings):
    """Runs of the collection's benchmarks, oldest first."""
    with open_client(destination_of(settings, environ={})) as client:
        experiment = client.get_experiment_by_name("rag-pipeline/docs/benchmarks")
        return list(client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"]))


def test_a_run_has_its_figures_and_its_machine(settings, paths):
    append_run(paths.benchmarks, run(1, figures=FIGURES))
    found = log_speed(paths, settings=settings, environ={})
    ((made),) = logged(settings)
    assert (found.state, found.run_id, made.info.status) == ("sent", made.info.run_id, "FINISHED")
    assert {name: made.data.metrics[name] for name in FIGURES} == FIGURES
    assert made.data.metrics["load"] == 0.5 and made.data.metrics["metrics_missing"] == 0
    assert made.data.params["machine.processor"] == "p" and made.data.params["machine.cores"] == "2"
    assert made.data.params["load_at_start"] == "0.50" and made.data.params["release"] == "r1"
    assert made.data.tags["rag_pipeline.host"] == "h" and made.info.run_name == "r1 on h"
    assert "p, 2 cores; load 0.5" in made.data.tags["mlflow.note.content"]


def test_a_run_is_logged_once(settings, paths):
    append_run(paths.benchmarks, run(1))
    first = log_speed(paths, settings=settings, environ={})
    assert log_speed(paths, settings=settings, environ={}) == first
    append_run(paths.benchmarks, run(2))
    log_speed(paths, settings=settings, environ={})
    assert [found.data.tags[TAG_AT][8:10] for found in logged(settings)] == ["01", "02"]


def test_what_stayed_behind_is_logged_with_the_next_run(settings, paths, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    append_run(paths.benchmarks, run(1))
    found = log_speed(paths, settings=settings, environ={"MLFLOW_TRACKING_URI": closed_port()})
    assert found.state == "not_sent" and "refused" in found.error
    assert read_state(paths.benchmarks) == found
    append_run(paths.benchmarks, run(2))
    assert log_speed(paths, settings=settings, environ={}).state == "sent"
    assert len(logged(settings)) == 2


def test_a_run_that_was_not_finished_makes_way(settings, paths):
    with open_client(destination_of(settings, environ={})) as client:
        experiment = client.create_experiment("rag-pipeline/docs/benchmarks")
        half = client.create_run(experiment, tags={TAG_AT: run(1).at})
    append_run(paths.benchmarks, run(1, figures=FIGURES))
    found = log_speed(paths, settings=settings, environ={})
    ((made),) = logged(settings)
    assert made.info.run_id == found.run_id != half.info.run_id


def test_nothing_is_logged_before_the_first_run_or_where_tracking_is_off(settings, paths):
    assert log_speed(paths, settings=settings, environ={}) is None
    append_run(paths.benchmarks, run(1, load=None))
    off = settings.model_copy(update={"tracking": TrackingSettings(enabled=False)})
    assert log_speed(paths, settings=off, environ={}) is None
    assert log_speed(paths, settings=settings, environ={}).state == "sent"
    ((made),) = logged(settings)
    assert "load" not in made.data.metrics and made.data.params["load_at_start"] == "unknown"
