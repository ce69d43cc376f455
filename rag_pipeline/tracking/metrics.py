"""The numbers of one evaluation, by the names they are logged under:

    ndcg_at_10, ndcg_at_10_low, ndcg_at_10_high      mean, and its 95 % bootstrap interval
    tag.identifier.recall_at_5, tag.identifier.n     the same over the questions of one tag
    tuning.ndcg_at_10, held_out.ndcg_at_10           over one half
    change.ndcg_at_10, ..._low, ..._high             against the default strategy, paired
    latency.total.p95_ms, latency.embed.p50_ms       milliseconds
    gate.published, gate.in_service.hybrid.change    the verdict on a candidate
    answers.extractive.key_facts                     of the answers, where they were evaluated

A number that is missing is in `metrics_missing`, never a zero.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rag_pipeline.evaluation.comparison import Effect, assess
from rag_pipeline.evaluation.experiment import QueryRun, of_half
from rag_pipeline.evaluation.leaderboard import SHOWN
from rag_pipeline.evaluation.split import Half
from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval
from rag_pipeline.evaluation.summary import Mean, summarise
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline.tracking.answer_metrics import add_answers
from rag_pipeline.tracking.names import Metrics
from rag_pipeline.tracking.record import EvaluationRecord


def strategy_metrics(record: EvaluationRecord, strategy: str) -> Metrics:
    """Everything about one strategy of the evaluation."""
    run = record.experiment.runs[strategy]
    found = Metrics()
    _quality(found, run, record.settings)
    _halves(found, record, strategy)
    if strategy != record.release.default_strategy and (effect := change(record, strategy)) is not None:
        _effect(found, effect, f"change.{record.settings.metric}")
    return found


def evaluation_metrics(record: EvaluationRecord) -> Metrics:
    """The evaluation as a whole: its default strategy's quality, the gate, the latency and the answers."""
    found = Metrics()
    default = record.experiment.runs.get(record.release.default_strategy)
    if default is not None:
        _quality(found, default, record.settings)
    found.add(len(record.experiment.runs), "strategies")
    if record.latency is not None:
        for stage, p in record.latency.stages.items():
            found.update((("p50_ms", p.p50), ("p95_ms", p.p95), ("p99_ms", p.p99)), "latency", stage)
        if record.latency.cold_ms is not None:
            found.add(record.latency.cold_ms, "latency", "cold_ms")
    if record.gate is not None:
        found.add(record.gate.decision == "publish", "gate", "published")
        if record.gate.detectable is not None:
            found.add(record.gate.detectable, "gate", "detectable")
        for compared in record.gate.comparisons:
            name = f"gate.{compared.reference}.{compared.strategy}".replace(" ", "_")
            _effect(found, compared.comparison.overall, f"{name}.change")
            found.add(compared.comparison.coverage, name, "coverage")
            found.add(compared.p_adjusted, name, "p_adjusted")
    for quality in record.answers.values():
        add_answers(found, quality)
    return found


def change(record: EvaluationRecord, strategy: str) -> Effect | None:
    """What the strategy changes against the default one; None where nothing can be paired."""
    metric = record.settings.metric
    before = _scores(record.experiment.runs.get(record.release.default_strategy, ()), metric)
    after = _scores(record.experiment.runs[strategy], metric)
    pairs = [(before[query], score) for query, score in after.items() if query in before]
    if not pairs:
        return None
    old, new = np.array(pairs, np.float64).T
    return assess(old, new, settings=record.settings)


def _quality(found: Metrics, run: Sequence[QueryRun], settings: GateSettings) -> None:
    summary = summarise(run)
    _means(found, summary.metrics)
    for metric in dict.fromkeys((*SHOWN, settings.metric)):
        if not summary.scored:
            found.add(None, metric)
        values = np.array([q.metrics[metric] for q in run if metric in q.metrics], np.float64)
        if len(values) and np.isfinite(values).all():
            low, high = bootstrap_interval(values, resamples=settings.resamples, seed=settings.seed)
            found.update(((f"{metric}_low", low), (f"{metric}_high", high)))
    for tag, means in summary.by_tag.items():
        _means(found, means, "tag", tag)
        found.add(sum(tag in q.tags for q in run if q.state == "scored"), "tag", tag, "n")
    for name in ("questions", "scored", "failed", "unresolved", "unanswerable", "coverage"):
        found.add(getattr(summary, name), name)
    # Of single questions; the count of whole metrics that are missing is the store's own.
    found.add(sum(len(q.missing) for q in run), "values_missing")
    if summary.empty_when_unanswerable is not None:
        found.add(summary.empty_when_unanswerable, "empty_when_unanswerable")
    if summary.latency is not None:
        found.update((("call_p50_ms", summary.latency.p50), ("call_p95_ms", summary.latency.p95)), "evaluation")


def _means(found: Metrics, means: Mapping[str, Mean], *prefix: str) -> None:
    found.update(((name, mean.value) for name, mean in means.items()), *prefix)


def _halves(found: Metrics, record: EvaluationRecord, strategy: str) -> None:
    if record.questions is None or record.experiment.half is not Half.BOTH:
        return
    for half in (Half.TUNING, Half.HELD_OUT):
        means = summarise(of_half(record.experiment, record.questions, half).runs[strategy]).metrics
        found.update(((name, means[name].value) for name in SHOWN if name in means), half.value)


def _effect(found: Metrics, effect: Effect, name: str) -> None:
    found.update(((name, effect.difference), (f"{name}_low", effect.low), (f"{name}_high", effect.high)))
    found.update(((f"{name}_p_worse", effect.p_worse), (f"{name}_p_better", effect.p_better)))


def _scores(run: Sequence[QueryRun], metric: str) -> dict[str, float]:
    return {q.query_id: q.metrics[metric] for q in run if math.isfinite(q.metrics.get(metric, math.nan))}
