"""Answerable questions that no metric counts: told beside every table, because a mean of the rest hides them."""

from collections.abc import Sequence

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.experiment import Experiment

ADVICE = "their labels no longer resolve, or they failed; see `rag-pipeline evalset check`"


def unscored(experiments: Sequence[Experiment]) -> tuple[str, ...]:
    """A sentence for each experiment that left some out. Raises InvalidEvalSet for one that scored none of them."""
    told = []
    for experiment in experiments:
        runs = [[q for q in run if q.answerable] for run in experiment.runs.values()]
        missing = max((sum(not q.metrics for q in run) for run in runs), default=0)
        answerable = max(map(len, runs), default=0)
        where = f"{experiment.eval_set}, release {experiment.release_id}"
        if missing and all(not q.metrics for run in runs for q in run):
            raise InvalidEvalSet(f"{where}: none of {answerable} answerable questions could be scored: {ADVICE}")
        if missing:
            told.append(f"{where}: {missing} of {answerable} answerable questions are left out: {ADVICE}")
    return tuple(told)
