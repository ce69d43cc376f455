import json
import shutil
import socket

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.errors import InvalidSettings, StageFailed, UnknownName
from rag_pipeline.tracking.state import read_state
from rag_pipeline_tests.tracking.conftest import empty_database, evaluated

__all__ = ("empty_database", "evaluated")  # fixtures


@pytest.fixture
def run(evaluated, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str):
        with pytest.raises(SystemExit) as ended:
            main(["eval", "log", *arguments, "--collection", "test", "--home", str(evaluated.settings.home)])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return command


def test_the_release_in_service_is_logged_and_shown_as_it_is(run, evaluated):
    code, out, _ = run("--json")
    told = json.loads(out)
    assert code == 0 and told["destination"].endswith("mlflow.db")
    ((outcome),) = told["evaluations"]
    assert outcome["logged"]["run_id"] == read_state(evaluated.folder).run_id
    code, out, _ = run()
    assert code == 0 and "sent" in out and outcome["logged"]["run_id"] in out


def test_what_could_not_be_sent_is_sent_later(run, evaluated, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    code, out, err = run(evaluated.release_id)
    assert code == StageFailed.exit_code
    assert "not sent" in out and "does not answer (Connection refused); start it" in err and "same command" in err
    assert "Mlflow" not in err and "HTTPConnectionPool" not in err
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert run("--all")[0] == 0
    assert read_state(evaluated.folder).state == "sent"


def test_all_means_every_release(run, evaluated):
    shutil.copytree(evaluated.folder, evaluated.folder.with_name("second"))
    code, out, _ = run("--all", "--json")
    assert code == 0 and len(json.loads(out)["evaluations"]) == 2


def test_what_was_not_tried_is_shown_too(run, evaluated, monkeypatch):
    for name in ("second", "third"):
        shutil.copytree(evaluated.folder, evaluated.folder.with_name(name))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    code, out, _ = run("--all")
    assert code == StageFailed.exit_code and (out.count("not sent"), out.count("not tried")) == (1, 2)


def test_wrong_names_and_folders_are_told(run, monkeypatch):
    assert run("0" * 20)[0] == UnknownName.exit_code
    assert run("0" * 20, "--all")[0] == 2
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    code, _, err = run()
    assert code == InvalidSettings.exit_code and "is a folder" in err


def test_switched_off_is_said(run, tmp_path):
    (tmp_path / "rag_pipeline.toml").write_text("[tracking]\nenabled = false\n")
    code, out, _ = run()
    assert code == 0 and "switched off" in out
