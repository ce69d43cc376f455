"""Candidates for a person to judge: the union of what several strategies find.

Pooling as TREC does it (Spärck Jones and van Rijsbergen 1975; Voorhees and Harman, "TREC: Experiment and Evaluation in
Information Retrieval", 2005): the top `depth` of each system go into one pool, every passage of it is judged once,
blind to which system found it, and what is in no pool counts as not relevant. Few or similar systems make a pool that
favours them (Zobel, "How reliable are the results of large-scale information retrieval experiments?", SIGIR 1998).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_pipeline.errors import StageFailed
from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.schema import Hit

DEPTH = 10
STRATEGIES = ("bm25", "vector", "hybrid")
"""Pooled by default: the two legs and what is made of them."""


@dataclass(frozen=True, slots=True)
class PooledPassage:
    """One found chunk, to be judged."""

    document: str
    start: int
    end: int
    title: str
    headers: tuple[str, ...]
    text: str
    """`document[start:end]`; the header of a table that goes on stands in `lead`."""
    lead: str = ""

    @property
    def key(self) -> str:
        return f"{self.document}@{self.start}:{self.end}"


@dataclass(frozen=True, slots=True)
class Pool:
    query: Query
    release_id: str
    passages: tuple[PooledPassage, ...]
    """In the order they are to be shown."""
    found_by: Mapping[str, tuple[str, ...]]
    """Passage key -> strategies; for the record, never shown to the judge."""
    failures: Mapping[str, str]
    """Strategy -> why it found nothing to contribute: a stage of it could not run."""


def pool_question(
    opened: OpenRelease, query: Query, *, models: Path, strategies: Sequence[str], depth: int = DEPTH, seed: int = 0
) -> Pool:
    """What each strategy finds in its first `depth`, as the query's principal and under its filters.

    The order of showing is a hash of `seed`, the question and the passage, so it tells nothing of ranks and is the
    same again. Raises UnknownName for a strategy that the release has not, and as `retrieve` does.
    """
    passages: dict[str, PooledPassage] = {}
    found_by: dict[str, list[str]] = {}
    failures: dict[str, str] = {}
    for strategy in strategies:
        try:
            hits = _found(opened, query, strategy=strategy, depth=depth, models=models)
        except StageFailed as error:
            failures[strategy] = f"{error.stage}: {error.reason}"
            continue
        for hit in hits:
            passage = _passage(hit)
            passages.setdefault(passage.key, passage)
            found_by.setdefault(passage.key, []).append(strategy)
    order = sorted(passages, key=lambda key: _place(seed, query.id, key))
    return Pool(
        query,
        opened.release.release_id,
        tuple(passages[key] for key in order),
        {key: tuple(found_by[key]) for key in order},
        failures,
    )


def _found(opened: OpenRelease, query: Query, *, strategy: str, depth: int, models: Path) -> tuple[Hit, ...]:
    stored = opened.release.strategies.get(strategy, {})
    deep: dict[str, Any] = {"strict": True, "top_k": depth}
    if stored.get("rerank_top") is not None:
        deep["rerank_top"] = max(depth, int(str(stored["rerank_top"])))
    result = retrieve_from(
        opened,
        query.text,
        models=models,
        strategy=strategy,
        filters=query.filters or None,
        principal=query.principal,
        **deep,
    )
    return result.hits


def _passage(hit: Hit) -> PooledPassage:
    headers = tuple(title for _, title in hit.headers)
    return PooledPassage(hit.doc_id, hit.start, hit.end, hit.title, headers, hit.content, hit.lead)


def _place(seed: int, query_id: str, key: str) -> str:
    return hashlib.sha256(f"{seed}\n{query_id}\n{key}".encode("utf-8", "replace")).hexdigest()
