"""The one place where HTTP meets retrieval: a request becomes a call of `retrieve`, its result what is shown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_pipeline.context.present import present
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.query_vector import query_model
from rag_pipeline.retrieval.reader import OpenRelease, open_current
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.retrieval.scope import scope
from rag_pipeline.schema import Principal, RetrievalResult
from rag_pipeline.serving.models import RetrieveRequest
from rag_pipeline.settings.strategy import ContextSettings


def ask(
    request: RetrieveRequest,
    *,
    paths: CollectionPaths,
    models: Path,
    principal: Principal | None,
    opened: OpenRelease | None = None,
) -> RetrievalResult:
    """With a formatted context where the request wants one, by its preset or, without one, by the plain defaults.

    From `opened` where the caller has opened a release of `paths`, else from the one in service. Raises as `retrieve`
    does.
    """
    opened = open_current(paths) if opened is None else opened
    result = retrieve_from(
        opened,
        request.query,
        models=models,
        strategy=request.strategy,
        context=request.context,
        filters=request.filters or None,
        principal=principal,
        explain=request.explain,
        **_overrides(request),
    )
    if not request.return_formatted:
        return replace(result, formatted_context=None, total_tokens=None, citations=(), passages=())
    if request.context is not None:
        return result
    return _presented(request, result, opened, models=models, principal=principal)


def _overrides(request: RetrieveRequest) -> dict[str, Any]:
    """A preset knows how much to present; a bare strategy only how much to find."""
    if request.context is None:
        given: dict[str, Any] = {"top_k": request.max_chunks}
    else:
        given = {"max_chunks": request.max_chunks, "max_tokens": request.max_tokens, "form": request.format}
    given["read_filters"] = request.read_filters
    return {name: value for name, value in given.items() if value is not None}


def _presented(
    request: RetrieveRequest,
    result: RetrievalResult,
    opened: OpenRelease,
    *,
    models: Path,
    principal: Principal | None,
) -> RetrievalResult:
    given = {"max_tokens": request.max_tokens, "form": request.format}
    settings = ContextSettings.model_validate({name: value for name, value in given.items() if value is not None})
    made = present(
        result.query,
        result.hits,
        index=opened.index,
        mask=scope(opened.index, filters=request.filters or None, principal=principal),
        settings=settings,
        own_tokenizer=lambda: query_model(models, str(opened.release.embedder["fingerprint"])).tokenizer,
    )
    return replace(
        result,
        formatted_context=made.text,
        total_tokens=made.tokens,
        citations=made.citations,
        sources=made.sources,
        passages=made.shown,
        markers=tuple(dict.fromkeys((*result.markers, *made.markers))),
    )
