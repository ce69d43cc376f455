import pytest

from rag_pipeline.serving import rate as rate_module
from rag_pipeline.serving.rate import RateLimit


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_then_a_steady_flow() -> None:
    clock = Clock()
    limit = RateLimit(60, burst=3, clock=clock)
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 1.0]
    clock.now += 0.5
    assert limit.take("a") == 0.5
    clock.now += 0.5
    assert limit.take("a") == 0
    assert limit.take("a") == 1.0
    clock.now += 1000
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 1.0]  # never more than the burst


def test_one_caller_does_not_slow_another() -> None:
    limit = RateLimit(60, burst=1, clock=Clock())
    assert limit.take("a") == 0
    assert limit.take("a") > 0
    assert limit.take("b") == 0


def test_no_limit() -> None:
    limit = RateLimit(0, burst=1, clock=Clock())
    assert {limit.take("a") for _ in range(100)} == {0}


def test_memory_stays_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_module, "MOST_CALLERS", 10)
    limit = RateLimit(60, burst=1, clock=Clock())
    for n in range(100):
        limit.take(f"caller {n}")
    assert len(limit._buckets) == 10
