"""The statistical part of the gate's verdict: what the changes against each reference mean. Pure.

Holm over the comparisons, because two strategies against two references are four chances to refuse an equal release by
accident. For the same reason the interval against the champion is wider: it stays pinned while candidates come and go,
and whoever tries often enough finds one that looks as good by chance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rag_pipeline.evaluation.comparison import Effect, exceeds_margin
from rag_pipeline.evaluation.statistics.holm import holm
from rag_pipeline.settings.gate import GateSettings

Reference = Literal["in service", "champion"]

CHAMPION_SHARE = 0.25
"""Of alpha: the level of the interval against the champion. Simulated with twenty candidates in a row that each lose a
little: the true loss of what the strict policy lets through then stays within the margin on average."""


def interval_level(reference: Reference, settings: GateSettings) -> float:
    """Of each end of the interval of the change against this reference."""
    return settings.alpha * (CHAMPION_SHARE if reference == "champion" else 1.0)


@dataclass(frozen=True, slots=True)
class Ruling:
    losses: tuple[str, ...]
    """Why to refuse; empty where nothing was lost for sure."""
    evidence: Literal["better", "not worse", "insufficient evidence"]
    p_adjusted: Mapping[tuple[Reference, str], float]


def rule(effects: Mapping[tuple[Reference, str], Effect], *, settings: GateSettings) -> Ruling:
    """The statistical part of the verdict, by (reference, strategy)."""
    adjusted = holm({key: effect.p_worse for key, effect in effects.items()})
    losses = []
    for (reference, strategy), effect in effects.items():
        p = adjusted[reference, strategy]
        why = []
        if exceeds_margin(effect.difference, effect.n, settings=settings):
            why.append(f"more than the margin of {settings.margin:g}")
        if p <= settings.alpha:
            why.append(f"not by chance (p = {p:.3g})")
        if why:
            losses.append(
                f"{strategy} lost {-effect.difference:.3f} {settings.metric} against the {name_of(reference)} "
                f"({effect.baseline:.3f} -> {effect.candidate:.3f} on {effect.n} questions), {' and '.join(why)}"
            )
    sure = [
        e.low > -settings.margin or e.p_better <= interval_level(reference, settings)
        for (reference, _), e in effects.items()
    ]
    gained = any(e.p_better <= settings.alpha for e in effects.values())
    evidence: Literal["better", "not worse", "insufficient evidence"] = "insufficient evidence"
    if sure and all(sure):
        evidence = "better" if gained else "not worse"
    return Ruling(tuple(losses), evidence, adjusted)


def may_stay_unproven(before: int | None, *, settings: GateSettings) -> bool:
    """Whether insufficient evidence lets a release through, after `before` such releases in a row since the champion;
    None where no champion is pinned."""
    return settings.policy == "lenient" and (before is None or before < settings.unproven)


def name_of(reference: Reference) -> str:
    return "release in service" if reference == "in service" else reference
