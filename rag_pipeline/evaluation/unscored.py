"""Answerable questions that no metric counts: told beside every table, because a mean of the rest hides them."""

from collections.abc import Sequence

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.known_item import KNOWN_ITEM

LABELS = "their labels no longer resolve; `rag-pipeline evalset check --release {release}` names them"
GONE = "the texts that they are about were changed or are gone"


def unscored(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """A sentence for each experiment that left some out. A strategy that could not run at all is told in its own row.

    Raises InvalidEvalSet for an experiment that asked none, scored none, or of which no strategy could run.
    """
    return tuple(told for experiment in experiments for told in _of_one(experiment))


def _of_one(experiment: Experiment) -> list[str]:
    where = f"{experiment.eval_set}, release {experiment.release_id}"
    ran = {name: run for name, run in experiment.runs.items() if name not in experiment.could_not_run}
    if experiment.runs and not ran:
        why = "; ".join(f"{name}: {reason}" for name, reason in experiment.could_not_run.items())
        raise InvalidEvalSet(f"{where}: no strategy could run: {why}")
    if ran and not any(ran.values()):
        raise InvalidEvalSet(f"{where}: the {experiment.half.value} half has no question; evaluate on both halves")
    runs = [[q for q in run if q.answerable] for run in ran.values()]
    missing = max(([q for q in run if not q.metrics] for run in runs), key=len, default=[])
    answerable = max(map(len, runs), default=0)
    if not missing:
        return []
    why = _why(missing, experiment.release_id)
    if all(not q.metrics for run in runs for q in run):
        raise InvalidEvalSet(f"{where}: none of {answerable} answerable questions could be scored: {why}")
    return [f"{where}: {len(missing)} of {answerable} answerable questions are left out: {why}"]


def _why(missing: Sequence[QueryRun], release_id: str) -> str:
    failed = [q for q in missing if q.state == "failed"]
    reasons = []
    if len(failed) < len(missing):
        probes = all(KNOWN_ITEM in q.tags for q in missing)
        reasons.append(GONE if probes else LABELS.format(release=release_id))
    if failed:
        reasons.append(f"{len(failed)} failed, the first ({failed[0].query_id}) with: {failed[0].error}")
    return "; ".join(reasons)
