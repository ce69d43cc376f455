"""A re-index submitted to a Dagster deployment over its GraphQL endpoint. Dagster itself is not imported."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rag_pipeline.errors import BuildBusy
from rag_pipeline.http_json import HttpPolicy, JsonPoster
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.reindex.record import Run, State, all_runs, new_run, now, run_folder, write_run

REPOSITORY = "__repository__"
LAUNCH = """
mutation Launch($selector: JobOrPipelineSelector!, $tags: [ExecutionTag!]) {
  launchRun(executionParams: {selector: $selector, runConfigData: {}, executionMetadata: {tags: $tags}}) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
  }
}
"""
STATUS = """
query Status($runId: ID!) {
  runOrError(runId: $runId) {
    __typename
    ... on Run { status }
  }
}
"""
ENDED: Mapping[str, State] = {"SUCCESS": "succeeded", "FAILURE": "failed", "CANCELED": "failed"}
# Launching twice would run twice, so nothing is tried again.
POLICY = HttpPolicy(seconds=15.0, attempts=1)


class DagsterRunner:
    def __init__(self, url: str, *, location: str) -> None:
        self._url = url
        self._location = location
        self._poster = JsonPoster(POLICY, extra="serve")

    def start(self, paths: CollectionPaths, *, requested_by: str) -> Run:
        """Raises BuildBusy where a run of this collection is going on, Problem (503) where Dagster can't be asked."""
        name = paths.root.name
        for run in all_runs(paths)[:1]:
            if run.backend == "dagster" and self.refreshed(paths, run).state == "running":
                raise BuildBusy(f"a re-index of {name} is running; ask for its status, or wait until it has ended")
        launched = self._ask(
            LAUNCH,
            {
                "selector": {
                    "repositoryLocationName": self._location,
                    "repositoryName": REPOSITORY,
                    "jobName": job_name(name),
                },
                "tags": [{"key": "rag_pipeline/requested_by", "value": requested_by}],
            },
            "launchRun",
        )
        if launched.get("__typename") != "LaunchRunSuccess":
            raise _unavailable(f"Dagster did not launch the job ({launched.get('__typename')})")
        remote = str(launched["run"]["runId"])
        run = new_run(name, backend="dagster", requested_by=requested_by, remote_id=remote)
        write_run(run_folder(paths, run.run_id), run)
        return run

    def refreshed(self, paths: CollectionPaths, run: Run) -> Run:
        """The run as Dagster has it now; its end is written down."""
        if run.backend != "dagster" or run.state != "running":
            return run
        found = self._ask(STATUS, {"runId": run.remote_id}, "runOrError")
        if found.get("__typename") == "RunNotFoundError":
            ended = replace(run, state="lost", ended=now(), error={"type": "Lost", "message": "Dagster forgot the run"})
        elif state := ENDED.get(str(found.get("status"))):
            problem = {"type": "RunFailed", "message": f"see run {run.remote_id} in Dagster"}
            report = {"dagster_run": run.remote_id}
            failed = state == "failed"
            ended = replace(
                run, state=state, ended=now(), error=problem if failed else None, report=None if failed else report
            )
        else:
            return run
        write_run(run_folder(paths, run.run_id), ended)
        return ended

    def close(self) -> None:
        self._poster.close()

    def _ask(self, query: str, variables: Mapping[str, Any], field: str) -> dict[str, Any]:
        reply = self._poster.post(self._url, headers={}, body={"query": query, "variables": variables})
        if reply.failure is not None:
            raise _unavailable(f"Dagster can't be asked ({reply.failure})")
        data = reply.value.get("data") if isinstance(reply.value, dict) else None
        found = data.get(field) if isinstance(data, dict) else None
        if not isinstance(found, dict):
            raise _unavailable("Dagster's answer can't be understood")
        return found


def job_name(collection: str) -> str:
    """As `rag_pipeline.defs.automation` names it."""
    return f"{collection}_reindex"


def _unavailable(what: str) -> Problem:
    return Problem(503, "DagsterUnavailable", f"{what}; tell the server's operator")
