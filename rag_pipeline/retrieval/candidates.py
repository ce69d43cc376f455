"""Candidates of both legs, each scored by both: a chunk that only one leg found is not punished for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.dense import cosines
from rag_pipeline.retrieval.fusion import FUSIONS, Leg
from rag_pipeline.retrieval.legs import LEGS, Legs
from rag_pipeline.retrieval.lexical import bm25_scores
from rag_pipeline.retrieval.rank import Rows, Scores, comparable
from rag_pipeline.retrieval.scope import Mask
from rag_pipeline.retrieval.searches import Search
from rag_pipeline.settings.strategy import StrategySettings


@dataclass(frozen=True, slots=True)
class Candidates:
    rows: Rows
    """Ascending."""
    scores: dict[str, Scores]
    """"vector", "bm25" of the legs that ran, for the query as it was asked; "original", its fused score, where there
    are variants; "fused". (candidates,) each."""
    found: dict[str, int]
    """How many each leg found, by all searches together."""
    markers: tuple[str, ...]
    seconds: dict[str, float]


def union_candidates(
    index: Index, searches: Sequence[Search], *, mask: Mask, strategy: StrategySettings, legs: Legs = LEGS
) -> Candidates:
    """Every leg of every search scores the union of what all of them found. One leg of one search stays as it is."""
    found: dict[str, list[Rows]] = {}
    seconds: dict[str, float] = {}
    markers: list[str] = []
    for search in searches:
        if search.vector is not None:
            started = perf_counter()
            rows, more = legs.nearest(
                index,
                search.vector,
                mask=mask,
                limit=strategy.candidates,
                search=strategy.search,
                exact_limit=strategy.exact_limit,
                probes=strategy.probes,
            )
            found.setdefault("vector", []).append(rows)
            markers += more
            seconds["vector"] = seconds.get("vector", 0.0) + perf_counter() - started
        if search.lexical:
            started = perf_counter()
            rows, more = legs.bm25(index, search.text, mask=mask, limit=strategy.candidates)
            found.setdefault("bm25", []).append(rows)
            markers += more
            seconds["bm25"] = seconds.get("bm25", 0.0) + perf_counter() - started
    started = perf_counter()
    by_leg = {leg: np.unique(np.concatenate(several)) for leg, several in found.items()}
    union = np.unique(np.concatenate([*by_leg.values(), np.zeros(0, np.int64)]).astype(np.int64))
    scored = _fused(index, searches, union, strategy)
    seconds["fusion"] = perf_counter() - started
    counts = {leg: len(rows) for leg, rows in by_leg.items()}
    return Candidates(union, scored, counts, tuple(markers), seconds)


def _fused(index: Index, searches: Sequence[Search], rows: Rows, strategy: StrategySettings) -> dict[str, Scores]:
    scores: dict[str, Scores] = {}
    total = np.zeros(len(rows))
    for place, search in enumerate(searches):
        legs: list[Leg] = []
        raw: dict[str, Scores] = {}
        if search.vector is not None:
            raw["vector"] = cosines(index, search.vector, rows)
            legs.append(Leg(strategy.vector_weight, raw["vector"]))
        if search.lexical:
            raw["bm25"] = bm25_scores(index, search.text, rows)
            unmatched = np.where(raw["bm25"] > 0, raw["bm25"], np.nan)
            legs.append(Leg(1 - strategy.vector_weight, unmatched, floor=0.0))
        if len(searches) == 1 and len(legs) == 1:
            return {**raw, "fused": next(iter(raw.values()))}
        if len(legs) == 1:  # so that a search with one leg weighs as much as one with two
            legs = [Leg(1.0, legs[0].scores, floor=legs[0].floor)]
        fused = FUSIONS[strategy.fusion](legs, rows, rrf_k=strategy.rrf_k)
        if len(searches) == 1:
            return {**raw, "fused": comparable(fused)}
        if not place:
            scores = {**raw, "original": comparable(fused)}
        total += search.weight * fused
    return {**scores, "fused": comparable(total)}
