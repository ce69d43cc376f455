import threading
from collections.abc import Sequence

import pytest

from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.reranking.base import Passage, Ranked
from rag_pipeline.reranking.reopening import Reopening

PASSAGES = (Passage("a", "one"),)


class Model:
    name = "model"

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        return (("a", 1.0),)


class World:
    """A model that may be there or not, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tries = 0
        self.error: Exception | None = ModelUnavailable("first")
        self.reranker = Reopening("late", self.open, ModelUnavailable("at start"), seconds=60, clock=lambda: self.now)

    def open(self) -> Model:
        self.tries += 1
        if self.error:
            raise self.error
        return Model()


def test_no_query_pays_for_a_try_before_the_time() -> None:
    world = World()
    for world.now in (0.0, 30.0, 59.9):
        with pytest.raises(ModelUnavailable, match="at start"):
            world.reranker.rerank("q", PASSAGES)
    assert (world.tries, world.reranker.name, world.reranker.waits) == (0, "late", True)


def test_one_try_a_minute_and_the_last_reason_is_told() -> None:
    world = World()
    world.now = 60.0
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="first"):
            world.reranker.rerank("q", PASSAGES)
    world.error = MissingExtra("openvino", "openvino")
    world.now = 120.0
    for _ in range(3):
        with pytest.raises(MissingExtra):
            world.reranker.rerank("q", PASSAGES)
    assert world.tries == 2


def test_opened_it_stays_open() -> None:
    world = World()
    world.error, world.now = None, 61.0
    for _ in range(3):
        assert world.reranker.rerank("q", PASSAGES) == (("a", 1.0),)
    assert (world.tries, world.reranker.name, world.reranker.waits) == (1, "model", False)


def test_queries_at_once_open_it_once() -> None:
    world = World()
    world.error, world.now = None, 61.0
    threads = [threading.Thread(target=world.reranker.rerank, args=("q", PASSAGES)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.tries == 1
