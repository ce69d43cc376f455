"""First use of a data directory by four processes at once."""

import multiprocessing
from pathlib import Path

import pytest

from rag_pipeline.evaluation.code_fingerprint import code_fingerprint
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.results import write_experiment
from rag_pipeline.evaluation.split import Half
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.tracking.client import open_client
from rag_pipeline.tracking.destination import destination_of
from rag_pipeline.tracking.log import log_evaluation
from rag_pipeline.tracking.record import read_record
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps

PROCESSES = 4
FAST = GateSettings(resamples=99)


def log_one(home: Path, release_id: str, number: int, barrier) -> None:
    settings = Settings(home=home)
    from rag_pipeline.paths import Home

    paths = Home(home).collection("test")
    record = read_record(paths, release_id, paths.evaluation(release_id, f"{number}" * 64), settings=FAST)
    barrier.wait(timeout=60)
    logged = log_evaluation(record, settings=settings, environ={})
    assert logged is not None and logged.state == "sent", logged


@pytest.fixture
def release_id(tmp_path, monkeypatch) -> str:
    served = Served(tmp_path / "home", monkeypatch)
    release = served.publish(pumps())
    for number in range(PROCESSES):
        asked = Experiment(
            eval_set=f"set {number}",
            eval_set_version="1",
            eval_set_hash=f"{number}" * 64,
            half=Half.BOTH,
            release_id=release.release_id,
            build_key=release.build_key,
            runs={"hybrid": (QueryRun("q", "oil", (), "scored", metrics={"ndcg_at_10": number / 4}),)},
            warm_up=0,
            code=code_fingerprint(),
        )
        write_experiment(served.paths.evaluation(release.release_id, asked.eval_set_hash), asked)
    return release.release_id


def test_four_processes_make_one_experiment_and_lose_no_run(tmp_path, release_id):
    """MLflow races on a fresh database: tables half made, an experiment twice, or a run without its metrics."""
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(PROCESSES)
    home = tmp_path / "home"
    workers = [spawn.Process(target=log_one, args=(home, release_id, n, barrier)) for n in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=240)
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES

    destination = destination_of(Settings(home=home), environ={})
    assert destination is not None
    with open_client(destination) as client:
        experiments = {e.name for e in client.search_experiments()}
        experiment = client.get_experiment_by_name("rag-pipeline/test")
        runs = client.search_runs([experiment.experiment_id])
    assert experiments == {"Default", "rag-pipeline/test"}
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert len(runs) == 2 * PROCESSES and len(children) == PROCESSES
    assert sorted(run.data.metrics["ndcg_at_10"] for run in children) == [0.0, 0.25, 0.5, 0.75]
    assert not list(home.glob(".tmp-*"))
