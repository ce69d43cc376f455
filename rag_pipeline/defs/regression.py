"""Asset `regression_history`: the release in service measured afresh each night, with its job and schedule."""

import dagster as dg

from rag_pipeline.defs.collection import CollectionDefs
from rag_pipeline.defs.convert import check_result
from rag_pipeline.defs.progress import reporter
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.evaluation.history import read_nights, read_rankings
from rag_pipeline.evaluation.history_check import LATENCY, NO_REGRESSION, against_history, latency_against_history
from rag_pipeline.evaluation.history_measure import measure_night
from rag_pipeline.release.clock import now
from rag_pipeline.retrieval.release_file import read_current

GROUP = "evaluation"
REGRESSION = "regression_history"


def regression_job_name(collection: str) -> str:
    return f"{collection}_regression"


def regression_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    @c.asset(
        REGRESSION,
        group=GROUP,
        after=["published_release"],
    )
    def regression_history(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """What the release in service does tonight on the collection's questions, added to its history."""
        paths = data.collection(c.name)
        with c.writing(paths):
            night = measure_night(paths, c.own, models=data.home.models, at=now(), progress=reporter(context))
        return dg.MaterializeResult(
            metadata={
                "release": night.release_id,
                "eval_set": night.eval_set,
                "questions": night.questions,
                "failed": night.failed,
                **night.metrics,
                "latency_p95_ms": night.latency_p95_ms if night.latency_p95_ms is not None else "none",
                "nights": len(read_nights(paths.regression)),
                "folder": dg.MetadataValue.path(paths.regression),
            }
        )

    # Blocking though nothing is downstream: a failed blocking check fails the run, and failed runs are alerted.
    @dg.asset_check(asset=c.key(REGRESSION), name=NO_REGRESSION, blocking=True)
    def no_regression(data: DataDirectory) -> dg.AssetCheckResult:
        """The release in service answers as it did: equal rankings, or no loss where something is meant to differ."""
        folder = data.collection(c.name).regression
        found = against_history(
            read_nights(folder), rankings=lambda night: read_rankings(folder, night), settings=c.own.gate
        )
        severity = dg.AssetCheckSeverity.ERROR if found.is_error else dg.AssetCheckSeverity.WARN
        return check_result(found.check, severity=severity)

    @dg.asset_check(asset=c.key(REGRESSION), name=LATENCY)
    def latency(data: DataDirectory) -> dg.AssetCheckResult:
        """Answers take no longer than in other nights on this machine."""
        nights = read_nights(data.collection(c.name).regression)
        return check_result(latency_against_history(nights), severity=dg.AssetCheckSeverity.WARN)

    return [regression_history, no_regression, latency]


def regression_automation(c: CollectionDefs) -> dg.Definitions:
    job = dg.define_asset_job(
        regression_job_name(c.name),
        selection=dg.AssetSelection.assets(c.key(REGRESSION)),
        executor_def=dg.in_process_executor,
        tags=c.tags,
        description=f"Evaluate the release of {c.name!r} in service afresh and compare it with its history.",
    )

    @dg.schedule(
        name=f"{c.name}_nightly_regression",
        job=job,
        cron_schedule=c.own.regression_cron,
        execution_timezone=c.own.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Drift of code, model or machine shows here although nothing was published.",
    )
    def nightly_regression(context: dg.ScheduleEvaluationContext, data: DataDirectory) -> dg.RunRequest | dg.SkipReason:
        if read_current(data.collection(c.name)) is None:
            return dg.SkipReason("nothing is published yet")
        return dg.RunRequest(tags=c.tags)

    return dg.Definitions(jobs=[job], schedules=[nightly_regression])
