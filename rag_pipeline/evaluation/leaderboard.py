"""Measured runs as rows for people: one a strategy, or one a tag, with intervals and what the means stand on."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rag_pipeline.evaluation.comparison import compare
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval
from rag_pipeline.evaluation.summary import summarise
from rag_pipeline.settings.gate import GateSettings

Row = dict[str, str | int | float | bool | None]

SHOWN: Mapping[str, str] = {
    "ndcg_at_10": "ndcg@10",
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
    "mrr_at_10": "mrr@10",
}


def strategy_rows(experiment: Experiment, *, settings: GateSettings) -> list[Row]:
    """One row a strategy: means with their 95 % intervals, and how many questions they stand on."""
    return [
        {"strategy": name, **_means(run, settings, intervals=True), **_counts(run)}
        for name, run in experiment.runs.items()
    ]


def tag_rows(run: Sequence[QueryRun], *, settings: GateSettings) -> list[Row]:
    """One row a tag of the scored questions."""
    scored = [q for q in run if q.state == "scored"]
    tags = sorted({tag for q in scored for tag in q.tags})
    rows: list[Row] = []
    for tag in tags:
        tagged = [q for q in scored if tag in q.tags]
        rows.append({"tag": tag, "n": len(tagged), **_means(tagged, settings, intervals=False)})
    return rows


def leaderboard(experiment: Experiment, *, reference: str, settings: GateSettings) -> list[Row]:
    """`strategy_rows` with what changed against the reference strategy, best first on the settings' metric.

    `verdict` is "better", "not worse", "worse" or "insufficient evidence" on that metric.
    """
    rows = []
    for row, (name, run) in zip(strategy_rows(experiment, settings=settings), experiment.runs.items(), strict=True):
        effect = compare(experiment.runs[reference], run, settings=settings).overall
        latency = summarise(run).latency
        is_reference = name == reference
        rows.append(
            {
                **row,
                "change": 0.0 if is_reference else effect.difference,
                "change interval": "" if is_reference else _interval(effect.low, effect.high, signed=True),
                "verdict": "reference" if is_reference else effect.finding,
                "p50 ms": latency.p50 if latency else None,
                "p95 ms": latency.p95 if latency else None,
            }
        )
    shown = SHOWN.get(settings.metric, settings.metric)
    return sorted(rows, key=lambda row: (-float(row.get(shown) or 0.0), str(row["strategy"])))


def _means(run: Sequence[QueryRun], settings: GateSettings, *, intervals: bool) -> Row:
    row: Row = {}
    named = dict(SHOWN) | ({} if settings.metric in SHOWN else {settings.metric: settings.metric})
    for metric, shown in named.items():
        values = np.array([q.metrics[metric] for q in run if metric in q.metrics], np.float64)
        row[shown] = math.fsum(values) / len(values) if len(values) else None
        if intervals:
            ends = bootstrap_interval(values, resamples=settings.resamples, seed=settings.seed) if len(values) else None
            row[f"{shown} 95 %"] = _interval(*ends) if ends else ""
    return row


def _counts(run: Sequence[QueryRun]) -> Row:
    summary = summarise(run)
    return {
        "n": summary.scored,
        "coverage": summary.coverage,
        "failed": summary.failed,
        "missing": sum(len(q.missing) for q in run),
        "empty when unanswerable": summary.empty_when_unanswerable,
    }


def _interval(low: float, high: float, *, signed: bool = False) -> str:
    return f"{low:+.3f} to {high:+.3f}" if signed else f"{low:.3f} to {high:.3f}"
