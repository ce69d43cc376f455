"""A reranker that could not be opened, tried again now and then: a model that is copied into place later is found."""

import threading
import time
from collections.abc import Callable, Sequence

from rag_pipeline.errors import MissingExtra, ModelUnavailable, StageFailed
from rag_pipeline.reranking.base import Passage, Ranked, Reranker
from rag_pipeline.reranking.token_cache import TokenVectorCache

SECONDS = 60.0
"""Between two tries: opening a model that isn't there may cost a second, and no query may pay that each time."""


class Reopening:
    """Raises what the last try to open raised, until one succeeds; then it is that reranker."""

    def __init__(
        self,
        name: str,
        open_it: Callable[[], Reranker],
        error: Exception,
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._open = open_it
        self._error = error
        self._seconds = seconds
        self._clock = clock
        self._next = clock() + seconds
        self._opened: Reranker | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._opened.name if self._opened else self._name

    @property
    def waits(self) -> bool:
        """It is not open yet and will be tried again."""
        return self._opened is None

    @property
    def cache(self) -> TokenVectorCache | None:
        return getattr(self._opened, "cache", None)

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        return self._reranker().rerank(query, passages, top_k=top_k)

    def _reranker(self) -> Reranker:
        if self._opened is not None:
            return self._opened
        with self._lock:
            if self._opened is None:
                if self._clock() < self._next:
                    raise self._error
                self._next = self._clock() + self._seconds
                try:
                    self._opened = self._open()
                except (ModelUnavailable, MissingExtra, StageFailed) as error:
                    self._error = error
                    raise
            return self._opened
