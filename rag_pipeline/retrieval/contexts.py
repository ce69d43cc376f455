"""Which preset a call asked for: its own settings, and what it changes in the strategy it searches by. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.retrieval.overrides import check_overrides
from rag_pipeline.retrieval.strategy import chosen_strategy, strategy_of
from rag_pipeline.schema import Release
from rag_pipeline.settings.base import explain, pick
from rag_pipeline.settings.strategy import ContextSettings, StrategySettings

EXPANSION = "template"
RERANKER = "maxsim"


@dataclass(frozen=True, slots=True)
class ChosenContext:
    name: str
    context: ContextSettings
    strategy_name: str
    strategy: StrategySettings


def chosen_context(release: Release, name: str, *, strategy: str | None, overrides: Mapping[str, Any]) -> ChosenContext:
    """Overrides may name fields of a context and of a strategy; those of the strategy have the last word.

    A `strategy` that the call names searches in its own way: weight, expansion and reranking of the preset are left
    aside, unless the call gives them. Raises UnknownName, InvalidSettings.
    """
    stored = pick(release.contexts, name, "context")
    own, others = ContextSettings.model_fields, StrategySettings.model_fields
    check_overrides(overrides, known={*own, *others} - {"strategy"})
    for_context = {field: value for field, value in overrides.items() if field in own}
    try:
        context = ContextSettings.model_validate({**stored, **for_context})
    except ValidationError as error:
        raise InvalidSettings(explain(error, f"context {name}") + "; correct the override or the context") from error
    asked = strategy or context.strategy
    searched = dict(strategy_of(release, asked))
    given = {**searched, **_changes(context, searched, only=for_context if strategy else None)}
    given |= {field: value for field, value in overrides.items() if field in others and field not in own}
    asked, settings = chosen_strategy(release, asked, given)
    return ChosenContext(name, context, asked, settings)


def _changes(
    context: ContextSettings, strategy: Mapping[str, object], *, only: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Fields of the strategy that the context sets. `only`: how to search is changed by these of its fields alone."""
    searching = ContextSettings.model_fields if only is None else only
    changes: dict[str, Any] = {"top_k": context.max_chunks, "diversity": context.diversity}
    for field in ("min_relevance", "strict"):
        if getattr(context, field) is not None:
            changes[field] = getattr(context, field)
    if context.vector_weight is not None and "vector_weight" in searching:
        changes["vector_weight"] = context.vector_weight
    for field, wanted, default in (("transform", "expand", EXPANSION), ("reranker", "rerank", RERANKER)):
        if wanted in searching:
            stored = str(strategy.get(field, "none"))
            changes[field] = (stored if stored != "none" else default) if getattr(context, wanted) else "none"
    return changes
