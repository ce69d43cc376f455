"""Asset `benchmarks`: how fast the release in service is, with its job and a nightly schedule, off by default."""

import dagster as dg

from rag_pipeline.defs.collection import CollectionDefs
from rag_pipeline.defs.convert import check_result
from rag_pipeline.defs.progress import reporter
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.evaluation.speed import measure_speed
from rag_pipeline.evaluation.speed_check import NO_SLOW_DOWN, against_earlier
from rag_pipeline.evaluation.speed_history import read_runs
from rag_pipeline.release.clock import now
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.tracking.speed import log_speed
from rag_pipeline.tracking.state import LoggedRun

GROUP = "evaluation"
BENCHMARKS = "benchmarks"


def benchmarks_job_name(collection: str) -> str:
    return f"{collection}_benchmarks"


def benchmark_definitions(c: CollectionDefs) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    @c.asset(
        BENCHMARKS,
        group=GROUP,
        after=["published_release"],
        kinds={"mlflow"},
    )
    def benchmarks(context: dg.AssetExecutionContext, data: DataDirectory) -> dg.MaterializeResult:
        """Milliseconds, chunks a second, bytes and memory of the release in service, added to their history."""
        paths = data.collection(c.name)
        # Under the build lock throughout: a build beside it would be measured too.
        with c.writing(paths):
            run = measure_speed(data.home, c.name, c.own, at=now(), progress=reporter(context))
        logged = log_speed(paths, settings=c.settings.model_copy(update={"home": data.home.root}))
        return dg.MaterializeResult(
            metadata={
                "release": run.release_id,
                "chunks": run.chunks,
                **run.figures,
                "load": run.load if run.load is not None else "unknown",
                "machine": run.machine.get("processor", "unknown"),
                "runs": len(read_runs(paths.benchmarks)),
                "logged": _told(logged),
                "folder": dg.MetadataValue.path(paths.benchmarks),
            }
        )

    @dg.asset_check(asset=c.key(BENCHMARKS), name=NO_SLOW_DOWN)
    def no_slow_down(data: DataDirectory) -> dg.AssetCheckResult:
        """No figure is much worse than in the median of earlier runs on this machine."""
        runs = read_runs(data.collection(c.name).benchmarks)
        return check_result(against_earlier(runs), severity=dg.AssetCheckSeverity.WARN)

    return [benchmarks, no_slow_down]


def benchmark_automation(c: CollectionDefs) -> dg.Definitions:
    job = dg.define_asset_job(
        benchmarks_job_name(c.name),
        selection=dg.AssetSelection.assets(c.key(BENCHMARKS)),
        executor_def=dg.in_process_executor,
        tags=c.tags,
        description=f"Measure how fast the release of {c.name!r} in service is, and log it to MLflow.",
    )

    @dg.schedule(
        name=f"{c.name}_nightly_benchmarks",
        job=job,
        cron_schedule=c.own.benchmarks_cron,
        execution_timezone=c.own.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Off by default: figures are only worth comparing where the machine is quiet at that hour.",
    )
    def nightly_benchmarks(context: dg.ScheduleEvaluationContext, data: DataDirectory) -> dg.RunRequest | dg.SkipReason:
        if read_current(data.collection(c.name)) is None:
            return dg.SkipReason("nothing is published yet")
        return dg.RunRequest(tags=c.tags)

    return dg.Definitions(jobs=[job], schedules=[nightly_benchmarks])


def _told(logged: LoggedRun | None) -> str:
    if logged is None:
        return "tracking is switched off"
    return logged.url or logged.run_id or f"not sent: {logged.error}"
