"""Candidates of both legs, each scored by both: a chunk that only one leg found is not punished for it."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.dense import cosines, nearest
from rag_pipeline.retrieval.fusion import FUSIONS, Leg
from rag_pipeline.retrieval.lexical import bm25
from rag_pipeline.retrieval.rank import Rows, Scores, comparable
from rag_pipeline.retrieval.scope import Mask
from rag_pipeline.settings import StrategySettings


@dataclass(frozen=True, slots=True)
class Candidates:
    rows: Rows
    """Ascending."""
    scores: dict[str, Scores]
    """"vector", "bm25" of the legs that ran, and "fused"; (candidates,) each."""
    found: dict[str, int]
    """How many each leg found."""
    markers: tuple[str, ...]
    seconds: dict[str, float]


def union_candidates(
    index: Index, text: str, vector: NDArray[np.float32] | None, *, mask: Mask, strategy: StrategySettings
) -> Candidates:
    """`vector` is None where the strategy has no vector leg. A single leg's scores stay as they are."""
    found: dict[str, Rows] = {}
    seconds: dict[str, float] = {}
    markers: tuple[str, ...] = ()
    all_bm25: Scores | None = None
    if vector is not None:
        started = perf_counter()
        found["vector"], more = nearest(
            index,
            vector,
            mask=mask,
            limit=strategy.candidates,
            search=strategy.search,
            exact_limit=strategy.exact_limit,
        )
        seconds["vector"] = perf_counter() - started
        markers += more
    if strategy.vector_weight < 1:
        started = perf_counter()
        found["bm25"], all_bm25, more = bm25(index, text, mask=mask, limit=strategy.candidates)
        seconds["bm25"] = perf_counter() - started
        markers += more
    started = perf_counter()
    rows = np.unique(np.concatenate([*found.values(), np.zeros(0, np.int64)]).astype(np.int64))
    scores: dict[str, Scores] = {}
    legs: list[Leg] = []
    if vector is not None:
        scores["vector"] = cosines(index, vector, rows)
        legs.append(Leg(strategy.vector_weight, scores["vector"]))
    if all_bm25 is not None:
        scores["bm25"] = all_bm25[rows]
        unmatched = np.where(scores["bm25"] > 0, scores["bm25"], np.nan)
        legs.append(Leg(1 - strategy.vector_weight, unmatched, floor=0.0))
    if len(legs) == 1:
        scores["fused"] = next(iter(scores.values()))
    else:
        scores["fused"] = comparable(FUSIONS[strategy.fusion](legs, rows, rrf_k=strategy.rrf_k))
    seconds["fusion"] = perf_counter() - started
    return Candidates(rows, scores, {name: len(some) for name, some in found.items()}, markers, seconds)
