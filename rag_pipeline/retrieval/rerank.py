"""The reranking stage: the best sections read again by a model, the others behind them in their old order.

One guard a reranker and process. A reranker that could not be opened is tried again once a minute, so that not every
query pays for another try.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rag_pipeline.index.open import Index
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.guard import Guard, guard
from rag_pipeline.retrieval.ranking import Ranking
from rag_pipeline.settings.strategy import StrategySettings

_guards: dict[tuple[Path, str, str, str, str, bool], Guard] = {}
_lock = threading.Lock()


def rerank(
    ranking: Ranking, query: str, *, index: Index, models: Path, fingerprint: str, strategy: StrategySettings
) -> Ranking:
    """Scores of the reranked are blends in 0..1; those behind have what their first-stage score is below the last
    reranked one's, so 0 or less. Where the reranker was skipped all stays as it is, with a marker.

    Raises UnknownName for a reranker that isn't, StageFailed in strict mode.
    """
    if not ranking.rows:
        return ranking
    most = strategy.rerank_candidates
    head, tail = ranking.rows[:most], ranking.rows[most:]
    records = index.fetch(head)
    row_of = {record.chunk_id: record.row for record in records}
    passages = [
        Passage(r.chunk_id, "\n".join([" > ".join(title for _, title in r.headers), r.lead + r.content]))
        for r in records
    ]
    first = [(record.chunk_id, score) for record, score in zip(records, ranking.scores[:most], strict=True)]
    guarded = _guard(models, fingerprint, index, strategy).rerank(query, passages, first, weight=strategy.rerank_weight)
    ranking = ranking.marked(*guarded.markers)
    if not guarded.skipped:
        blended = {row_of[chunk]: score for chunk, score in guarded.ranked}
        last = ranking.scores[len(head) - 1]
        behind = [min(0.0, score - last) for score in ranking.scores[most:]]
        ranking = replace(
            ranking,
            rows=(*blended, *tail),
            scores=(*blended.values(), *behind),
            said={
                **ranking.said,
                "rerank": {row_of[chunk]: score for chunk, score in guarded.reranked},
                "blended": blended,
            },
            counts={**ranking.counts, "reranked": len(guarded.reranked)},
        )
    return (
        ranking if strategy.rerank_top is None else ranking.chosen(range(min(strategy.rerank_top, len(ranking.rows))))
    )


def token_vector_counts() -> dict[str, Mapping[str, int]]:
    """By reranker: token vectors of passages that were kept ("hits") or had to be made ("misses"), and "bytes" held."""
    with _lock:
        guards = list(_guards.values())
    found: dict[str, Counter[str]] = {}
    for each in guards:
        cache = getattr(each.reranker, "cache", None)
        if cache is not None:
            counts = Counter(hits=cache.hits, misses=cache.misses, bytes=cache.size)
            found.setdefault(each.name, Counter()).update(counts)
    return dict(found)


def forget() -> None:
    """Close nothing, drop all: rerankers are opened again by the next query."""
    with _lock:
        _guards.clear()


def _guard(models: Path, fingerprint: str, index: Index, strategy: StrategySettings) -> Guard:
    from rag_pipeline.reranking.registry import RerankerOptions, open_reranker  # onnxruntime: most queries need none

    options = strategy.reranker_options
    language = str(index.manifest.settings["language"])
    name = strategy.reranker
    key = (models, fingerprint, language, name, options.model_dump_json(), strategy.strict)
    wanted = RerankerOptions(
        models=models,
        fingerprint=fingerprint,
        language=language,
        model=options.model,
        url=options.url,
        sha256=options.sha256,
        download=options.download,
        window=options.window,
        precision=options.precision,
        cache_mb=options.cache_mb,
    )
    with _lock:
        if key not in _guards:
            _guards[key] = guard(
                name, lambda: open_reranker(name, wanted), seconds=options.seconds, strict=strategy.strict
            )
        return _guards[key]
