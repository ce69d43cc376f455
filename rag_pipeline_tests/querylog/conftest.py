from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rag_pipeline.querylog.log import QueryLog


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 9, 12, 10, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: int) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_log(tmp_path: Path, clock: Clock) -> Callable[..., QueryLog]:
    def make(*, days: int = 30, most_bytes: int = 1_000_000, environ: dict[str, str] | None = None) -> QueryLog:
        return QueryLog(tmp_path / "log", days=days, most_bytes=most_bytes, clock=clock, environ=environ or {})

    return make
