"""The language model that the optional stages ask: what the environment names, opened once a process.

Replies to transforms, which hold nothing but what was made of a query, may be kept in a folder, readable by their owner
alone. Answers hold text of documents and are kept in memory only, under a hash of the very passages they rest on.
"""

import os
import threading
from pathlib import Path

from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import Llm, LlmClient
from rag_pipeline.llm.settings import LlmSettings, llm_settings

ATTEMPTS = 2

_clients: dict[tuple[LlmSettings, Path | None], LlmClient] = {}
_lock = threading.Lock()


def query_llm(*, seconds: float, folder: Path | None = None) -> Llm | None:
    """None where none is configured. `seconds` bound a whole call with its retries; `folder` keeps replies.

    Raises InvalidSettings for an environment that can't be used, MissingExtra without an HTTP client.
    """
    settings = llm_settings(os.environ, http=HttpPolicy(seconds=seconds, attempts=ATTEMPTS, wait=0.25))
    if settings is None:
        return None
    with _lock:
        if (settings, folder) not in _clients:
            _clients[settings, folder] = LlmClient(settings, cache_folder=folder)
        return _clients[settings, folder]


def forget() -> None:
    """Close clients and drop what they keep in memory, for tests."""
    with _lock:
        for client in _clients.values():
            client.close()
        _clients.clear()
