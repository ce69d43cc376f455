"""What is searched for: the query first, then the variants that a transform made of it, each embedded for its role."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.errors import MissingExtra
from rag_pipeline.index.open import Index
from rag_pipeline.paths import Home
from rag_pipeline.retrieval.language_model import query_llm
from rag_pipeline.retrieval.query_vector import query_vector
from rag_pipeline.retrieval.transforms.base import Transformed, Variant, skipped
from rag_pipeline.retrieval.transforms.registry import NEED_LLM, TRANSFORMS
from rag_pipeline.settings.base import pick
from rag_pipeline.settings.strategy import StrategySettings
from rag_pipeline.text.repair import repair_text


@dataclass(frozen=True, slots=True)
class Search:
    text: str
    vector: NDArray[np.float32] | None
    """None where the strategy has no vector leg."""
    lexical: bool
    """Whether the BM25 leg searches for it too."""
    weight: float
    """Its share of the fused score; those of all searches sum to 1."""


@dataclass(frozen=True, slots=True)
class Searches:
    """The first is the query as it was asked."""

    each: tuple[Search, ...]
    markers: tuple[str, ...]
    cached: dict[str, int]
    seconds: dict[str, float]


def make_searches(query: str, *, index: Index, models: Path, fingerprint: str, strategy: StrategySettings) -> Searches:
    """Raises UnknownName for a transform that isn't, StageFailed in strict mode, and as `query_vector` does."""
    started = perf_counter()
    transformed = transform(query, strategy, folder=Home(models.parent).transform_replies)
    seconds = {"transform": perf_counter() - started} if strategy.transform != "none" else {}
    kept = [v for v in transformed.variants[1:] if v.role == "query" or strategy.vector_weight > 0]
    variants = [transformed.variants[0], *kept]
    share = strategy.transform_weight / len(kept) if kept else 0.0
    markers = list(transformed.markers)
    cached = {"transform": 1} if transformed.cached else {}
    started = perf_counter()
    each: list[Search] = []
    for variant in variants:
        vector = None
        if strategy.vector_weight > 0:
            found = query_vector(variant.text, index=index, models=models, fingerprint=fingerprint, role=variant.role)
            vector = found.vector
            markers += found.markers
            if found.cached:
                cached["vector"] = cached.get("vector", 0) + 1
        weight = share if each else 1.0 - share * len(kept)
        lexical = strategy.vector_weight < 1 and variant.role == "query"
        each.append(Search(variant.text, vector, lexical, weight))
    if strategy.vector_weight > 0:
        seconds["embed"] = perf_counter() - started
    return Searches(tuple(each), tuple(markers), cached, seconds)


def transform(query: str, strategy: StrategySettings, *, folder: Path | None = None) -> Transformed:
    """The query and its variants; where the transform could not run, the query alone and a marker.

    `folder` keeps what a language model replied.
    """
    run = pick(TRANSFORMS, strategy.transform, "transform")
    try:
        needed = strategy.transform in NEED_LLM
        llm = query_llm(seconds=strategy.transform_seconds, folder=folder) if needed else None
    except MissingExtra:
        return skipped(query, "missing_extra", strict=strategy.strict)
    made = run(query, llm=llm, strict=strategy.strict)
    repaired = [Variant(repair_text(v.text).strip(), v.kind, v.role) for v in made.variants[1:]]
    variants = (Variant(query, "original"), *(v for v in repaired if v.text))
    return Transformed(variants, made.markers, made.cached, made.seconds)
