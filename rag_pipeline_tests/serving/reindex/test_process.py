import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.cli.reindex_child import finished
from rag_pipeline.errors import BuildBusy
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.serving.reindex import process as process_module
from rag_pipeline.serving.reindex.lock import is_free, take
from rag_pipeline.serving.reindex.process import ProcessRunner
from rag_pipeline.serving.reindex.record import LOG, Run, all_runs, new_run, read_run, run_folder, write_run


@pytest.fixture
def paths(tmp_path: Path) -> CollectionPaths:
    return Home(tmp_path / "home").collection("docs")


def runner(paths: CollectionPaths, config: Path | None = None) -> ProcessRunner:
    return ProcessRunner(paths.root.parent, config=config)


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def sleeper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A child that waits for a file to appear instead of indexing."""
    module = tmp_path / "modules" / "sleeper.py"
    module.parent.mkdir()
    go = tmp_path / "go"
    module.write_text(f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)\n")
    monkeypatch.setattr(process_module, "CHILD", "sleeper")
    monkeypatch.setenv("PYTHONPATH", str(module.parent))
    return go


def test_one_at_a_time_across_servers_and_lost_when_it_ends_without_a_word(
    paths: CollectionPaths, sleeper: Path
) -> None:
    one, other = runner(paths), runner(paths)  # two servers on one data directory, or one that was restarted
    run = one.start(paths, requested_by="boss")
    assert other.refreshed(paths, run).state == "running"
    with pytest.raises(BuildBusy, match="a re-index of docs is running"):
        other.start(paths, requested_by="boss")
    sleeper.touch()
    until(lambda: other.refreshed(paths, run).state == "lost")
    stored = read_run(run_folder(paths, run.run_id))
    assert stored is not None and stored.state == "lost" and stored.ended
    assert stored.error is not None and stored.error["type"] == "Lost"
    one.start(paths, requested_by="boss")
    until(lambda: is_free(paths.runs / "lock"))


def test_a_run_lets_questions_go_first(paths: CollectionPaths, sleeper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    popen = subprocess.Popen

    def noted(*args: Any, **kwargs: Any) -> Any:
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(process_module.subprocess, "Popen", noted)
    runner(paths).start(paths, requested_by="boss")
    (child,) = started
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, child.pid) == min(own + process_module.NICER, 19)
    sleeper.touch()
    until(lambda: is_free(paths.runs / "lock"))


def test_a_real_run_that_fails_tells_why_and_no_path(paths: CollectionPaths, tmp_path: Path) -> None:
    config = tmp_path / "rag.toml"
    missing = tmp_path / "no" / "such" / "folder"
    config.write_text(f'[collections.docs]\nsources = [{{ path = "{missing}" }}]\nreindex_corn = "x"\n')
    run = runner(paths, config).start(paths, requested_by="boss")
    until(lambda: runner(paths).refreshed(paths, run).state != "running", seconds=60)
    ended = runner(paths).refreshed(paths, run)
    assert ended.state == "failed"
    assert ended.error is not None and ended.error["type"] == "InvalidSettings"
    assert "reindex_corn" in ended.error["message"] and str(tmp_path) not in ended.error["message"]
    assert (run_folder(paths, run.run_id) / LOG).is_file()


def test_how_a_run_ended() -> None:
    run = new_run("docs", backend="process", requested_by="boss")
    good = finished(run, 0, {"release": "abc", "chunks": 3})
    assert (good.state, good.report, good.error) == ("succeeded", {"release": "abc", "chunks": 3}, None)
    bad = finished(run, 14, {"error": {"type": "ReleaseRefused", "message": "/srv/rag/docs: worse", "exit_code": 14}})
    assert (bad.state, bad.error) == ("failed", {"type": "ReleaseRefused", "message": "…/docs: worse"})
    crashed = finished(run, 1, {})
    assert (crashed.state, crashed.error) == ("failed", {"type": "InternalError", "message": "see the run's log"})
    assert crashed.ended is not None


def test_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "runs" / "lock"
    first = take(file)
    assert first is not None
    assert take(file) is None and not is_free(file)
    os.close(first)
    assert is_free(file)


def test_records(paths: CollectionPaths) -> None:
    first = Run("0" * 32, "docs", "process", "2026-01-01T00:00:00Z", "boss")
    second = Run("1" * 32, "docs", "process", "2026-01-02T00:00:00Z", "boss", report={"a": 1})
    for run in (first, second):
        write_run(run_folder(paths, run.run_id), run)
    (run_folder(paths, "2" * 32)).mkdir()
    broken = run_folder(paths, "3" * 32)
    broken.mkdir()
    (broken / "run.json").write_text(json.dumps({"unknown": 1}))
    assert all_runs(paths) == (second, first)
    with pytest.raises(ValueError):
        run_folder(paths, "../x")


def test_the_child_is_python_without_the_current_folder(
    paths: CollectionPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the same name where the server was started must not run in its place."""
    seen: list[list[str]] = []

    class Process:
        pid = 2**30  # nobody's: it has ended already

        def __init__(self, command: list[str], **_: object) -> None:
            seen.append(command)

        def wait(self) -> int:
            return 0

    monkeypatch.setattr(process_module.subprocess, "Popen", Process)
    run = runner(paths).start(paths, requested_by="boss")
    (command,) = seen
    assert command[:4] == [sys.executable, "-P", "-m", "rag_pipeline.cli.reindex_child"]
    assert command[4:] == [
        str(run_folder(paths, run.run_id)),
        *("reindex", "--collection", "docs", "--json", "--home", str(paths.root.parent)),
    ]
