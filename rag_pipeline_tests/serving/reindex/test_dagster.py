from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.errors import BuildBusy
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.reindex.dagster import LAUNCH, STATUS, DagsterRunner, job_name
from rag_pipeline.serving.reindex.record import read_run, run_folder
from rag_pipeline_tests.local_server import Answer, LocalServer, local_server


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with local_server() as server:
        yield server


@pytest.fixture
def runner(server: LocalServer) -> Iterator[DagsterRunner]:
    server.asked.clear()
    runner = DagsterRunner(f"{server.url}/graphql", location="rag_pipeline")
    yield runner
    runner.close()


@pytest.fixture
def paths(tmp_path: Path) -> CollectionPaths:
    return Home(tmp_path).collection("docs")


def launched(remote: str = "r-1") -> Answer:
    return Answer({"data": {"launchRun": {"__typename": "LaunchRunSuccess", "run": {"runId": remote}}}})


def status(name: str) -> Answer:
    return Answer({"data": {"runOrError": {"__typename": "Run", "status": name}}})


def test_launch_and_follow(server: LocalServer, runner: DagsterRunner, paths: CollectionPaths) -> None:
    server.script(launched(), status("QUEUED"), status("STARTED"), status("SUCCESS"))
    run = runner.start(paths, requested_by="boss")
    assert (run.backend, run.state, run.remote_id) == ("dagster", "running", "r-1")
    asked = server.asked[0].body["variables"]
    assert asked["selector"] == {
        "repositoryLocationName": "rag_pipeline",
        "repositoryName": "__repository__",
        "jobName": "docs_reindex",
    }
    assert asked["tags"] == [{"key": "rag_pipeline/requested_by", "value": "boss"}]
    assert [runner.refreshed(paths, run).state for _ in range(3)] == ["running", "running", "succeeded"]
    stored = read_run(run_folder(paths, run.run_id))
    assert stored is not None and stored.state == "succeeded" and stored.report == {"dagster_run": "r-1"}
    asked_before = len(server.asked)
    assert runner.refreshed(paths, stored) == stored  # what has ended is not asked for again
    assert len(server.asked) == asked_before


def test_one_at_a_time(server: LocalServer, runner: DagsterRunner, paths: CollectionPaths) -> None:
    server.script(launched(), status("STARTED"))
    runner.start(paths, requested_by="boss")
    with pytest.raises(BuildBusy):
        runner.start(paths, requested_by="boss")
    server.script(status("FAILURE"), launched("r-2"))
    assert runner.start(paths, requested_by="boss").remote_id == "r-2"


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (status("FAILURE"), "failed"),
        (status("CANCELED"), "failed"),
        (Answer({"data": {"runOrError": {"__typename": "RunNotFoundError"}}}), "lost"),
    ],
)
def test_ends(server: LocalServer, runner: DagsterRunner, paths: CollectionPaths, answer: Answer, state: str) -> None:
    server.script(launched(), answer)
    ended = runner.refreshed(paths, runner.start(paths, requested_by="boss"))
    assert ended.state == state and ended.error is not None and ended.ended is not None


@pytest.mark.parametrize(
    "answer",
    [
        Answer({"data": {"launchRun": {"__typename": "PipelineNotFoundError"}}}),
        Answer({"errors": [{"message": "/srv/dagster broke"}]}),
        Answer({"data": None}),
        Answer([1]),
        Answer(b"<html>"),
        Answer({}, status=500),
        Answer({}, status=404),
    ],
    ids=range(7),
)
def test_a_dagster_that_does_not_launch(
    server: LocalServer, runner: DagsterRunner, paths: CollectionPaths, answer: Any
) -> None:
    server.script(answer)
    with pytest.raises(Problem) as caught:
        runner.start(paths, requested_by="boss")
    assert (caught.value.status, caught.value.kind) == (503, "DagsterUnavailable")
    assert len(server.asked) == 1  # a launch that may have happened is not tried again
    assert "/srv" not in caught.value.message
    assert not paths.runs.exists()


def test_the_job_is_named_as_its_definition_names_it() -> None:
    from rag_pipeline.defs.automation import job_name as defined

    assert job_name("docs") == defined("docs")


def test_the_questions_fit_dagsters_own_schema() -> None:
    """Checked against the schema of the installed webserver, so that a rename there is seen here."""
    from dagster_graphql.schema import create_schema
    from graphql import parse, validate

    schema = create_schema().graphql_schema
    for question in (LAUNCH, STATUS):
        assert validate(schema, parse(question)) == []
    assert validate(schema, parse(LAUNCH.replace("launchRun(", "launchRuns("))) != []
