import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rag_pipeline.errors import BuildBusy
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.serving.reindex.record import Run, new_run, run_folder, write_run
from rag_pipeline.serving.reindex.runs import KEPT_RUNS, Reindexer
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.serving.api import bearer


class NotedRunner:
    """Writes the record of a run and starts nothing; one at a time."""

    def __init__(self) -> None:
        self.busy = False

    def start(self, paths: CollectionPaths, *, requested_by: str) -> Run:
        if self.busy:
            raise BuildBusy("a re-index of test is running; wait")
        self.busy = True
        run = new_run(paths.root.name, backend="process", requested_by=requested_by)
        write_run(run_folder(paths, run.run_id), run)
        return run

    def refreshed(self, paths: CollectionPaths, run: Run) -> Run:
        return run

    def close(self) -> None:
        pass


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> NotedRunner:
    runner = NotedRunner()
    monkeypatch.setattr("rag_pipeline.serving.app.ProcessRunner", lambda *_, **__: runner)
    return runner


def test_start_and_ask(runner: NotedRunner, client: TestClient) -> None:
    reply = client.post("/api/documents/reindex-all", json={})
    assert reply.status_code == 202
    run = reply.json()
    assert (run["collection"], run["state"], run["requested_by"]) == ("test", "running", "local")
    assert reply.headers["location"] == f"/api/documents/reindex/{run['run_id']}"
    assert client.get(reply.headers["location"]).json() == run


def test_without_a_body(runner: NotedRunner, client: TestClient) -> None:
    assert client.post("/api/documents/reindex-all").status_code == 202


def test_one_at_a_time(runner: NotedRunner, client: TestClient) -> None:
    assert client.post("/api/documents/reindex-all", json={"collection": "test"}).status_code == 202
    reply = client.post("/api/documents/reindex-all", json={"collection": "test"})
    assert (reply.status_code, reply.json()["error"]["type"]) == (409, "BuildBusy")


def test_unknown_names(runner: NotedRunner, client: TestClient) -> None:
    assert client.post("/api/documents/reindex-all", json={"collection": "other"}).status_code == 404
    assert client.get(f"/api/documents/reindex/{'0' * 32}").status_code == 404
    assert client.get("/api/documents/reindex/..%2F..%2Fx").status_code in {404, 422}
    assert client.get("/api/documents/reindex/xyz").status_code == 422


def test_one_that_no_settings_describe(runner: NotedRunner, served: Served, client: TestClient) -> None:
    """As `reindex --source` leaves it; where its folder lies is not told to another machine."""
    (served.home.root / "docs").mkdir()
    reply = client.post("/api/documents/reindex-all", json={"collection": "docs"})
    assert (reply.status_code, reply.json()["error"]["type"]) == (404, "UnknownCollection")
    assert "`rag-pipeline reindex --source FOLDER -c docs`" in reply.json()["error"]["message"]


def test_scopes(runner: NotedRunner, keyed: TestClient) -> None:
    assert keyed.post("/api/documents/reindex-all", json={}, headers=bearer("ruth")).status_code == 403
    started = keyed.post("/api/documents/reindex-all", json={}, headers=bearer("boss"))
    assert started.json()["requested_by"] == "boss"
    place = started.headers["location"]
    assert keyed.get(place, headers=bearer("ruth")).status_code == 403
    assert keyed.get(place, headers=bearer("all")).status_code == 200


def test_only_the_latest_are_kept(tmp_path: Path, served: Served) -> None:
    runner = NotedRunner()
    reindexer = Reindexer(served.home.root, runner)
    runs = []
    for _ in range(KEPT_RUNS + 3):
        runner.busy = False
        runs.append(reindexer.start("test", requested_by="me"))
    kept = [run for run in runs if reindexer.find(run.run_id) is not None]
    assert len(kept) == KEPT_RUNS
    assert reindexer.find("../../etc/passwd") is None


def test_two_workers_asked_at_once_start_one_after_the_other(served: Served) -> None:
    """A runner that looks whether one is running and then starts one must not be overtaken between the two."""
    inside, most = [], []

    class Slow(NotedRunner):
        def start(self, paths: CollectionPaths, *, requested_by: str) -> Run:
            inside.append(requested_by)
            most.append(len(inside))
            time.sleep(0.05)
            inside.pop()
            return super().start(paths, requested_by=requested_by)

    workers = [Reindexer(served.home.root, Slow()) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        runs = list(threads.map(lambda worker: worker.start("test", requested_by="boss"), workers))
    assert len({run.run_id for run in runs}) == 4 and max(most) == 1
    assert all(worker.find(run.run_id) == run for worker in workers for run in runs)
