"""From ranked rows to the hits a caller sees: plain Python values only."""

import bisect
from collections.abc import Mapping, Sequence

import numpy as np

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.candidates import Candidates
from rag_pipeline.retrieval.ranking import Ranking
from rag_pipeline.schema import Hit


def make_hits(
    index: Index, ranking: Ranking, found: Candidates, *, ranks: Mapping[int, Mapping[str, int]] | None = None
) -> tuple[Hit, ...]:
    """`ranking` has rows of `found` only, so all of them passed the scope. `ranks` by row, where they are wanted."""
    records = index.fetch(ranking.rows)
    at = np.searchsorted(found.rows, np.array(ranking.rows, np.int64))
    return tuple(
        Hit(
            rank=rank,
            chunk_id=record.chunk_id,
            section_id=record.section_id,
            doc_id=record.doc_id,
            source=record.source,
            title=record.title,
            headers=record.headers,
            content=record.content,
            lead=record.lead,
            start=record.start,
            end=record.end,
            section_start=record.section_start,
            section_end=record.section_end,
            section_content=record.section_content,
            kind=record.kind,
            score=score,
            scores={
                **{stage: float(scores[position]) for stage, scores in found.scores.items()},
                **{stage: scores[record.row] for stage, scores in ranking.said.items() if record.row in scores},
            },
            relevance_score=ranking.relevance.get(record.row),
            also_in=record.also_in,
            locator=_locator(record.locators, record.start),
            ranks=dict(ranks[record.row]) if ranks is not None else {},
        )
        for rank, (record, position, score) in enumerate(zip(records, at, ranking.scores, strict=True), start=1)
    )


def _locator(locators: Sequence[tuple[int, str]], start: int) -> str | None:
    """The last label at or before the chunk's start."""
    place = bisect.bisect_right(locators, start, key=lambda pair: pair[0])
    return locators[place - 1][1] if place else None
