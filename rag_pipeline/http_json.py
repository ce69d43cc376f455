"""POST of a JSON body with a time limit over everything, bounded retries and a size cap; a failure is a value.

Language models and hosted rerankers use it. It knows no wire form and no key.
"""

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rag_pipeline.errors import MissingExtra

if TYPE_CHECKING:
    import httpx

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers that another try may change; 529 is Anthropic's "overloaded"."""

LONGEST_WAIT = 8.0


@dataclass(frozen=True, slots=True)
class HttpPolicy:
    seconds: float = 20.0
    """For the whole call: every try and every pause."""
    attempts: int = 3
    wait: float = 0.5
    """Seconds before the second try; doubled for each further one, times a random factor from 0.5 to 1."""
    max_bytes: int = 2_000_000
    """Of one answer; a longer one is a failure, and no more of it is read."""


DEFAULT_POLICY = HttpPolicy()


@dataclass(frozen=True, slots=True)
class HttpReply:
    value: Any
    """The decoded JSON; None where it failed."""
    failure: str | None
    """"timeout", "unreachable", "http_<status>", "malformed", "too_large"; None where it did not fail."""
    attempts: int
    seconds: float


class JsonPoster:
    """Keeps connections open between calls; safe to use from several threads. Raises MissingExtra without httpx."""

    def __init__(
        self,
        policy: HttpPolicy = DEFAULT_POLICY,
        *,
        extra: str = "llm",
        reads_reply: bool = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`reads_reply` False: any 2xx is a success, and what it says, JSON or not, is left unread."""
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra("httpx", extra) from error
        self.policy = policy
        self._httpx = httpx
        self._reads_reply = reads_reply
        self._sleep = sleep
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def post(self, url: str, *, headers: Mapping[str, str], body: Mapping[str, Any]) -> HttpReply:
        started = time.monotonic()
        deadline = started + self.policy.seconds
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        attempt, value, failure = 0, None, "timeout"
        while attempt < self.policy.attempts:
            attempt += 1
            value, failure, retry, asked = self._once(url, headers, content, deadline)
            if not retry or attempt == self.policy.attempts:
                break
            pause = max(asked, min(LONGEST_WAIT, self.policy.wait * 2 ** (attempt - 1)) * random.uniform(0.5, 1))
            if time.monotonic() + pause >= deadline:
                break
            self._sleep(pause)
        return HttpReply(value, failure or None, attempt, time.monotonic() - started)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _once(
        self, url: str, headers: Mapping[str, str], content: bytes, deadline: float
    ) -> tuple[Any, str, bool, float]:
        """Value, failure, whether another try may help, seconds the server asks to wait."""
        httpx = self._httpx
        left = deadline - time.monotonic()
        if left <= 0:
            return None, "timeout", False, 0.0
        try:
            with self._open().stream(
                "POST", url, headers={"content-type": "application/json", **headers}, content=content, timeout=left
            ) as response:
                if not self._reads_reply and response.is_success:
                    return None, "", False, 0.0
                if response.status_code != 200:
                    wait = _retry_after(response.headers.get("retry-after"))
                    return None, f"http_{response.status_code}", response.status_code in RETRIED, wait
                raw = bytearray()
                for piece in response.iter_bytes():
                    raw += piece
                    if len(raw) > self.policy.max_bytes:
                        return None, "too_large", False, 0.0
                    if time.monotonic() > deadline:  # a server that drips never lets one read time out
                        return None, "timeout", False, 0.0
        except httpx.TimeoutException:
            return None, "timeout", False, 0.0
        except (httpx.TransportError, httpx.DecodingError):
            return None, "unreachable", True, 0.0
        try:
            return json.loads(raw), "", False, 0.0
        except (ValueError, RecursionError):
            return None, "malformed", True, 0.0

    def _open(self) -> "httpx.Client":
        with self._lock:
            if self._client is None:
                # A redirect would carry the key to another host.
                self._client = self._httpx.Client(follow_redirects=False)
            return self._client


def _retry_after(header: str | None) -> float:
    """Whole seconds only; a date there is rare and the usual pause does."""
    return float(header) if header and header.isascii() and header.isdigit() and len(header) < 6 else 0.0
