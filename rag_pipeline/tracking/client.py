"""Opening MLflow: its client with explicit run ids, never the fluent interface, whose active run is per thread.

Lives here: what has to be set around MLflow (telemetry off, short waits, no chatter), a store that can't be reached
told within seconds, a sqlite store made once and whole, and one experiment a name whoever opens it at the same time.
"""

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_pipeline.durable import TEMPORARY, fsync_file, fsync_folder, temporary_name
from rag_pipeline.errors import MissingExtra, StageFailed
from rag_pipeline.tracking.destination import SQLITE, Destination

if TYPE_CHECKING:
    from mlflow import MlflowClient

TRIES = 1
"""Further tries after a failed call; MLflow's own seven take four minutes."""
_LOGGERS = ("mlflow", "alembic")


@contextmanager
def open_client(destination: Destination) -> Iterator["MlflowClient"]:
    """A client of the destination; call under its lock.

    Raises MissingExtra without mlflow, StageFailed where a database's host does not answer, and whatever MLflow or a
    database driver raises for the address.
    """
    with _environment(_variables(destination.seconds)), _quiet():
        try:
            from mlflow import MlflowClient
        except ImportError as error:
            raise MissingExtra("mlflow", "eval") from error
        if destination.database is not None and not destination.database.exists():
            _make_database(destination.database, artifacts=str(destination.artifacts))
        elif not destination.has_pages and not destination.uri.startswith("databricks"):
            _try_database(destination)
        yield MlflowClient(tracking_uri=destination.uri)


def experiment_id(client: "MlflowClient", name: str, *, artifacts: str | None, tags: Mapping[str, str]) -> str:
    """The experiment of that name, made where it is missing; call under the destination's lock.

    Raises StageFailed where a person deleted it.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifacts, tags=dict(tags)))
        except MlflowException:
            # Another machine that logs to the same server may have been first; no lock of ours reaches it.
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage != "active":
        raise StageFailed(
            "tracking", "experiment_deleted", f"restore the experiment {name!r} in MLflow, or set tracking.experiment"
        )
    return str(found.experiment_id)


def files_note(client: "MlflowClient", experiment: str, *, artifacts: str | None) -> tuple[str, ...]:
    """Told where an experiment's files go elsewhere than the settings say: MLflow decides when it is made, for good.

    That is so in a data directory that was copied from another place.
    """
    place = str(client.get_experiment(experiment).artifact_location)
    if artifacts is None or place == artifacts:
        return ()
    return (f"files go to {place}, where this experiment was made; for others, set tracking.experiment to a new name",)


def _variables(seconds: int) -> dict[str, str]:
    return {
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(seconds),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": str(TRIES),
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
        "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0.5",
        "MLFLOW_ARTIFACT_UPLOAD_DOWNLOAD_TIMEOUT": str(seconds * 6),
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    }


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """MLflow is set by the environment alone; what a person set there stays as it is."""
    # For good, not for the block: MLflow reads it once, when it is imported, and starts a thread otherwise.
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings about MLflow's own dependencies, and no log lines of its migrations on the terminal."""
    before = {name: logging.getLogger(name).level for name in _LOGGERS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _only_errors()
            yield
        finally:
            for name, level in before.items():
                logging.getLogger(name).setLevel(level)


def _only_errors() -> None:
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")  # read when MLflow is imported
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)


def _try_database(destination: Destination) -> None:
    """MLflow tries a database ten times, for almost two minutes, whatever is wrong with it."""
    import sqlalchemy

    url = sqlalchemy.make_url(destination.uri)
    if url.host:
        port = url.port or _PORTS.get(url.get_backend_name(), 0)
        try:
            socket.create_connection((url.host, port), timeout=destination.seconds).close()
        except OSError as error:
            raise StageFailed(
                "tracking", "unreachable", f"{destination.shown} does not answer ({error.strerror or error})"
            ) from error
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    try:
        sqlalchemy.inspect(engine).get_table_names()
    finally:
        engine.dispose()


_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


def _make_database(file: Path, *, artifacts: str) -> None:
    """Make the tables under another name, then rename: a first use that is killed leaves no half of a schema.

    Nobody reads the file before the rename, so it is flushed once and not after each of some hundred statements.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    file.parent.mkdir(parents=True, exist_ok=True)
    for old in file.parent.glob(f"{TEMPORARY}{file.name}-*"):  # of a killed first use; the lock says nobody writes it
        old.unlink(missing_ok=True)
    partial = temporary_name(file)
    event.listen(Engine, "connect", _unflushed)
    try:
        store = SqlAlchemyStore(f"{SQLITE}{partial}", artifacts)  # type: ignore[no-untyped-call]
        store.engine.dispose()
        fsync_file(partial)
        partial.replace(file)
        fsync_folder(file.parent)
    finally:
        event.remove(Engine, "connect", _unflushed)
        partial.unlink(missing_ok=True)


def _unflushed(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA synchronous = OFF")
