"""The presets of a release as a table for SQL users: `rag_configurations.parquet` beside its release.json.

    SELECT * FROM 'data/agent_platform/releases/<id>/rag_configurations.parquet'

Generated from the release, which alone decides how queries are answered; nothing reads it back.
"""

from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.retrieval.contexts import chosen_context
from rag_pipeline.schema import Release

FILE = "rag_configurations.parquet"


@dataclass(frozen=True, slots=True)
class ConfigurationRow:
    """One preset with what it makes of its strategy."""

    release_id: str
    context: str
    strategy: str
    fusion: str
    vector_weight: float
    keyword_weight: float
    candidates: int
    transform: str
    """"none" where the preset does not expand."""
    reranker: str
    rerank_candidates: int
    rerank_weight: float
    parents: bool
    diversity: float
    min_relevance: float
    max_chunks: int
    max_tokens: int


def configuration_rows(release: Release) -> tuple[ConfigurationRow, ...]:
    """By name of the preset. Raises UnknownName, InvalidSettings for a preset that no query could use."""
    return tuple(_row(release, name) for name in sorted(release.contexts))


def write_configurations(folder: Path, release: Release) -> None:
    from rag_pipeline.parquet import write_rows  # pyarrow: whoever only reads releases has none

    write_rows(folder / FILE, ConfigurationRow, configuration_rows(release))


def _row(release: Release, name: str) -> ConfigurationRow:
    chosen = chosen_context(release, name, strategy=None, overrides={})
    context, strategy = chosen.context, chosen.strategy
    return ConfigurationRow(
        release_id=release.release_id,
        context=name,
        strategy=chosen.strategy_name,
        fusion=strategy.fusion,
        vector_weight=strategy.vector_weight,
        keyword_weight=round(1 - strategy.vector_weight, 12),
        candidates=strategy.candidates,
        transform=strategy.transform,
        reranker=strategy.reranker,
        rerank_candidates=strategy.rerank_candidates,
        rerank_weight=strategy.rerank_weight,
        parents=context.parents,
        diversity=strategy.diversity,
        min_relevance=strategy.min_relevance,
        max_chunks=strategy.top_k,
        max_tokens=context.max_tokens,
    )
