"""`retrieve`: one question to the release in service, and its answer with everything needed to explain it.

The stages are in `search`; this file chooses the release, the strategy or the preset, and the scope, and puts the
result together. It is the one file of this package that knows the formatter behind it.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_pipeline.context.present import present
from rag_pipeline.errors import NoRelease
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.contexts import chosen_context
from rag_pipeline.retrieval.explain import stage_ranks
from rag_pipeline.retrieval.hits import make_hits
from rag_pipeline.retrieval.query import normalise
from rag_pipeline.retrieval.query_vector import query_model
from rag_pipeline.retrieval.read_filters import asked_for
from rag_pipeline.retrieval.reader import OpenRelease, collections, existing_collection, open_current
from rag_pipeline.retrieval.relevance import UNCALIBRATED
from rag_pipeline.retrieval.scope import Mask, scope
from rag_pipeline.retrieval.search import search
from rag_pipeline.retrieval.strategy import chosen_strategy
from rag_pipeline.schema import Hit, Principal, RetrievalResult
from rag_pipeline.settings.load import load_settings
from rag_pipeline.settings.strategy import ContextSettings, StrategySettings


def retrieve(
    query: str,
    *,
    collection: str | None = None,
    strategy: str | None = None,
    context: str | None = None,
    filters: Mapping[str, Any] | None = None,
    principal: Principal | None = None,
    explain: bool = False,
    home: Path | None = None,
    **overrides: Any,
) -> RetrievalResult:
    """Search the release in service.

    `collection` None: $RAG_PIPELINE_COLLECTION, else the settings' default. `home` None: the settings' data directory.
    `strategy` None: the context's, else the release's default. `context` names a preset of the release; the result then
    has a formatted context within its token budget. `principal` None: public documents only. `explain` fills
    `Hit.ranks`. `overrides` are fields of `StrategySettings`, as `top_k=10`, and with a context those of
    `ContextSettings`, as `max_tokens=800`; they change this call alone. Raises InvalidQuery, UnknownName,
    InvalidSettings, NoRelease, CorruptBuild, IncompatibleBuild, ModelUnavailable, and StageFailed in strict mode.
    """
    paths, home_paths = _where(collection, home)
    return retrieve_from(
        open_current(paths),
        query,
        models=home_paths.models,
        strategy=strategy,
        context=context,
        filters=filters,
        principal=principal,
        explain=explain,
        **overrides,
    )


def retrieve_from(
    opened: OpenRelease,
    query: str,
    *,
    models: Path,
    strategy: str | None = None,
    context: str | None = None,
    filters: Mapping[str, Any] | None = None,
    principal: Principal | None = None,
    explain: bool = False,
    **overrides: Any,
) -> RetrievalResult:
    """The same on a release that is open already, in service or not: an evaluation asks the candidate this way."""
    clock = Clock()
    preset: ContextSettings | None = None
    if context is None:
        name, settings = chosen_strategy(opened.release, strategy, overrides)
    else:
        chosen = chosen_context(opened.release, context, strategy=strategy, overrides=overrides)
        name, settings, preset = chosen.strategy_name, chosen.strategy, chosen.context
    asked = normalise(query)
    clock.lap("query")
    wanted = asked_for(
        asked.text,
        given=filters or {},
        index=opened.index,
        principal=principal,
        strategy=settings,
        folder=Home(models.parent).transform_replies,
    )
    if settings.read_filters != "none":
        clock.lap("filter")
    mask = scope(opened.index, filters=wanted.filters, principal=principal)
    clock.lap("scope")
    result = RetrievalResult(
        query=asked.text,
        collection=opened.release.collection,
        strategy=name,
        release_id=opened.release.release_id,
        build_key=opened.release.build_key,
        hits=(),
        timings_ms={},
        candidates={},
        markers=(*asked.markers, *wanted.markers),
        read_filters=wanted.read,
    )
    result = _searched(
        result, opened, text=wanted.text, mask=mask, settings=settings, models=models, explain=explain, clock=clock
    )
    if context is not None and preset is not None:
        result = _presented(result, context, preset, opened, mask=mask, models=models, clock=clock)
    return replace(result, markers=tuple(dict.fromkeys(result.markers)), timings_ms=clock.finish())


def _searched(
    result: RetrievalResult,
    opened: OpenRelease,
    *,
    text: str,
    mask: Mask,
    settings: StrategySettings,
    models: Path,
    explain: bool,
    clock: Clock,
) -> RetrievalResult:
    """The result with its hits, or with the reason why there are none."""
    index = opened.index
    if not index.chunks or (mask is not None and not mask.any()):
        reason = "filter_empty" if index.chunks else "empty_index"
        more = (UNCALIBRATED,) if opened.release.calibration is None else ()
        return replace(result, markers=(*result.markers, *more), empty_reason=reason)
    found = search(opened, text, mask=mask, strategy=settings, models=models, clock=clock)
    ranks = stage_ranks(found.candidates, found.ranking) if explain else None
    hits = make_hits(index, found.ranking, found.candidates, ranks=ranks)
    clock.lap("fetch")
    return replace(
        result,
        hits=hits,
        candidates=found.counts,
        markers=(*result.markers, *found.markers),
        cached=found.cached,
        empty_reason=_reason(hits, found.counts),
    )


def _reason(hits: tuple[Hit, ...], counts: Mapping[str, int]) -> str | None:
    if hits:
        return None
    return "below_min_relevance" if counts.get("below_min_relevance") else "no_match"


def _presented(
    result: RetrievalResult,
    name: str,
    preset: ContextSettings,
    opened: OpenRelease,
    *,
    mask: Mask,
    models: Path,
    clock: Clock,
) -> RetrievalResult:
    made = present(
        result.query,
        result.hits,
        index=opened.index,
        mask=mask,
        settings=preset,
        own_tokenizer=lambda: query_model(models, str(opened.release.embedder["fingerprint"])).tokenizer,
    )
    clock.lap("format")
    return replace(
        result,
        context=name,
        formatted_context=made.text,
        total_tokens=made.tokens,
        citations=made.citations,
        sources=made.sources,
        passages=made.shown,
        markers=(*result.markers, *made.markers),
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
