"""When a collection is re-indexed: its job, its nightly schedule, and a sensor that watches its sources."""

import dagster as dg

from rag_pipeline.defs.answers import ANSWER_QUALITY, JUDGE_QUALITY
from rag_pipeline.defs.benchmarks import BENCHMARKS, benchmark_automation
from rag_pipeline.defs.collection import CollectionDefs
from rag_pipeline.defs.evaluation import LEADERBOARD, compare_job_name
from rag_pipeline.defs.regression import REGRESSION, regression_automation
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.defs.tracking import EXPERIMENT_LOG
from rag_pipeline.sources.fingerprint import sources_fingerprint

SENSOR_INTERVAL_SECONDS = 60


def job_name(collection: str) -> str:
    return f"{collection}_reindex"


def automation_definitions(c: CollectionDefs) -> dg.Definitions:
    everything = dg.AssetSelection.key_prefixes([c.name])
    comparison = dg.AssetSelection.assets(c.key(LEADERBOARD), c.key(ANSWER_QUALITY), c.key(JUDGE_QUALITY))
    nightly_only = dg.AssetSelection.assets(c.key(REGRESSION), c.key(BENCHMARKS))
    job = dg.define_asset_job(
        job_name(c.name),
        selection=everything - comparison - nightly_only,
        # One process: one DuckDB writer, the model loaded once, no twenty seconds of imports a step.
        executor_def=dg.in_process_executor,
        tags=c.tags,
        description=f"Re-index {c.name!r}: read, chunk, embed, build, verify, publish.",
    )
    compare = dg.define_asset_job(
        compare_job_name(c.name),
        selection=comparison | dg.AssetSelection.assets(c.key(EXPERIMENT_LOG)),
        executor_def=dg.in_process_executor,
        tags=c.tags,
        description=f"Evaluate every strategy, the answers and their judges, for the latest candidate of {c.name!r}.",
    )
    nightly = dg.ScheduleDefinition(
        name=f"{c.name}_nightly",
        job=job,
        cron_schedule=c.own.reindex_cron,
        execution_timezone=c.own.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Nightly re-index; a no-change night embeds nothing and keeps the build.",
    )

    @dg.sensor(
        name=f"{c.name}_sources_changed",
        job=job,
        minimum_interval_seconds=SENSOR_INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if c.own.watch else dg.DefaultSensorStatus.STOPPED,
        description="Re-indexes when a source file appears, goes or changes (names, sizes and times are compared).",
    )
    def sources_changed(context: dg.SensorEvaluationContext, data: DataDirectory) -> dg.SensorResult | dg.SkipReason:
        seen = sources_fingerprint(c.own, data=data.home.root)
        if seen == context.cursor:
            return dg.SkipReason("the sources are as they were")
        # No run key: Dagster never launches one twice, and sources can change back to what they were.
        return dg.SensorResult(run_requests=[dg.RunRequest(tags=c.tags)], cursor=seen)

    return dg.Definitions.merge(
        dg.Definitions(jobs=[job, compare], schedules=[nightly], sensors=[sources_changed]),
        regression_automation(c),
        benchmark_automation(c),
    )
