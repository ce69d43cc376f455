"""From ranked rows to the hits a caller sees: plain Python values only."""

import bisect
from collections.abc import Sequence

import numpy as np

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.candidates import Candidates
from rag_pipeline.schema import Hit


def make_hits(index: Index, rows: Sequence[int], found: Candidates) -> tuple[Hit, ...]:
    """`rows` are the best chunk of each section, best first, all from `found`, so all of them passed the scope."""
    records = index.fetch(rows)
    parents = index.section_texts(rows)
    at = np.searchsorted(found.rows, np.array(rows, np.int64))
    ranked_by = found.scores.get("evidence", found.scores["fused"])
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
            section_content=parent,
            kind=record.kind,
            score=float(ranked_by[position]),
            scores={stage: float(scores[position]) for stage, scores in found.scores.items()},
            also_in=index.aliases(record.doc_id),
            locator=_locator(record.locators, record.start),
        )
        for rank, (record, parent, position) in enumerate(zip(records, parents, at, strict=True), start=1)
    )


def _locator(locators: Sequence[tuple[int, str]], start: int) -> str | None:
    """The last label at or before the chunk's start."""
    place = bisect.bisect_right(locators, start, key=lambda pair: pair[0])
    return locators[place - 1][1] if place else None
