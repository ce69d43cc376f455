"""What one call of `retrieve` handed on from step to step, and what a diagnosis reads from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.context.passage import Presented
from rag_pipeline.evaluation.debug.values import Asked
from rag_pipeline.retrieval.collapse import collapse
from rag_pipeline.retrieval.rank import Rows, ordered
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.scope import Mask
from rag_pipeline.retrieval.search import Found
from rag_pipeline.retrieval.steps import Steps, take_steps
from rag_pipeline.schema import Hit
from rag_pipeline.settings.strategy import ContextSettings, StrategySettings


@dataclass(frozen=True, slots=True)
class Trace:
    opened: OpenRelease
    asked: Asked
    steps: Steps

    @property
    def query(self) -> str:
        """As it was searched for: without the limits that were read from it."""
        return self.steps.wanted.text

    @property
    def filters(self) -> Mapping[str, Any]:
        """Those that were given, and those read from the question."""
        return self.steps.wanted.filters

    @property
    def read(self) -> Mapping[str, Any]:
        """The filters that the strategy read from the question."""
        return self.steps.wanted.read

    @property
    def strategy_name(self) -> str:
        return self.steps.strategy_name

    @property
    def strategy(self) -> StrategySettings:
        return self.steps.strategy

    @property
    def preset(self) -> ContextSettings | None:
        return self.steps.preset

    @property
    def mask(self) -> Mask:
        return self.steps.mask

    @property
    def found(self) -> Found | None:
        """None where the scope holds no chunk."""
        return self.steps.found

    @property
    def hits(self) -> tuple[Hit, ...]:
        return self.steps.hits

    @property
    def passages(self) -> tuple[Presented, ...] | None:
        """What the formatted context shows; None without a preset."""
        return self.steps.presented.passages if self.steps.presented is not None else None

    @property
    def markers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.steps.markers))

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
    steps = take_steps(
        opened,
        asked.question,
        models=models,
        strategy=asked.strategy,
        context=asked.context,
        filters=asked.filters,
        principal=asked.principal,
        overrides=asked.overrides,
    )
    return Trace(opened, asked, steps)


def rows_in(mask: Mask, rows: Rows) -> Rows:
    """Those of `rows` that the mask allows."""
    return rows if mask is None else rows[np.asarray(mask[rows], np.bool_)]
