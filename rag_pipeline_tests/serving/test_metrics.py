"""Numbers that several processes share.

prometheus_client looks for their folder once, when it is imported; so nothing here imports it but what a worker runs.
"""

import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline_tests.serving.processes import SECONDS


def worker(folder: str, pipe: Any) -> None:
    """Does what it is told: the name of a method and its arguments, until None."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    from rag_pipeline.schema import RetrievalResult
    from rag_pipeline.serving import metrics as module

    caches: dict[str, dict[str, int]] = {}
    module.token_vector_counts = lambda: caches
    metrics = module.Metrics()
    while (told := pipe.recv()) is not None:
        name, *arguments = told
        if name == "retrieved":
            release, markers, hits = arguments
            caches["maxsim"] = {"hits": hits}
            result = RetrievalResult(
                query="", collection="docs", strategy="hybrid", release_id=release, build_key="", hits=(),
                candidates={},
                markers=markers, timings_ms={"total": 2.0},
            )  # fmt: skip
            pipe.send(metrics.retrieved(result))
        elif name == "pending":
            pipe.send(metrics.pending.set(*arguments))
        else:
            pipe.send(getattr(metrics, name)(*arguments))


class Worker:
    def __init__(self, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=worker, args=(str(folder), theirs))
        self.process.start()
        theirs.close()

    def tell(self, *told: Any) -> Any:
        self.pipe.send(told)
        assert self.pipe.poll(SECONDS)
        return self.pipe.recv()

    def lines(self, name: str) -> list[str]:
        return [line for line in self.tell("text").decode().splitlines() if line.startswith(name)]

    def end(self) -> None:
        if self.process.is_alive():
            self.pipe.send(None)
        self.process.join(SECONDS)
        self.process.kill()


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Worker, Worker]]:
    workers = Worker(tmp_path), Worker(tmp_path)
    yield workers
    for each in workers:
        each.end()


def test_either_tells_the_sum_of_both(two: tuple[Worker, Worker]) -> None:
    one, other = two
    one.tell("answered", "GET", "/x", 200, 0.004)
    for _ in range(2):
        other.tell("answered", "GET", "/x", 200, 2.0)
    one.tell("pending", 3)
    other.tell("pending", 4)
    for told in (one, other):
        assert told.lines("rag_pipeline_requests_total") == [
            'rag_pipeline_requests_total{method="GET",route="/x",status="200"} 3.0'
        ]
        buckets = told.lines("rag_pipeline_request_seconds_bucket")
        assert [line.rpartition(" ")[2] for line in buckets] == ["0.0"] * 2 + ["1.0"] * 8 + ["3.0"] * 5
        assert told.lines("rag_pipeline_request_seconds_sum") == [
            'rag_pipeline_request_seconds_sum{method="GET",route="/x"} 4.004'
        ]
        assert told.lines("rag_pipeline_retrievals_pending") == ["rag_pipeline_retrievals_pending 7.0"]


def test_one_release_a_collection_is_served_whoever_was_told_last(two: tuple[Worker, Worker]) -> None:
    one, other = two

    def served() -> list[str]:
        lines = one.lines("rag_pipeline_release_served")
        assert lines == other.lines("rag_pipeline_release_served")
        return [line.partition('release="')[2] for line in lines]

    for release, who in [("a", one), ("a", other), ("b", one)]:
        who.tell("retrieved", release, (), 0)
    assert served() == ['b"} 1.0']
    other.tell("retrieved", "b", (), 0)
    assert served() == ['b"} 1.0']
    other.tell("retrieved", "a", (), 0)  # rolled back, and the first has not been asked since
    assert served() == ['a"} 1.0']


def test_a_process_that_died_has_counted_but_holds_nothing(two: tuple[Worker, Worker], tmp_path: Path) -> None:
    one, other = two
    for who, hits in [(one, 5), (other, 7)]:
        who.tell("retrieved", "a", ("cut",), hits)
        who.tell("pending", 1)
    assert one.lines("rag_pipeline_rerank_token_vectors") == [
        'rag_pipeline_rerank_token_vectors{reranker="maxsim",what="hits"} 12.0'
    ]
    from prometheus_client.multiprocess import mark_process_dead

    other.process.kill()
    other.process.join()
    mark_process_dead(other.process.pid, str(tmp_path))
    assert one.lines("rag_pipeline_retrievals_pending") == ["rag_pipeline_retrievals_pending 1.0"]
    assert one.lines("rag_pipeline_rerank_token_vectors") == [
        'rag_pipeline_rerank_token_vectors{reranker="maxsim",what="hits"} 5.0'
    ]
    assert one.lines("rag_pipeline_markers_total") == ['rag_pipeline_markers_total{collection="docs",marker="cut"} 2.0']
    assert len(one.lines("rag_pipeline_release_served")) == 1
