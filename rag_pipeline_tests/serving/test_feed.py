import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from rag_pipeline.serving.feed import Feed
from rag_pipeline.serving.pool import Pool
from rag_pipeline.serving.problems import Problem

LONG = 60.0


async def read(feed: Feed[int], *, seconds: float = LONG, quiet: float = LONG) -> list[int | None]:
    until = asyncio.get_running_loop().time() + seconds
    return [value async for value in feed.values(until=until, quiet=quiet)]


def pooled(work):
    async def run():
        pool = Pool(1, queue=0, name="feed")
        try:
            return await work(pool)
        finally:
            pool.close()

    return asyncio.run(run())


def test_values_in_order_and_the_end() -> None:
    async def work(pool: Pool) -> None:
        feed = await Feed[int].start(pool, lambda: iter(range(500)))
        assert await read(feed) == list(range(500))
        assert pool.pending == 0

    pooled(work)


def test_what_is_raised_comes_out_after_what_came_before() -> None:
    def values() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    async def work(pool: Pool) -> None:
        feed, got = await Feed[int].start(pool, values), []
        with pytest.raises(ValueError, match="broken"):
            async for value in feed.values(until=asyncio.get_running_loop().time() + LONG, quiet=LONG):
                got.append(value)
        assert got == [1]

    pooled(work)


def test_leaving_stops_the_thread_and_closes_what_makes_the_values() -> None:
    closed = threading.Event()

    def values() -> Iterator[int]:
        try:
            for n in range(10_000_000):
                yield n
                time.sleep(0.001)
        finally:
            closed.set()

    async def work(pool: Pool) -> None:
        feed = await Feed[int].start(pool, values)
        async for _ in feed.values(until=asyncio.get_running_loop().time() + LONG, quiet=LONG):
            break
        feed.stop()
        assert await asyncio.to_thread(closed.wait, 10)

    pooled(work)


def test_a_wait_is_told_and_ends_in_time() -> None:
    go = threading.Event()

    def values() -> Iterator[int]:
        go.wait(10)
        yield 1

    async def work(pool: Pool) -> None:
        feed, got = await Feed[int].start(pool, values), []
        with pytest.raises(TimeoutError):
            async for value in feed.values(until=asyncio.get_running_loop().time() + 0.3, quiet=0.05):
                got.append(value)
        assert got and set(got) == {None}
        go.set()

    pooled(work)


def test_a_full_line_is_told_before_the_first_value() -> None:
    go = threading.Event()

    async def work(pool: Pool) -> None:
        first = await Feed[int].start(pool, lambda: iter([go.wait(10)]))
        with pytest.raises(Problem) as caught:
            await Feed[int].start(pool, lambda: iter([1]))
        assert caught.value.status == 503
        go.set()
        assert await read(first) == [True]

    pooled(work)
