"""Retrieval service process (port 8460): request handling around the retrieval steps.

The service is started by ``corvane-retrieval`` and configured by ``retrieval.yaml``.
It exposes ``RetrievalService.retrieve()`` over gRPC and ``POST /v1/retrieve`` over HTTP.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

log = logging.getLogger("corvane.retrieval")

MAX_TOP_K = 200
MAX_QUERY_CHARS = 2_048
RERANK_TIMEOUT_MS = 350


class RetrievalError(RuntimeError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code


@dataclass(frozen=True)
class Principal:
    identity: str
    groups: frozenset[str] = frozenset()


@dataclass
class Hit:
    chunk_id: str
    text: str
    score: float
    source: str
    warnings: list[str] = field(default_factory=list)


class RetrievalService:
    """Answers retrieve() calls for one collection set."""

    def __init__(self, lexical, dense, reranker, acl, *, weights=(0.45, 0.55), rank_constant: int = 50) -> None:
        self._lexical = lexical
        self._dense = dense
        self._reranker = reranker
        self._acl = acl
        self._weights = weights
        self._rank_constant = rank_constant

    def retrieve(
        self,
        query: str,
        *,
        collection: str,
        principal: Principal,
        top_k: int = 8,
        filters: Mapping[str, Any] | None = None,
        candidates: int = 60,
    ) -> list[Hit]:
        """Return up to ``top_k`` hits the principal may read.

        Access rules are applied *before* ranking: a forbidden chunk never reaches the
        reranker and does not use up a place among the candidates.
        """
        if principal is None:
            raise RetrievalError("E-6040", "principal missing")
        if len(query) > MAX_QUERY_CHARS:
            raise RetrievalError("E-6010", f"query longer than {MAX_QUERY_CHARS} characters")
        if not 1 <= top_k <= MAX_TOP_K:
            raise RetrievalError("E-6020", f"top_k must be between 1 and {MAX_TOP_K}")
        visible = self._acl.mask(collection, principal, filters or {})
        lexical = self._lexical.search(collection, query, candidates, visible)
        dense = self._dense.search(collection, query, candidates, visible)
        fused = self._fuse([lexical, dense])
        return self._rerank(query, fused)[:top_k]

    def _fuse(self, lists: Sequence[Sequence[Hit]]) -> list[Hit]:
        """Weighted reciprocal rank fusion: sum of weight / (rank_constant + rank)."""
        total: dict[str, float] = {}
        keep: dict[str, Hit] = {}
        for weight, hits in zip(self._weights, lists):
            for rank, hit in enumerate(hits, start=1):
                total[hit.chunk_id] = total.get(hit.chunk_id, 0.0) + weight / (self._rank_constant + rank)
                keep.setdefault(hit.chunk_id, hit)
        for chunk_id, hit in keep.items():
            hit.score = total[chunk_id]
        return sorted(keep.values(), key=lambda h: (-h.score, h.chunk_id))

    def _rerank(self, query: str, hits: list[Hit], depth: int = 40) -> list[Hit]:
        """Rescore the first 40 hits; on a timeout the fused order is kept (E-6012)."""
        started = time.monotonic()
        try:
            scored = self._reranker.score(query, hits[:depth], timeout_ms=RERANK_TIMEOUT_MS)
        except TimeoutError:
            log.warning("E-6012 reranker took over %d ms", RERANK_TIMEOUT_MS)
            for hit in hits:
                hit.warnings.append("E-6012")
            return hits
        log.debug("rerank took %.0f ms", (time.monotonic() - started) * 1000)
        return scored + hits[depth:]
