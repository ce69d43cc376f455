"""What each stage ranked first, for people who don't know yet what to expect."""

from collections.abc import Iterator, Sequence

import numpy as np

from rag_pipeline.evaluation.debug.trace import Trace
from rag_pipeline.evaluation.debug.values import Seen, Stage
from rag_pipeline.retrieval.rank import ordered

FIRST = 3


def stages_of(trace: Trace, *, first: int = FIRST) -> tuple[Stage, ...]:
    """Legs and fusion by chunk, the stages behind them by section."""
    if trace.found is None:
        return ()
    return tuple(_stages(trace, first))


def _stages(trace: Trace, first: int) -> Iterator[Stage]:
    assert trace.found is not None
    candidates = trace.found.candidates
    for name, scores in candidates.scores.items():
        if name == "original":
            continue
        kept = np.flatnonzero(scores > 0) if name == "bm25" else np.arange(len(scores))
        order = kept[ordered(scores[kept], candidates.rows[kept])]
        if name == "fused" and len(trace.found.searches) == 1 and not {"vector", "bm25"} <= candidates.scores.keys():
            continue  # one leg alone: its own order
        yield Stage(
            name, len(kept), _seen(trace, candidates.rows[order[:first]].tolist(), scores[order[:first]].tolist())
        )
    rankings = {s: r for s, r in trace.found.handed_on.items() if s != "sections"}
    if not trace.strategy.min_relevance:
        rankings.pop("relevance")
    for name, ranking in {**rankings, "returned": trace.found.ranking}.items():
        yield Stage(name, len(ranking.rows), _seen(trace, ranking.rows[:first], ranking.scores[:first]))


def _seen(trace: Trace, rows: Sequence[int], scores: Sequence[float]) -> tuple[Seen, ...]:
    records = trace.opened.index.fetch(rows)
    return tuple(
        Seen(r.doc_id, r.start, r.end, tuple(title for _, title in r.headers), score)
        for r, score in zip(records, scores, strict=True)
    )
