"""What Prometheus is told: counts and times by route, stage and strategy; never a query, a document or a user."""

from collections.abc import Mapping
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rag_pipeline.retrieval.rerank import token_vector_counts
from rag_pipeline.schema import RetrievalResult

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """One registry an app, so that two apps in a process don't add up."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rag_pipeline_requests_total", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "rag_pipeline_request_seconds",
            "Time to the answer.",
            ["method", "route"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.pending = Gauge(
            "rag_pipeline_retrievals_pending", "Retrievals running or waiting for a thread.", registry=self.registry
        )
        self._stages = Histogram(
            "rag_pipeline_retrieval_stage_seconds",
            "Time of each stage of a retrieval.",
            ["collection", "strategy", "stage"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._empty = Counter(
            "rag_pipeline_empty_results_total",
            "Retrievals that found nothing, by reason.",
            ["collection", "reason"],
            registry=self.registry,
        )
        self._marked = Counter(
            "rag_pipeline_markers_total",
            "Stages that could not run or were cut, by marker.",
            ["collection", "marker"],
            registry=self.registry,
        )
        self._served = Gauge(
            "rag_pipeline_release_served",
            "1 for the release that answered last.",
            ["collection", "release"],
            registry=self.registry,
        )
        self._recorded = Counter(
            "rag_pipeline_query_log_records_total", "Records of the query log.", ["kind"], registry=self.registry
        )
        self._unrecorded = Counter(
            "rag_pipeline_query_log_failures_total",
            "Records of the query log that could not be written, by reason.",
            ["kind", "reason"],
            registry=self.registry,
        )
        self._answers = Counter(
            "rag_pipeline_answers_total",
            "Answers given, and abstentions by reason.",
            ["collection", "answerer", "outcome"],
            registry=self.registry,
        )
        self._answer_seconds = Histogram(
            "rag_pipeline_answer_seconds",
            "Time from the retrieval's end to the last word.",
            ["answerer"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._token_vectors = Gauge(
            "rag_pipeline_rerank_token_vectors",
            "Token vectors that a reranker found in memory (hits) or made (misses), and the bytes it holds.",
            ["reranker", "what"],
            registry=self.registry,
        )
        self._release: dict[str, str] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)

    def retrieved(self, result: RetrievalResult) -> None:
        self._time(result.collection, result.strategy, result.timings_ms)
        if result.empty_reason:
            self._empty.labels(result.collection, result.empty_reason).inc()
        for marker in result.markers:
            self._marked.labels(result.collection, marker).inc()
        before = self._release.get(result.collection)
        if before != result.release_id:
            self._release[result.collection] = result.release_id
            if before is not None:
                self._served.remove(result.collection, before)
            self._served.labels(result.collection, result.release_id).set(1)

    def recorded(self, kind: Literal["query", "feedback"], failure: str | None) -> None:
        if failure is None:
            self._recorded.labels(kind).inc()
        else:
            self._unrecorded.labels(kind, failure).inc()

    def gave(self, collection: str, answerer: str, reason: str | None, seconds: float) -> None:
        """`reason` of an abstention; None for an answer."""
        self._answers.labels(collection, answerer, reason or "answered").inc()
        self._answer_seconds.labels(answerer).observe(seconds)

    def text(self) -> bytes:
        for reranker, counts in token_vector_counts().items():
            for what, count in counts.items():
                self._token_vectors.labels(reranker, what).set(count)
        return generate_latest(self.registry)

    def _time(self, collection: str, strategy: str, timings_ms: Mapping[str, float]) -> None:
        for stage, milliseconds in timings_ms.items():
            self._stages.labels(collection, strategy, stage).observe(milliseconds / 1000)
