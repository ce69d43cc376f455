"""`retrieve`: one question to the release in service, and its answer with everything needed to explain it.

Each stage is a small function of its own file; this one only puts them in order and measures them.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rag_pipeline.errors import NoRelease
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.candidates import Candidates, union_candidates
from rag_pipeline.retrieval.collapse import collapse
from rag_pipeline.retrieval.evidence import add_evidence
from rag_pipeline.retrieval.hits import make_hits
from rag_pipeline.retrieval.query import normalise
from rag_pipeline.retrieval.query_vector import query_vector
from rag_pipeline.retrieval.rank import comparable, ordered
from rag_pipeline.retrieval.reader import OpenRelease, collections, existing_collection, open_current
from rag_pipeline.retrieval.scope import scope
from rag_pipeline.retrieval.strategy import chosen_strategy
from rag_pipeline.schema import Hit, Principal, RetrievalResult
from rag_pipeline.settings import load_settings

UNCALIBRATED = "relevance=uncalibrated"


def retrieve(
    query: str,
    *,
    collection: str | None = None,
    strategy: str | None = None,
    filters: Mapping[str, Any] | None = None,
    principal: Principal | None = None,
    home: Path | None = None,
    **overrides: Any,
) -> RetrievalResult:
    """Search the release in service.

    `collection` None: $RAG_PIPELINE_COLLECTION, else the settings' default. `home` None: the settings' data directory.
    `strategy` None: the release's default. `principal` None: public documents only. `overrides` are fields of
    `StrategySettings`, as `top_k=10`. Raises InvalidQuery, UnknownName, InvalidSettings, NoRelease, CorruptBuild,
    IncompatibleBuild, ModelUnavailable.
    """
    paths, home_paths = _where(collection, home)
    return retrieve_from(
        open_current(paths),
        query,
        models=home_paths.models,
        strategy=strategy,
        filters=filters,
        principal=principal,
        **overrides,
    )


def retrieve_from(
    opened: OpenRelease,
    query: str,
    *,
    models: Path,
    strategy: str | None = None,
    filters: Mapping[str, Any] | None = None,
    principal: Principal | None = None,
    **overrides: Any,
) -> RetrievalResult:
    """The same on a release that is open already, in service or not: an evaluation asks the candidate this way."""
    clock = _Clock()
    release, index = opened.release, opened.index
    name, settings = chosen_strategy(release, strategy, overrides)
    asked = normalise(query)
    markers = [*asked.markers, UNCALIBRATED]
    clock.lap("query")
    mask = scope(index, filters=filters, principal=principal)
    clock.lap("scope")
    hits: tuple[Hit, ...] = ()
    counts: dict[str, int] = {}
    if not index.chunks:
        empty_reason: str | None = "empty_index"
    elif mask is not None and not mask.any():
        empty_reason = "filter_empty"
    else:
        vector = None
        if settings.vector_weight > 0:
            fingerprint = str(release.embedder["fingerprint"])
            vector, more = query_vector(asked.text, index=index, models=models, fingerprint=fingerprint)
            markers += more
            clock.lap("embed")
        found = union_candidates(index, asked.text, vector, mask=mask, strategy=settings)
        markers += found.markers
        clock.include(found.seconds)
        scores = found.scores["fused"]
        if settings.evidence:
            scores = comparable(add_evidence(scores, index.layout.document[found.rows], share=settings.evidence))
            found.scores["evidence"] = scores
        order = ordered(scores, found.rows)
        sections = collapse(found.rows[order], index.layout, limit=settings.top_k)
        clock.lap("rank")
        hits = make_hits(index, sections, found)
        clock.lap("fetch")
        counts = _counts(found, sections)
        empty_reason = None if hits else "no_match"
    return RetrievalResult(
        query=asked.text,
        collection=release.collection,
        strategy=name,
        release_id=release.release_id,
        build_key=release.build_key,
        hits=hits,
        timings_ms=clock.finish(),
        candidates=counts,
        markers=tuple(dict.fromkeys(markers)),
        empty_reason=empty_reason,
    )


def _where(collection: str | None, home: Path | None) -> tuple[CollectionPaths, Home]:
    name = collection or os.environ.get("RAG_PIPELINE_COLLECTION")
    if home is None or name is None:
        settings = load_settings()
        home = home if home is not None else settings.home
        name = name or settings.default_collection
    place = Home(Path(home))
    if not collections(place):
        raise NoRelease(f"nothing is indexed under {place.root} yet; run `rag-pipeline reindex`")
    return existing_collection(place, name), place


def _counts(found: Candidates, sections: Sequence[int]) -> dict[str, int]:
    return {**found.found, "union": len(found.rows), "sections": len(sections)}


class _Clock:
    """Milliseconds of each stage, in order."""

    def __init__(self) -> None:
        self._started = self._last = perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self._laps[stage] = (now - self._last) * 1000
        self._last = now

    def include(self, seconds: Mapping[str, float]) -> None:
        self._laps.update({stage: value * 1000 for stage, value in seconds.items()})
        self._last = perf_counter()

    def finish(self) -> dict[str, float]:
        return {**self._laps, "total": (perf_counter() - self._started) * 1000}
