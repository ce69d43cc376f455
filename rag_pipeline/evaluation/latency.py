"""How long answers take: each stage's percentiles over questions that were not asked before, warm-up apart.

Measured on its own, because an evaluation asks each question again and again and then finds its vector cached.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import RagPipelineError
from rag_pipeline.evaluation.eval_set import EvalSet, Query
from rag_pipeline.evaluation.measure import asker
from rag_pipeline.evaluation.results import read_value, write_value
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval import query_vector
from rag_pipeline.retrieval.reader import OpenRelease, open_release

CALLS = 100
WARM_UP = 5
STORED = "latency"


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Milliseconds."""

    n: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class LatencyReport:
    release_id: str
    strategy: str
    stages: Mapping[str, Percentiles]
    """By stage as the retrieval reports them, "total" among them; empty where no question could be asked."""
    warm_up: int
    """Calls before the measured ones."""
    cold_ms: float | None
    """The first of them: it loads the model."""
    failed: int


def measure_latency(
    opened: OpenRelease, queries: Sequence[Query], *, models: Path, strategy: str | None = None
) -> LatencyReport:
    """Up to WARM_UP calls, then up to CALLS measured ones, of distinct questions; one after the other."""
    name = strategy or opened.release.default_strategy
    ask = asker(opened, name, models=models)
    distinct = list({query.text: query for query in queries}.values())
    warming = distinct[: min(WARM_UP, len(distinct) // 2)]
    measured = distinct[len(warming) :][:CALLS]
    query_vector.forget()
    cold: float | None = None
    failed = 0
    found: dict[str, list[float]] = {}
    for i, query in enumerate([*warming, *measured]):
        began = time.perf_counter()
        try:
            timings = ask(query).timings_ms
        except RagPipelineError:
            failed += 1
            continue
        if i == 0:
            cold = (time.perf_counter() - began) * 1000
        if i >= len(warming):
            for stage, milliseconds in timings.items():
                found.setdefault(stage, []).append(milliseconds)
    return LatencyReport(
        release_id=opened.release.release_id,
        strategy=name,
        stages={stage: _percentiles(values) for stage, values in found.items()},
        warm_up=len(warming),
        cold_ms=cold,
        failed=failed,
    )


def latency_of(
    paths: CollectionPaths, release_id: str, eval_set: EvalSet, *, models: Path, again: bool = False
) -> LatencyReport:
    """Under the release's default strategy, as stored beside its evaluation; measured and stored where it is not."""
    folder = paths.evaluation(release_id, eval_set.content_hash)
    if not again and (known := read_value(folder, STORED, LatencyReport)) is not None:
        return known
    report = measure_latency(open_release(paths, release_id), eval_set.queries, models=models)
    write_value(folder, STORED, report)
    return report


def within_budget(report: LatencyReport, budget: Mapping[str, float]) -> CheckResult:
    """Every stage with a budget that ran stays below it at the 95th percentile."""
    measured = {stage: report.stages[stage] for stage in budget if stage in report.stages}
    over = {stage: p for stage, p in measured.items() if p.p95 > budget[stage]}
    numbers: dict[str, int | float | str] = {f"{stage}_p95_ms": round(p.p95, 3) for stage, p in measured.items()}
    numbers["n"] = max((p.n for p in measured.values()), default=0)
    if over:
        shown = "; ".join(
            f"{stage} takes {p.p95:.0f} ms at p95 of {p.n} calls, the budget is {budget[stage]:g} ms"
            for stage, p in over.items()
        )
        return CheckResult(False, f"{report.strategy}: {shown}; make it faster or raise gate.latency_p95_ms", numbers)
    shown = ", ".join(f"{stage} {p.p95:.0f} of {budget[stage]:g} ms" for stage, p in measured.items())
    return CheckResult(True, f"{report.strategy} at p95: {shown or 'nothing was measured'}", numbers)


def _percentiles(values: Sequence[float]) -> Percentiles:
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return Percentiles(len(values), float(p50), float(p95), float(p99))
