import asyncio
import threading

import pytest

from rag_pipeline.serving.pool import Pool
from rag_pipeline.serving.problems import Problem


def test_the_line_is_bounded_and_moves_on() -> None:
    async def scenario() -> None:
        pool, gate = Pool(2, queue=1, name="test"), threading.Event()
        running = [asyncio.create_task(pool.run(gate.wait, 10)) for _ in range(3)]
        await asyncio.sleep(0)
        assert pool.pending == 3
        with pytest.raises(Problem) as caught:
            await pool.run(gate.wait)
        assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "1"})
        gate.set()
        assert await asyncio.gather(*running) == [True] * 3
        await asyncio.sleep(0.05)
        assert pool.pending == 0
        assert await pool.run(lambda: 5) == 5
        pool.close()
        with pytest.raises(Problem, match="stopping"):
            await pool.run(lambda: 5)
        assert pool.pending == 0

    asyncio.run(scenario())


def test_a_call_that_nobody_waits_for_any_more_is_never_run() -> None:
    async def scenario() -> None:
        pool, gate, ran = Pool(1, queue=5, name="test"), threading.Event(), []
        first = asyncio.create_task(pool.run(gate.wait, 10))
        second = asyncio.create_task(pool.run(lambda: ran.append(1)))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        assert pool.pending == 1
        gate.set()
        await first
        pool.close()
        assert ran == []

    asyncio.run(scenario())


def test_errors_rise() -> None:
    async def scenario() -> None:
        pool = Pool(1, queue=1, name="test")
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 // 0)
        assert pool.pending == 0
        pool.close()

    asyncio.run(scenario())


def test_whoever_watches_is_told_every_change() -> None:
    async def scenario() -> None:
        seen: list[int] = []
        pool, gate = Pool(1, queue=1, name="test", watch=seen.append), threading.Event()
        running = [asyncio.create_task(pool.run(gate.wait, 10)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Problem):
            await pool.run(gate.wait)
        gate.set()
        await asyncio.gather(*running)
        pool.close()
        assert seen == [1, 2, 1, 0]

    asyncio.run(scenario())
