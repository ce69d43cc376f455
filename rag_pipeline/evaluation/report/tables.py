"""From measured arms to the tables of a report: plain values and strings, nothing escaped, nothing of HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_pipeline.evaluation.arms import Arm
from rag_pipeline.evaluation.experiment import QueryRun
from rag_pipeline.evaluation.report.against import Against
from rag_pipeline.evaluation.statistics.bootstrap import bootstrap_interval


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    value: float | None = None
    """In [0, 1], where the cell is coloured by it."""
    kind: str = ""
    """"number", "good", "bad" or nothing: how it is set."""


Table = tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]
"""Headings, rows; the first cell of a row is its heading."""


def heat_map(arms: Sequence[Arm], *, metric: str) -> Table:
    """Means by arm and tag; the number of questions stands in the heading, as the first arm counts them."""
    tags = sorted({tag for arm in arms for q in arm.run if metric in q.metrics for tag in q.tags})
    counts = {tag: max(sum(tag in q.tags and metric in q.metrics for q in arm.run) for arm in arms) for tag in tags}
    rows = []
    for arm in arms:
        cells = [Cell(arm.label), _shade(mean_of(arm.run, metric))]
        cells += [_shade(mean_of([q for q in arm.run if tag in q.tags], metric)) for tag in tags]
        rows.append(tuple(cells))
    return ("", "all", *(f"{tag} ({counts[tag]})" for tag in tags)), tuple(rows)


def significance(found: Against) -> Table:
    """One row a test: metrics over all questions, then the gate's metric by tag."""
    rows = []
    for tested in found.tests:
        effect = tested.effect
        sure = tested.p_adjusted <= 0.05
        kind = ("good" if effect.difference > 0 else "bad") if sure and effect.difference else "number"
        rows.append(
            (
                Cell(tested.metric if tested.tag is None else f"{tested.metric}, {tested.tag}"),
                number(effect.n),
                number(effect.baseline),
                number(effect.candidate),
                Cell(f"{effect.difference:+.3f}", kind=kind),
                Cell(f"{effect.low:+.3f} to {effect.high:+.3f}", kind="number"),
                number(tested.p),
                number(tested.p_adjusted),
                number(effect.detectable),
                Cell(effect.finding),
            )
        )
    headings = (
        "metric, tag",
        "n",
        "reference",
        "this",
        "change",
        "90 % interval",
        "p",
        "p, Holm",
        "detectable",
        "finding",
    )
    return headings, tuple(rows)


def rows_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> Table:
    """Of rows as the leaderboard makes them."""
    return tuple(columns), tuple(tuple(_cell(row.get(name)) for name in columns) for row in rows)


def number(value: float | int | None) -> Cell:
    return _cell(value)


def mean_of(run: Sequence[QueryRun], metric: str) -> float | None:
    values = [q.metrics[metric] for q in run if metric in q.metrics]
    return math.fsum(values) / len(values) if values else None


def interval_of(run: Sequence[QueryRun], metric: str, *, resamples: int, seed: int) -> tuple[float, float]:
    """95 % of the mean; at least one question must have the metric."""
    values = np.array([q.metrics[metric] for q in run if metric in q.metrics], np.float64)
    return bootstrap_interval(values, resamples=resamples, seed=seed)


def _shade(value: float | None) -> Cell:
    return Cell("", kind="number") if value is None else Cell(f"{value:.2f}", min(1.0, max(0.0, value)), "number")


def _cell(value: object) -> Cell:
    if value is None or value == "":
        return Cell("–", kind="number")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, float):
        return Cell(f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}", kind="number")
    return Cell(str(value), kind="number" if isinstance(value, int) else "")
