"""The one place where HTTP meets retrieval: a request becomes a call of `retrieve`, its result what is shown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import OpenRelease, open_current
from rag_pipeline.retrieval.retrieve import retrieve_from
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
        present_as=_plain(request) if request.return_formatted and request.context is None else None,
        **_overrides(request),
    )
    if not request.return_formatted:
        return replace(result, formatted_context=None, total_tokens=None, citations=(), passages=())
    return result


def _overrides(request: RetrieveRequest) -> dict[str, Any]:
    """A preset knows how much to present; a bare strategy only how much to find."""
    if request.context is None:
        given: dict[str, Any] = {"top_k": request.max_chunks}
    else:
        given = {"max_chunks": request.max_chunks, "max_tokens": request.max_tokens, "form": request.format}
    given["read_filters"] = request.read_filters
    return {name: value for name, value in given.items() if value is not None}


def _plain(request: RetrieveRequest) -> ContextSettings:
    given = {"max_tokens": request.max_tokens, "form": request.format}
    return ContextSettings.model_validate({name: value for name, value in given.items() if value is not None})
