"""The runs of one evaluation in an open MLflow: found again by their tags, filled, and closed by the tag set last."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.leaderboard import Row
from rag_pipeline.evaluation.results import write_experiment, write_gate_verdict
from rag_pipeline.index.files import MANIFEST
from rag_pipeline.tracking import plots
from rag_pipeline.tracking.metrics import evaluation_metrics, strategy_metrics
from rag_pipeline.tracking.names import Metrics
from rag_pipeline.tracking.notes import NOTE, board_of, evaluation_note, strategy_note
from rag_pipeline.tracking.parameters import (
    TAG_CONTENT,
    TAG_EVALUATION,
    TAG_STRATEGY,
    evaluation_parameters,
    evaluation_tags,
    strategy_parameters,
    strategy_tags,
)
from rag_pipeline.tracking.record import RETRIEVAL, EvaluationRecord
from rag_pipeline.tracking.tables import FILE as TABLE
from rag_pipeline.tracking.tables import per_query_table, verdict_without_withheld, without_withheld

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

PARENT = "mlflow.parentRunId"
MOST_PARAMETERS = 100
"""Of one call, as of tags; MLflow takes a thousand metrics in one."""
MOST_METRICS = 1000
LONGEST_VALUE = 5000
DIGEST = 8
"""Digits of a data set's digest, as many as MLflow's own have: its pages show them beside the name."""
MISSING_NAMES = "rag_pipeline.metrics_missing"
TAG_WITHHELD = "rag_pipeline.questions_withheld"
"""How many questions the metrics count whose text and ranking were not logged."""


def parent_run(client: "MlflowClient", experiment: str, record: EvaluationRecord) -> str:
    """The evaluation's run, made where there is none."""
    found = find_runs(client, experiment, {TAG_EVALUATION: record.key})
    parents = [run for run in found if PARENT not in run.data.tags]
    if parents:
        return str(parents[0].info.run_id)
    made = client.create_run(
        experiment,
        start_time=_milliseconds(record),
        tags=evaluation_tags(record),
        run_name=f"{record.release.release_id[:8]} on {record.experiment.eval_set}",
    )
    return str(made.info.run_id)


def log_children(client: "MlflowClient", experiment: str, parent: str, record: EvaluationRecord) -> dict[str, str]:
    """Strategy -> run id. A child that holds the same already is left alone; any other one makes way for a new one."""
    there: dict[str, list[Run]] = {}
    for run in find_runs(client, experiment, {PARENT: parent}):
        there.setdefault(run.data.tags.get(TAG_STRATEGY, ""), []).append(run)
    children: dict[str, str] = {}
    rows: list[Row] = []
    for strategy in record.experiment.runs:
        content = record.content_of(strategy)
        for run in there.get(strategy, []):
            if run.data.tags.get(TAG_CONTENT) == content and strategy not in children:
                children[strategy] = str(run.info.run_id)
            else:
                client.delete_run(run.info.run_id)
        if strategy not in children:
            rows = rows or board_of(record)
            children[strategy] = _log_child(client, experiment, parent, record, strategy, content, rows)
    return children


def _log_child(
    client: "MlflowClient",
    experiment: str,
    parent: str,
    record: EvaluationRecord,
    strategy: str,
    content: str,
    rows: Sequence[Row],
) -> str:
    shown, withheld = without_withheld(record.experiment, record.questions)
    row = next(row for row in rows if row["strategy"] == strategy)
    note = {NOTE: strategy_note(record, row)}
    tags = {**strategy_tags(record, strategy), **note, PARENT: parent, TAG_WITHHELD: str(withheld)}
    made = client.create_run(experiment, start_time=_milliseconds(record), tags=tags, run_name=strategy)
    child = str(made.info.run_id)
    _log_inputs(client, child, record)
    parameters, metrics = strategy_parameters(record, strategy), strategy_metrics(record, strategy)
    log_values(client, child, parameters, metrics, at=_milliseconds(record))
    if shown.runs[strategy]:
        client.log_table(child, per_query_table(shown.runs[strategy]), TABLE)
    _finish(client, child, record, content, strategies=(strategy,))
    return child


def log_parent(client: "MlflowClient", parent: str, record: EvaluationRecord, *, content: str) -> tuple[str, ...]:
    """Fill the evaluation's own run; returns what could not be logged, and why."""
    run = client.get_run(parent)
    if run.data.tags.get(TAG_CONTENT) == content:
        return ()
    # Parameters can't be changed, and those of the same evaluation are the same but for the commit.
    parameters = {k: v for k, v in evaluation_parameters(record).items() if k not in run.data.params}
    if run.inputs is None or not run.inputs.dataset_inputs:
        _log_inputs(client, parent, record)
    log_values(client, parent, parameters, evaluation_metrics(record), at=_milliseconds(record))
    rows = board_of(record)
    for name, value in {**evaluation_tags(record), NOTE: evaluation_note(record, rows)}.items():
        client.set_tag(parent, name, value)
    client.set_tag(parent, TAG_WITHHELD, str(without_withheld(record.experiment, record.questions)[1]))
    notes = _log_files(client, parent, record)
    _finish(client, parent, record, content, strategies=tuple(record.experiment.runs))
    return notes


def _log_files(client: "MlflowClient", parent: str, record: EvaluationRecord) -> tuple[str, ...]:
    notes = []
    # Not the questions and answers: labels and answers quote documents, which an MLflow server shows to everybody.
    _log_results(client, parent, record)
    manifest = record.paths.build(record.release.build_key) / MANIFEST
    if manifest.is_file():
        client.log_artifact(parent, str(manifest), "build")
    else:
        notes.append(f"the manifest of build {record.release.build_key} was not logged: the build is gone")
    curves = plots.recall_curves(record.experiment)
    if not curves:
        notes.append("no recall curve: no question was scored, or by an earlier version that kept none")
        return tuple(notes)
    try:
        drawn = plots.recall_plot(curves, title=f"{record.experiment.eval_set}: recall at k")
        client.log_text(parent, drawn, f"plots/{plots.FILE}")
    except MissingExtra as error:
        notes.append(f"no recall curve: {error}")
    return tuple(notes)


def _log_results(client: "MlflowClient", parent: str, record: EvaluationRecord) -> None:
    """The stored files, or ones without the questions that are withheld."""
    shown, withheld = without_withheld(record.experiment, record.questions)
    with TemporaryDirectory() as folder:
        files = [record.folder / name for name in (RETRIEVAL, "gate.json", "latency.json")]
        if withheld:
            files = [write_experiment(Path(folder), shown), record.folder / "latency.json"]
            if record.gate is not None:
                files.append(write_gate_verdict(Path(folder), verdict_without_withheld(record.gate, record.questions)))
        for file in files:
            if file.is_file():
                client.log_artifact(parent, str(file), "evaluation")


def _log_inputs(client: "MlflowClient", run: str, record: EvaluationRecord) -> None:
    """The questions as MLflow's data set, so that its pages group runs by what was asked."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    asked = record.experiment
    data = Dataset(asked.eval_set[:500], asked.eval_set_hash[:DIGEST], "local", str(record.folder / "questions.json"))
    client.log_inputs(run, datasets=[DatasetInput(data, [InputTag("mlflow.data.context", "evaluation")])])


def log_values(client: "MlflowClient", run: str, parameters: Mapping[str, str], metrics: Metrics, *, at: int) -> None:
    """Parameters and metrics in as few calls as MLflow takes; `at` is the time of the metrics, epoch milliseconds."""
    from mlflow.entities import Metric, Param

    params = [Param(name, value[:LONGEST_VALUE]) for name, value in parameters.items()]
    values = [Metric(name, value, at, 0) for name, value in metrics.values.items()]
    for some in _batches(params, MOST_PARAMETERS):
        client.log_batch(run, params=some)
    for some in _batches(values, MOST_METRICS):
        client.log_batch(run, metrics=some)
    if metrics.missing:
        client.set_tag(run, MISSING_NAMES, ", ".join(metrics.missing)[:LONGEST_VALUE])


def _finish(
    client: "MlflowClient", run: str, record: EvaluationRecord, content: str, *, strategies: Sequence[str]
) -> None:
    seconds = sum(q.seconds or 0.0 for name in strategies for q in record.experiment.runs[name])
    client.set_terminated(run, end_time=_milliseconds(record) + int(seconds * 1000))
    client.set_tag(run, TAG_CONTENT, content)


def find_runs(client: "MlflowClient", experiment: str, tags: Mapping[str, str]) -> list["Run"]:
    """Runs with all the tags, oldest first. Values are ids and hashes of ours, so they hold no quotes."""
    condition = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    found: list[Run] = []
    token: str | None = None
    while True:
        page: Any = client.search_runs(
            [experiment], filter_string=condition, order_by=["attributes.start_time ASC"], page_token=token
        )
        found += page
        token = page.token
        if not token:
            return found


def _milliseconds(record: EvaluationRecord) -> int:
    return int(record.measured.timestamp() * 1000)


def _batches(values: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [values[i : i + size] for i in range(0, len(values), size)]
