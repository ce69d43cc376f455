"""The language model that transforms of queries ask: what the environment names, opened once a process."""

import os
import threading

from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import Llm, LlmClient
from rag_pipeline.llm.settings import LlmSettings, llm_settings

ATTEMPTS = 2

_clients: dict[LlmSettings, LlmClient] = {}
_lock = threading.Lock()


def query_llm(*, seconds: float) -> Llm | None:
    """None where none is configured. `seconds` bound a whole call with its retries.

    Raises InvalidSettings for an environment that can't be used, MissingExtra without an HTTP client.
    """
    settings = llm_settings(os.environ, http=HttpPolicy(seconds=seconds, attempts=ATTEMPTS, wait=0.25))
    if settings is None:
        return None
    with _lock:
        if settings not in _clients:
            _clients[settings] = LlmClient(settings)
        return _clients[settings]


def forget() -> None:
    """Drop clients and their caches, for tests."""
    with _lock:
        _clients.clear()
