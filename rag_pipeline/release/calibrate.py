"""Fitting a release's calibration: what share of sections with this evidence answered the tuning questions.

Fitted on the tuning half, judged on the held-out half. The numbers go into the release; a query only reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.evaluation.calibration import LogisticFit, expected_calibration_error, fit_logistic
from rag_pipeline.evaluation.eval_set import EvalSet, Query
from rag_pipeline.evaluation.labels import load_eval_set
from rag_pipeline.evaluation.resolve import Resolution, resolve
from rag_pipeline.evaluation.split import Half, select
from rag_pipeline.evaluation.stored_corpus import stored_corpus
from rag_pipeline.index.open import open_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.query import normalise
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.relevance import evidence, probabilities
from rag_pipeline.retrieval.scope import scope
from rag_pipeline.retrieval.search import LEAST_POOL, search
from rag_pipeline.schema import Release
from rag_pipeline.settings.strategy import StrategySettings

DEPTH = LEAST_POOL
"""Sections of each question that are examples: those that a floor on relevance chooses from."""

LEAST = 20
"""Right and wrong examples that a fit needs at least, each."""

FEATURES: Mapping[str, tuple[str, ...]] = {
    "bm25+vector": ("cosine", "bm25", "agreement"),
    "vector": ("cosine",),
    "bm25": ("bm25",),
}
"""Evidence by the legs that ran."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Examples:
    evidence: Mapping[str, Values]
    labels: NDArray[np.bool_]
    questions: int


def calibrate_candidate(
    paths: CollectionPaths, draft: Release, eval_set: Path | None, *, models: Path
) -> dict[str, object] | None:
    """For a release that is not written yet; None where the collection has no labels, or too few.

    Raises InvalidEvalSet, and what searching raises.
    """
    if eval_set is None:
        return None
    questions = load_eval_set(eval_set)
    index = open_build(paths.build(draft.build_key))
    try:
        return calibrate(OpenRelease(draft, index), questions, models=models)
    finally:
        index.close()


def calibrate(opened: OpenRelease, eval_set: EvalSet, *, models: Path) -> dict[str, object] | None:
    """`Release.calibration`: a logistic model for each set of legs and its expected calibration error.

    None where the tuning half has fewer than LEAST right or wrong examples.
    """
    resolution = resolve(eval_set, stored_corpus(opened.index))
    tuning, held_out = (
        examples(opened, select(eval_set, half).queries, resolution, models=models)
        for half in (Half.TUNING, Half.HELD_OUT)
    )
    right = int(tuning.labels.sum())
    if min(right, len(tuning.labels) - right) < LEAST:
        return None
    fitted: dict[str, dict[str, Any]] = {}
    errors: dict[str, float | None] = {}
    for legs, names in FEATURES.items():
        fit = fit_logistic(np.stack([tuning.evidence[name] for name in names], axis=1), tuning.labels)
        fitted[legs] = _model(fit, names)
        error = expected_calibration_error(probabilities(held_out.evidence, fitted[legs]), held_out.labels)
        errors[legs] = round(error, 4) if len(held_out.labels) else None
    return {
        "method": "logistic",
        "eval_set_hash": eval_set.content_hash,
        "models": fitted,
        "held_out_ece": errors,
        "questions": {"tuning": tuning.questions, "held_out": held_out.questions},
        "examples": {"tuning": len(tuning.labels), "held_out": len(held_out.labels)},
    }


def examples(opened: OpenRelease, queries: Iterable[Query], resolution: Resolution, *, models: Path) -> Examples:
    """The first sections of both legs together for each question; right is what a label names.

    Questions without an answer give wrong examples alone; those whose labels don't resolve give none.
    """
    index, strategy = opened.index, StrategySettings(top_k=DEPTH)
    found: dict[str, list[Values]] = {name: [np.zeros(0)] for name in FEATURES["bm25+vector"]}
    labels: list[bool] = []
    asked = 0
    for query in queries:
        relevance = resolution.relevance.get(query.id)
        if query.answerable and relevance is None:
            continue
        right = relevance.sections if relevance is not None else {}
        mask = scope(index, filters=query.filters, principal=query.principal)
        if mask is not None and not mask.any():
            continue
        text = normalise(query.text).text
        result = search(opened, text, mask=mask, strategy=strategy, models=models, clock=Clock())
        rows: Sequence[int] = result.ranking.rows
        at = np.searchsorted(result.candidates.rows, np.array(rows, np.int64))
        for name, values in evidence(index, text, result.candidates).items():
            found[name].append(values[at])
        labels += [record.section_id in right for record in index.fetch(rows)]
        asked += 1
    return Examples({name: np.concatenate(some) for name, some in found.items()}, np.array(labels, np.bool_), asked)


def _model(fit: LogisticFit, names: Sequence[str]) -> dict[str, Any]:
    return {"intercept": fit.intercept, "weights": dict(zip(names, fit.weights, strict=True))}
