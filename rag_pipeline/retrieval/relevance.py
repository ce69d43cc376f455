"""How probable it is that a section answers: absolute evidence of the legs through the release's calibration.

Evidence is the same number whatever else was found: the cosine, BM25 over the most that the query's terms could give,
and, where both legs ran, the geometric mean of the two, which is high only where they agree. The calibration holds one
logistic model for each set of legs: P = 1 / (1 + exp(-(intercept + sum of weight * evidence))). Fitting one lives in
`rag_pipeline.release`.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rag_pipeline.errors import StageFailed
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.candidates import Candidates
from rag_pipeline.retrieval.rank import Scores
from rag_pipeline.retrieval.ranking import Ranking
from rag_pipeline.settings.strategy import StrategySettings

UNCALIBRATED = "relevance=uncalibrated"
DECIMALS = 6


def judge_relevance(
    ranking: Ranking,
    query: str,
    *,
    index: Index,
    found: Candidates,
    calibration: Mapping[str, Any] | None,
    strategy: StrategySettings,
) -> Ranking:
    """Fills `relevance`, and drops and counts what is below the strategy's floor.

    Without a calibration for these legs nothing is dropped; a floor that was asked for is then marked as skipped, or
    raises StageFailed in strict mode.
    """
    model = model_of(calibration, found)
    if model is None:
        if not strategy.min_relevance:
            return ranking.marked(UNCALIBRATED)
        if strategy.strict:
            raise StageFailed("min_relevance", "uncalibrated", "label an eval set and re-index, or drop the floor")
        return ranking.marked(UNCALIBRATED, "min_relevance=skipped:uncalibrated")
    scores = probabilities(evidence(index, query, found), model)
    at = np.searchsorted(found.rows, np.array(ranking.rows, np.int64))
    relevance = {row: float(scores[place]) for row, place in zip(ranking.rows, at, strict=True)}
    ranking = replace(ranking, relevance=relevance)
    if not strategy.min_relevance:
        return ranking
    kept = [place for place, row in enumerate(ranking.rows) if relevance[row] >= strategy.min_relevance]
    below = len(ranking.rows) - len(kept)
    return replace(ranking.chosen(kept), counts={**ranking.counts, "below_min_relevance": below})


def evidence(index: Index, query: str, found: Candidates) -> dict[str, Scores]:
    """By name, (candidates,) each, in -1..1: "cosine", "bm25", "agreement", as far as the legs ran."""
    out: dict[str, Scores] = {}
    if "vector" in found.scores:
        out["cosine"] = found.scores["vector"]
    if "bm25" in found.scores:
        out["bm25"] = found.scores["bm25"] / bm25_bound(index, query)
    if len(out) == 2:
        out["agreement"] = np.sqrt(np.clip(out["cosine"], 0, None) * out["bm25"])
    return out


def bm25_bound(index: Index, query: str) -> float:
    """What a chunk could score at most, were it full of every term; a term that no chunk has counts as the rarest."""
    terms = list(dict.fromkeys(index.analyzer.tokens(query)))
    known = index.postings.term_numbers(terms)
    frequency = (index.postings.indptr[known + 1] - index.postings.indptr[known]).tolist()
    frequency += [0] * (len(terms) - len(frequency))
    k1 = float(str(index.manifest.settings["k1"]))
    total = math.fsum(math.log1p((index.chunks - df + 0.5) / (df + 0.5)) for df in frequency)
    return total * (k1 + 1) or 1.0


def model_of(calibration: Mapping[str, Any] | None, found: Candidates) -> Mapping[str, Any] | None:
    """The model for the legs that ran."""
    return None if calibration is None else calibration["models"].get(legs_of(found))


def legs_of(found: Candidates) -> str:
    """ "bm25+vector", "vector" or "bm25"."""
    return "+".join(sorted({"vector", "bm25"} & found.scores.keys()))


def probabilities(features: Mapping[str, Scores], model: Mapping[str, Any]) -> Scores:
    """Of each candidate, in 0..1."""
    weights: Mapping[str, float] = model["weights"]
    logit = sum((weight * features[name] for name, weight in weights.items()), np.float64(model["intercept"]))
    return np.asarray(np.round(1 / (1 + np.exp(-np.clip(logit, -500, 500))), DECIMALS), np.float64)
