"""Where the expected passage stands in every stage, the legs as deep as the index goes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.evaluation.debug.passage import Target
from rag_pipeline.evaluation.debug.trace import Trace, rows_in
from rag_pipeline.evaluation.debug.values import Place
from rag_pipeline.retrieval.dense import cosines
from rag_pipeline.retrieval.lexical import bm25_scores
from rag_pipeline.retrieval.query_vector import query_vector
from rag_pipeline.retrieval.rank import Rows, Scores
from rag_pipeline.retrieval.searches import Search


@dataclass(frozen=True, slots=True)
class Legs:
    """Scores of all chunks in the scope by each leg for the query as it was asked, whether or not it is searched by."""

    rows: Rows
    scores: dict[str, Scores]
    """"vector", "bm25"; (rows,). Without "vector" where the model is not on this machine."""


def legs_of(trace: Trace, *, models: Path) -> Legs:
    index = trace.opened.index
    rows = rows_in(trace.mask, np.arange(index.chunks))
    scores = {"bm25": bm25_scores(index, trace.query, rows)}
    try:
        fingerprint = trace.opened.release.embedder_fingerprint
        vector = query_vector(trace.query, index=index, models=models, fingerprint=fingerprint).vector
        scores = {"vector": cosines(index, vector, rows), **scores}
    except ModelUnavailable:
        if trace.strategy.vector_weight > 0:
            raise
    return Legs(rows, scores)


def leg_places(trace: Trace, legs: Legs, target: Target) -> Iterator[Place]:
    """By chunk. What the strategy searches for besides the query has a place of its own, as "bm25 (variant 1)"."""
    weight = {"vector": trace.strategy.vector_weight, "bm25": 1 - trace.strategy.vector_weight}
    for leg, scores in legs.scores.items():
        yield _place(leg, legs.rows, scores, target, kept=trace.candidates, used=weight[leg] > 0)
    for number, search in enumerate(trace.found.searches[1:] if trace.found else (), start=1):
        for leg, scores in _scores_of(trace, search, legs.rows).items():
            yield _place(f"{leg} (variant {number})", legs.rows, scores, target, kept=trace.candidates, used=True)


def stage_places(trace: Trace, target: Target) -> Iterator[Place]:
    """By section, from fusion to what is returned. A stage that ran has a place, with or without a rank."""
    if trace.found is None:
        return
    handed_on = trace.found.handed_on
    pool = len(handed_on["sections"].rows)
    for stage in trace.scored_by:
        rows = trace.sections_by(stage)
        kept = pool if stage == trace.scored_by[-1] else None
        yield Place(stage, section_rank(trace, rows, target), len(rows), kept=kept)
    behind: list[str] = ["rerank"] if "rerank" in handed_on else []
    behind += ["relevance"] if trace.strategy.min_relevance else []
    for name in behind:
        ranking = handed_on[name]
        yield Place(name, section_rank(trace, ranking.rows, target), len(ranking.rows))
    returned = trace.found.ranking.rows
    yield Place("returned", section_rank(trace, returned, target), len(returned))


def section_rank(trace: Trace, rows: Sequence[int], target: Target) -> int | None:
    """Rank of the first of the target's sections, from 1."""
    sections = trace.opened.index.layout.section
    return next((n for n, row in enumerate(rows, start=1) if int(sections[row]) in target.sections), None)


def _place(stage: str, rows: Rows, scores: Scores, target: Target, *, kept: int, used: bool) -> Place:
    """The best of the target's chunks, in the order of `rank.ordered`; 0 by BM25 is not found."""
    ranked = scores > 0 if stage.startswith("bm25") else np.ones(len(rows), np.bool_)
    own = np.flatnonzero(np.isin(rows, target.rows) & ranked)
    of = int(ranked.sum())
    if not len(own):
        return Place(stage, None, of, kept=kept, used=used)
    best = own[np.lexsort((rows[own], -scores[own]))[0]]
    before = (scores > scores[best]) | ((scores == scores[best]) & (rows < rows[best]))
    return Place(stage, int(before.sum()) + 1, of, kept=kept, score=float(scores[best]), used=used)


def _scores_of(trace: Trace, search: Search, rows: Rows) -> dict[str, Scores]:
    index = trace.opened.index
    scores: dict[str, Scores] = {}
    if search.vector is not None:
        scores["vector"] = cosines(index, search.vector, rows)
    if search.lexical:
        scores["bm25"] = bm25_scores(index, search.text, rows)
    return scores
