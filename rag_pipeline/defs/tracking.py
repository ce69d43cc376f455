"""Asset `experiment_log`: the candidate's evaluations in MLflow, where they can be compared with every other one.

It stands beside publishing, not in front of it: a release never waits for a tracking server.
"""

from collections.abc import Sequence

import dagster as dg

from rag_pipeline.defs.answers import ANSWER_QUALITY
from rag_pipeline.defs.collection import CollectionDefs, latest_candidate
from rag_pipeline.defs.convert import check_result, table
from rag_pipeline.defs.evaluation import LEADERBOARD
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.errors import RagPipelineError
from rag_pipeline.tracking.checks import LOGGED, evaluations_are_logged
from rag_pipeline.tracking.pending import Outcome, log_releases

GROUP = "evaluation"
EXPERIMENT_LOG = "experiment_log"
LAST = {"dagster/priority": "-1"}
"""Runs when nothing else is ready, so publishing comes first."""


def tracking_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition]:
    @c.asset(
        EXPERIMENT_LOG,
        group=GROUP,
        after=["gate_verdict", LEADERBOARD, ANSWER_QUALITY],
        kinds={"mlflow"},
        op_tags=LAST,
        check_specs=[
            dg.AssetCheckSpec(
                LOGGED,
                asset=c.key(EXPERIMENT_LOG),
                description="Every evaluation of the candidate was logged; `rag-pipeline eval log` sends it later.",
            )
        ],
    )
    def experiment_log(data: DataDirectory) -> dg.MaterializeResult:
        """MLflow runs of the candidate's evaluations: one for each eval set, one below it for each strategy."""
        paths = data.collection(c.name)
        settings = c.settings.model_copy(update={"home": data.home.root})
        with c.writing(paths):
            release_id = latest_candidate(paths)
        # Without the lock: a tracking server may take minutes, in which nothing else could build.
        try:
            outcomes = list(log_releases(settings, paths, [release_id]))
        except RagPipelineError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        check = evaluations_are_logged(outcomes)
        return dg.MaterializeResult(
            metadata={"release": release_id, "state": check.message, **_runs(outcomes)},
            check_results=[check_result(check, severity=dg.AssetCheckSeverity.WARN)],
        )

    return [experiment_log]


def _runs(outcomes: Sequence[Outcome]) -> dict[str, dg.MetadataValue]:
    logged = [(o, o.logged) for o in outcomes if o.logged is not None]
    rows: list[dict[str, str]] = [
        {
            "evaluation": o.evaluation,
            "state": found.state,
            "destination": found.destination,
            "run": found.run_id or "",
            "strategies": ", ".join(f"{strategy} {run}" for strategy, run in found.children),
            "notes": "; ".join(found.notes),
        }
        for o, found in logged
    ]
    urls = {f"run_{o.evaluation[:8]}": dg.MetadataValue.url(found.url) for o, found in logged if found.url}
    return {"runs": table(rows), **urls}
