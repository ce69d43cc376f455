"""`retrieve`: one question to the release in service, and its answer with everything needed to explain it.

The steps are in `steps`; this file chooses the release and makes the result of what they handed on.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_pipeline.errors import NoRelease
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.reader import OpenRelease, collections, existing_collection, nothing_indexed, open_current
from rag_pipeline.retrieval.relevance import UNCALIBRATED
from rag_pipeline.retrieval.steps import Steps, take_steps
from rag_pipeline.schema import Principal, RetrievalResult
from rag_pipeline.settings.load import load_settings
from rag_pipeline.settings.strategy import ContextSettings


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
    present_as: ContextSettings | None = None,
    **overrides: Any,
) -> RetrievalResult:
    """The same on a release that is open already, in service or not: an evaluation asks the candidate this way.

    `present_as` makes a formatted context where no preset is named.
    """
    clock = Clock()
    steps = take_steps(
        opened,
        query,
        models=models,
        strategy=strategy,
        context=context,
        filters=filters,
        principal=principal,
        overrides=overrides,
        present_as=present_as,
        explain=explain,
        clock=clock,
    )
    uncalibrated = steps.found is None and opened.release.calibration is None
    markers = (*steps.markers, UNCALIBRATED) if uncalibrated else steps.markers
    result = RetrievalResult(
        query=steps.query,
        collection=opened.release.collection,
        strategy=steps.strategy_name,
        release_id=opened.release.release_id,
        build_key=opened.release.build_key,
        hits=steps.hits,
        timings_ms=clock.finish(),
        candidates=steps.found.counts if steps.found else {},
        markers=tuple(dict.fromkeys(markers)),
        empty_reason=_reason(steps, opened),
        cached=steps.found.cached if steps.found else {},
        read_filters=steps.wanted.read,
        context=context,
    )
    made = steps.presented
    if made is None:
        return result
    return replace(
        result,
        formatted_context=made.text,
        total_tokens=made.tokens,
        citations=made.citations,
        sources=made.sources,
        passages=made.shown,
    )


def _reason(steps: Steps, opened: OpenRelease) -> str | None:
    if steps.hits:
        return None
    if steps.found is None:
        return "filter_empty" if opened.index.chunks else "empty_index"
    return "below_min_relevance" if steps.found.counts.get("below_min_relevance") else "no_match"


def _where(collection: str | None, home: Path | None) -> tuple[CollectionPaths, Home]:
    name = collection or os.environ.get("RAG_PIPELINE_COLLECTION")
    if home is None or name is None:
        settings = load_settings()
        home = home if home is not None else settings.home
        name = name or settings.default_collection
    place = Home(Path(home))
    if not collections(place):
        raise NoRelease(nothing_indexed(place))
    return existing_collection(place, name), place
