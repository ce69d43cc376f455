"""A reranker that a test scripts: what it scores, how long it takes, whether it fails, and what it was asked."""

import time
from collections.abc import Callable, Sequence

import pytest

from rag_pipeline.reranking.base import Passage, Ranked, best_first
from rag_pipeline.reranking.registry import RERANKERS
from rag_pipeline.retrieval import rerank

NAME = "fake"


class FakeReranker:
    name = NAME

    def __init__(self, score: Callable[[str, Passage], float]) -> None:
        self.score = score
        self.seconds = 0.0
        self.calls: list[tuple[str, tuple[Passage, ...]]] = []
        self.opened = 0

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        self.calls.append((query, tuple(passages)))
        time.sleep(self.seconds)
        return best_first([(p.id, self.score(query, p)) for p in passages], top_k=top_k)


def install(monkeypatch: pytest.MonkeyPatch, score: Callable[[str, Passage], float]) -> FakeReranker:
    """Under the name "fake", for the rest of the test."""
    fake = FakeReranker(score)

    def opened(_: object) -> FakeReranker:
        fake.opened += 1
        return fake

    rerank.forget()
    monkeypatch.setitem(RERANKERS, NAME, opened)  # type: ignore[arg-type]
    return fake
