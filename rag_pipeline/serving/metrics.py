"""What Prometheus is told: counts and times by route, stage and strategy; never a query, a document or a user."""

import os
from collections.abc import Iterator, Mapping
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from rag_pipeline.retrieval.rerank import token_vector_counts
from rag_pipeline.schema import RetrievalResult
from rag_pipeline.serving.settings import SHARED_METRICS

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SERVED = "rag_pipeline_release_served"


class Metrics:
    """One registry an app, so that two apps in a process don't add up.

    Where the server has several processes, which share a folder of numbers, any of them tells those of all: the counts
    and times also of processes that ended, and the gauges of the living ones.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        folder = os.environ.get(SHARED_METRICS)
        self._processes = None if folder is None else _Processes(folder)
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
            "rag_pipeline_retrievals_pending",
            "Retrievals running or waiting for a thread.",
            registry=self.registry,
            multiprocess_mode="livesum",
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
            SERVED,
            "1 for the release that answered last.",
            ["collection", "release"],
            registry=self.registry,
            multiprocess_mode="livemostrecent",
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
            multiprocess_mode="livesum",
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
                self._not_served(result.collection, before)
            self._served.labels(result.collection, result.release_id).set(1)
        if self._processes is not None:  # the process that will be asked for numbers can't look into this one
            self._count_token_vectors()

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
        self._count_token_vectors()
        return generate_latest(self.registry if self._processes is None else self._processes)

    def _not_served(self, collection: str, release: str) -> None:
        if self._processes is None:
            self._served.remove(collection, release)
        else:  # nothing can be removed from shared numbers; `_Processes` leaves it out
            self._served.labels(collection, release).set(0)

    def _count_token_vectors(self) -> None:
        for reranker, counts in token_vector_counts().items():
            for what, count in counts.items():
                self._token_vectors.labels(reranker, what).set(count)

    def _time(self, collection: str, strategy: str, timings_ms: Mapping[str, float]) -> None:
        for stage, milliseconds in timings_ms.items():
            self._stages.labels(collection, strategy, stage).observe(milliseconds / 1000)


class _Processes(MultiProcessCollector):
    """The numbers of all processes of the server."""

    def __init__(self, folder: str) -> None:
        super().__init__(None, path=folder)  # type: ignore[no-untyped-call]

    def collect(self) -> Iterator[Metric]:
        for metric in sorted(super().collect(), key=lambda metric: metric.name):  # type: ignore[no-untyped-call]
            if metric.name == SERVED:
                metric.samples = [sample for sample in metric.samples if sample.value]
            yield metric
