"""Threads for blocking work, with a bounded line in front of them: beyond it a request is told to come back."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from rag_pipeline.serving.problems import Problem

T = TypeVar("T")


class Pool:
    """`threads` calls run at once and `queue` wait. A call whose client went away before it began is never run.

    `watch` is told how many run and wait whenever that changes, one call after another.
    """

    def __init__(self, threads: int, *, queue: int, name: str, watch: Callable[[int], object] | None = None) -> None:
        self._room = threads + queue
        self._pending = 0
        self._watch = watch
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    @property
    def pending(self) -> int:
        """Running and waiting."""
        return self._pending

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """Raises Problem (503) where the line is full, and what `work` raises."""
        with self._lock:
            if self._pending >= self._room:
                raise Problem(503, "Busy", "too many requests are waiting; try again", headers={"Retry-After": "1"})
            self._count(1)
        try:
            future = self._executor.submit(work, *args)
        except RuntimeError:
            self._leave(None)
            raise Problem(503, "Busy", "the server is stopping; try again", headers={"Retry-After": "5"}) from None
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Running calls end; waiting ones are dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _leave(self, _: Future[Any] | None) -> None:
        with self._lock:
            self._count(-1)

    def _count(self, more: int) -> None:
        self._pending += more
        if self._watch is not None:
            self._watch(self._pending)
