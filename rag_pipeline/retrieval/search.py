"""The stages of one search in their order, from a query and a mask to ranked sections. Each lives in its own file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_pipeline.retrieval.candidates import Candidates, union_candidates
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.collapse import collapse
from rag_pipeline.retrieval.diversity import spread
from rag_pipeline.retrieval.evidence import add_evidence
from rag_pipeline.retrieval.exact import add_exact, exact_first, exact_share
from rag_pipeline.retrieval.profile import document_profile
from rag_pipeline.retrieval.rank import comparable, ordered
from rag_pipeline.retrieval.ranking import Ranking
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.relevance import judge_relevance
from rag_pipeline.retrieval.rerank import rerank
from rag_pipeline.retrieval.scope import Mask
from rag_pipeline.retrieval.searches import Search, Searches, make_searches
from rag_pipeline.settings.strategy import StrategySettings

SPARE = 3
"""Sections looked at for each one returned, where a later stage may drop or reorder some."""

LEAST_POOL = 20


@dataclass(frozen=True, slots=True)
class Found:
    ranking: Ranking
    candidates: Candidates
    counts: dict[str, int]
    markers: tuple[str, ...]
    cached: dict[str, int]
    searches: tuple[Search, ...]
    """What was searched for."""
    handed_on: Mapping[str, Ranking]
    """What each stage behind fusion handed to the next: "sections", "rerank" where there is one, "relevance"."""


def search(
    opened: OpenRelease, query: str, *, mask: Mask, strategy: StrategySettings, models: Path, clock: Clock
) -> Found:
    """At most `top_k` sections. Raises as its stages do."""
    searches = make_searches(
        query, index=opened.index, models=models, fingerprint=opened.release.embedder_fingerprint, strategy=strategy
    )
    clock.include(searches.seconds)
    return search_for(searches, query, opened=opened, mask=mask, strategy=strategy, models=models, clock=clock)


def search_for(
    searches: Searches,
    query: str,
    *,
    opened: OpenRelease,
    mask: Mask,
    strategy: StrategySettings,
    models: Path,
    clock: Clock,
) -> Found:
    """The same once it is known what is searched for: from here on no model is needed, but a reranker's."""
    index = opened.index
    if strategy.candidates < strategy.top_k:
        # Asked for more sections than a leg has candidates: fewer than there are would come back, unsaid.
        strategy = strategy.model_copy(update={"candidates": strategy.top_k})
    found = union_candidates(index, searches.each, mask=mask, strategy=strategy, legs=opened.legs)
    clock.include(found.seconds)
    scores = found.scores["fused"]
    if strategy.evidence:
        profile = document_profile(index, searches.each, found.rows, vector_weight=strategy.vector_weight)
        documents = index.layout.document[found.rows]
        scores = comparable(add_evidence(scores, documents, profile, share=strategy.evidence))
        found.scores["evidence"] = scores
    exact = exact_share(index, query, found.rows, mask=mask) if strategy.exact else None
    if exact is not None and exact.any():
        scores = comparable(add_exact(scores, exact, strength=strategy.exact))
        found.scores["exact"] = scores
    order = ordered(scores, found.rows)
    sections = collapse(found.rows[order], index.layout, limit=_pool(strategy))
    at = np.searchsorted(found.rows, np.array(sections, np.int64))
    ranking = Ranking(tuple(sections), tuple(scores[at].tolist()), counts={"sections": len(sections)})
    handed_on = {"sections": ranking}
    clock.lap("rank")
    if strategy.reranker != "none":
        ranking = rerank(
            ranking,
            query,
            index=index,
            models=models,
            fingerprint=opened.release.embedder_fingerprint,
            strategy=strategy,
        )
        if exact is not None and exact.any():
            ranking = exact_first(ranking, dict(zip(found.rows.tolist(), exact.tolist(), strict=True)), strategy.exact)
        handed_on["rerank"] = ranking
        clock.lap("rerank")
    ranking = judge_relevance(
        ranking, query, index=index, found=found, calibration=opened.release.calibration, strategy=strategy
    )
    handed_on["relevance"] = ranking
    ranking = spread(ranking, index.vectors, diversity=strategy.diversity, top_k=strategy.top_k)
    clock.lap("select")
    return Found(
        ranking,
        found,
        {**found.found, "union": len(found.rows), **ranking.counts},
        (*searches.markers, *found.markers, *ranking.markers),
        searches.cached,
        searches.each,
        handed_on,
    )


def _pool(strategy: StrategySettings) -> int:
    """Sections that the stages behind fusion choose from."""
    pool = strategy.top_k
    if strategy.diversity or strategy.min_relevance:
        pool = max(SPARE * strategy.top_k, LEAST_POOL)
    return pool if strategy.reranker == "none" else max(pool, strategy.rerank_candidates)
