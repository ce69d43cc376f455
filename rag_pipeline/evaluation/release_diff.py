"""What differs between two measured releases, question by question; reported, never decided on."""

from dataclasses import dataclass, replace

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.comparison import Comparison, compare
from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.evaluation.side_by_side import WorseQuestion, moved_questions
from rag_pipeline.settings.gate import GateSettings


@dataclass(frozen=True, slots=True)
class ReleaseDiff:
    before: str
    after: str
    """Release ids."""
    comparison: Comparison
    lost: tuple[WorseQuestion, ...]
    """Greatest loss first."""
    won: tuple[WorseQuestion, ...]
    """Greatest gain first; `before` and `after` are still those of the two releases."""


def diff_releases(before: Experiment, after: Experiment, *, settings: GateSettings) -> ReleaseDiff:
    """Each by its first strategy. Raises InvalidEvalSet for experiments over different questions."""
    if (before.eval_set_hash, before.half) != (after.eval_set_hash, after.half):
        raise InvalidEvalSet("the two releases were measured on different questions; measure both on the same ones")
    old, new = next(iter(before.runs.values())), next(iter(after.runs.values()))
    comparison = compare(old, new, settings=settings)
    lost, won = moved_questions(old, new, metric=settings.metric)
    return ReleaseDiff(
        before=before.release_id,
        after=after.release_id,
        comparison=comparison,
        lost=lost,
        won=won,
    )


def renamed(experiment: Experiment, name: str) -> Experiment:
    """Its first strategy alone, under another name: two releases are compared by what each of them serves."""
    strategy, run = next(iter(experiment.runs.items()))
    told = experiment.could_not_run.get(strategy)
    return replace(experiment, runs={name: run}, could_not_run={} if told is None else {name: told})
