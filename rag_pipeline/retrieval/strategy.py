"""Which strategy answers: one of the release's, with the caller's overrides."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.retrieval.overrides import check_overrides
from rag_pipeline.schema import Release
from rag_pipeline.settings.base import explain, pick
from rag_pipeline.settings.strategy import StrategySettings


def strategy_of(release: Release, name: str) -> Mapping[str, Any]:
    """As the release stores it. Raises UnknownName; a release knows the strategies of the settings it was made with."""
    try:
        return pick(release.strategies, name, "strategy")
    except UnknownName as error:
        hint = "; one added to the settings comes with the next `rag-pipeline reindex`"
        raise UnknownName(f"{error} in release {release.release_id}{hint}") from None


def chosen_strategy(release: Release, name: str | None, overrides: Mapping[str, Any]) -> tuple[str, StrategySettings]:
    """(name, settings). Raises UnknownName for a strategy or field that isn't, InvalidSettings for a value."""
    name = name or release.default_strategy
    stored = strategy_of(release, name)
    check_overrides(overrides, known=StrategySettings.model_fields)
    try:
        return name, StrategySettings.model_validate({**stored, **overrides})
    except ValidationError as error:
        raise InvalidSettings(explain(error, f"strategy {name}") + "; correct the override or the strategy") from error
