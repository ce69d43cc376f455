"""One night: the release in service asked afresh, whatever is stored about it, and added to its history."""

from pathlib import Path

from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.evaluation.history import Night, append_night
from rag_pipeline.evaluation.history_machine import machine
from rag_pipeline.evaluation.latency import LatencyReport, measure_latency
from rag_pipeline.evaluation.leaderboard import SHOWN
from rag_pipeline.evaluation.measure import Report, run_release
from rag_pipeline.evaluation.questions import questions_for
from rag_pipeline.evaluation.summary import summarise
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.settings.collection import CollectionSettings


def measure_night(
    paths: CollectionPaths, own: CollectionSettings, *, models: Path, at: str, progress: Report | None = None
) -> Night:
    """Ask the collection's present questions of the release in service by its default strategy, and record the night.

    `at` is the time of the measurement, UTC. Raises NoRelease before the first publish, InvalidEvalSet, and what
    opening a release raises; a question that fails is counted in the night.
    """
    opened = open_current(paths)
    release = opened.release
    eval_set = questions_for(paths, release.release_id, own).eval_set
    strategies = (release.default_strategy,)
    experiment = run_release(opened, eval_set, models=models, strategies=strategies, progress=progress)
    latency = measure_latency(opened, eval_set.queries, models=models)
    night = night_of(experiment, latency, at=at, metric=own.gate.metric)
    append_night(paths.regression, night, experiment)
    return night


def night_of(experiment: Experiment, latency: LatencyReport, *, at: str, metric: str) -> Night:
    """The row of an experiment over one strategy."""
    ((strategy, run),) = experiment.runs.items()
    summary = summarise(run)
    total = latency.stages.get("total")
    means = {name: summary.metrics[name].value for name in (*SHOWN, metric) if name in summary.metrics}
    return Night(
        at=at,
        release_id=experiment.release_id,
        build_key=experiment.build_key,
        strategy=strategy,
        eval_set=experiment.eval_set,
        eval_set_hash=experiment.eval_set_hash,
        code=experiment.code,
        machine=machine(),
        questions=summary.questions,
        scored=summary.scored,
        failed=summary.failed,
        metrics={name: value for name, value in means.items() if value is not None},
        latency_n=total.n if total else 0,
        latency_p50_ms=total.p50 if total else None,
        latency_p95_ms=total.p95 if total else None,
    )
