"""Sensors that tell a webhook: a run failed, the gate refused a release, the nightly regression found something.

A refusal fails the publishing step, and a failed blocking check its run, so one sensor over failed runs sees them all;
the other one is for warnings of the regression and the benchmarks, which fail no run. Runs that the command line starts
in its own process belong to no code location and are not seen here: whoever started them sees the exit code.
"""

from collections.abc import Collection
from typing import Any

import dagster as dg

from rag_pipeline.defs.benchmarks import BENCHMARKS, benchmarks_job_name
from rag_pipeline.defs.collection import COLLECTION_TAG
from rag_pipeline.defs.regression import REGRESSION, regression_job_name
from rag_pipeline.errors import InvalidSettings, MissingExtra, RagPipelineError, ReleaseRefused
from rag_pipeline.evaluation.history_check import NO_REGRESSION
from rag_pipeline.webhook import Alert, safe_message, send, webhook

INTERVAL_SECONDS = 30
NIGHTLY = frozenset({REGRESSION, BENCHMARKS})
"""Assets whose warnings are told too."""
OURS = frozenset(kind.__name__ for kind in RagPipelineError.__subclasses__())


def alert_definitions(collections: Collection[str]) -> dg.Definitions:
    jobs = {named(collection) for collection in collections for named in (regression_job_name, benchmarks_job_name)}

    @dg.run_failure_sensor(
        name="alert_on_failed_run",
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Posts to RAG_PIPELINE_ALERT_WEBHOOK when a run fails or a release is refused.",
    )
    def alert_on_failed_run(context: dg.RunFailureSensorContext) -> None:
        tell(context)

    @dg.run_status_sensor(
        run_status=dg.DagsterRunStatus.SUCCESS,
        name="alert_on_regression",
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Posts to RAG_PIPELINE_ALERT_WEBHOOK when the nightly regression or the benchmarks warn.",
    )
    def alert_on_regression(context: dg.RunStatusSensorContext) -> None:
        if context.dagster_run.job_name in jobs and _failed_checks(context):
            tell(context)

    return dg.Definitions(sensors=[alert_on_failed_run, alert_on_regression])


def tell(context: dg.RunStatusSensorContext) -> None:
    """Post what happened in the context's run. A failure to send is logged: it must not stop the next alert."""
    try:
        url = webhook()
        if url is None:
            return
        reply = send(alert_of(context), url=url)
    except (InvalidSettings, MissingExtra) as error:
        context.log.error(f"no alert was sent for run {context.dagster_run.run_id}: {error}")
        return
    if reply.failure is not None:
        context.log.error(
            f"no alert was sent for run {context.dagster_run.run_id}: the webhook failed ({reply.failure}, "
            f"{reply.attempts} tries)"
        )


def alert_of(context: dg.RunStatusSensorContext) -> Alert:
    run = context.dagster_run
    failed = _failed_checks(context)
    step, kind, message = _failed_step(context)
    if failed:
        message = failed[0].description or message
    return Alert(
        kind=_kind(kind, failed),
        collection=run.tags.get(COLLECTION_TAG, "none"),
        job=run.job_name,
        run_id=run.run_id,
        step=step,
        checks=tuple(check.check_name for check in failed),
        error=kind,
        message=safe_message(message),
    )


def _kind(error: str | None, failed: list[dg.AssetCheckEvaluation]) -> str:
    if failed and failed[0].asset_key.path[-1] in NIGHTLY:
        return "regression" if failed[0].check_name == NO_REGRESSION else "latency"
    return "release_refused" if failed or error == ReleaseRefused.__name__ else "run_failed"


def _failed_checks(context: dg.RunStatusSensorContext) -> list[dg.AssetCheckEvaluation]:
    """Those that stopped the run first, then the warnings of what runs at night."""
    records = context.instance.get_records_for_run(
        run_id=context.dagster_run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ).records
    found = [
        event.asset_check_evaluation_data
        for record in records
        if (event := record.event_log_entry.dagster_event) is not None
    ]
    failed = [check for check in found if not check.passed]
    stopping = [check for check in failed if check.blocking and check.severity is dg.AssetCheckSeverity.ERROR]
    nightly = [c for c in failed if c not in stopping and c.asset_key.path[-1] in NIGHTLY]
    return [*stopping, *sorted(nightly, key=lambda check: check.check_name != NO_REGRESSION)]


def _failed_step(context: dg.RunStatusSensorContext) -> tuple[str | None, str | None, str]:
    """Step, class of its error, and what may be told of it: our own messages, of any other error only the class."""
    records = context.instance.get_records_for_run(
        run_id=context.dagster_run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE
    ).records
    events = [e for record in records if (e := record.event_log_entry.dagster_event) is not None]
    if not events:
        return None, None, "the run failed outside its steps; see it in Dagster"
    data = events[0].step_failure_data
    own, last = _classes(data.error)
    if data.user_failure_data is not None and data.user_failure_data.description and own is not None:
        return events[0].step_key, own, data.user_failure_data.description
    return events[0].step_key, own or last, f"{own or last or 'an error'}; see the run in Dagster"


def _classes(error: Any) -> tuple[str | None, str | None]:
    """The first class of our own tree in the chain of causes, and the deepest class."""
    own, last = None, None
    while error is not None:
        last = error.cls_name or last
        own = own or (error.cls_name if error.cls_name in OURS else None)
        error = error.cause
    return own, last
