"""Logging one stored evaluation: a parent run for the evaluation, a child for each strategy.

Whatever goes wrong with the store, the evaluation stands: the fault is written beside it, and it can be sent later. The
same evaluation is logged once; strategies that were measured later join the parent that is there.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_pipeline.errors import RagPipelineError
from rag_pipeline.release.clock import now
from rag_pipeline.release.lock import file_lock
from rag_pipeline.settings.load import Settings
from rag_pipeline.tracking.client import experiment_id, files_note, open_client
from rag_pipeline.tracking.destination import Destination, destination_of, without_secrets
from rag_pipeline.tracking.parameters import experiment_tags
from rag_pipeline.tracking.record import EvaluationRecord
from rag_pipeline.tracking.runs import log_children, log_parent, parent_run
from rag_pipeline.tracking.state import LoggedRun, read_state, write_state

if TYPE_CHECKING:
    from mlflow import MlflowClient

WAIT_SECONDS = 300.0
"""For other processes that log; one takes a few seconds."""
LONGEST_ERROR = 600
Send = Callable[["MlflowClient", Destination], LoggedRun]


def log_evaluation(
    record: EvaluationRecord, *, settings: Settings, environ: Mapping[str, str] = os.environ
) -> LoggedRun | None:
    """Log the evaluation if it isn't yet, and write what became of it to `tracking.json` beside it.

    None where tracking is switched off. A store that can't be reached or used is a `not_sent` result, never raised.
    """
    content = record.content
    return attempt(
        record.folder,
        content,
        lambda client, destination: _log(client, record, content, destination),
        settings=settings,
        environ=environ,
    )


def attempt(
    folder: Path, content: str, send: Send, *, settings: Settings, environ: Mapping[str, str] = os.environ
) -> LoggedRun | None:
    """Call `send` under the destination's lock unless `content` was sent there before, and keep what became of it as
    the folder's `tracking.json`. Returns and raises as `log_evaluation`."""
    destination: Destination | None = None
    try:
        destination = destination_of(settings, environ=environ)
        if destination is None:
            return None
        known = read_state(folder)
        if known is not None and is_logged(known, content, destination):
            return known
        with file_lock(destination.lock, "logging to MLflow", WAIT_SECONDS), open_client(destination) as client:
            logged = send(client, destination)
    except Exception as error:  # noqa: BLE001 - of a server, drivers and networks; it is stored, returned and shown
        logged = LoggedRun("not_sent", content, destination.shown if destination else "", now())
        logged = replace(logged, error=_told(error, destination))
    write_state(folder, logged)
    return logged


def is_logged(known: LoggedRun, content: str, destination: Destination) -> bool:
    """Whether exactly this was sent there before; then MLflow isn't even imported."""
    return (known.state, known.content, known.destination) == ("sent", content, destination.shown)


def _log(client: "MlflowClient", record: EvaluationRecord, content: str, destination: Destination) -> LoggedRun:
    name = f"{destination.experiment}/{record.collection}"
    artifacts = destination.artifacts
    experiment = experiment_id(client, name, artifacts=artifacts, tags=experiment_tags(record.collection))
    parent = parent_run(client, experiment, record)
    children = log_children(client, experiment, parent, record)
    notes = (
        *files_note(client, experiment, artifacts=artifacts),
        *log_parent(client, parent, record, content=content),
    )
    return LoggedRun(
        state="sent",
        content=content,
        destination=destination.shown,
        at=now(),
        experiment_id=experiment,
        run_id=parent,
        children=tuple(children.items()),
        url=run_url(destination, experiment, parent),
        notes=notes,
    )


def run_url(destination: Destination, experiment: str, run: str) -> str | None:
    """For a browser; None where the destination has no pages."""
    if not destination.has_pages:
        return None
    return f"{destination.shown.rstrip('/')}/#/experiments/{experiment}/runs/{run}"


def _told(error: Exception, destination: Destination | None) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, RagPipelineError):
        if destination is not None and (why := _no_answer(error)):
            return f"{destination.shown} does not answer ({why}); start it, or set MLFLOW_TRACKING_URI to one that runs"
        text = f"{type(error).__name__}: {text}"
    text = without_secrets(text, destination) if destination is not None else text
    return text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}..."


def _no_answer(error: BaseException) -> str:
    """Why a server could not be reached; "" for any other fault. MLflow hides it below exceptions of its own."""
    from urllib3.exceptions import HTTPError, TimeoutError

    chain = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(below)
    if not any(isinstance(e, HTTPError) for e in chain):
        return ""
    said = next((e.strerror for e in reversed(chain) if isinstance(e, OSError) and e.strerror), "")
    return said or ("it timed out" if any(isinstance(e, TimeoutError) for e in chain) else "")
