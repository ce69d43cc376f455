"""Measured runs as rows for people: one a strategy, or one a tag, with intervals and what the means stand on."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rag_pipeline.evaluation.arms import arms_of, reference_of
from rag_pipeline.evaluation.comparison import overall_effect
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval
from rag_pipeline.evaluation.summary import summarise
from rag_pipeline.settings.gate import GateSettings

Row = dict[str, str | int | float | bool | None]

COULD_NOT_RUN = "could not run"

SHOWN: Mapping[str, str] = {
    "ndcg_at_10": "ndcg@10",
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
    "mrr_at_10": "mrr@10",
    "overlap_iou_at_5": "iou@5",
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
    """The rows of `board` for one release on one eval set."""
    return board([experiment], reference=reference, settings=settings)


def board(experiments: Sequence[Experiment], *, reference: str, settings: GateSettings) -> list[Row]:
    """Every strategy of every release on every eval set, with what changed against the reference strategy.

    The reference is that strategy of the first release on the same eval set. Best first on the settings' metric, by
    eval set in the order given. `verdict` is "better", "not worse", "worse" or "insufficient evidence" on that metric,
    "reference", or "could not run: " and why. Raises as `arms.arms_of` and `arms.reference_of`.
    """
    arms = arms_of(experiments)
    order = {key: i for i, key in enumerate(dict.fromkeys(arm.questions for arm in arms))}
    shown = SHOWN.get(settings.metric, settings.metric)
    rows: list[tuple[tuple[int, float, str], Row]] = []
    for arm in arms:
        base = reference_of(arm, arms, strategy=reference)
        effect = overall_effect(base.run, arm.run, settings=settings)
        latency = summarise(arm.run).latency
        is_reference = arm is base
        row: Row = {
            "strategy": arm.strategy,
            "release": arm.experiment.release_id,
            "eval set": arm.experiment.eval_set,
            **_means(arm.run, settings, intervals=True),
            **_counts(arm.run),
            "change": 0.0 if is_reference else effect.difference,
            "change interval": "" if is_reference else _interval(effect.low, effect.high, signed=True),
            "compared": effect.n,
            "smallest detectable loss": None if is_reference else effect.detectable,
            "verdict": "reference" if is_reference else effect.finding,
            "p50 ms": latency.p50 if latency else None,
            "p95 ms": latency.p95 if latency else None,
        }
        if arm.could_not_run is not None:
            row |= {"change": None, "change interval": "", "verdict": f"{COULD_NOT_RUN}: {arm.could_not_run}"}
        quality = row.get(shown)
        place = (order[arm.questions], -float(quality) if isinstance(quality, float) else math.inf, arm.label)
        rows.append((place, row))
    return [row for _, row in sorted(rows, key=lambda item: item[0])]


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
