from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.tracking import TrackingSettings
from rag_pipeline.tracking.destination import destination_of, without_secrets


def found(tmp_path: Path, *, uri: str = "", variable: str | None = None, **tracking):
    settings = Settings(home=tmp_path / "data", tracking=TrackingSettings(uri=uri, **tracking))
    return destination_of(settings, environ={} if variable is None else {"MLFLOW_TRACKING_URI": variable})


def test_by_default_runs_lie_in_the_data_directory(tmp_path):
    own = found(tmp_path)
    assert own.uri == own.shown == f"sqlite:///{tmp_path}/data/mlflow.db"
    assert own.database == tmp_path / "data" / "mlflow.db"
    assert own.artifacts == (tmp_path / "data" / "mlartifacts").as_uri()
    assert not own.has_pages


def test_the_environment_wins_over_the_settings_and_both_over_the_default(tmp_path):
    assert found(tmp_path, uri="http://one:5000").uri == "http://one:5000"
    both = found(tmp_path, uri="http://one:5000", variable="http://two:5000")
    assert (both.uri, both.artifacts, both.has_pages) == ("http://two:5000", None, True)
    assert found(tmp_path, uri="http://one:5000", variable="  ").uri == "http://one:5000"


def test_it_can_be_switched_off(tmp_path):
    assert found(tmp_path, enabled=False, variable="http://two:5000") is None


@pytest.mark.parametrize("folder", ["./mlruns", "mlruns", "/srv/mlruns", "file:///srv/mlruns", "file:mlruns", "~/runs"])
@pytest.mark.parametrize("where", ["uri", "variable"])
def test_a_folder_is_refused_with_what_to_do(tmp_path, folder, where):
    """MLflow keeps no runs in folders any more; its own message comes after minutes of work and names no way out."""
    with pytest.raises(InvalidSettings, match=r"is a folder.*unset it to use .*mlflow\.db") as refused:
        found(tmp_path, **{where: folder})
    assert ("MLFLOW_TRACKING_URI" if where == "variable" else "tracking.uri") in str(refused.value)


def test_a_relative_database_means_the_same_file_later(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = found(tmp_path, variable="sqlite:///runs/mlflow.db")
    assert own.uri == f"sqlite:///{tmp_path}/runs/mlflow.db"
    monkeypatch.chdir("/")
    assert own.database == tmp_path / "runs" / "mlflow.db"


@pytest.mark.parametrize("uri", ["sqlite:///:memory:", "sqlite://", "postgresql://db/mlflow", "databricks"])
def test_other_addresses_go_to_mlflow_as_they_are(tmp_path, uri):
    own = found(tmp_path, variable=uri)
    assert (own.uri, own.database) == (uri, None)


@pytest.mark.parametrize("uri", ["postgresql://me:hunter22@db/x", "postgresql://db/x?password=hunter22"])
def test_a_password_belongs_in_the_environment_and_is_never_shown(tmp_path, uri):
    with pytest.raises(InvalidSettings, match="MLFLOW_TRACKING_URI") as refused:
        found(tmp_path, uri=uri)
    assert "hunter22" not in str(refused.value)
    own = found(tmp_path, variable=uri)
    assert own.uri == uri and "hunter22" not in own.shown
    told = without_secrets(f"could not connect to {uri}: password hunter22 of me:hunter22@db was refused", own)
    if "@" in uri:
        assert "hunter22" not in told
    assert uri not in told


def test_an_escaped_password_is_not_shown_in_either_form(tmp_path):
    own = found(tmp_path, variable="postgresql://me:p%40ss-w0rd@db/x")
    assert without_secrets("p%40ss-w0rd and p@ss-w0rd", own) == "*** and ***"
