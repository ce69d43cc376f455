"""Which strategy answers: one of the release's, with the caller's overrides."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.retrieval.overrides import check_overrides
from rag_pipeline.schema import Release
from rag_pipeline.settings.base import explain, pick
from rag_pipeline.settings.strategy import StrategySettings


def chosen_strategy(release: Release, name: str | None, overrides: Mapping[str, Any]) -> tuple[str, StrategySettings]:
    """(name, settings). Raises UnknownName for a strategy or field that isn't, InvalidSettings for a value."""
    name = name or release.default_strategy
    stored = pick(release.strategies, name, "strategy")
    check_overrides(overrides, known=StrategySettings.model_fields)
    try:
        return name, StrategySettings.model_validate({**stored, **overrides})
    except ValidationError as error:
        raise InvalidSettings(explain(error, f"strategy {name}") + "; correct the override or the strategy") from error
