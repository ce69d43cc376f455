"""Logging the benchmarks of a collection: one run a measurement, in an experiment beside that of its evaluations.

What the figures are is told by `rag_pipeline.evaluation.speed_history`. Runs that stayed behind while a server was down
are logged with the next one.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from rag_pipeline.evaluation.speed_history import SpeedRun, read_runs
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.clock import now, whoami
from rag_pipeline.settings.load import Settings
from rag_pipeline.tracking.client import experiment_id
from rag_pipeline.tracking.destination import Destination
from rag_pipeline.tracking.log import attempt, run_url
from rag_pipeline.tracking.names import Metrics
from rag_pipeline.tracking.parameters import TAG_COLLECTION, TAG_CONTENT
from rag_pipeline.tracking.runs import find_runs, log_values
from rag_pipeline.tracking.state import LoggedRun

if TYPE_CHECKING:
    from mlflow import MlflowClient

TAG_AT = "rag_pipeline.benchmarked_at"
LAST_RUNS = 30
"""Most runs that are looked for at a destination, and logged where they are not there yet."""


def log_speed(
    paths: CollectionPaths, *, settings: Settings, environ: Mapping[str, str] = os.environ
) -> LoggedRun | None:
    """Log the collection's last runs that aren't logged yet; what became of it is kept beside the history.

    None where nothing was measured yet or tracking is switched off. A store that can't be reached or used is a
    `not_sent` result, never raised.
    """
    runs = read_runs(paths.benchmarks)[-LAST_RUNS:]
    if not runs:
        return None
    content = runs[-1].at

    def send(client: "MlflowClient", destination: Destination) -> LoggedRun:
        experiment = _experiment(client, destination, runs[-1].collection)
        logged = [_log(client, experiment, run) for run in runs]
        return LoggedRun(
            state="sent",
            content=content,
            destination=destination.shown,
            at=now(),
            experiment_id=experiment,
            run_id=logged[-1],
            url=run_url(destination, experiment, logged[-1]),
        )

    return attempt(paths.benchmarks, content, send, settings=settings, environ=environ)


def _experiment(client: "MlflowClient", destination: Destination, collection: str) -> str:
    tags = {
        TAG_COLLECTION: collection,
        "mlflow.note.content": f"How fast the release of {collection} in service is: one run a measurement. Compare "
        "runs of one machine only; `load` tells how busy it was.",
    }
    name = f"{destination.experiment}/{collection}/benchmarks"
    return experiment_id(client, name, artifacts=destination.artifacts, tags=tags)


def _log(client: "MlflowClient", experiment: str, run: SpeedRun) -> str:
    """The run's id; one that was begun and not finished makes way for a new one."""
    for there in find_runs(client, experiment, {TAG_AT: run.at}):
        if TAG_CONTENT in there.data.tags:
            return str(there.info.run_id)
        client.delete_run(there.info.run_id)
    at = int(datetime.fromisoformat(run.at).timestamp() * 1000)
    name = f"{run.release_id[:8]} on {run.machine.get('host', 'unknown')}"
    made = client.create_run(experiment, start_time=at, tags=_tags(run), run_name=name)
    run_id = str(made.info.run_id)
    figures = Metrics()
    figures.update(run.figures.items())
    figures.update((("load", run.load), ("chunks", run.chunks), ("questions", run.questions), ("failed", run.failed)))
    log_values(client, run_id, _parameters(run), figures, at=at)
    client.set_terminated(run_id, end_time=at)
    client.set_tag(run_id, TAG_CONTENT, run.at)
    return run_id


def _parameters(run: SpeedRun) -> dict[str, str]:
    return {
        "release": run.release_id,
        "build_key": run.build_key,
        "collection": run.collection,
        "code": run.code,
        "chunks": str(run.chunks),
        "load_at_start": "unknown" if run.load is None else f"{run.load:.2f}",
        **{f"machine.{name}": value for name, value in run.machine.items()},
    }


def _tags(run: SpeedRun) -> dict[str, str]:
    machine = f"{run.machine.get('processor', 'unknown processor')}, {run.machine.get('cores', '?')} cores"
    load = "unknown" if run.load is None else f"{run.load:.1f}"
    return {
        TAG_COLLECTION: run.collection,
        TAG_AT: run.at,
        "rag_pipeline.release": run.release_id,
        "rag_pipeline.build": run.build_key,
        "rag_pipeline.host": run.machine.get("host", "unknown"),
        "rag_pipeline.processor": run.machine.get("processor", "unknown"),
        "mlflow.user": whoami().partition("@")[0],
        "mlflow.source.name": "rag_pipeline",
        "mlflow.source.type": "JOB",
        "mlflow.note.content": f"Release `{run.release_id}`, {run.chunks} chunks, on {machine}; load {load} at start.",
    }
