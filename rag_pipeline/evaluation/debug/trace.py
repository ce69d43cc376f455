"""One call of `retrieve` with what every stage handed on.

The stages are retrieval's own; only their order of calls is repeated here, and a test holds the two together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.context.passage import Presented
from rag_pipeline.context.present import present
from rag_pipeline.evaluation.debug.values import Asked
from rag_pipeline.paths import Home
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.collapse import collapse
from rag_pipeline.retrieval.contexts import chosen_context
from rag_pipeline.retrieval.hits import make_hits
from rag_pipeline.retrieval.query import normalise
from rag_pipeline.retrieval.query_vector import query_model
from rag_pipeline.retrieval.rank import Rows, ordered
from rag_pipeline.retrieval.read_filters import asked_for
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.scope import Mask, scope
from rag_pipeline.retrieval.search import Found, search
from rag_pipeline.retrieval.strategy import chosen_strategy
from rag_pipeline.schema import Hit
from rag_pipeline.settings.strategy import ContextSettings, StrategySettings


@dataclass(frozen=True, slots=True)
class Trace:
    opened: OpenRelease
    asked: Asked
    query: str
    """As it was searched for: without the limits that were read from it."""
    filters: Mapping[str, Any]
    """Those that were given, and those read from the question."""
    read: Mapping[str, Any]
    """The filters that the strategy read from the question."""
    strategy_name: str
    strategy: StrategySettings
    preset: ContextSettings | None
    mask: Mask
    found: Found | None
    """None where the scope holds no chunk."""
    hits: tuple[Hit, ...]
    passages: tuple[Presented, ...] | None
    """What the formatted context shows; None without a preset."""
    markers: tuple[str, ...]

    @property
    def in_scope(self) -> int:
        """Chunks that may be used."""
        return self.opened.index.chunks if self.mask is None else int(self.mask.sum())

    @property
    def candidates(self) -> int:
        """Of each leg, as `search` takes them: never fewer than are returned."""
        return max(self.strategy.candidates, self.strategy.top_k)

    @property
    def scored_by(self) -> tuple[str, ...]:
        """Scores of both legs together in the order they were made, "fused" first; the last one orders."""
        made = self.found.candidates.scores if self.found is not None else {}
        return tuple(stage for stage in made if stage not in ("vector", "bm25", "original"))

    def sections_by(self, stage: str) -> list[int]:
        """The candidates in the order of one score, each section by its best chunk; by BM25 those that it found."""
        if self.found is None:
            return []
        rows, scores = self.found.candidates.rows, self.found.candidates.scores[stage]
        if stage == "bm25":
            rows, scores = rows[scores > 0], scores[scores > 0]
        return collapse(rows[ordered(scores, rows)], self.opened.index.layout, limit=len(rows))


def trace(opened: OpenRelease, asked: Asked, *, models: Path) -> Trace:
    """Raises as `retrieve_from` does."""
    preset: ContextSettings | None = None
    if asked.context is None:
        name, strategy = chosen_strategy(opened.release, asked.strategy, asked.overrides)
    else:
        chosen = chosen_context(opened.release, asked.context, strategy=asked.strategy, overrides=asked.overrides)
        name, strategy, preset = chosen.strategy_name, chosen.strategy, chosen.context
    index = opened.index
    query = normalise(asked.question)
    wanted = asked_for(
        query.text,
        given=asked.filters,
        index=index,
        principal=asked.principal,
        strategy=strategy,
        folder=Home(models.parent).transform_replies,
    )
    mask = scope(index, filters=wanted.filters, principal=asked.principal)
    markers = (*query.markers, *wanted.markers)
    found: Found | None = None
    hits: tuple[Hit, ...] = ()
    if index.chunks and (mask is None or mask.any()):
        found = search(opened, wanted.text, mask=mask, strategy=strategy, models=models, clock=Clock())
        hits = make_hits(index, found.ranking, found.candidates)
        markers += found.markers
    passages: tuple[Presented, ...] | None = None
    if preset is not None:
        fingerprint = str(opened.release.embedder["fingerprint"])
        made = present(
            query.text,
            hits,
            index=index,
            mask=mask,
            settings=preset,
            own_tokenizer=lambda: query_model(models, fingerprint).tokenizer,
        )
        passages, markers = made.passages, (*markers, *made.markers)
    return Trace(
        opened=opened,
        asked=asked,
        query=wanted.text,
        filters=wanted.filters or {},
        read=wanted.read,
        strategy_name=name,
        strategy=strategy,
        preset=preset,
        mask=mask,
        found=found,
        hits=hits,
        passages=passages,
        markers=tuple(dict.fromkeys(markers)),
    )


def rows_in(mask: Mask, rows: Rows) -> Rows:
    """Those of `rows` that the mask allows."""
    return rows if mask is None else rows[np.asarray(mask[rows], np.bool_)]
