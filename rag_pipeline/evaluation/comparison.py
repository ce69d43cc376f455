"""What changed between two runs of one strategy, on the questions that both of them scored.

The statistics of paired differences live here, as data; whether they let a release pass is the gate's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval
from rag_pipeline.evaluation.statistics.detectable import questions_needed, smallest_detectable_effect, spread
from rag_pipeline.evaluation.statistics.holm import holm
from rag_pipeline.evaluation.statistics.randomization import sign_flip_test
from rag_pipeline.settings.gate import GateSettings

Finding = Literal["better", "not worse", "worse", "insufficient evidence"]


@dataclass(frozen=True, slots=True)
class Effect:
    """Paired differences of one metric, candidate minus baseline."""

    n: int
    changed: int
    """Questions whose score differs."""
    baseline: float
    candidate: float
    difference: float
    low: float
    high: float
    """Two-sided interval at 1 - 2 level (level: alpha, 0.04 by default): each end is a one-sided limit."""
    p_worse: float
    """One-sided: how often chance alone would lose this much."""
    p_better: float
    detectable: float
    """The smallest true loss that this many questions find with 80 % power."""
    needed: int
    """Questions that would make the margin detectable."""
    finding: Finding


@dataclass(frozen=True, slots=True)
class ChangedQuestion:
    """One question with both rankings side by side."""

    query_id: str
    text: str
    baseline_score: float
    candidate_score: float
    baseline_sections: tuple[str, ...]
    candidate_sections: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    metric: str
    overall: Effect
    by_tag: Mapping[str, Effect]
    p_worse_by_tag: Mapping[str, float]
    """Holm-adjusted over the tags: with a dozen tags, one alarm by chance is likely. They are for people to read."""
    worse: tuple[ChangedQuestion, ...]
    """Greatest loss first."""
    compared: int
    answerable: int
    """Answerable questions of the candidate's run."""
    left_out: tuple[str, ...]
    """Ids of answerable questions that one of the two runs did not score."""

    @property
    def coverage(self) -> float:
        return self.compared / self.answerable if self.answerable else 1.0


def compare(
    baseline: Sequence[QueryRun], candidate: Sequence[QueryRun], *, settings: GateSettings, level: float | None = None
) -> Comparison:
    """Compare on `settings.metric`; a question that is missing in either run is left out and listed, never a zero.

    `level` is that of the intervals' ends, `settings.alpha` unless given.
    """
    metric = settings.metric
    before = {q.query_id: q for q in baseline if metric in q.metrics}
    after = {q.query_id: q for q in candidate if metric in q.metrics}
    both = [q for q in after if q in before]
    answerable = [q.query_id for q in candidate if q.answerable]
    tags = sorted({tag for q in both for tag in after[q].tags})

    def effect_of(ids: Sequence[str]) -> Effect:
        pairs = [(before[q].metrics[metric], after[q].metrics[metric]) for q in ids]
        old, new = np.array(pairs, np.float64).reshape(-1, 2).T
        return assess(old, new, settings=settings, level=level)

    by_tag = {tag: effect_of([q for q in both if tag in after[q].tags]) for tag in tags}
    worse = [
        ChangedQuestion(
            query_id=q,
            text=after[q].text,
            baseline_score=before[q].metrics[metric],
            candidate_score=after[q].metrics[metric],
            baseline_sections=before[q].sections,
            candidate_sections=after[q].sections,
        )
        for q in both
        if after[q].metrics[metric] < before[q].metrics[metric]
    ]
    return Comparison(
        metric=metric,
        overall=effect_of(both),
        by_tag=by_tag,
        p_worse_by_tag=holm({tag: effect.p_worse for tag, effect in by_tag.items()}),
        worse=tuple(sorted(worse, key=lambda w: (w.candidate_score - w.baseline_score, w.query_id))),
        compared=len(both),
        answerable=len(answerable),
        left_out=tuple(q for q in answerable if q not in before or q not in after),
    )


def overall_effect(baseline: Sequence[QueryRun], candidate: Sequence[QueryRun], *, settings: GateSettings) -> Effect:
    """What `compare` finds over all questions on `settings.metric`, without the tags."""
    metric = settings.metric
    before = {q.query_id: q.metrics[metric] for q in baseline if metric in q.metrics}
    pairs = [(before[q.query_id], q.metrics[metric]) for q in candidate if metric in q.metrics and q.query_id in before]
    old, new = np.array(pairs, np.float64).reshape(-1, 2).T
    return assess(old, new, settings=settings)


def assess(
    baseline: np.ndarray, candidate: np.ndarray, *, settings: GateSettings, level: float | None = None
) -> Effect:
    """Statistics of paired scores (n,) each; the finding uses the margin, alpha, and seed of `settings`.

    `level` is that of the interval's ends, alpha unless given.

    The interval is the wider of the bootstrap's and the normal one around a spread that is never 0, so that three
    questions that came out equal don't prove anything.
    """
    differences = candidate - baseline
    n = len(differences)
    sd = spread(differences)
    if not n:
        return Effect(0, 0, 0.0, 0.0, 0.0, -1.0, 1.0, 1.0, 1.0, 1.0, needed(sd, settings), "insufficient evidence")
    mean = float(differences.mean())
    level = level or settings.alpha
    half_width = NormalDist().inv_cdf(1 - level) * sd / n**0.5
    low, high = bootstrap_interval(
        differences, confidence=1 - 2 * level, resamples=settings.resamples, seed=settings.seed
    )
    low, high = min(low, mean - half_width), max(high, mean + half_width)
    p_worse = sign_flip_test(differences, alternative="less", permutations=settings.resamples, seed=settings.seed)
    p_better = sign_flip_test(differences, alternative="greater", permutations=settings.resamples, seed=settings.seed)
    finding: Finding = "insufficient evidence"
    if p_worse <= settings.alpha or exceeds_margin(mean, n, settings=settings):
        finding = "worse"
    elif p_better <= settings.alpha:
        finding = "better"
    elif low > -settings.margin:
        finding = "not worse"
    return Effect(
        n=n,
        changed=int(np.count_nonzero(differences)),
        baseline=float(baseline.mean()),
        candidate=float(candidate.mean()),
        difference=mean,
        low=low,
        high=high,
        p_worse=p_worse,
        p_better=p_better,
        detectable=smallest_detectable_effect(sd, n, alpha=settings.alpha),
        needed=needed(sd, settings),
        finding=finding,
    )


def exceeds_margin(difference: float, n: int, *, settings: GateSettings) -> bool:
    """Whether the loss is larger than the margin, on enough questions that no single one can decide it alone.

    One question moves the mean by 1 / n at most, so below 1 / margin questions (50 for 0.02) the margin is not asked.
    """
    return difference < -settings.margin - 1e-12 and n * settings.margin >= 1 - 1e-9


def needed(sd: float, settings: GateSettings) -> int:
    return questions_needed(settings.margin, sd, alpha=settings.alpha)
