"""What an experiment compares: one strategy of one release on one eval set is an arm, and each arm has a reference.

The reference of an arm is the named strategy of the first release on the same eval set: scores on different questions
are never paired.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag_pipeline.errors import InvalidEvalSet, UnknownName
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.settings.base import suggestion

SHORT = 8
"""Digits of a release's id that tell it from another on the page."""


@dataclass(frozen=True, slots=True)
class Arm:
    strategy: str
    experiment: Experiment
    label: str
    """Unique among the arms of one comparison."""

    @property
    def run(self) -> tuple[QueryRun, ...]:
        return self.experiment.runs[self.strategy]

    @property
    def could_not_run(self) -> str | None:
        """Why it was not asked to the end, or the commonest error where not one question was answered."""
        told = self.experiment.could_not_run.get(self.strategy)
        errors = Counter(q.error for q in self.run if q.state == "failed" and q.error is not None)
        if told is None and errors and all(q.state in ("failed", "unresolved") for q in self.run):
            return errors.most_common(1)[0][0]
        return told

    @property
    def questions(self) -> tuple[str, str]:
        """What was asked: hash of the eval set, half."""
        return self.experiment.eval_set_hash, self.experiment.half.value


def arms_of(experiments: Sequence[Experiment]) -> tuple[Arm, ...]:
    """All strategies of all experiments, in their order. Raises InvalidEvalSet where other code measured some."""
    if len({e.code for e in experiments}) > 1:
        raise InvalidEvalSet("the experiments were measured by different code; measure all of them again")
    several_releases = len({e.release_id for e in experiments}) > 1
    several_sets = len({(e.eval_set_hash, e.half) for e in experiments}) > 1
    names = [e.eval_set for e in {e.eval_set_hash: e for e in experiments}.values()]
    arms = []
    for experiment in experiments:
        place = f" @ {experiment.release_id[:SHORT]}" if several_releases else ""
        if several_sets:
            twice = names.count(experiment.eval_set) > 1
            place += f" on {experiment.eval_set}" + (f" {experiment.eval_set_hash[:SHORT]}" if twice else "")
        arms += [Arm(name, experiment, name + place) for name in experiment.runs]
    return tuple(arms)


def reference_of(arm: Arm, arms: Sequence[Arm], *, strategy: str) -> Arm:
    """Raises UnknownName where the reference strategy was not measured on the same questions."""
    same = [a for a in arms if a.questions == arm.questions]
    for other in same:
        if other.strategy == strategy:
            return other
    known = sorted({a.strategy for a in same})
    raise UnknownName(
        f"the reference {strategy!r} was not measured{suggestion(strategy, known)}; measured: {', '.join(known)}"
    )
