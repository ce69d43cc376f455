import os
import socket
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from rag_pipeline.errors import MissingExtra, StageFailed
from rag_pipeline.settings.load import Settings
from rag_pipeline.tracking import client as module
from rag_pipeline.tracking.client import experiment_id, open_client
from rag_pipeline.tracking.destination import destination_of


@pytest.fixture
def destination(tmp_path):
    return destination_of(Settings(home=tmp_path / "home"), environ={})


def test_an_experiment_is_made_once_and_knows_where_its_files_go(evaluated):
    own = destination_of(evaluated.settings, environ={})
    with open_client(own) as client:
        first = experiment_id(client, "a", artifacts=own.artifacts, tags={"x": "y"})
        assert experiment_id(client, "a", artifacts=own.artifacts, tags={}) == first
        found = client.get_experiment(first)
    assert found.artifact_location == f"{own.artifacts}/{first}" or found.artifact_location == own.artifacts
    assert found.tags["x"] == "y"


def test_a_first_use_that_is_killed_leaves_no_half_of_a_database(destination, monkeypatch):
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    destination.database.parent.mkdir()
    (destination.database.parent / ".tmp-mlflow.db-1-abcd").write_text("of an earlier one that was killed harder")

    def killed(self, uri, artifacts):
        sqlite3.connect(uri.removeprefix("sqlite:///")).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(SqlAlchemyStore, "__init__", killed)
    with pytest.raises(KeyboardInterrupt), open_client(destination):
        pass
    assert not destination.database.exists()
    assert not list(destination.database.parent.iterdir())


def test_a_damaged_database_is_told_at_once(destination):
    """MLflow tries it ten times, for almost two minutes."""
    destination.database.parent.mkdir(parents=True)
    destination.database.write_bytes(b"this is no database" * 100)
    began = time.monotonic()
    with pytest.raises(Exception, match="not a database"), open_client(destination):
        pass
    assert time.monotonic() - began < 30


def test_a_database_server_that_is_down_is_told_at_once(destination):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = f"postgresql://me:hunter22@127.0.0.1:{port}/mlflow"
    elsewhere = replace(destination, uri=uri, shown=f"postgresql://127.0.0.1:{port}/mlflow", database=None)
    with pytest.raises(StageFailed, match="does not answer") as told, open_client(elsewhere):
        pass
    assert "hunter22" not in str(told.value)


def test_what_a_person_set_for_mlflow_stays(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "77")
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", raising=False)
    with module._environment(module._variables(5)):
        assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "77"
        assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "1"
    assert "MLFLOW_HTTP_REQUEST_MAX_RETRIES" not in os.environ


def test_without_mlflow_the_extra_is_named(destination, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtra, match=r"rag-pipeline\[eval\]"), open_client(destination):
        pass


def test_telemetry_is_off_and_nothing_is_written_to_the_terminal(tmp_path):
    """In a fresh interpreter that looks like no test: MLflow keeps its telemetry off under pytest and in CI anyway."""
    code = f"""
import threading
from pathlib import Path
from rag_pipeline.settings.load import Settings
from rag_pipeline.tracking.client import open_client
from rag_pipeline.tracking.destination import destination_of
with open_client(destination_of(Settings(home=Path({str(tmp_path / "home")!r})), environ={{}})) as client:
    client.create_experiment("x")
from mlflow.telemetry.client import get_telemetry_client
assert get_telemetry_client() is None
assert threading.active_count() == 1, threading.enumerate()
"""
    keep = ("PATH", "HOME", "VIRTUAL_ENV", "LANG")
    environ = {name: os.environ[name] for name in keep if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
