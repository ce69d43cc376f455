"""Hosted rerankers over HTTP: Cohere, Voyage, Jina, and servers that speak one of their forms.

The key comes from the environment only. Every failure is a StageFailed with a short reason: http_429, timeout, ...
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pipeline.errors import StageFailed, UnknownName
from rag_pipeline.http_json import HttpPolicy, JsonPoster
from rag_pipeline.reranking.base import Passage, Ranked, best_first
from rag_pipeline.settings.base import suggestion

MAX_PASSAGES = 1000
MAX_CHARS = 20_000
"""Of a query or a passage; the services cut at their models' limits, this keeps a request bounded."""

POLICY = HttpPolicy(seconds=5.0, attempts=2, wait=0.25)


@dataclass(frozen=True, slots=True)
class Service:
    url: str
    model: str
    key: str
    """Name of the environment variable."""
    results: str
    """Where the answer has its list of `index` and `relevance_score`."""
    extra: Mapping[str, Any]


SERVICES: Mapping[str, Service] = {
    "cohere": Service("https://api.cohere.com/v2/rerank", "rerank-v3.5", "COHERE_API_KEY", "results", {}),
    "voyage": Service(
        "https://api.voyageai.com/v1/rerank",
        "rerank-2.5",
        "VOYAGE_API_KEY",
        "data",
        {"return_documents": False, "truncation": True},
    ),
    "jina": Service(
        "https://api.jina.ai/v1/rerank",
        "jina-reranker-v2-base-multilingual",
        "JINA_API_KEY",
        "results",
        {"return_documents": False},
    ),
}


class HostedReranker:
    """`url` for another server with the same form. Raises UnknownName, StageFailed without a key, MissingExtra."""

    def __init__(
        self,
        service: str,
        *,
        model: str = "",
        url: str = "",
        environ: Mapping[str, str] = os.environ,
        policy: HttpPolicy = POLICY,
    ) -> None:
        if service not in SERVICES:
            known = ", ".join(SERVICES)
            raise UnknownName(f"unknown reranking service {service!r}{suggestion(service, SERVICES)}; known: {known}")
        self._service = SERVICES[service]
        self._model = model or self._service.model
        self._url = url or self._service.url
        key = environ.get(self._service.key, "").strip()
        if not key and not url:
            raise StageFailed("rerank", "unconfigured", f"set {self._service.key}, or give the URL of a server")
        self._headers = {"authorization": f"Bearer {key}", "accept": "application/json"} if key else {}
        self._poster = JsonPoster(policy, extra="rerank")
        self.name = f"{service}:{self._model}"

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        if not passages:
            return ()
        asked = passages[:MAX_PASSAGES]
        body = {
            "model": self._model,
            "query": query[:MAX_CHARS],
            "documents": [passage.text[:MAX_CHARS] for passage in asked],
            **self._service.extra,
        }
        reply = self._poster.post(self._url, headers=self._headers, body=body)
        if reply.failure:
            raise StageFailed("rerank", reply.failure, f"check {self._service.key}, the quota and {self._url}")
        scores = read_scores(reply.value, self._service.results, len(asked))
        if scores is None:
            raise StageFailed("rerank", "malformed", f"{self._url} does not answer in the form of {self.name}")
        return best_first(((asked[index].id, score) for index, score in scores.items()), top_k=top_k)

    def close(self) -> None:
        self._poster.close()


def read_scores(value: Any, results: str, count: int) -> dict[int, float] | None:
    """Scores by the index of the document sent; None where the answer has another shape, or an index no document."""
    rows = value.get(results) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        return None
    scores: dict[int, float] = {}
    for row in rows:
        index, score = (row.get("index"), row.get("relevance_score")) if isinstance(row, dict) else (None, None)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count or index in scores:
            return None
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            return None
        scores[index] = float(score)
    return scores
