"""What MLflow shows first of a run, its description in Markdown: an evaluation's leaderboard, a strategy's line."""

import math
from collections.abc import Sequence
from dataclasses import replace

from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.leaderboard import Row, leaderboard
from rag_pipeline.tracking.record import EvaluationRecord

NOTE = "mlflow.note.content"
SHOWN = ("strategy", "ndcg@10", "ndcg@10 95 %", "recall@5", "recall@10", "mrr@10", "change", "change interval")
COLUMNS = (*SHOWN, "verdict", "n", "failed")
LONGEST = 5000
"""Characters; MLflow takes 8,000 in a tag."""


def board_of(record: EvaluationRecord) -> list[Row]:
    """Every strategy of the evaluation against the default one, or against the first where that was not measured."""
    runs = {name: tuple(map(_finite, run)) for name, run in record.experiment.runs.items()}
    default = record.release.default_strategy
    reference = default if default in runs else next(iter(runs), None)
    if reference is None:
        return []
    return leaderboard(replace(record.experiment, runs=runs), reference=reference, settings=record.settings)


def evaluation_note(record: EvaluationRecord, rows: Sequence[Row]) -> str:
    """Names and numbers only: no question stands in it."""
    gate = record.gate
    asked = f"Release `{record.release.release_id}` on {record.experiment.eval_set} ({record.experiment.half.value})."
    reason = f"\n\n{gate.decision}: {gate.reason}" if gate else ""
    return f"{asked}{reason}\n\n{_table(rows)}".strip()[:LONGEST]


def strategy_note(record: EvaluationRecord, row: Row) -> str:
    """One line; `row` is the strategy's of `board_of`."""
    metric = f"nDCG@10 {_cell(row['ndcg@10'])} ({row['ndcg@10 95 %'] or 'no interval'}) on {row['n']} questions"
    change = f"; {row['verdict']}"
    if isinstance(row["change"], float) and row["change interval"]:
        change += f": {row['change']:+.3f} ({row['change interval']}) against {record.release.default_strategy}"
    return f"`{row['strategy']}` of release `{record.release.release_id}`: {metric}{change}."[:LONGEST]


def _finite(run: QueryRun) -> QueryRun:
    """A number that is none is missing here as it is among the metrics."""
    return replace(run, metrics={name: value for name, value in run.metrics.items() if math.isfinite(value)})


def _table(rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(_cell(row[name]) for name in COLUMNS) + " |" for row in rows]
    return "\n".join(lines) if rows else ""


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value).replace("|", "\\|")
