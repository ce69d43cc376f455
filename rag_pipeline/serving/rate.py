"""How often someone may ask: a token bucket a caller. No I/O."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_CALLERS = 10_000


class RateLimit:
    """`burst` requests at once, refilled at `per_minute`; 0 a minute = no limit. Safe to use from several threads.

    The callers heard of longest ago are forgotten beyond MOST_CALLERS, so that memory stays flat.
    """

    def __init__(self, per_minute: float, *, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._burst = float(burst)
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """0 where the request may go on, else the seconds until one may."""
        if not self._per_second:
            return 0.0
        with self._lock:
            now = self._clock()
            left, then = self._buckets.pop(caller, (self._burst, now))
            left = min(self._burst, left + (now - then) * self._per_second)
            allowed = left >= 1
            self._buckets[caller] = (left - 1 if allowed else left, now)
            while len(self._buckets) > MOST_CALLERS:
                self._buckets.popitem(last=False)
            return 0.0 if allowed else (1 - left) / self._per_second
