"""A release made by hand over hand-made stages, and the fake model its queries are embedded with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval import query_vector, reader, rerank
from rag_pipeline.retrieval.release_file import release_id, write_release
from rag_pipeline.schema import Document, Release
from rag_pipeline.settings.load import load_settings
from rag_pipeline.settings.strategy import StrategySettings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.stages import build, describe

STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "vector": StrategySettings(vector_weight=1, evidence=0).model_dump(mode="json"),
    "bm25": StrategySettings(vector_weight=0, evidence=0).model_dump(mode="json"),
    "hybrid": StrategySettings().model_dump(mode="json"),
    "rrf": StrategySettings(fusion="rrf", evidence=0).model_dump(mode="json"),
    "hnsw": StrategySettings(vector_weight=1, evidence=0, search="hnsw").model_dump(mode="json"),
}


CONTEXTS: Mapping[str, Mapping[str, Any]] = {
    name: context.model_dump(mode="json") for name, context in load_settings(environ={}).contexts.items()
}


class Served:
    """One collection under `home`, whose releases are made by `publish`."""

    def __init__(
        self,
        home: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        collection: str = "test",
        embedder: WordEmbedder | None = None,
    ) -> None:
        self.home = Home(home)
        self.collection = collection
        self.embedder = embedder or WordEmbedder()
        self._monkeypatch = monkeypatch
        self.content: dict[str, Any] = {}
        """Fields of the releases made by `publish`, in place of the usual ones."""
        reader.forget()
        query_vector.forget()
        rerank.forget()
        self.use(self.embedder)

    @property
    def paths(self) -> CollectionPaths:
        return self.home.collection(self.collection)

    def use(self, embedder: WordEmbedder, *, fingerprint: str | None = None) -> None:
        key = (self.home.models, fingerprint or embedder.fingerprint)
        self._monkeypatch.setitem(query_vector._embedders, key, embedder)

    def publish(self, documents: Sequence[Document], **options: Any) -> Release:
        """Build and serve the documents; returns the release."""
        info = build(
            self.home.root.with_name("made"), documents, embedder=self.embedder, builds=self.paths.builds, **options
        )
        content: dict[str, Any] = {
            "collection": self.collection,
            "build_key": info.key,
            "embedder": describe(self.embedder),
            "strategies": STRATEGIES,
            "default_strategy": "hybrid",
            "contexts": CONTEXTS,
            **self.content,
        }
        release = Release(release_id=release_id(**content), created="2026-01-01T00:00:00Z", **content)
        write_release(self.paths.release(release.release_id), release)
        self.paths.current.write_text(release.release_id + "\n")
        return release

    def ask(self, query: str, **options: Any) -> Any:
        from rag_pipeline.retrieval.retrieve import retrieve

        return retrieve(query, collection=self.collection, home=self.home.root, **options)
