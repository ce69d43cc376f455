"""Retrieval for applications that are asynchronous: one service, presets by name, calls that never block the loop."""

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from rag_pipeline.retrieval.retrieve import retrieve
from rag_pipeline.schema import Principal, RetrievalResult

DEFAULT_CONTEXT = "chatbot"


class UniversalRag:
    """Made by `get_universal_rag`. It holds no state of its own: releases, models and caches belong to the process."""

    def __init__(self, *, collection: str | None = None, home: Path | None = None) -> None:
        self.collection = collection
        self.home = home

    async def retrieve(
        self,
        query: str,
        *,
        context: str = DEFAULT_CONTEXT,
        filters: Mapping[str, Any] | None = None,
        principal: Principal | None = None,
        **overrides: Any,
    ) -> RetrievalResult:
        """`rag_pipeline.retrieve` in a thread; `overrides` may hold `strategy` and `explain` besides settings.

        Cancelling the call leaves its thread to end by itself. Raises as `retrieve` does.
        """
        return await asyncio.to_thread(
            retrieve,
            query,
            collection=self.collection,
            home=self.home,
            context=context,
            filters=filters,
            principal=principal,
            **overrides,
        )


@lru_cache(maxsize=32)
def get_universal_rag(*, collection: str | None = None, home: Path | None = None) -> UniversalRag:
    """The service for a collection; None: the settings' default and data directory."""
    return UniversalRag(collection=collection, home=home)
