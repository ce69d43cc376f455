"""Filters that a query says in its own words, read by rules or by a language model where the strategy wants it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag_pipeline.errors import MissingExtra
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.language_model import query_llm
from rag_pipeline.retrieval.transforms.filter_llm import FilterReading, filter_llm
from rag_pipeline.retrieval.transforms.filter_query import FilterQuery, filter_query
from rag_pipeline.retrieval.vocabulary import vocabulary_of
from rag_pipeline.schema import Principal
from rag_pipeline.settings.strategy import StrategySettings


@dataclass(frozen=True, slots=True)
class AskedFor:
    text: str
    """What is left to search for."""
    filters: Mapping[str, Any]
    """Those given and those read; what was given for a key stands."""
    read: Mapping[str, Any]
    """Those read alone."""
    markers: tuple[str, ...] = ()


def asked_for(
    query: str,
    *,
    given: Mapping[str, Any],
    index: Index,
    principal: Principal | None,
    strategy: StrategySettings,
    folder: Path | None = None,
) -> AskedFor:
    """`folder` keeps a language model's replies. Raises StageFailed in strict mode."""
    if strategy.read_filters == "none":
        return AskedFor(query, given, {})
    reading = _read(query, index=index, principal=principal, strategy=strategy, folder=folder)
    read = {key: value for key, value in reading.found.filters.items() if key not in given}
    # Where a given filter stands, the words that said another are still words to search for.
    text = reading.found.text if len(read) == len(reading.found.filters) else query
    return AskedFor(text, {**given, **read}, read, reading.markers)


def _read(
    query: str, *, index: Index, principal: Principal | None, strategy: StrategySettings, folder: Path | None
) -> FilterReading:
    vocabulary, today = vocabulary_of(index, principal=principal), datetime.now(UTC).date()
    if strategy.read_filters == "rules":
        found: FilterQuery = filter_query(query, vocabulary=vocabulary, today=today)
        return FilterReading(found)
    try:
        llm = query_llm(seconds=strategy.transform_seconds, folder=folder)
    except MissingExtra:
        llm = None
    return filter_llm(query, vocabulary=vocabulary, today=today, llm=llm, strict=strategy.strict)
