"""Values that a thread makes one after another, handed to the event loop as they come.

Leaving the loop over them, or being cancelled, stops the thread at the next value and closes what makes them.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Generic, TypeVar

from rag_pipeline.serving.pool import Pool

T = TypeVar("T")
_END = object()


class Feed(Generic[T]):
    """Made by `start`; read once, by `values`."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._queue: asyncio.Queue[object] = asyncio.Queue()
        self._task: asyncio.Task[None]

    @classmethod
    async def start(cls, pool: Pool, make: Callable[[], Iterator[T]]) -> "Feed[T]":
        """Raises Problem (503) where the pool's line is full."""
        feed, loop = cls(), asyncio.get_running_loop()

        def work() -> None:
            values = make()
            try:
                for value in values:
                    if feed._stop.is_set():
                        return
                    loop.call_soon_threadsafe(feed._queue.put_nowait, value)
            finally:
                if isinstance(values, Generator):
                    values.close()

        feed._task = asyncio.create_task(pool.run(work))
        await asyncio.sleep(0)  # the pool takes it or refuses it now
        if feed._task.done():
            feed._task.result()
        feed._task.add_done_callback(lambda _: feed._queue.put_nowait(_END))
        return feed

    async def values(self, *, until: float, quiet: float) -> AsyncIterator[T | None]:
        """None after every `quiet` seconds without a value. `until`: of the loop's clock.

        Raises TimeoutError then, and what making the values raised.
        """
        loop = asyncio.get_running_loop()
        try:
            while True:
                left = until - loop.time()
                if left <= 0:
                    raise TimeoutError
                try:
                    value = await asyncio.wait_for(self._queue.get(), min(left, quiet))
                except TimeoutError:
                    yield None
                    continue
                if value is _END:
                    await self._task
                    return
                yield value  # type: ignore[misc]
        finally:
            self.stop()

    def stop(self) -> None:
        self._stop.set()
        self._task.cancel()
