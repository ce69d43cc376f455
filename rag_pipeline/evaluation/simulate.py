"""How often the gate refuses, by simulation: an equal release by accident, a worse one as it should.

The model: a question has one relevant section; its rank is drawn from RANKS, its score is nDCG@10. A new build draws
the ranks of `changed` of the questions anew, and loses: so many of them miss altogether that the expected mean falls by
`loss`. Without loss both builds are exchangeable, so every refusal is an accident.
"""

import math
from dataclasses import dataclass

import numpy as np

from rag_pipeline.evaluation.comparison import Effect, assess
from rag_pipeline.evaluation.ruling import Reference, interval_level, may_stay_unproven, rule
from rag_pipeline.settings.gate import GateSettings

RANKS = (0.45, 0.15, 0.09, 0.06, 0.04, 0.03, 0.02, 0.02, 0.015, 0.015)
"""Probability of rank 1 to 10; the rest is a miss."""
_SCORES = np.array([1 / math.log2(rank + 1) for rank in range(1, 11)] + [0.0])
_CHANCES = np.array([*RANKS, 1 - sum(RANKS)])
QUALITY = float(_SCORES @ _CHANCES)
"""Expected nDCG@10 of a build that lost nothing."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Shares of trials."""

    questions: int
    changed: float
    loss: float
    refused: float
    insufficient: float
    not_worse: float
    """Not worse or better."""
    trials: int


@dataclass(frozen=True, slots=True)
class Drift:
    """After a row of candidates that each lose a little, means over trials."""

    published: float
    """Candidates that got through."""
    measured_loss: float
    """Of the release in service at the end against the first one, on the eval set's own questions."""
    worst_measured_loss: float
    true_loss: float
    """The same over all questions that could be asked."""
    worst_true_loss: float


def operating_point(
    *, questions: int, changed: float, loss: float, trials: int, seed: int, settings: GateSettings, comparisons: int = 1
) -> OperatingPoint:
    """`comparisons` strategies at once, each with rankings of its own, against the release in service."""
    rng = np.random.default_rng(seed)
    counts = {"refused": 0, "insufficient evidence": 0, "sure": 0}
    for trial in range(trials):
        drawn = settings.model_copy(update={"seed": trial})  # one set of resamples for all would share its luck
        effects: dict[tuple[Reference, str], Effect] = {}
        for i in range(comparisons):
            before = _draw(rng, questions, quality=QUALITY)
            after = _next_build(rng, before, changed=changed, quality=QUALITY, loss=loss)
            effects["in service", str(i)] = assess(before, after, settings=drawn)
        ruling = rule(effects, settings=drawn)
        undecided = ruling.evidence == "insufficient evidence"
        counts["refused" if ruling.losses else ruling.evidence if undecided else "sure"] += 1
    return OperatingPoint(
        questions=questions,
        changed=changed,
        loss=loss,
        refused=counts["refused"] / trials,
        insufficient=counts["insufficient evidence"] / trials,
        not_worse=counts["sure"] / trials,
        trials=trials,
    )


def drift(
    *,
    questions: int,
    changed: float,
    loss: float,
    steps: int,
    trials: int,
    seed: int,
    settings: GateSettings,
    champion: bool = True,
) -> Drift:
    """`steps` candidates in a row, each `loss` worse than the release in service, which is the last one published.

    With `champion` the first release stays pinned; without, each is compared with its predecessor alone.
    """
    rng = np.random.default_rng(seed)
    ends = [
        _walk(rng, questions, changed, loss, steps, settings.model_copy(update={"seed": trial}), champion)
        for trial in range(trials)
    ]
    published, measured, true = (np.array(column) for column in zip(*ends, strict=True))
    return Drift(
        published=float(published.mean()),
        measured_loss=float(measured.mean()),
        worst_measured_loss=float(measured.max()),
        true_loss=float(true.mean()),
        worst_true_loss=float(true.max()),
    )


def _walk(
    rng: np.random.Generator,
    questions: int,
    changed: float,
    loss: float,
    steps: int,
    settings: GateSettings,
    champion: bool,
) -> tuple[int, float, float]:
    first = _draw(rng, questions, quality=QUALITY)
    in_service, quality, published, unproven = first, QUALITY, 0, 0
    for _ in range(steps):
        candidate = _next_build(rng, in_service, changed=changed, quality=quality, loss=loss)
        effects: dict[tuple[Reference, str], Effect] = {
            ("in service", "s"): assess(in_service, candidate, settings=settings)
        }
        if champion and published:
            effects["champion", "s"] = assess(
                first, candidate, settings=settings, level=interval_level("champion", settings)
            )
        ruling = rule(effects, settings=settings)
        undecided = ruling.evidence == "insufficient evidence"
        passes = not undecided or may_stay_unproven(unproven if len(effects) > 1 else None, settings=settings)
        if not ruling.losses and passes:
            in_service, quality, published = candidate, quality - loss, published + 1
            unproven = unproven + 1 if undecided else 0
    return published, float(first.mean() - in_service.mean()), QUALITY - quality


def _draw(rng: np.random.Generator, n: int, *, quality: float) -> np.ndarray:
    """Scores (n,) with this mean: ranks from RANKS, of which a share is missed."""
    scores = rng.choice(_SCORES, size=n, p=_CHANCES)
    kept: np.ndarray = scores * (rng.random(n) < quality / QUALITY)
    return kept


def _next_build(
    rng: np.random.Generator, before: np.ndarray, *, changed: float, quality: float, loss: float
) -> np.ndarray:
    moved = round(changed * len(before))
    target = quality - loss * len(before) / moved if moved else quality
    if target < 0 or (not moved and loss):
        raise ValueError(f"a loss of {loss} is more than {changed:.0%} of the questions can lose")
    after = before.copy()
    after[rng.choice(len(before), size=moved, replace=False)] = _draw(rng, moved, quality=target)
    return after
