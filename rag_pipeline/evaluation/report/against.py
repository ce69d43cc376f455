"""One arm against its reference, as a report shows it: the tests over metrics and tags, and the questions that moved.

Holm's adjustment is over all tests of one arm, metrics and tags together; the tests are two-sided, because a report
asks what differs and not only what was lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_pipeline.evaluation.arms import Arm, reference_of
from rag_pipeline.evaluation.comparison import Comparison, Effect, compare, overall_effect
from rag_pipeline.evaluation.leaderboard import SHOWN
from rag_pipeline.evaluation.side_by_side import WorseQuestion, moved_questions
from rag_pipeline.evaluation.statistics.holm import holm
from rag_pipeline.settings.gate import GateSettings


@dataclass(frozen=True, slots=True)
class Tested:
    metric: str
    tag: str | None
    """None: all questions."""
    effect: Effect
    p: float
    """Two-sided: twice the smaller one-sided value, at most 1."""
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class Against:
    arm: Arm
    reference: Arm
    comparison: Comparison
    tests: tuple[Tested, ...]
    lost: tuple[WorseQuestion, ...]
    """Greatest loss first; `before` is the reference's."""
    won: tuple[WorseQuestion, ...]
    """Greatest gain first; `before` is the reference's."""


def all_against(arms: Sequence[Arm], *, reference: str, settings: GateSettings) -> tuple[Against, ...]:
    """Of every arm that ran to its end and is not a reference itself."""
    found = []
    for arm in arms:
        base = reference_of(arm, arms, strategy=reference)
        if arm is not base and arm.could_not_run is None and base.could_not_run is None:
            found.append(against(arm, base, settings=settings))
    return tuple(found)


def against(arm: Arm, reference: Arm, *, settings: GateSettings) -> Against:
    comparison = compare(reference.run, arm.run, settings=settings)
    lost, won = moved_questions(reference.run, arm.run, metric=settings.metric)
    return Against(
        arm=arm,
        reference=reference,
        comparison=comparison,
        tests=_tests(arm, reference, comparison, settings),
        lost=lost,
        won=won,
    )


def _tests(arm: Arm, reference: Arm, comparison: Comparison, settings: GateSettings) -> tuple[Tested, ...]:
    effects: dict[tuple[str, str | None], Effect] = {(comparison.metric, None): comparison.overall}
    for metric in SHOWN:
        if metric != comparison.metric:
            other = settings.model_copy(update={"metric": metric})
            effects[metric, None] = overall_effect(reference.run, arm.run, settings=other)
    effects |= {(comparison.metric, tag): effect for tag, effect in comparison.by_tag.items()}
    raw = {key: two_sided(effect) for key, effect in effects.items()}
    adjusted = holm(raw)
    return tuple(
        Tested(metric, tag, effect, raw[metric, tag], adjusted[metric, tag])
        for (metric, tag), effect in effects.items()
    )


def two_sided(effect: Effect) -> float:
    return min(1.0, 2 * min(effect.p_worse, effect.p_better))
