"""Means over the questions of one run, with how many questions each mean stands on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_pipeline.evaluation.experiment import QueryRun


@dataclass(frozen=True, slots=True)
class Mean:
    value: float | None
    """None where no question has the metric."""
    n: int
    missing: int
    """Scored questions without it."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of the calls that answered; warm-up calls are not among them."""

    n: int
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Summary:
    metrics: Mapping[str, Mean]
    by_tag: Mapping[str, Mapping[str, Mean]]
    questions: int
    scored: int
    failed: int
    unresolved: int
    unanswerable: int
    coverage: float
    """Scored share of the answerable questions; 1 where there is none."""
    empty_when_unanswerable: float | None
    """Share of the unanswerable questions that got an empty answer; None where there is none."""
    latency: Latency | None
    stages: Mapping[str, Latency]


def summarise(run: Sequence[QueryRun]) -> Summary:
    """Failed and unresolved questions are counted and in no mean; unanswerable ones are scored by emptiness alone."""
    scored = [q for q in run if q.state == "scored"]
    tags = sorted({tag for q in scored for tag in q.tags})
    of_state = {state: sum(q.state == state for q in run) for state in ("failed", "unresolved", "unanswerable")}
    unanswerable = [q for q in run if q.state == "unanswerable"]
    answerable = [q for q in run if q.state in ("scored", "unresolved") or (q.state == "failed" and q.answerable)]
    stages = sorted({stage for q in run for stage in q.timings_ms})
    return Summary(
        metrics=_means(scored),
        by_tag={tag: _means([q for q in scored if tag in q.tags]) for tag in tags},
        questions=len(run),
        scored=len(scored),
        failed=of_state["failed"],
        unresolved=of_state["unresolved"],
        unanswerable=of_state["unanswerable"],
        coverage=len(scored) / len(answerable) if answerable else 1.0,
        empty_when_unanswerable=sum(not q.ranking for q in unanswerable) / len(unanswerable) if unanswerable else None,
        latency=_latency([q.milliseconds for q in run if q.milliseconds is not None]),
        stages={s: found for s in stages if (found := _latency([q.timings_ms[s] for q in run if s in q.timings_ms]))},
    )


def _means(scored: Sequence[QueryRun]) -> dict[str, Mean]:
    names = dict.fromkeys(name for q in scored for name in (*q.metrics, *q.missing))
    out = {}
    for name in names:
        values = [q.metrics[name] for q in scored if name in q.metrics and math.isfinite(q.metrics[name])]
        mean = math.fsum(values) / len(values) if values else None
        out[name] = Mean(mean, n=len(values), missing=len(scored) - len(values))
    return out


def _latency(milliseconds: Sequence[float]) -> Latency | None:
    finite = [m for m in milliseconds if math.isfinite(m)]
    if not finite:
        return None
    p50, p95 = np.percentile(finite, [50, 95])
    return Latency(n=len(finite), p50=float(p50), p95=float(p95))
