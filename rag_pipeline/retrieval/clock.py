"""Milliseconds of each stage of one call, in order."""

from collections.abc import Mapping
from time import perf_counter


class Clock:
    def __init__(self) -> None:
        self._started = self._last = perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """The time since the last lap belongs to `stage`."""
        now = perf_counter()
        self._laps[stage] = self._laps.get(stage, 0.0) + (now - self._last) * 1000
        self._last = now

    def include(self, seconds: Mapping[str, float]) -> None:
        """Stages that measured themselves since the last lap."""
        self._laps.update({stage: value * 1000 for stage, value in seconds.items()})
        self._last = perf_counter()

    def finish(self) -> dict[str, float]:
        return {**self._laps, "total": (perf_counter() - self._started) * 1000}
